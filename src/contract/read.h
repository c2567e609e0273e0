/*
 * Reading a YAML map by a table of its keys: one row a key, one function a type. Every
 * error is ERR_USAGE at the place of the value, with what is allowed as the hint.
 */
#ifndef EXITPATH_CONTRACT_READ_H
#define EXITPATH_CONTRACT_READ_H

#include "contract/yaml.h"

#include <stdbool.h>
#include <stdint.h>

struct keys;

struct reader {
	const char *name; /* of the file */
	struct err *err;
	const struct keys *const *tables; /* all, NULL-terminated: for hints */
};

struct key {
	const char *name;
	/* Checks value and stores it at into + offset. */
	int (*read)(const struct reader *r, const struct key *k, const struct yaml *value,
		    void *into);
	size_t offset;
	int64_t min, max; /* of a whole number */
	bool required;
};

struct keys {
	const char *what; /* that the map is: "a lifecycle" */
	const struct key *keys;
	size_t n;
};

int read_map(const struct reader *r, const struct keys *keys, const struct yaml *map,
	     void *into);
/* Refuses another type, and for YAML_STRING blank text. what is used in the message. */
int read_check(const struct reader *r, const struct yaml *value, enum yaml_type type,
	       const char *what);
/* Refuses text longer than 64 or with other characters than A-Z a-z 0-9 _ . - */
int read_check_name(const struct reader *r, const struct yaml *value, const char *what);

/* Refuses text that is not a visible word of the list; ret: its index. */
int read_word(const struct reader *r, const struct yaml *value, const char *what,
	      const char *const *words, size_t *ret);
/* A list whose elements are read one by one. */
int read_each(const struct reader *r, const struct key *k, const struct yaml *list,
	      void *into,
	      int (*read)(const struct reader *r, const struct yaml *item, void *into));
/* "what: "item" is listed twice". */
int read_twice(const struct reader *r, const struct yaml *item, const char *what);

/* For the rows of a table. */
int read_text(const struct reader *, const struct key *, const struct yaml *, void *);
int read_name(const struct reader *, const struct key *, const struct yaml *, void *);
int read_bool(const struct reader *, const struct key *, const struct yaml *, void *);
int read_unsigned(const struct reader *, const struct key *, const struct yaml *, void *);
int read_uint64(const struct reader *, const struct key *, const struct yaml *, void *);
int read_duration(const struct reader *, const struct key *, const struct yaml *, void *);
int read_date(const struct reader *, const struct key *, const struct yaml *, void *);
int read_size(const struct reader *, const struct key *, const struct yaml *, void *);

#endif
