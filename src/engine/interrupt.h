/* SIGINT, SIGTERM and SIGHUP only ask the engine to stop; see proc/proc.h. */
#ifndef EXITPATH_ENGINE_INTERRUPT_H
#define EXITPATH_ENGINE_INTERRUPT_H

void interrupt_catch(void);
int interrupt_signal(void); /* 0: none came */

#endif
