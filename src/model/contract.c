#include "model/contract.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

/* Its parameters, without those that are or name secrets. */
static void add_public(struct buf *b, const char *parameters)
{
	const char *before = "?";

	for (const char *p = parameters; *p;) {
		size_t len = strcspn(p, "&"), name = strcspn(p, "=&");
		CLEANUP_FREE char *key = xstrndup(p, name);

		if (!strstr(key, "password") && strcmp(key, "passfile") != 0 &&
		    strcmp(key, "sslkey") != 0) {
			buf_addf(b, "%s%.*s", before, (int)len, p);
			before = "&";
		}
		p += len + (p[len] == '&');
	}
}

char *server_public(const char *url)
{
	const char *start = url ? strstr(url, "://") : NULL, *at, *colon, *query;
	struct buf b = {0};
	size_t len;

	if (!start)
		return xstrdup(url);
	start += 3;
	query = strchr(start, '?');
	len = query ? (size_t)(query - start) : strlen(start);
	/* A password that is not escaped may have an @ itself. */
	at = memrchr(start, '@', len);
	colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
	if (colon) {
		buf_add(&b, url, (size_t)(colon - url));
		buf_add(&b, at, (size_t)(start + len - at));
	} else {
		buf_add(&b, url, (size_t)(start + len - url));
	}
	if (query)
		add_public(&b, query + 1);
	return buf_detach(&b);
}

char *server_variable(const char *text)
{
	bool braces = text[0] == '$' && text[1] == '{';
	const char *name = text + 1 + braces;
	size_t len = 0;

	if (text[0] != '$')
		return NULL;
	while (isalnum((unsigned char)name[len]) || name[len] == '_')
		len++;
	if (!len || isdigit((unsigned char)name[0]) ||
	    strcmp(name + len, braces ? "}" : "") != 0)
		return NULL;
	return xstrndup(name, len);
}

const char *server_url_refused(const char *text)
{
	CLEANUP_FREE char *variable = server_variable(text);

	if (variable || !strncmp(text, "postgresql://", 13) ||
	    !strncmp(text, "postgres://", 11))
		return NULL;
	return "must be a URL postgresql://… or the name of a variable that has one";
}

void lifecycle_release(struct lifecycle *l)
{
	free(l->name);
	free(l->command);
	free(l->pg);
	strv_release(&l->argv);
	strv_release(&l->detectors);
	*l = (struct lifecycle){0};
}

void suppression_release(struct suppression *s)
{
	free(s->match);
	free(s->reason);
	free(s->owner);
	free(s->expires);
	*s = (struct suppression){0};
}

static void settings_release(struct fault_settings *f)
{
	for (size_t i = 0; i < f->nignore; i++)
		suppression_release(&f->ignore[i]);
	free(f->ignore);
	free(f->layer);
	free(f->check);
	strv_release(&f->lifecycles);
}

void contract_release(struct contract *c)
{
	for (size_t i = 0; i < c->nlifecycles; i++)
		lifecycle_release(&c->lifecycles[i]);
	for (size_t i = 0; i < c->nsuppressions; i++)
		suppression_release(&c->suppressions[i]);
	settings_release(&c->faults);
	for (size_t i = 0; i < c->review.nallow; i++)
		suppression_release(&c->review.allow[i]);
	free(c->review.allow);
	free(c->path);
	free(c->base);
	free(c->setup);
	free(c->lifecycles);
	strv_release(&c->share);
	strv_release(&c->expose);
	free(c->suite);
	free(c->suppressions);
	strv_release(&c->vet.target);
	free(c->vet.python);
	free(c->later);
	*c = (struct contract){0};
}
