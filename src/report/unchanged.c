#include "report/unchanged.h"

const char *const packet_rules[] = {
	"Do not suppress: no suppression file, no ignore annotation, no new suppression "
	"in "
	"the contract, no detect_leaks=0.",
	"Do not leave early: no _exit, quick_exit, abort or kill in place of a release.",
	"Do not lower cycles, warm-up, timeouts or limits, and do not change detectors.",
	"Do not remove, skip or weaken tests and assertions.",
	"Do not change the contract (exitpath.yaml): its digest must stay the same.",
	"Release what is listed on every path out, the failure paths included.",
	NULL,
};
