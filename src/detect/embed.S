/* Files carried inside the binary. @NAME@ is replaced by the build with the path. */
	.section .rodata

	.global embed_lsan_canary_start
	.global embed_lsan_canary_end
	.balign 16
embed_lsan_canary_start:
	.incbin "@LSAN_CANARY@"
embed_lsan_canary_end:

	.global embed_fault_start
	.global embed_fault_end
	.balign 16
embed_fault_start:
	.incbin "@FAULT@"
embed_fault_end:

	.global embed_mutants_start
	.global embed_mutants_end
	.balign 16
embed_mutants_start:
	.incbin "@MUTANTS@"
embed_mutants_end:

	.global embed_heap_start
	.global embed_heap_end
	.balign 16
embed_heap_start:
	.incbin "@HEAP@"
embed_heap_end:

	.global embed_go_cycles_start
	.global embed_go_cycles_end
embed_go_cycles_start:
	.incbin "@ADAPTERS@/go/cycles.go"
embed_go_cycles_end:

	.global embed_go_tickers_start
	.global embed_go_tickers_end
embed_go_tickers_start:
	.incbin "@ADAPTERS@/go/tickers.go"
embed_go_tickers_end:

	.global embed_go_time_start
	.global embed_go_time_end
embed_go_time_start:
	.incbin "@ADAPTERS@/go/time.go"
embed_go_time_end:

	.global embed_node_hook_start
	.global embed_node_hook_end
embed_node_hook_start:
	.incbin "@ADAPTERS@/node/hook.cjs"
embed_node_hook_end:

	.global embed_node_held_start
	.global embed_node_held_end
embed_node_held_start:
	.incbin "@ADAPTERS@/node/held.cjs"
embed_node_held_end:

	.global embed_node_runners_start
	.global embed_node_runners_end
embed_node_runners_start:
	.incbin "@ADAPTERS@/node/runners.cjs"
embed_node_runners_end:

	.global embed_node_stack_start
	.global embed_node_stack_end
embed_node_stack_start:
	.incbin "@ADAPTERS@/node/stack.cjs"
embed_node_stack_end:

	.global embed_node_track_start
	.global embed_node_track_end
embed_node_track_start:
	.incbin "@ADAPTERS@/node/track.cjs"
embed_node_track_end:

	.global embed_node_vitest_start
	.global embed_node_vitest_end
embed_node_vitest_start:
	.incbin "@ADAPTERS@/node/vitest.cjs"
embed_node_vitest_end:

	.section .note.GNU-stack, "", %progbits
