/* SPDX-License-Identifier: Apache-2.0
 *
 * Verifier and VM on programs made of random bytes.
 *
 * First byte, bit 0: instructions as they are (the verifier refuses most), else
 * operands are brought into range first, so that the VM runs them; bit 1: the heap
 * is collected at each safe point and spoils what it frees.  Whatever happens, the
 * run ends, inside its memory.
 */
#include "vm/disasm.h"
#include "vm/forms.h"
#include "vm/verify.h"
#include "vm/vm.h"

#include <stdlib.h>

enum { MEMORY = 12 * 1024 * 1024, SLOTS = 24, GLOBALS = 6, FNS = 3, CODE = 128, SITES = 2 * WIRE_N, FUEL = 3000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define METHOD(owner, id, name, ...) STR(name),
#define ATTR(owner, id, name, ...) STR(name),
#define FUNC(...)
static const Str names[] = {
#include "vm/builtins.def"
	STR("flags"), STR("sport"), STR("dport"), STR("options"), STR("qd"), STR("an"), STR("load"), STR("type"),
};
#undef FUNC
#undef METHOD
#undef ATTR

enum { NAMES = sizeof names / sizeof names[0] };

static const Const consts[] = {
	{ .kind = K_INT, .i = 3 },
	{ .kind = K_INT, .i = INT64_MAX },
	{ .kind = K_INT, .i = -7 },
	{ .kind = K_FLOAT, .f = 2.5 },
	{ .kind = K_FLOAT, .f = 0.0 },
	{ .kind = K_DURATION, .i = 5 * NS_PER_MS },
	{ .kind = K_DURATION, .i = NS_NONE },
	{ .kind = K_TIME, .i = 1700000000 * NS_PER_S },
	{ .kind = K_STR, .s = { "abc,d\xc3\xa9", 7 } },
	{ .kind = K_STR, .s = { "10.0.0.1", 8 } },
	{ .kind = K_STR, .s = { "MSS", 3 } },
	{ .kind = K_STR, .s = { "S", 1 } },
	{ .kind = K_STR, .s = { "<HB4s", 5 } },
	{ .kind = K_STR, .s = { ">8.2f", 5 } },
	{ .kind = K_STR, .s = { "", 0 } },
	{ .kind = K_BYTES, .s = { "\0\xff" "ab", 4 } },
	{ .kind = K_IP, .ip = { .v = 4, .b = { 10, 0, 0, 2 } } },
	{ .kind = K_IP, .ip = { .v = 6, .b = { 0x20, 1 } } },
	{ .kind = K_NET, .net = { .ip = { .v = 4, .b = { 10 } }, .bits = 30 } },
	{ .kind = K_MAC, .mac = { { 2, 0, 0, 0, 0, 1 } } },
	{ .kind = K_PROTO, .i = WIRE_IP },
	{ .kind = K_PROTO, .i = WIRE_TCP },
	{ .kind = K_PROTO, .i = WIRE_RAW },
	{ .kind = K_PROTO, .i = WIRE_DNS },
};

enum { CONSTS = sizeof consts / sizeof consts[0] };

static const ResultField fields[] = { { STR("a"), STR("int"), 0 }, { STR("b"), STR("list[int]"), 0 } };
static const ResultType results[] = { { STR("Two"), 2, 0, fields }, { STR("Pair"), 2, 2, fields } };

typedef struct Gen {
	Cursor c;
	Program p;
	ProgFn fn[FNS];
	Insn code[FNS][CODE];
	Span span[CODE];
	MethodSite msite[SITES];
	LayerSite lsite[SITES];
	uint16_t kw[2];
	uint8_t field[SITES][4];
} Gen;

static void make_sites(Gen *g)
{
	for (unsigned i = 0; i < SITES; i++) {
		const WireProto *proto = wire_proto((WireId)(i % WIRE_N));

		g->msite[i] = (MethodSite){ .name = (uint16_t)((cur_be16(&g->c) + i * 11) % NAMES), .npos = (uint8_t)((cur_u8(&g->c) + i) % 4),
					    .nkw = cur_u8(&g->c) % 8 == 0, .kw = g->kw };
		g->lsite[i] = (LayerSite){ .proto = (uint8_t)proto->id, .n = i < WIRE_N ? 0 : 2,
					   .field = g->field[i] };
		for (int k = 0; k < 2; k++)
			g->field[i][k] = (uint8_t)((cur_u8(&g->c) + i + (unsigned)k) % proto->nfields);
	}
}

/* So that most instructions find values that they take: registers hold constants
 * of all kinds, containers and packets before the random part begins. */
static uint32_t prelude(Insn *to, bool module)
{
	static const Insn rest[] = {
		{ I_LIST, 0, 17, 0, 3 },    { I_DICT, 0, 18, 8, 2 },   { I_SET, 0, 19, 2, 2 },
		{ I_TUPLE, 0, 20, 8, 2 },   { I_LAYER, 0, 21, WIRE_IP, 0 }, { I_LAYER, 0, 22, WIRE_TCP, 0 },
		{ I_DIV, 0, 21, 21, 22 },   { I_DIV, 0, 21, 21, 15 },  { I_LAYER, 0, 22, WIRE_DNS, 0 },
		{ I_LIST, 0, 22, 21, 2 },   { I_LAMBDA, 1, 23, 2, 0 }, { I_RESULT, 0, 16, 0, 0 },
	};
	uint32_t n = 0;

	if (!module)
		return 0;
	for (unsigned r = 0; r < 17; r++)
		to[n++] = insn_wide(I_LOADK, r, r);
	memcpy(to + n, rest, sizeof rest);
	/* Layers of the prelude take no fields: their sites have none (make_sites). */
	return n + (uint32_t)(sizeof rest / sizeof rest[0]);
}

/* An operand in the range that its letter allows. */
static uint16_t repaired(char letter, uint16_t v)
{
	switch (letter) {
	case '-':
		return 0;
	case 'd':
	case 'r':
	case 'm':
		return v % SLOTS;
	case 'R':
	case 'D':
		return v % (SLOTS - 8);
	case 'w':
		return v & 1;
	case 'g':
		return v % GLOBALS;
	case 'f':
		return (uint16_t)(1 + v % (FNS - 1));
	case 'u':
		return v % BI_N;
	case 'v':
		return v % M_N;
	case 's':
	case 'l':
		return v % SITES;
	case 'a':
		return v % NAMES;
	case 't':
		return v & 1;
	case 'p':
		return v % 3 ? WIRE_NONE : v % WIRE_N;
	case 'q':
		return (uint16_t)(WIRE_TCP << 8 | v % 12);
	default:
		return v;
	}
}

static Insn repair(Insn in, uint32_t at, uint32_t n)
{
	in.op = in.op % I_N;
	const char *form = op_forms[in.op];

	in.x = (uint8_t)repaired(form[0], in.x);
	in.a = repaired(form[1], in.a);
	in.b = repaired(form[2], in.b);
	in.c = repaired(form[3], in.c);
	if (form[3] == 'o')
		return insn_jump((OpCode)in.op, in.a, in.b, (int32_t)(in.c % n) - (int32_t)at - 1);
	if (form[2] == 'k')
		return insn_wide((OpCode)in.op, in.a, in.b % CONSTS);
	if (form[3] == 'n' && in.op != I_ADDI)
		in.c %= 5;
	if (in.op == I_CALLB)
		in.x = (uint8_t)func_params((BuiltinFunc)in.b);
	else if (in.op == I_CALLS)
		in.x = (uint8_t)method_params((BuiltinMethod)in.b);
	else if (in.op == I_LAMBDA)
		in.b = 2, in.x = 1;
	else if (in.op == I_CALL)
		in.b = 1;
	else if (form[0] == 'n' && in.op != I_FORMAT)
		in.x %= 4;
	if (in.op == I_ITER || in.op == I_FOR)
		in.a %= SLOTS - 3;
	return in;
}

static void make_code(Gen *g, bool raw)
{
	static const uint16_t params[FNS] = { 0, 2, 1 }, captured[FNS] = { 0, 0, 1 };

	for (unsigned f = 0; f < FNS; f++) {
		uint32_t n = 1 + (uint32_t)(cur_left(&g->c) / (8 * (FNS - f)));

		n += f == 0 ? 32 : 0;
		n = n < CODE ? n : CODE - 1;
		uint32_t from = prelude(g->code[f], f == 0);

		n = n > from ? n : from;
		for (uint32_t i = from; i < n; i++) {
			Insn in = { cur_u8(&g->c), cur_u8(&g->c), cur_be16(&g->c), cur_be16(&g->c), cur_be16(&g->c) };

			g->code[f][i] = raw ? in : repair(in, i, n + 1);
		}
		g->code[f][n] = insn_abc(I_RETURN, 0, cur_u8(&g->c) % SLOTS, 0, 0);
		g->fn[f] = (ProgFn){ .name = STR("f"), .module = f == 0, .nparams = params[f], .ncaptured = captured[f],
				     .nslots = SLOTS, .ncode = n + 1, .code = g->code[f], .span = g->span };
	}
}

static void sink(void *ctx, Str text, const ProgTold *told, bool peer)
{
	(void)told;
	*(size_t *)ctx += text.n + peer;
}

static void result(void *ctx, uint32_t line, Str type, Str json, const ProgTold *told)
{
	(void)told;
	(void)type;
	*(size_t *)ctx += json.n + line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static void *memory;
	static Gen g;
	static const uint16_t entry[] = { 0 };
	size_t out = 0;
	Arena arena;
	VmHost host = { .ctx = &out, .seed = 1, .fuel = FUEL, .out = sink, .result = result };

	if (!memory)
		memory = malloc(MEMORY);
	if (n < 2)
		return 0;
	g = (Gen){ .c = cursor(BYTES(data + 1, n - 1)) };
	make_code(&g, data[0] & 1);
	make_sites(&g); /* of what is left: code matters more */
	g.p = (Program){ .nglobals = GLOBALS, .nfn = FNS, .nconst = CONSTS, .nname = NAMES, .nmsite = SITES,
			 .nlsite = SITES, .nresult = 2, .nentry = 1, .fn = g.fn, .konst = consts, .name = names,
			 .msite = g.msite, .lsite = g.lsite, .result = results, .entry = entry };
	arena_init(&arena, memory, MEMORY, NULL);
	if (data[0] & 4) {
		Sb text = sb(&arena);

		disasm_program(&g.p, &text);
	}
	Vm *vm = vm_new(&arena, &g.p, &host);

	if (data[0] & 2) {
		vm_heap(vm)->stress = true;
		vm_heap(vm)->limit = 0;
	}
	vm_run(vm);
	return 0;
}
