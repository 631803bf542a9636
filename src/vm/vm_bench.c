/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of the house's bar: ten million integer additions, as lowering writes
 *
 *     s = 0
 *     for i in range(10000000):
 *         s += i
 *
 * Prints seconds of processor time, as os.clock() of Lua does; tests/bench/vm.py compares
 * it with lua5.4 in the same run.  vm_bench [N]
 */
#include "vm/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INSN(op, x, a, b, c) { I_##op, x, a, b, c }

enum { MEMORY = 64 * 1024 * 1024, N = 10000000 };

static Insn code[] = {
	INSN(LOADI, 0, 0, 0, 0), /* s = 0 */
	INSN(LOADI, 0, 2, N & 0xffff, N >> 16),
	INSN(LOADUNSET, 0, 3, 0, 0),
	INSN(LOADI, 0, 4, 1, 0),
	INSN(CALLB, 3, 2, BI_range, 2),
	INSN(ITER, 0, 5, 2, 0),
	INSN(JMP, 0, 0, 0, 1),
	INSN(ADD, IN_PLACE, 0, 0, 1), /* s += i */
	INSN(FOR, 0xff, 5, 1, 0xfffe),
	INSN(RETURN, 0, 0, 0, 0),
};

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : N;
	Span span[sizeof code / sizeof code[0]] = { { 0, 0 } };
	ProgFn fn = { .name = STR("bench"), .module = true, .nslots = 8, .ncode = sizeof code / sizeof code[0],
		      .code = code, .span = span };
	const uint16_t entry = 0;
	Program p = { .nglobals = 2, .nfn = 1, .fn = &fn, .nentry = 1, .entry = &entry };
	VmHost host = { 0 };
	struct timespec a, b;
	Arena arena;

	code[1].b = (uint16_t)(n & 0xffff);
	code[1].c = (uint16_t)(n >> 16);
	arena_init(&arena, malloc(MEMORY), MEMORY, NULL);
	Vm *vm = vm_new(&arena, &p, &host);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	int exit_code = vm_run(vm);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	if (exit_code)
		printf("failed: %s\n", vm_error(vm)->message.p);
	printf("%.6f\n", (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	return exit_code;
}
