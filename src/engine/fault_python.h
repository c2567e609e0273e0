/* The layer of `exitpath fault` that makes call sites of Python modules raise. */
#ifndef EXITPATH_ENGINE_FAULT_PYTHON_H
#define EXITPATH_ENGINE_FAULT_PYTHON_H

#include "engine/fault.h"

extern const struct fault_layer fault_layer_python;

#endif
