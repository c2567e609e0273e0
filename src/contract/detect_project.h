/* What `exitpath init` learns by looking at a project, and the contract it writes. */
#ifndef EXITPATH_CONTRACT_DETECT_PROJECT_H
#define EXITPATH_CONTRACT_DETECT_PROJECT_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Looks at Makefile (targets test, check), meson.build, CMakeLists.txt, Cargo.toml,
 * go.mod, pyproject.toml/setup.py, package.json (scripts.test) in dir and writes a
 * commented contract that parses into ret_yaml. ret_kind: "meson", "cmake", … or
 * "unknown" when nothing was recognised (the contract then has a place to fill in), or
 * "mixed": cargo, go, python and node beside each other have a lifecycle each.
 */
int project_contract(const char *dir, struct buf *ret_yaml, const char **ret_kind,
		     struct err *err);

#endif
