/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/verify.h"

#include "base/limits.h"
#include "vm/builtins.h"
#include "vm/forms.h"

const char *const op_forms[I_N] = {
#define OP(id, form, effect, doc) [I_##id] = form,
#include "vm/ops.def"
#undef OP
};

const char *const op_names[I_N] = {
#define OP(id, ...) [I_##id] = #id,
#include "vm/ops.def"
#undef OP
};

/* Parameters of each row, by the commas of its signature; -1 for self's absence. */
#define METHOD(owner, id, ...)
#define ATTR(owner, id, ...)
#define FUNC(id, name, sig, ...) sig,
static const char *const func_sigs[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#define FUNC(id, ...)
#define METHOD(owner, id, name, sig, ...) { OWNER_##owner, sig },
static const struct {
	BuiltinOwner owner;
	const char *sig;
} method_sigs[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#undef ATTR

unsigned sig_count(const char *sig)
{
	unsigned n = 0;
	bool text = false, fresh = true;
	int depth = 0;

	for (const char *p = sig + 1; *p && (*p != ')' || text || depth); p++) {
		if (*p == '"' && p[-1] != '\\')
			text = !text;
		if (text)
			continue;
		depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
		bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';

		if (depth == 0 && *p == ',') {
			fresh = true;
		} else if (fresh && letter) {
			n++;
			fresh = false;
		}
	}
	return n;
}

unsigned func_params(BuiltinFunc id)
{
	return sig_count(func_sigs[id]);
}

unsigned method_params(BuiltinMethod id)
{
	bool bare = method_sigs[id].owner == OWNER_INT_TYPE || method_sigs[id].owner == OWNER_BYTES_TYPE;

	return sig_count(method_sigs[id].sig) + (bare ? 0 : 1);
}

/* How many registers the operand R or D at `letter` covers. */
static uint32_t window(const Program *p, Insn in)
{
	switch (in.op) {
	case I_DICT:
		return 2u * in.c;
	case I_LIST:
	case I_TUPLE:
	case I_SET:
	case I_CONCAT:
	case I_UNPACK:
		return in.c;
	case I_SLICE:
		return 3;
	case I_CALL:
		return p->fn[in.b].nparams;
	case I_CALLM:
		return 1u + p->msite[in.b].npos + p->msite[in.b].nkw;
	case I_LAYER:
		return p->lsite[in.b].n;
	case I_RESULT:
		return p->result[in.b].n;
	default:
		return in.x; /* CALLV CALLB CALLS LAMBDA OPTION */
	}
}

typedef struct Check {
	const Program *p;
	const ProgFn *fn;
	uint32_t at;
	Insn in;
	bool windows; /* second round: the tables that counts come from are known to be there */
} Check;

static const char *check_tables(const Check *c, char letter, uint32_t v)
{
	const Program *p = c->p;

	switch (letter) {
	case '-':
		return v ? "an unused operand is not 0" : NULL;
	case 'w':
		return v > IN_PLACE ? "unknown flags" : NULL;
	case 'd':
	case 'r':
	case 'm':
		return v >= c->fn->nslots ? "no such register" : NULL;
	case 'k':
		return insn_wide_of(c->in) >= p->nconst ? "no such constant" : NULL;
	case 'g':
		return v >= p->nglobals ? "no such module variable" : NULL;
	case 'f':
		return v >= p->nfn || p->fn[v].module ? "no such function" : NULL;
	case 'u':
		return v >= BI_N ? "no such built-in" : NULL;
	case 'v':
		return v >= M_N ? "no such method" : NULL;
	case 's':
		return v >= p->nmsite ? "no such method call" : NULL;
	case 'l':
		return v >= p->nlsite ? "no such layer call" : NULL;
	case 'a':
		return v >= p->nname ? "no such name" : NULL;
	case 't':
		return v >= p->nresult ? "no such result type" : NULL;
	case 'p':
		return v >= WIRE_N && v != WIRE_NONE ? "no such layer" : NULL;
	default:
		return NULL;
	}
}

static const char *check_option(Insn in)
{
	unsigned id = in.b >> 8, row = in.b & 0xff;

	if (id >= WIRE_N || !wire_proto((WireId)id)->options)
		return "a layer without options";
	const WireOption *o = wire_proto((WireId)id)->options;

	for (unsigned i = 0; i <= row; i++)
		if (!o[i].name)
			return "no such option";
	return o[row].len && in.x > o[row].args ? "too many numbers for an option" : NULL;
}

static const char *check_counts(const Check *c)
{
	Insn in = c->in;

	if (in.op == I_CALLB && in.x != func_params((BuiltinFunc)in.b))
		return "a built-in called with another number of arguments than it has";
	if (in.op == I_CALLS && in.x != method_params((BuiltinMethod)in.b))
		return "a method called with another number of arguments than it has";
	if (in.op == I_LAMBDA && in.x != c->p->fn[in.b].ncaptured)
		return "a lambda with another number of captured values";
	if (in.op == I_CALL && c->p->fn[in.b].ncaptured)
		return "a call of a lambda without its captured values";
	if ((in.op == I_METER || in.op == I_METERN) && in.x > c->p->nreflect)
		return "no such reflect()";
	if (in.op == I_TOLD && (in.x == 0 || in.c + (uint32_t)in.x > c->p->ntold))
		return "no such rows of what is told";
	if (in.op == I_OPTION)
		return check_option(in);
	if (in.op == I_ITER || in.op == I_FOR)
		return in.a + 3u > c->fn->nslots ? "an iterator outside the frame" : NULL;
	return NULL;
}

static const char *check_insn(Check *c)
{
	if (c->in.op >= I_N)
		return "no such instruction";
	const char *form = op_forms[c->in.op], *why;
	const uint32_t v[4] = { c->in.x, c->in.a, c->in.b, c->in.c };

	for (int i = 0; i < 4; i++) {
		why = check_tables(c, form[i], v[i]);
		if (why)
			return why;
	}
	if (form[3] == 'o') {
		int64_t to = (int64_t)c->at + 1 + insn_off(c->in);

		if (to < 0 || to >= c->fn->ncode)
			return "a jump out of the function";
	}
	for (int i = 0; i < 4; i++)
		if ((form[i] == 'R' || form[i] == 'D') && v[i] + window(c->p, c->in) > c->fn->nslots)
			return "registers outside the frame";
	return check_counts(c);
}

static const char *check_fn(const Program *p, const ProgFn *fn)
{
	if (fn->nslots > PROG_SLOTS_MAX || fn->nparams + fn->ncaptured > fn->nslots)
		return "a frame that is too small or too large";
	if (fn->module && (fn->nslots < p->nglobals || fn->nparams || fn->ncaptured))
		return "a module that does not hold the module variables";
	if (!fn->ncode)
		return "a function without code";
	uint8_t last = fn->code[fn->ncode - 1].op;

	if (last != I_RETURN && last != I_RETNONE && last != I_JMP)
		return "code that runs off its end";
	for (uint32_t i = 0; i < fn->ncode; i++) {
		Check c = { .p = p, .fn = fn, .at = i, .in = fn->code[i] };
		const char *why = check_insn(&c);

		if (why)
			return why;
	}
	return NULL;
}

static const char *check_sites(const Program *p)
{
	for (uint32_t i = 0; i < p->nmsite; i++) {
		const MethodSite *s = &p->msite[i];

		if (s->name >= p->nname || s->npos + s->nkw > 64)
			return "a method call without a name";
		for (uint32_t k = 0; k < s->nkw; k++)
			if (s->kw[k] >= p->nname)
				return "a keyword without a name";
	}
	for (uint32_t i = 0; i < p->nlsite; i++) {
		const LayerSite *s = &p->lsite[i];

		if (s->proto >= WIRE_N)
			return "no such layer";
		for (uint32_t k = 0; k < s->n; k++)
			if (s->field[k] >= wire_proto((WireId)s->proto)->nfields)
				return "no such field";
	}
	for (uint32_t i = 0; i < p->nconst; i++)
		if (p->konst[i].kind > K_PROTO ||
		    (p->konst[i].kind == K_PROTO && (uint64_t)p->konst[i].i >= WIRE_N))
			return "no such layer";
	return NULL;
}

const char *verify_program(const Program *p)
{
	const char *why = check_sites(p);

	if (why)
		return why;
	if (p->nglobals > PROG_SLOTS_MAX)
		return "too many module variables";
	for (uint32_t i = 0; i < p->nfn; i++) {
		why = check_fn(p, &p->fn[i]);
		if (why)
			return why;
	}
	for (uint32_t i = 0; i < p->nentry; i++)
		if (p->entry[i] >= p->nfn || !p->fn[p->entry[i]].module)
			return "an entry that is no module";
	return NULL;
}
