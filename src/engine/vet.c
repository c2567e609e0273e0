#include "engine/vet.h"

#include "engine/vet_parts.h"

void vet_report_release(struct vet_report *r)
{
	strv_release(&r->notes);
}

/* What has judged no test has shown nothing. */
static enum outcome outcome_of(const struct vet_report *r)
{
	if (r->broken || r->accepted + r->rejected == 0)
		return OUTCOME_HARNESS_ERROR;
	return r->rejected ? OUTCOME_REJECTED : OUTCOME_CLEAN;
}

int engine_vet(const struct vet_opts *opts, struct vet_report *ret, struct err *err)
{
	struct vet_places places = {0};
	struct vet_input in = {0};
	struct vet_record record = {0};
	int rc = -1;

	if (vet_input_open(&in, opts, err) == 0 &&
	    vet_record_open(&record, opts, &ret->notes, err) == 0 &&
	    vet_places_open(&places, opts, err) == 0)
		rc = vet_stream(&places, &in, &record, ret, err);
	/* What was told is kept, whatever became of the rest. */
	if (vet_record_flush(&record, rc == 0 ? err : NULL) < 0)
		rc = -1;
	vet_record_close(&record);
	vet_places_close(&places);
	vet_input_close(&in);
	if (rc == 0)
		ret->outcome = outcome_of(ret);
	return rc;
}
