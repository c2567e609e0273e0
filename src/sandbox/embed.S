/* Files carried inside the binary. @NAME@ is replaced by the build with the path. */
	.section .rodata

	.global embed_server_start
	.global embed_server_end
	.balign 16
embed_server_start:
	.incbin "@SERVER@"
embed_server_end:

	.global embed_warm_python_start
	.global embed_warm_python_end
embed_warm_python_start:
	.incbin "@PYTHON@"
embed_warm_python_end:

	.section .note.GNU-stack, "", %progbits
