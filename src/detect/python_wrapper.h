/* Commands that run tests of Python by way of a file: make TARGET, a shell script. */
#ifndef EXITPATH_DETECT_PYTHON_WRAPPER_H
#define EXITPATH_DETECT_PYTHON_WRAPPER_H

#include "base/strv.h"

#include <stdbool.h>

/*
 * Does the file name pytest or unittest: the makefile in dir, in the recipes of the
 * targets that are to be made and of what they need, or the script? Files are read,
 * nothing is run. python alone is not enough: it may be the harness of a program.
 */
bool python_wrapper_runs_tests(const struct strv *argv, const char *dir);

#endif
