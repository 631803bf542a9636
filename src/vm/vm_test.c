/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/disasm.h"
#include "vm/inside.h"
#include "vm/verify.h"

#include <stdio.h>
#include <stdlib.h>

/* Programs by hand: one module whose code the test writes, and functions. */
enum { MEMORY = 24 * 1024 * 1024, CODE = 64, SLOTS = 16 };

typedef struct Rig {
	void *memory;
	Arena arena;
	Const konst[16];
	Str name[16];
	MethodSite msite[4];
	LayerSite lsite[4];
	ProgFn fn[4];
	Insn code[4][CODE];
	Span span[CODE];
	Program p;
	Vm *vm;
	VmHost host;
	char out[65536]; /* plain text as it is, a peer's between < and > */
	size_t out_n;
	char json[2048];
	ProgTold told; /* of the last piece */
	uint32_t line;
	unsigned polls;
} Rig;

static const uint16_t first_fn[] = { 0 };

static void sink(void *ctx, Str text, const ProgTold *told, bool peer)
{
	Rig *g = ctx;

	g->told = *told;
	assert_true(g->out_n + text.n + 2 < sizeof g->out);
	if (peer)
		g->out[g->out_n++] = '<';
	memcpy(g->out + g->out_n, text.p, text.n);
	g->out_n += text.n;
	if (peer)
		g->out[g->out_n++] = '>';
	g->out[g->out_n] = 0;
}

static void result(void *ctx, uint32_t line, Str type, Str json, const ProgTold *told)
{
	Rig *g = ctx;

	(void)told;
	g->line = line;
	snprintf(g->json, sizeof g->json, "%.*s %.*s", STR_ARG(type), STR_ARG(json));
}

static int setup(void **state)
{
	Rig *g = calloc(1, sizeof *g);

	g->memory = malloc(MEMORY);
	for (unsigned i = 0; i < 4; i++)
		g->fn[i] = (ProgFn){ .name = STR("f"), .module = i == 0, .nslots = SLOTS, .code = g->code[i],
				     .span = g->span };
	for (uint32_t i = 0; i < CODE; i++)
		g->span[i] = (Span){ i * 10, i * 10 + 5 };
	g->p = (Program){ .source = STR("one\ntwo\nthree\n"), .nglobals = 4, .nfn = 1, .fn = g->fn,
			  .konst = g->konst, .name = g->name, .msite = g->msite, .lsite = g->lsite, .nentry = 1,
			  .entry = first_fn };
	g->host = (VmHost){ .ctx = g, .seed = 7, .out = sink, .result = result };
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	Rig *g = *state;

	free(g->memory);
	free(g);
	return 0;
}

static void put(Rig *g, unsigned fn, Insn in)
{
	g->code[fn][g->fn[fn].ncode++] = in;
}

#define PUT(g, op, x, a, b, c) put((g), 0, insn_abc(I_##op, (x), (a), (b), (c)))

static unsigned konst(Rig *g, Const k)
{
	g->konst[g->p.nconst] = k;
	return g->p.nconst++;
}

#define K_TEXT(lit) ((Const){ .kind = K_STR, .s = STR(lit) })

static void load(Rig *g, unsigned reg, Const k)
{
	put(g, 0, insn_wide(I_LOADK, reg, konst(g, k)));
}

static void fresh(Rig *g)
{
	arena_init(&g->arena, g->memory, MEMORY, NULL);
	g->vm = vm_new(&g->arena, &g->p, &g->host);
}

/* print(R[a]) */
static void print(Rig *g, unsigned a)
{
	PUT(g, TUPLE, 0, 10, a, 1);
	load(g, 11, K_TEXT(" "));
	load(g, 12, K_TEXT("\n"));
	PUT(g, LOADBOOL, 0, 13, 0, 0);
	PUT(g, CALLB, 4, 14, BI_print, 10);
}

static int run(Rig *g)
{
	PUT(g, RETNONE, 0, 0, 0, 0);
	fresh(g);
	return vm_run(g->vm);
}

static void assert_fails(Rig *g, const char *code, const char *words)
{
	assert_int_equal(run(g), 1);
	assert_string_equal(vm_error(g->vm)->code, code);
	assert_non_null(strstr(vm_error(g->vm)->message.p, words));
}

/* ---- running ---- */

static void test_loop_adds(void **state)
{
	Rig *g = *state;

	PUT(g, LOADI, 0, 0, 0, 0);
	PUT(g, LOADI, 0, 4, 100, 0);
	PUT(g, LOADUNSET, 0, 5, 0, 0);
	PUT(g, LOADI, 0, 6, 1, 0);
	PUT(g, CALLB, 3, 4, BI_range, 4);
	PUT(g, ITER, 0, 5, 4, 0);
	put(g, 0, insn_jump(I_JMP, 0, 0, 1));
	PUT(g, ADD, IN_PLACE, 0, 0, 1);
	put(g, 0, insn_jump(I_FOR, 5, 1, -2));
	print(g, 0);
	assert_int_equal(run(g), 0);
	assert_string_equal(g->out, "4950\n");
}

static void test_overflow_is_an_error_with_a_place(void **state)
{
	Rig *g = *state;

	load(g, 0, (Const){ .kind = K_INT, .i = INT64_MAX });
	PUT(g, ADDI, 0, 1, 0, 1);
	assert_fails(g, "E-OVERFLOW", "64 bits");
	assert_int_equal(vm_error(g->vm)->span.from, 10);
}

static void test_functions_and_globals(void **state)
{
	Rig *g = *state;

	g->p.nfn = 2;
	g->fn[1].nparams = 1;
	put(g, 1, insn_abc(I_GLOAD, 0, 1, 2, 0));
	put(g, 1, insn_abc(I_MUL, 0, 2, 0, 1));
	put(g, 1, insn_abc(I_RETURN, 0, 2, 0, 0));
	PUT(g, LOADI, 0, 2, 6, 0); /* global 2 */
	PUT(g, LOADI, 0, 5, 7, 0);
	PUT(g, CALL, 0, 6, 1, 5);
	print(g, 6);
	assert_int_equal(run(g), 0);
	assert_string_equal(g->out, "42\n");
}

static void test_unset_global_is_an_error(void **state)
{
	Rig *g = *state;

	g->p.nfn = 2;
	put(g, 1, insn_abc(I_GLOAD, 0, 1, 2, 0));
	put(g, 1, insn_abc(I_RETNONE, 0, 0, 0, 0));
	PUT(g, CALL, 0, 6, 1, 5);
	assert_fails(g, "E-UNSET", "no value yet");
}

static void test_error_in_lib_is_shown_at_the_call(void **state)
{
	Rig *g = *state;

	g->p.nfn = 2;
	g->fn[1].lib = true;
	put(g, 1, insn_abc(I_LOADI, 0, 1, 0, 0));
	put(g, 1, insn_abc(I_MOD, 0, 1, 1, 1));
	put(g, 1, insn_abc(I_RETNONE, 0, 0, 0, 0));
	PUT(g, LOADNONE, 0, 0, 0, 0);
	PUT(g, LOADNONE, 0, 0, 0, 0);
	PUT(g, LOADNONE, 0, 0, 0, 0);
	PUT(g, CALL, 0, 6, 1, 5);
	assert_fails(g, "E-ZERO", "zero");
	assert_int_equal(vm_error(g->vm)->span.from, 30);
}

static void test_recursion_is_bounded(void **state)
{
	Rig *g = *state;

	g->p.nfn = 2;
	put(g, 1, insn_abc(I_CALL, 0, 1, 1, 1));
	put(g, 1, insn_abc(I_RETNONE, 0, 0, 0, 0));
	PUT(g, CALL, 0, 6, 1, 5);
	assert_fails(g, "E-DEPTH", "calls");
}

static bool poll(void *ctx, Vm *vm)
{
	(void)vm;
	((Rig *)ctx)->polls++;
	return true;
}

static void test_endless_loop_spends_its_fuel(void **state)
{
	Rig *g = *state;

	g->host.fuel = 1000000;
	g->host.safe_point = poll;
	put(g, 0, insn_jump(I_JMP, 0, 0, -1));
	assert_fails(g, "E-FUEL", "too long");
	assert_in_range(g->polls, 10, 20);
	assert_in_range(vm_fuel_used(g->vm), 1000000, 1000100);
}

static bool stop(void *ctx, Vm *vm)
{
	(void)ctx;
	return vm_stop(vm, 4, "E-BUDGET", "the budget is spent");
}

static void test_host_stops_a_run(void **state)
{
	Rig *g = *state;

	g->host.safe_point = stop;
	put(g, 0, insn_jump(I_JMP, 0, 0, -1));
	assert_int_equal(run(g), 4);
	assert_string_equal(vm_error(g->vm)->code, "E-BUDGET");
}

static void test_bulk_operations_cost_by_size(void **state)
{
	Rig *g = *state;

	g->host.fuel = 200000;
	load(g, 0, K_TEXT("0123456789abcdef"));
	PUT(g, LOADI, 0, 1, 0x4000, 0);
	put(g, 0, insn_abc(I_MUL, 0, 2, 0, 1));
	put(g, 0, insn_jump(I_JMP, 0, 0, -2));
	assert_fails(g, "E-FUEL", "too long");
	assert_true(vm_heap(g->vm)->live < MEMORY / 2);
}

static void test_memory_ends_as_an_error(void **state)
{
	Rig *g = *state;

	load(g, 0, K_TEXT("0123456789abcdef"));
	PUT(g, LIST, 0, 1, 0, 1);
	PUT(g, MUL, IN_PLACE, 0, 0, 2);
	g->code[0][2] = insn_abc(I_ADD, 0, 0, 0, 0); /* doubles for ever */
	PUT(g, PUSH, 0, 1, 0, 0);
	put(g, 0, insn_jump(I_JMP, 0, 0, -3));
	assert_fails(g, "E-MEMORY", "memory spent");
	assert_null(g->arena.full);
}

static void test_garbage_is_collected(void **state)
{
	Rig *g = *state;

	g->host.fuel = 3000000;
	load(g, 0, K_TEXT("0123456789abcdef"));
	PUT(g, LOADI, 0, 1, 1000, 0);
	PUT(g, MUL, 0, 2, 0, 1);
	put(g, 0, insn_jump(I_JMP, 0, 0, -2));
	assert_fails(g, "E-FUEL", "too long");
	assert_true(vm_heap(g->vm)->collections > 3);
	assert_true(g->arena.used < MEMORY);
}

static void test_collection_keeps_what_is_reachable(void **state)
{
	Rig *g = *state;

	fresh(g);
	Vm *vm = g->vm;
	ObjList *l = vm_list(vm, 0);
	ObjDict *d = dict_make(vm, VAL_DICT);

	vm->frame[0] = (Frame){ .fn = &g->fn[0], .pc = g->code[0] };
	vm->n_frames = 1;
	vm->heap.stress = true;
	vm->stack[3] = val_of(l);
	for (int i = 0; i < 1000; i++)
		vm_push(vm, l, vm_pair(vm, val_int(i), vm_str(vm, STR("text of an item"))));
	assert_true(dict_put(vm, d, vm_str(vm, STR("k")), val_of(l)));
	vm->stack[4] = val_of(d);
	vm->stack[3] = val_none();
	size_t live = vm->heap.live;

	vm_str(vm, STR("garbage"));
	vm_collect(vm);
	assert_int_equal(vm->heap.live, live);
	Value item = val_tuple(l->p[999])->p[1];

	assert_string_equal(val_str(item)->p, "text of an item");
	vm->stack[4] = val_none();
	vm_collect(vm);
	assert_true(vm->heap.live < live / 2);
}

/* A list that holds itself and deep nesting: neither marking nor printing recurses. */
static void test_deep_and_cyclic_values(void **state)
{
	Rig *g = *state;

	fresh(g);
	Vm *vm = g->vm;
	ObjList *l = vm_list(vm, 1);
	Value v = val_of(l);

	vm_push(vm, l, v);
	for (int i = 0; i < 100000; i++)
		v = list_of(vm, &v, 1);
	vm->frame[0] = (Frame){ .fn = &g->fn[0], .pc = g->code[0] };
	vm->n_frames = 1;
	vm->stack[0] = v;
	vm_collect(vm);
	assert_int_equal(val_list(v)->h.n, 1);
	Value text = text_value(vm, v);

	assert_string_equal(val_str(text)->p, "[[[[[[[[[[[[[[[[...]]]]]]]]]]]]]]]]");
	assert_false(val_eq(v, val_list(v)->p[0]));
}

/* ---- functions as arguments, draws ---- */

static void test_sorted_by_a_lambda_that_captures(void **state)
{
	Rig *g = *state;

	g->p.nfn = 2;
	g->fn[1].nparams = 1;
	g->fn[1].ncaptured = 1;
	put(g, 1, insn_abc(I_MUL, 0, 2, 0, 1));
	put(g, 1, insn_abc(I_RETURN, 0, 2, 0, 0));
	PUT(g, LOADI, 0, 0, 3, 0);
	PUT(g, LOADI, 0, 1, 1, 0);
	PUT(g, LOADI, 0, 2, 2, 0);
	PUT(g, LIST, 0, 4, 0, 3);
	PUT(g, LOADI, 0, 3, 0xffff, 0xffff);
	PUT(g, LAMBDA, 1, 5, 1, 3);
	PUT(g, LOADBOOL, 0, 6, 0, 0);
	PUT(g, CALLB, 3, 7, BI_sorted, 4);
	print(g, 7);
	assert_int_equal(run(g), 0);
	assert_string_equal(g->out, "[3, 2, 1]\n");
}

static void test_draws_depend_on_seed_and_site_only(void **state)
{
	Rig *g = *state;
	char first[64];

	PUT(g, LOADI, 0, 0, 0, 0);
	PUT(g, LOADI, 0, 1, 0x4240, 0xf);
	PUT(g, CALLB, 2, 2, BI_randint, 0);
	PUT(g, CALLB, 2, 3, BI_randint, 0);
	PUT(g, LIST, 0, 4, 2, 2);
	print(g, 4);
	assert_int_equal(run(g), 0);
	assert_true(g->out_n < sizeof first);
	memcpy(first, g->out, g->out_n + 1);
	g->out_n = 0;
	fresh(g);
	assert_int_equal(vm_run(g->vm), 0);
	assert_string_equal(g->out, first);
	g->host.seed = 8;
	g->out_n = 0;
	fresh(g);
	assert_int_equal(vm_run(g->vm), 0);
	assert_string_not_equal(g->out, first);
}

/* ---- output ---- */

static Value printed(Vm *vm, Value v)
{
	Value args[4] = { tuple_of(vm, &v, 1), vm_str(vm, STR(" ")), vm_str(vm, STR("\n")), val_bool(false) }, ret;

	assert_true(vm_row_func(vm, BI_print)(vm, args, 4, &ret));
	return ret;
}

static void assert_prints(Rig *g, Value v, const char *want)
{
	g->out_n = 0;
	printed(g->vm, v);
	assert_string_equal(g->out, want);
}

static void test_text_of_a_peer_is_quoted(void **state)
{
	Rig *g = *state;

	fresh(g);
	Vm *vm = g->vm;
	Value peer = vm_str_peer(vm, STR("a\"\x1b[2J\n"));
	Value bytes = vm_bytes_peer(vm, BYTES("\0ab", 3));

	assert_prints(g, peer, "<\"a\\\"\\x1b[2J\\n\">\n");
	assert_prints(g, bytes, "b<\"\\x00ab\">\n");
	assert_prints(g, list_of(vm, &peer, 1), "[<\"a\\\"\\x1b[2J\\n\">]\n");
	assert_prints(g, vm_str(vm, STR("mine")), "mine\n");
}

/* Every way to make text of text keeps the marks. */
static void test_marks_go_with_the_text(void **state)
{
	Rig *g = *state;
	Value v, b, args[6], list;
	bool yes;

	fresh(g);
	Vm *vm = g->vm;
	Value peer = vm_str_peer(vm, STR("evil")), mine = vm_str(vm, STR("my "));

	assert_true(arith(vm, I_ADD, false, mine, peer, &v));
	assert_prints(g, v, "my <\"evil\">\n");
	assert_true(val_slice(vm, v, (Value[3]){ val_int(2), val_int(5), val_none() }, &b));
	assert_prints(g, b, " <\"ev\">\n");
	assert_true(val_slice(vm, v, (Value[3]){ val_none(), val_none(), val_int(-1) }, &b));
	assert_prints(g, b, "<\"live\"> ym\n");
	memcpy(args, (Value[]){ v }, sizeof(Value));
	assert_true(vm_row_method(vm, M_STR_upper)(vm, args, 1, &b));
	assert_prints(g, b, "MY <\"EVIL\">\n");
	memcpy(args, ((Value[]){ mine, vm_str(vm, STR("y")), peer, val_int(-1) }), 4 * sizeof(Value));
	assert_true(vm_row_method(vm, M_STR_replace)(vm, args, 4, &b));
	assert_prints(g, b, "m<\"evil\"> \n");
	list = list_of(vm, (Value[]){ mine, peer }, 2);
	memcpy(args, ((Value[]){ peer, list }), 2 * sizeof(Value));
	assert_true(vm_row_method(vm, M_STR_join)(vm, args, 2, &b));
	assert_prints(g, b, "my <\"evilevil\">\n");
	assert_true(format_value(vm, peer, 0, vm_str(vm, STR(">6")), &b));
	assert_prints(g, b, "  <\"evil\">\n");
	/* Numbers out of a peer's bytes make marked text again, through arithmetic too. */
	assert_true(val_index(vm, vm_bytes_peer(vm, BYTES("A", 1)), val_int(0), &b));
	assert_true(arith(vm, I_ADD, false, b, val_int(1), &b));
	assert_true(vm_row_func(vm, BI_chr)(vm, &b, 1, &v));
	assert_prints(g, v, "<\"B\">\n");
	assert_true(val_in(vm, vm_str(vm, STR("vi")), peer, &yes));
	assert_true(yes);
	assert_prints(g, val_int(65), "65\n");
}

static void test_pieces_of_peers_are_cut(void **state)
{
	Rig *g = *state;
	char big[LIMIT_PEER_PIECE + 100];

	fresh(g);
	memset(big, 'x', sizeof big);
	printed(g->vm, vm_str_peer(g->vm, (Str){ big, sizeof big }));
	assert_non_null(strstr(g->out, "\"> (+100 bytes)\n"));
	for (int i = 0; i < 40; i++)
		printed(g->vm, vm_str_peer(g->vm, (Str){ big, sizeof big }));
	assert_int_equal(g->vm->peer_n, LIMIT_PEER_TOTAL);
}

static void test_output_is_cut_at_its_limit(void **state)
{
	Rig *g = *state;

	g->host.output_limit = 10;
	fresh(g);
	printed(g->vm, vm_str(g->vm, STR("12345678\xc3\xa9\xc3\xa9")));
	printed(g->vm, vm_str(g->vm, STR("more")));
	assert_string_equal(g->out, "12345678\xc3\xa9");
	assert_int_equal(vm_output_cut(g->vm), 3 + 5);
}

static void test_results_print_and_report(void **state)
{
	Rig *g = *state;
	Value ret, values;

	fresh(g);
	Vm *vm = g->vm;

	values = list_of(vm, (Value[]){ val_duration(3 * NS_PER_MS), val_duration(NS_NONE), val_duration(NS_PER_MS) }, 3);
	assert_true(vm_row_func(vm, BI_summarize)(vm, &values, 1, &ret));
	assert_prints(g, ret,
		      "Stats  n 2  min 1.000 ms  avg 2.000 ms  median 2.000 ms  p95 3.000 ms  p99 3.000 ms  max 3.000 ms\n"
		      "  stdev 1.414 ms\n");
	assert_non_null(strstr(g->json, "Stats {\"n\":2,\"min\":0.001000000,"));
	values = val_of(vm_list(vm, 0));
	assert_true(vm_row_func(vm, BI_summarize)(vm, &values, 1, &ret));
	printed(vm, ret);
	assert_non_null(strstr(g->json, "\"n\":0,\"min\":null"));
}

/* ---- the verifier ---- */

static void test_verifier_refuses(void **state)
{
	static const struct {
		Insn in;
		const char *why;
	} rows[] = {
		{ { I_MOVE, 0, SLOTS, 0, 0 }, "no such register" },
		{ { I_MOVE, 0, 0, 0, 1 }, "an unused operand is not 0" },
		{ { I_LOADK, 0, 0, 0, 0 }, "no such constant" },
		{ { I_GLOAD, 0, 0, 4, 0 }, "no such module variable" },
		{ { I_JMP, 0, 0, 0, 100 }, "a jump out of the function" },
		{ { I_JMP, 0xff, 0, 0, 0xfffe }, "a jump out of the function" },
		{ { I_LIST, 0, 0, SLOTS - 1, 2 }, "registers outside the frame" },
		{ { I_SLICE, 0, 0, 0, SLOTS - 2 }, "registers outside the frame" },
		{ { I_UNPACK, 0, SLOTS - 1, 0, 2 }, "registers outside the frame" },
		{ { I_ITER, 0, SLOTS - 2, 0, 0 }, "an iterator outside the frame" },
		{ { I_CALL, 0, 0, 0, 0 }, "no such function" },
		{ { I_CALLB, 1, 0, BI_print, 0 }, "a built-in called with another number of arguments than it has" },
		{ { I_CALLB, 0, 0, BI_N, 0 }, "no such built-in" },
		{ { I_CALLM, 0, 0, 0, 0 }, "no such method call" },
		{ { I_LAYER, 0, 0, 0, 0 }, "no such layer call" },
		{ { I_OPTION, 9, 0, WIRE_TCP << 8 | 2, 0 }, "too many numbers for an option" },
		{ { I_OPTION, 0, 0, WIRE_TCP << 8 | 200, 0 }, "no such option" },
		{ { I_OPTION, 0, 0, WIRE_UDP << 8, 0 }, "a layer without options" },
		{ { I_SETATTR, WIRE_N, 0, 0, 0 }, "no such layer" },
		{ { I_N, 0, 0, 0, 0 }, "no such instruction" },
	};
	Rig *g = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		g->fn[0].ncode = 0;
		put(g, 0, rows[i].in);
		PUT(g, RETNONE, 0, 0, 0, 0);
		const char *why = verify_program(&g->p);

		assert_non_null(why);
		assert_string_equal(why, rows[i].why);
	}
	g->fn[0].ncode = 0;
	PUT(g, LOADNONE, 0, 0, 0, 0);
	assert_string_equal(verify_program(&g->p), "code that runs off its end");
	PUT(g, RETNONE, 0, 0, 0, 0);
	assert_null(verify_program(&g->p));
	g->fn[0].nslots = 3;
	assert_string_equal(verify_program(&g->p), "a module that does not hold the module variables");
}

/* A register that holds an object is no iterator's position. */
static void test_forged_iterator_is_refused(void **state)
{
	Rig *g = *state;

	load(g, 0, K_TEXT("abc"));
	PUT(g, LIST, 0, 5, 0, 1);
	PUT(g, MOVE, 0, 6, 0, 0);
	PUT(g, MOVE, 0, 7, 0, 0);
	put(g, 0, insn_jump(I_FOR, 5, 1, 0));
	assert_fails(g, "E-TYPE", "iterator");
}

static void test_disassembly(void **state)
{
	Rig *g = *state;

	load(g, 1, K_TEXT("hi"));
	PUT(g, ADDI, 0, 2, 1, 0xffff);
	put(g, 0, insn_jump(I_JF, 2, 0, -2));
	PUT(g, CALLB, 1, 3, BI_len, 1);
	PUT(g, RETNONE, 0, 0, 0, 0);
	arena_init(&g->arena, g->memory, MEMORY, NULL);
	Sb out = sb(&g->arena);

	disasm_fn(&g->p, &g->fn[0], &out);
	assert_string_equal(sb_done(&out).p, "module f: 0 parameters, 0 captured, 16 registers\n"
					     "    0  LOADK    r1 \"hi\"\n"
					     "    1  ADDI     r2 r1 -1\n"
					     "    2  JF       r2 -> 1\n"
					     "    3  CALLB    r3 len r1.. 1\n"
					     "    4  RETNONE \n");
}

/* Each row of builtins.def without a network stands in py.h; live objects have one. */
static void test_all_pure_builtins_are_there(void **state)
{
	Rig *g = *state;

	fresh(g);
	for (int i = 0; i < M_N; i++) {
		const BuiltinRow *row = builtin_method_row((BuiltinMethod)i);

		if (row->owner < OWNER_ANSWERS && row->effect == EFFECT_NONE && !vm_row_method(g->vm, (BuiltinMethod)i))
			fail_msg("no %s", row->name);
	}
	for (int i = 0; i < A_N; i++) {
		BuiltinOwner o = builtin_attr_row((BuiltinAttr)i)->owner;

		if (o < OWNER_ANSWERS && !vm_row_attr(g->vm, (BuiltinAttr)i))
			fail_msg("no %s", builtin_attr_row((BuiltinAttr)i)->name);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_loop_adds),
		TEST(test_overflow_is_an_error_with_a_place),
		TEST(test_functions_and_globals),
		TEST(test_unset_global_is_an_error),
		TEST(test_error_in_lib_is_shown_at_the_call),
		TEST(test_recursion_is_bounded),
		TEST(test_endless_loop_spends_its_fuel),
		TEST(test_host_stops_a_run),
		TEST(test_bulk_operations_cost_by_size),
		TEST(test_memory_ends_as_an_error),
		TEST(test_garbage_is_collected),
		TEST(test_collection_keeps_what_is_reachable),
		TEST(test_deep_and_cyclic_values),
		TEST(test_sorted_by_a_lambda_that_captures),
		TEST(test_draws_depend_on_seed_and_site_only),
		TEST(test_text_of_a_peer_is_quoted),
		TEST(test_marks_go_with_the_text),
		TEST(test_pieces_of_peers_are_cut),
		TEST(test_output_is_cut_at_its_limit),
		TEST(test_results_print_and_report),
		TEST(test_verifier_refuses),
		TEST(test_forged_iterator_is_refused),
		TEST(test_disassembly),
		TEST(test_all_pure_builtins_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
