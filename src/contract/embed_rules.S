/* The rules carried inside the binary. @RULES@ is replaced by the build with the path. */
	.section .rodata

	.global embed_rules_start
	.global embed_rules_end
embed_rules_start:
	.incbin "@RULES@"
embed_rules_end:

	.section .note.GNU-stack,"",@progbits
