/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/disasm.h"

#include "base/escape.h"
#include "vm/forms.h"

#define METHOD(owner, id, ...)
#define ATTR(owner, id, ...)
#define FUNC(id, name, ...) name,
static const char *const func_names[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#define FUNC(id, ...)
#define METHOD(owner, id, name, ...) #owner "." name,
static const char *const method_names[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#undef ATTR

static void konst_text(const Const *k, Sb *out)
{
	char text[64];

	switch (k->kind) {
	case K_INT:
		sb_printf(out, "%lld", (long long)k->i);
		break;
	case K_FLOAT:
		sb_printf(out, "%.17g", k->f);
		break;
	case K_DURATION:
		duration_format(k->i, text);
		sb_cstr(out, text);
		break;
	case K_TIME:
		time_format(k->i, text);
		sb_cstr(out, text);
		break;
	case K_STR:
	case K_BYTES:
		sb_cstr(out, k->kind == K_STR ? "\"" : "b\"");
		escape_peer(out, str_bytes(k->s));
		sb_char(out, '"');
		break;
	case K_IP:
		ip_format(k->ip, text);
		sb_cstr(out, text);
		break;
	case K_NET:
		net_format(k->net, text);
		sb_cstr(out, text);
		break;
	case K_MAC:
		mac_format(k->mac, text);
		sb_cstr(out, text);
		break;
	case K_PROTO:
		sb_cstr(out, wire_proto((WireId)k->i)->name);
		break;
	}
}

static void name_text(const Program *p, uint32_t i, Sb *out)
{
	if (i < p->nname)
		sb_printf(out, " .%.*s", STR_ARG(p->name[i]));
}

static void operand(const Program *p, Insn in, char letter, uint32_t v, Sb *out)
{
	switch (letter) {
	case 'd':
	case 'r':
	case 'm':
	case 'R':
	case 'D':
		sb_printf(out, " r%u%s", v, letter == 'R' || letter == 'D' ? ".." : "");
		break;
	case 'n':
	case 'w':
		sb_printf(out, " %d", letter == 'n' && in.op == I_ADDI ? (int16_t)v : (int)v);
		break;
	case 'g':
		sb_printf(out, " g%u", v);
		break;
	case 'f':
		sb_printf(out, " %.*s", v < p->nfn ? (int)p->fn[v].name.n : 1, v < p->nfn ? p->fn[v].name.p : "?");
		break;
	case 'u':
		sb_printf(out, " %s", v < BI_N ? func_names[v] : "?");
		break;
	case 'v':
		sb_printf(out, " %s", v < M_N ? method_names[v] : "?");
		break;
	case 's':
		if (v < p->nmsite)
			name_text(p, p->msite[v].name, out);
		break;
	case 'a':
		name_text(p, v, out);
		break;
	case 'l':
		sb_printf(out, " %s", v < p->nlsite && p->lsite[v].proto < WIRE_N ?
					      wire_proto((WireId)p->lsite[v].proto)->name : "?");
		break;
	case 't':
		sb_printf(out, " %.*s", v < p->nresult ? (int)p->result[v].name.n : 1,
			  v < p->nresult ? p->result[v].name.p : "?");
		break;
	case 'p':
		sb_printf(out, " %s", v < WIRE_N ? wire_proto((WireId)v)->name : "outermost");
		break;
	case 'q':
		sb_printf(out, " option %u:%u", v >> 8, v & 0xff);
		break;
	default:
		break;
	}
}

void disasm_insn(const Program *p, const ProgFn *fn, uint32_t at, Sb *out)
{
	Insn in = fn->code[at];

	sb_printf(out, "%5u  ", at);
	if (in.op >= I_N) {
		sb_printf(out, "?%u", in.op);
		return;
	}
	const char *form = op_forms[in.op];
	const uint32_t v[4] = { in.x, in.a, in.b, in.c };
	static const int order[4] = { 1, 2, 3, 0 }; /* a, b, c, x */

	sb_printf(out, "%-8s", op_names[in.op]);
	for (int i = 0; i < 4; i++)
		operand(p, in, form[order[i]], v[order[i]], out);
	if (form[3] == 'o')
		sb_printf(out, " -> %lld", (long long)at + 1 + insn_off(in));
	if (form[2] == 'i')
		sb_printf(out, " %d", (int32_t)insn_wide_of(in));
	if (form[2] == 'k' && insn_wide_of(in) < p->nconst) {
		sb_char(out, ' ');
		konst_text(&p->konst[insn_wide_of(in)], out);
	}
}

void disasm_fn(const Program *p, const ProgFn *fn, Sb *out)
{
	sb_printf(out, "%s %.*s: %u parameters, %u captured, %u registers\n", fn->module ? "module" : "def",
		  STR_ARG(fn->name), fn->nparams, fn->ncaptured, fn->nslots);
	for (uint32_t i = 0; i < fn->ncode; i++) {
		disasm_insn(p, fn, i, out);
		sb_char(out, '\n');
	}
}

void disasm_program(const Program *p, Sb *out)
{
	for (uint32_t i = 0; i < p->nfn; i++)
		disasm_fn(p, &p->fn[i], out);
}
