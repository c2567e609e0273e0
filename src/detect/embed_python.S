/* The adapter of adapters/python, packed. @PYTHON_ADAPTER@ is replaced by the build. */
	.section .rodata

	.global embed_python_start
	.global embed_python_end
embed_python_start:
	.incbin "@PYTHON_ADAPTER@"
embed_python_end:

	.section .note.GNU-stack, "", %progbits
