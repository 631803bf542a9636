/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of methods: read once from builtins.def's texts, then used to put
 * the arguments of a call in order.  Which signature holds is known only when the
 * receiver is, so lowering can't do it for methods as it does for functions.
 */
#include "vm/inside.h"

#include <ctype.h>
#include <stdlib.h>

enum { SIG_PARAMS_MAX = 8 };

typedef struct Reader {
	const char *p;
	Vm *vm;
} Reader;

static void blanks(Reader *r)
{
	while (*r->p == ' ')
		r->p++;
}

static bool take(Reader *r, const char *z)
{
	blanks(r);
	if (strncmp(r->p, z, strlen(z)) != 0)
		return false;
	r->p += strlen(z);
	return true;
}

/* "..." with the escapes that the table uses. */
static Value read_text(Reader *r, ValTag tag)
{
	char out[32];
	size_t n = 0;

	for (r->p++; *r->p && *r->p != '"' && n < sizeof out; r->p++) {
		if (*r->p == '\\' && r->p[1]) {
			r->p++;
			out[n++] = *r->p == 'n' ? '\n' : *r->p;
		} else {
			out[n++] = *r->p;
		}
	}
	r->p += *r->p == '"';
	return val_of(str_make(r->vm, tag, (Str){ out, n }));
}

static Value read_number(Reader *r)
{
	char *end, *end_f;
	long long i = strtoll(r->p, &end, 0);
	double f = strtod(r->p, &end_f);
	bool whole = end >= end_f;

	r->p = whole ? end : end_f;
	return whole ? val_int(i) : val_float(f);
}

static Value read_default(Reader *r)
{
	if (take(r, "..."))
		return val_unset();
	if (take(r, "None"))
		return val_none();
	if (take(r, "True"))
		return val_bool(true);
	if (take(r, "False"))
		return val_bool(false);
	if (take(r, "b\"")) {
		r->p--;
		return read_text(r, VAL_BYTES);
	}
	if (*r->p == '"')
		return read_text(r, VAL_STR);
	return read_number(r);
}

/* The type's text, up to `=`, `,` or `)` outside brackets. */
static void skip_type(Reader *r)
{
	for (int depth = 0; *r->p; r->p++) {
		if (depth == 0 && strchr("=,)", *r->p))
			return;
		depth += *r->p == '[' ? 1 : *r->p == ']' ? -1 : 0;
	}
}

static bool read_param(Reader *r, SigParam *p, bool *kw_only)
{
	*p = (SigParam){ .dflt = val_unset() };
	if (take(r, "**"))
		p->more = true;
	else if (take(r, "*")) {
		*kw_only = true;
		p->rest = true;
		blanks(r);
		if (*r->p == ',')
			return false; /* a bare star */
	}
	p->kw_only = *kw_only && !p->rest && !p->more;
	blanks(r);
	p->name.p = r->p;
	while (isalnum((unsigned char)*r->p) || *r->p == '_')
		r->p++;
	p->name.n = (size_t)(r->p - p->name.p);
	p->pos_only = take(r, "/");
	if (take(r, ":"))
		skip_type(r);
	if (take(r, "=")) {
		p->has_dflt = true;
		p->dflt = read_default(r);
	}
	return true;
}

static Sig read_sig(Vm *vm, const char *text)
{
	SigParam p[SIG_PARAMS_MAX];
	Reader r = { text, vm };
	Sig s = { 0 };
	bool kw_only = false;

	take(&r, "(");
	while (s.n < SIG_PARAMS_MAX && !take(&r, ")") && *r.p) {
		if (read_param(&r, &p[s.n], &kw_only)) {
			s.rest |= p[s.n].rest;
			s.more |= p[s.n].more;
			s.n++;
		}
		take(&r, ",");
	}
	s.p = arena_copy(vm->a, p, s.n * sizeof *p);
	return s;
}

const Sig *sig_tables(Arena *a, Vm *vm)
{
	Sig *s = arena_new_n(a, Sig, M_N);

	for (unsigned i = 0; i < M_N; i++)
		s[i] = read_sig(vm, builtin_method_row((BuiltinMethod)i)->sig);
	return s;
}

static int param_named(const Sig *s, Str name)
{
	for (int i = 0; i < s->n; i++)
		if (str_eq(s->p[i].name, name) && !s->p[i].rest && !s->p[i].more)
			return i;
	return -1;
}

static bool bind_keywords(Vm *vm, const Sig *s, const char *fn, const MethodSite *site, const Value *in, Value *out,
			  uint32_t *given)
{
	for (uint32_t k = 0; k < site->nkw; k++) {
		Str name = vm->prog->name[site->kw[k]];
		int at = param_named(s, name);

		if (at < 0)
			return vm_fail(vm, "E-NAME", "%s() has no argument %.*s", fn, STR_ARG(name));
		if (*given >> at & 1)
			return vm_fail(vm, "E-NAME", "%s() got %.*s twice", fn, STR_ARG(name));
		*given |= 1u << at;
		out[at] = in[site->npos + k];
	}
	return true;
}

/* Methods take no `*rest`; builtins.def has it for functions only. */
bool sig_bind(Vm *vm, const Sig *s, const char *fn, const MethodSite *site, const Value *in, Value *out)
{
	uint32_t given = 0;

	for (uint32_t i = 0; i < site->npos; i++) {
		if (i >= s->n || s->p[i].kw_only)
			return vm_fail(vm, "E-NAME", "%s() takes at most %u arguments, got %u", fn, i, site->npos);
		out[i] = in[i];
		given |= 1u << i;
	}
	if (!bind_keywords(vm, s, fn, site, in, out, &given))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		if (given >> i & 1)
			continue;
		if (!s->p[i].has_dflt)
			return vm_fail(vm, "E-NAME", "%s() needs an argument %.*s", fn, STR_ARG(s->p[i].name));
		out[i] = s->p[i].dflt;
	}
	return true;
}
