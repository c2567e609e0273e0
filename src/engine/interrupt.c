#include "engine/interrupt.h"

#include "proc/proc.h"

void interrupt_catch(void)
{
	proc_catch_interrupts();
}

int interrupt_signal(void)
{
	return proc_interrupted();
}
