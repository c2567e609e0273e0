/* Included before every source of src/: functions that nobody here may call. */
#ifndef __ASSEMBLER__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok system
#endif
