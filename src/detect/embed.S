/* Files carried inside the binary. @NAME@ is replaced by the build with the path. */
	.section .rodata

	.global embed_lsan_canary_start
	.global embed_lsan_canary_end
	.balign 16
embed_lsan_canary_start:
	.incbin "@LSAN_CANARY@"
embed_lsan_canary_end:

	.global embed_go_cycles_start
	.global embed_go_cycles_end
embed_go_cycles_start:
	.incbin "@GO_CYCLES@"
embed_go_cycles_end:

	.section .note.GNU-stack, "", %progbits
