/* SPDX-License-Identifier: Apache-2.0
 *
 * A test tool: reads programs in assembly from stdin and runs each, so that tests
 * in other languages reach the VM without the compiler.
 *
 *     const int 5 | float 0x1.8p+0 | str 6869 | bytes 6869 | dur 5000000
 *     name append
 *     site NAME NPOS KW...           a method call
 *     fn NSLOTS NPARAMS MODULE       instructions up to the next fn or run
 *     op ADD x a b c | opb len x a b c
 *     run
 *
 * With --stress the heap is collected at each safe point and spoils what it frees.
 * After each `run` one line: "ok HEX" of the output, or "E-CODE message".
 */
#include "vm/disasm.h"
#include "vm/forms.h"
#include "vm/vm.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 128 * 1024 * 1024, MOST = 4096 };

typedef struct Asm {
	Const konst[MOST];
	Str name[MOST];
	MethodSite site[MOST];
	Insn code[MOST];
	Span span[MOST];
	ProgFn fn[64];
	Program p;
	uint32_t n_code;
	Arena text;
	Sb out;
	bool stress;
} Asm;

static const uint16_t entry[] = { 0 };

static Str unhex(Asm *a, const char *hex)
{
	size_t n = strlen(hex) / 2;
	char *p = arena_alloc(&a->text, n + 1);

	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		p[i] = (char)strtol(two, NULL, 16);
	}
	return (Str){ p, n };
}

static void add_const(Asm *a, const char *kind, const char *text)
{
	Const *k = &a->konst[a->p.nconst++];

	if (strcmp(kind, "int") == 0)
		*k = (Const){ .kind = K_INT, .i = strtoll(text, NULL, 10) };
	else if (strcmp(kind, "dur") == 0)
		*k = (Const){ .kind = K_DURATION, .i = strtoll(text, NULL, 10) };
	else if (strcmp(kind, "float") == 0)
		*k = (Const){ .kind = K_FLOAT, .f = strtod(text, NULL) };
	else
		*k = (Const){ .kind = strcmp(kind, "str") == 0 ? K_STR : K_BYTES, .s = unhex(a, text) };
}

static void add_site(Asm *a, char *rest)
{
	MethodSite *s = &a->site[a->p.nmsite++];
	uint16_t *kw = arena_new_n(&a->text, uint16_t, 8);
	char *at = rest;

	s->name = (uint16_t)strtol(at, &at, 10);
	s->npos = (uint8_t)strtol(at, &at, 10);
	s->kw = kw;
	for (char *end; s->nkw < 8; at = end) {
		long v = strtol(at, &end, 10);

		if (end == at)
			break;
		kw[s->nkw++] = (uint16_t)v;
	}
}

static int op_by_name(const char *name)
{
	for (int i = 0; i < I_N; i++)
		if (strcmp(op_names[i], name) == 0)
			return i;
	return I_N;
}

static uint16_t func_by_name(const char *name)
{
#define METHOD(...)
#define ATTR(...)
#define FUNC(id, text, ...) text,
	static const char *const names[] = {
#include "vm/builtins.def"
	};
	for (uint16_t i = 0; i < BI_N; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return BI_N;
}

static void close_fn(Asm *a)
{
	if (a->p.nfn)
		a->fn[a->p.nfn - 1].ncode = (uint32_t)(a->code + a->n_code - a->fn[a->p.nfn - 1].code);
}

static void sink(void *ctx, Str text, const ProgTold *told, bool peer)
{
	(void)peer;
	(void)told;
	sb_str(&((Asm *)ctx)->out, text);
}

static void run(Asm *a, void *memory)
{
	VmHost host = { .ctx = a, .out = sink, .seed = 1, .output_limit = 1 << 20 };
	Arena arena;

	close_fn(a);
	arena_init(&arena, memory, MEMORY, NULL);
	a->p.konst = a->konst;
	a->p.name = a->name;
	a->p.msite = a->site;
	a->p.fn = a->fn;
	a->p.entry = entry;
	a->p.nentry = 1;
	a->out = sb(&a->text);
	Vm *vm = vm_new(&arena, &a->p, &host);

	vm_heap(vm)->stress = a->stress;
	if (a->stress)
		vm_heap(vm)->limit = 0;
	vm_run(vm);
	if (vm_error(vm)->set) {
		printf("%s %.*s\n", vm_error(vm)->code, STR_ARG(vm_error(vm)->message));
	} else {
		printf("ok ");
		for (size_t i = 0; i < a->out.n; i++)
			printf("%02x", (uint8_t)a->out.p[i]);
		printf("\n");
	}
}

static void line(Asm *a, char *text, void *memory)
{
	char word[64], rest[64];
	unsigned v[5];
	int at = 0;

	if (sscanf(text, "const %63s %n", word, &at) == 1) {
		text[strcspn(text, "\n")] = 0;
		add_const(a, word, text + at);
	} else if (sscanf(text, "name %63s", word) == 1) {
		a->name[a->p.nname++] = bytes_str(BYTES(arena_copy(&a->text, word, strlen(word)), strlen(word)));
	} else if (strncmp(text, "site ", 5) == 0) {
		add_site(a, text + 5);
	} else if (sscanf(text, "fn %u %u %u", &v[0], &v[1], &v[2]) == 3) {
		close_fn(a);
		a->fn[a->p.nfn++] = (ProgFn){ .name = STR("f"), .nslots = (uint16_t)v[0], .nparams = (uint16_t)v[1],
					      .module = v[2] != 0, .code = a->code + a->n_code, .span = a->span };
	} else if (sscanf(text, "op %63s %u %u %u %u", word, &v[1], &v[2], &v[3], &v[4]) == 5) {
		a->code[a->n_code++] = insn_abc((OpCode)op_by_name(word), v[1], v[2], v[3], v[4]);
	} else if (sscanf(text, "opb %63s %u %u %u", rest, &v[1], &v[2], &v[4]) == 4) {
		a->code[a->n_code++] = insn_abc(I_CALLB, v[1], v[2], func_by_name(rest), v[4]);
	} else if (strncmp(text, "run", 3) == 0) {
		run(a, memory);
		size_t cap = a->text.cap;

		memset(&a->p, 0, sizeof a->p);
		a->n_code = 0;
		arena_reset(&a->text, 0);
		a->text.cap = cap;
		memset(a->site, 0, sizeof a->site);
	}
}

int main(int argc, char **argv)
{
	static char text[1 << 20];
	void *memory = malloc(MEMORY), *names = malloc(MEMORY);
	Asm *a = calloc(1, sizeof *a);

	a->stress = argc > 1 && strcmp(argv[1], "--stress") == 0;
	arena_init(&a->text, names, MEMORY, NULL);
	while (fgets(text, sizeof text, stdin))
		line(a, text, memory);
	return 0;
}
