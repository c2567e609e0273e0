/* Toolchains that lie in the home directory: the sandbox hides it. */
#ifndef EXITPATH_CONTRACT_TOOLCHAIN_H
#define EXITPATH_CONTRACT_TOOLCHAIN_H

#include "base/strv.h"

/*
 * program: a name that is looked for in PATH, or a path. Adds to ret what it needs of
 * the home directory, as `expose` has it ("~/.pyenv"): where it was found, and where it
 * really is. Nothing above dir, the project. A program that is not there needs nothing.
 */
void toolchain_expose(const char *program, const char *dir, struct strv *ret);

#endif
