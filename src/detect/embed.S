/* Files carried inside the binary. @LSAN_CANARY@ is replaced by the build with the path. */
	.section .rodata

	.global embed_lsan_canary_start
	.global embed_lsan_canary_end
	.balign 16
embed_lsan_canary_start:
	.incbin "@LSAN_CANARY@"
embed_lsan_canary_end:

	.section .note.GNU-stack, "", %progbits
