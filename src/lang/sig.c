/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/sig.h"

#include "base/vec.h"

#include <stdlib.h>

/* ---- rows ---- */

#define ROW_LABEL(l) LABEL_##l
#define FUNC(id, name, sig, label, effect, doc)                                                              \
	{ name, sig, OWNER_NONE, ROW_LABEL(label), EFFECT_##effect, doc },
#define METHOD(owner, ...)
#define ATTR(owner, ...)
const BuiltinRow builtin_funcs[BI_N] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD

#define FUNC(id, ...)
#define METHOD(owner, id, name, sig, label, effect, doc)                                                     \
	{ name, sig, OWNER_##owner, ROW_LABEL(label), EFFECT_##effect, doc },
const BuiltinRow builtin_methods[M_N] = {
#include "vm/builtins.def"
};
#undef METHOD
#undef ATTR

#define METHOD(owner, ...)
#define ATTR(owner, id, name, type, label, doc)                                                              \
	{ name, type, OWNER_##owner, ROW_LABEL(label), EFFECT_NONE, doc },
const BuiltinRow builtin_attrs[A_N] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#undef ATTR

#define OWNER_NAME_(id, name) name,
const char *const builtin_owner_names[OWNER_N] = { BUILTIN_OWNERS(OWNER_NAME_) };

static int row_find(const BuiltinRow *row, int n, BuiltinOwner owner, Str name)
{
	for (int i = 0; i < n; i++)
		if (row[i].owner == owner && str_is(name, row[i].name))
			return i;
	return -1;
}

int builtin_func(Str name)
{
	return row_find(builtin_funcs, BI_N, OWNER_NONE, name);
}

int builtin_method(BuiltinOwner owner, Str name)
{
	return row_find(builtin_methods, M_N, owner, name);
}

int builtin_attr(BuiltinOwner owner, Str name)
{
	return row_find(builtin_attrs, A_N, owner, name);
}

/* ---- a reader of signatures ---- */

typedef struct Read {
	Arena *a;
	Str text;
	size_t at;
	bool bad;
} Read;

static char peek(Read *r)
{
	while (r->at < r->text.n && r->text.p[r->at] == ' ')
		r->at++;
	return r->at < r->text.n ? r->text.p[r->at] : '\0';
}

static bool take(Read *r, const char *z)
{
	size_t n = strlen(z);

	peek(r);
	if (r->text.n - r->at < n || memcmp(r->text.p + r->at, z, n) != 0)
		return false;
	r->at += n;
	return true;
}

static void want(Read *r, const char *z)
{
	if (!take(r, z))
		r->bad = true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static Str word(Read *r)
{
	peek(r);
	size_t from = r->at;

	while (r->at < r->text.n && is_word(r->text.p[r->at]))
		r->at++;
	if (r->at == from)
		r->bad = true;
	return (Str){ r->text.p + from, r->at - from };
}

static const SigType *type(Read *r);

static const SigType *type_one(Read *r)
{
	SigType *t = arena_new(r->a, SigType);

	t->name = word(r);
	if (take(r, "[")) {
		do {
			if (take(r, "...")) {
				t->open = true;
				break;
			}
			if (t->n == 4) {
				r->bad = true;
				break;
			}
			t->arg[t->n++] = type(r);
		} while (!r->bad && take(r, ","));
		want(r, "]");
	}
	t->optional = take(r, "?");
	return t;
}

static const SigType *type(Read *r)
{
	const SigType *first = type_one(r);
	SigType *any = NULL;

	while (!r->bad && take(r, "|")) {
		if (!any || any->n == 4) {
			SigType *up = arena_new(r->a, SigType);

			up->name = STR("|");
			up->arg[up->n++] = any ? any : first;
			any = up;
		}
		any->arg[any->n++] = type_one(r);
	}
	return any ? any : first;
}

static Str literal(Read *r)
{
	Sb b = sb(r->a);

	want(r, "\"");
	while (!r->bad && r->at < r->text.n && r->text.p[r->at] != '"') {
		char c = r->text.p[r->at++];

		if (c == '\\' && r->at < r->text.n) {
			c = r->text.p[r->at++];
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		sb_char(&b, c);
	}
	want(r, "\"");
	return sb_done(&b);
}

static void number(Read *r, SigParam *p)
{
	char text[32];
	size_t n = 0;
	bool is_float = false;

	peek(r);
	while (r->at < r->text.n && n < sizeof text - 1 && strchr("+-.0123456789", r->text.p[r->at])) {
		is_float |= r->text.p[r->at] == '.';
		text[n++] = r->text.p[r->at++];
	}
	text[n] = '\0';
	if (n == 0)
		r->bad = true;
	p->dflt = is_float ? SIG_FLOAT : SIG_INT;
	p->f = strtod(text, NULL);
	p->i = (int64_t)p->f;
}

static void deflt(Read *r, SigParam *p)
{
	if (take(r, "...")) {
		p->dflt = SIG_UNSET;
	} else if (take(r, "None")) {
		p->dflt = SIG_NONE;
	} else if (take(r, "True") || take(r, "False")) {
		p->dflt = SIG_BOOL;
		p->i = r->text.p[r->at - 2] == 'u'; /* Tr-u-e, Fal-s-e */
	} else if (take(r, "b\"")) {
		r->at--;
		p->dflt = SIG_BYTES;
		p->s = literal(r);
	} else if (peek(r) == '"') {
		p->dflt = SIG_STR;
		p->s = literal(r);
	} else {
		number(r, p);
	}
}

static SigParam param(Read *r, bool by_keyword)
{
	SigParam p = { .by_keyword_only = by_keyword };

	p.kwstar = take(r, "**");
	p.star = !p.kwstar && take(r, "*");
	p.name = word(r);
	p.by_position_only = take(r, "/");
	if (take(r, ":"))
		p.type = type(r);
	if (take(r, "="))
		deflt(r, &p);
	return p;
}

const Sig *sig_parse(Arena *a, Str text)
{
	Read r = { .a = a, .text = text };
	VEC(SigParam) v = { 0 };
	bool by_keyword = false;
	Sig *s = arena_new(a, Sig);

	want(&r, "(");
	while (!r.bad && peek(&r) != ')') {
		if (take(&r, "*,")) {
			by_keyword = true;
			continue;
		}
		SigParam *p = vec_push(a, &v, param(&r, by_keyword));

		by_keyword |= p->star;
		if (!take(&r, ","))
			break;
	}
	want(&r, ")");
	want(&r, "->");
	if (r.bad)
		return NULL;
	s->ret = type(&r);
	s->param = v.p;
	s->n = v.n;
	return r.bad || peek(&r) ? NULL : s;
}

const SigType *sig_type_parse(Arena *a, Str text)
{
	Read r = { .a = a, .text = text };
	const SigType *t = type(&r);

	return r.bad || peek(&r) ? NULL : t;
}

/* ---- cache ---- */

void sigs_init(Sigs *s, Arena *a)
{
	*s = (Sigs){ .a = a };
}

const Sig *sig_func(Sigs *s, BuiltinFunc f)
{
	if (!s->func[f])
		s->func[f] = sig_parse(s->a, str_c(builtin_funcs[f].sig));
	return s->func[f];
}

const Sig *sig_method(Sigs *s, BuiltinMethod m)
{
	if (!s->method[m])
		s->method[m] = sig_parse(s->a, str_c(builtin_methods[m].sig));
	return s->method[m];
}

const SigType *sig_attr(Sigs *s, BuiltinAttr at)
{
	if (!s->attr[at])
		s->attr[at] = sig_type_parse(s->a, str_c(builtin_attrs[at].sig));
	return s->attr[at];
}

int sig_param(const Sig *s, Str name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (str_eq(s->param[i].name, name) && !s->param[i].by_position_only && !s->param[i].star &&
		    !s->param[i].kwstar)
			return (int)i;
	return -1;
}
