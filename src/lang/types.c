/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/types.h"

#define KIND_NAME_(id, name, owner)  name,
#define KIND_OWNER_(id, name, owner) OWNER_##owner,
const char *const fact_kind_names[T_N] = { FACT_KINDS(KIND_NAME_) };
const BuiltinOwner fact_owners[T_N] = { FACT_KINDS(KIND_OWNER_) };

enum { TEXT_DEPTH = 4 };

static uint64_t len_add(uint64_t a, uint64_t b)
{
	return a > LEN_INF - b ? LEN_INF : a + b;
}

Len cell_len(const Cell *c)
{
	Len l = c->len;

	for (uint32_t i = 0; i < c->grows.n; i++)
		l.hi = len_add(l.hi, c->grows.p[i].add);
	if (c->shrinks)
		l.lo = 0;
	return l;
}

Len fact_len(const Fact *f)
{
	return f->cell ? cell_len(f->cell) : f->len;
}

void stack_text(const Stack *s, Sb *out)
{
	const char *sep = "";

	if (s->built) {
		for (unsigned i = 0; i < s->n; i++, sep = "/")
			sb_printf(out, "%s%s", sep, wire_proto(s->id[i])->name);
		return;
	}
	for (unsigned id = 0; id < WIRE_N; id++)
		if (s->must & WIRE_BIT(id)) {
			sb_printf(out, "%s%s", sep, wire_proto(id)->name);
			sep = "/";
		}
	if (!*sep)
		sb_cstr(out, "Packet");
}

static void text(const Fact *f, Sb *out, unsigned depth);

static void text_packet(const Fact *f, Sb *out)
{
	if (f->view != WIRE_NONE) {
		sb_cstr(out, wire_proto(f->view)->name);
		return;
	}
	if (f->n == 0 || f->n > 3) {
		sb_cstr(out, "Packet");
		return;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		if (i)
			sb_cstr(out, " or ");
		stack_text(f->stack[i], out);
	}
}

static void text_items(const Fact *f, Sb *out, unsigned depth)
{
	sb_cstr(out, "(");
	for (uint32_t i = 0; i < f->n; i++) {
		if (i)
			sb_cstr(out, ", ");
		text(f->item[i], out, depth);
	}
	sb_cstr(out, f->open ? ", ...)" : ")");
}

static void text_dict(const Fact *f, Sb *out, unsigned depth)
{
	const Cell *c = f->cell;

	if (c->record) {
		sb_cstr(out, "record {");
		for (uint32_t i = 0; i < c->field.n; i++)
			sb_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(c->field.p[i].name));
		sb_cstr(out, "}");
		return;
	}
	sb_cstr(out, "dict[");
	text(c->key, out, depth);
	sb_cstr(out, ", ");
	text(c->elem, out, depth);
	sb_cstr(out, "]");
}

static void text(const Fact *f, Sb *out, unsigned depth)
{
	if (depth-- == 0) {
		sb_cstr(out, "...");
		return;
	}
	switch ((FactKind)f->kind) {
	case T_PACKET:
		text_packet(f, out);
		break;
	case T_TUPLE:
		text_items(f, out, depth);
		break;
	case T_LIST:
	case T_SET:
		sb_cstr(out, fact_kind_names[f->kind]);
		if (f->cell->elem->kind != T_NEVER) {
			sb_cstr(out, "[");
			text(f->cell->elem, out, depth);
			sb_cstr(out, "]");
		}
		break;
	case T_DICT:
		text_dict(f, out, depth);
		break;
	case T_RESULT:
		sb_str(out, f->node->result.sym->text);
		break;
	case T_UNION:
		for (uint32_t i = 0; i < f->n; i++) {
			sb_cstr(out, i == 0 ? "" : i + 1 == f->n ? " or " : ", ");
			text(f->item[i], out, depth);
		}
		break;
	default:
		sb_cstr(out, fact_kind_names[f->kind]);
		break;
	}
	if (f->none && f->kind != T_NONE)
		sb_cstr(out, f->kind == T_UNION || (f->kind == T_PACKET && f->n > 1) ? " or None" : "?");
}

void fact_text(const Fact *f, Sb *out)
{
	text(f, out, TEXT_DEPTH);
}

Str fact_str(Arena *a, const Fact *f)
{
	Sb b = sb(a);

	fact_text(f, &b);
	return sb_done(&b);
}

Str fact_a(Arena *a, const Fact *f)
{
	Str s = fact_str(a, f);
	bool vowel = s.n && strchr("aeioAEIO", s.p[0]);

	if (f->kind == T_NONE || f->kind == T_BYTES || f->kind == T_FLAGS || (s.n && s.p[0] == '('))
		return s;
	return str_printf(a, "%s %.*s", vowel ? "an" : "a", STR_ARG(s));
}
