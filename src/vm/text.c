/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as text: str() and repr(), as Python prints them; addresses, durations,
 * times and flags stand bare everywhere.  Text of a peer keeps its marks.
 */
#include "vm/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANGE_SHOWN = 65536 };

/* Shortest digits that read back as f, in Python's repr form. */
void text_float(Sbuf *b, double f)
{
	char digits[40], out[48];
	int prec = 1;

	if (isnan(f)) {
		sbuf_char(b, '-');
		return;
	}
	if (isinf(f)) {
		sbuf_cstr(b, f < 0 ? "-inf" : "inf");
		return;
	}
	for (; prec < 17; prec++) {
		snprintf(digits, sizeof digits, "%.*e", prec - 1, f);
		if (strtod(digits, NULL) == f)
			break;
	}
	snprintf(digits, sizeof digits, "%.*e", prec - 1, f);
	int exp = atoi(strchr(digits, 'e') + 1);

	if (exp >= -4 && exp < 16) {
		int decimals = prec - 1 - exp;

		snprintf(out, sizeof out, "%.*f", decimals > 0 ? decimals : 1, f);
		sbuf_cstr(b, out);
		return;
	}
	*strchr(digits, 'e') = 0;
	sbuf_printf(b, "%se%c%02d", digits, exp < 0 ? '-' : '+', abs(exp));
}

static bool printable(uint32_t cp)
{
	if (cp < 0x7f)
		return cp >= 0x20;
	if (cp < 0xa1 || cp == 0xad || (cp >= 0x2000 && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202f) ||
	    (cp >= 0x205f && cp <= 0x206f))
		return false;
	return !((cp >= 0xd800 && cp < 0xf900) || cp == 0x3000 || cp == 0xfeff || (cp >= 0xfff0 && cp < 0x10000) ||
		 cp >= 0xe0000);
}

static void repr_cp(Sbuf *b, uint32_t cp, char quote)
{
	if (cp == '\n')
		sbuf_cstr(b, "\\n");
	else if (cp == '\r')
		sbuf_cstr(b, "\\r");
	else if (cp == '\t')
		sbuf_cstr(b, "\\t");
	else if (cp == '\\' || cp == (uint32_t)quote)
		sbuf_printf(b, "\\%c", (int)cp);
	else if (printable(cp))
		sbuf_cp(b, cp);
	else
		sbuf_printf(b, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
}

static char quote_for(const ObjStr *s)
{
	return memchr(s->p, '\'', s->h.n) && !memchr(s->p, '"', s->h.n) ? '"' : '\'';
}

/* For print: a piece that is a peer's as a whole is quoted by the printer, which
 * also escapes it; quotes of our own around would only confuse. */
static bool shown_bare(const Sbuf *b, const ObjStr *s)
{
	return b->show && s->n_marks == 1 && s->marks[0].from == 0 && s->marks[0].to == s->h.n;
}

void text_str_repr(Sbuf *b, const ObjStr *s)
{
	char quote = quote_for(s);
	bool bytes = s->h.tag == VAL_BYTES;

	if (bytes)
		sbuf_char(b, 'b');
	if (shown_bare(b, s)) {
		sbuf_obj(b, s);
		return;
	}
	sbuf_char(b, quote);
	for (size_t i = 0, n; i < s->h.n; i += n) {
		uint32_t cp = (uint8_t)s->p[i];
		size_t from = b->n;

		n = bytes || cp < 0x80 ? 1 : utf8_decode((Str){ s->p + i, s->h.n - i }, &cp);
		n = n ? n : 1;
		if (bytes && cp >= 0x7f)
			sbuf_printf(b, "\\x%02x", cp);
		else
			repr_cp(b, cp, quote);
		if (s->n_marks && str_marked_at(s, i))
			sbuf_mark(b, from);
	}
	sbuf_char(b, quote);
}

/* ---- containers ---- */

static void items(Sbuf *b, const Value *p, uint32_t n, int depth)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			sbuf_cstr(b, ", ");
		text_repr(b, p[i], depth);
	}
}

static void range_items(Sbuf *b, const ObjRange *r)
{
	int64_t n = r->count < RANGE_SHOWN ? r->count : RANGE_SHOWN;

	sbuf_char(b, '[');
	for (int64_t i = 0; i < n; i++)
		sbuf_printf(b, i ? ", %lld" : "%lld",
			    (long long)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step));
	if (n < r->count)
		sbuf_printf(b, ", ... (%lld more)", (long long)(r->count - n));
	sbuf_char(b, ']');
}

static void dict_items(Sbuf *b, const ObjDict *d, int depth)
{
	DictEntry *e;
	bool more = false;

	if (d->h.tag == VAL_SET && !d->h.n) {
		sbuf_cstr(b, "set()");
		return;
	}
	sbuf_char(b, '{');
	for (uint32_t at = 0; (e = dict_next(d, &at)); more = true) {
		if (more)
			sbuf_cstr(b, ", ");
		text_repr(b, e->k, depth);
		if (d->h.tag == VAL_DICT) {
			sbuf_cstr(b, ": ");
			text_repr(b, e->v, depth);
		}
	}
	sbuf_char(b, '}');
}

static void result_line(Sbuf *b, const ObjResult *r, int depth)
{
	sbuf_add(b, r->type->name);
	sbuf_char(b, '(');
	for (uint32_t i = 0; i < r->h.n; i++) {
		if (i)
			sbuf_cstr(b, ", ");
		sbuf_add(b, r->type->field[i].name);
		sbuf_char(b, '=');
		text_repr(b, r->p[i], depth);
	}
	sbuf_char(b, ')');
}

/* ---- network values ---- */

static void flags_text(Sbuf *b, Value v)
{
	Arena *a = vm_scratch(b->vm);
	size_t mark = arena_mark(a);
	Sb out = sb(a);

	if (v.vf & VF_FIELD) {
		wire_flags_text(&wire_proto((WireId)v.proto)->fields[v.field], (uint64_t)v.i, &out);
		sbuf_add(b, sb_done(&out));
	} else {
		sbuf_printf(b, "%lld", (long long)v.i);
	}
	arena_reset(a, mark);
}

static void address_text(Sbuf *b, Value v)
{
	char out[NET_TEXT];
	size_t n = val_is_ip(v)	      ? ip_format(val_ip(v), out)
		   : v.tag == VAL_MAC ? mac_format(val_to_mac(v), out)
				      : net_format(val_net(v), out);

	sbuf_add(b, (Str){ out, n });
}

/* MSS(1460), Timestamp(1, 0), router(10.0.0.1), Option(254, b'..') */
static void option_text(Sbuf *b, const ObjOption *o)
{
	Arena *a = vm_scratch(b->vm);
	size_t mark = arena_mark(a);
	Bytes data = BYTES(o->data, o->h.n);
	Sb numbers = sb(a);

	if (o->row)
		sbuf_printf(b, "%s(", o->row->name);
	else
		sbuf_printf(b, "Option(%u, ", o->kind);
	if (o->row && (!data.n || wire_option_numbers(o->proto, o->row, data, &numbers))) {
		sbuf_add(b, sb_done(&numbers));
	} else {
		ObjStr *s = val_str(o->h.bits & OP_RECEIVED ? vm_bytes_peer(b->vm, data) : vm_bytes(b->vm, data));

		text_str_repr(b, s);
	}
	sbuf_char(b, ')');
	arena_reset(a, mark);
}

/* wire's summary is Sonde's own words: it escapes what it quotes of the packet. */
static void packet_line(Sbuf *b, ObjPacket *p)
{
	Arena *a = vm_scratch(b->vm);
	size_t mark = arena_mark(a);
	Sb out = sb(a);
	WirePacket *w = arena_new(a, WirePacket);

	packet_view(b->vm, p, w);
	wire_summary(w, &out);
	sbuf_add(b, sb_done(&out));
	arena_reset(a, mark);
}

/* ---- all ---- */

static void number_text(Sbuf *b, Value v)
{
	char out[40];

	if (v.tag == VAL_DURATION)
		sbuf_add(b, (Str){ out, duration_format(v.i, out) });
	else if (v.tag == VAL_TIME)
		sbuf_add(b, (Str){ out, time_format(v.i, out) });
	else if (v.tag == VAL_FLOAT)
		text_float(b, v.f);
	else if (v.tag == VAL_BOOL)
		sbuf_cstr(b, v.i ? "True" : "False");
	else
		sbuf_printf(b, "%lld", (long long)v.i);
}

/* What the host says is numbers and words of its own. */
static void native_text(Sbuf *b, const ObjNative *o, bool whole)
{
	Vm *vm = b->vm;
	size_t mark = arena_mark(&vm->scratch);

	if (vm->host.native_text)
		sbuf_add(b, vm->host.native_text(vm->host.ctx, vm, o, whole));
	else
		sbuf_printf(b, "<%.*s>", STR_ARG(vm->result_type[o->owner].name));
	arena_reset(&vm->scratch, mark);
}

static void text_any(Sbuf *b, Value v, int depth)
{
	switch ((ValTag)v.tag) {
	case VAL_UNSET:
		sbuf_cstr(b, "nothing");
		break;
	case VAL_NONE:
		sbuf_cstr(b, "None");
		break;
	case VAL_BOOL:
	case VAL_INT:
	case VAL_FLOAT:
	case VAL_DURATION:
	case VAL_TIME:
		number_text(b, v);
		break;
	case VAL_FLAGS:
		flags_text(b, v);
		break;
	case VAL_IP4:
	case VAL_IP6:
	case VAL_NET4:
	case VAL_NET6:
	case VAL_MAC:
		address_text(b, v);
		break;
	case VAL_PROTO:
		sbuf_cstr(b, v.proto < WIRE_N ? wire_proto((WireId)v.proto)->name : "?");
		break;
	case VAL_STR:
	case VAL_BYTES:
		text_str_repr(b, val_str(v));
		break;
	case VAL_LIST:
		sbuf_char(b, '[');
		items(b, val_list(v)->p, v.o->n, depth);
		sbuf_char(b, ']');
		break;
	case VAL_TUPLE:
		sbuf_char(b, '(');
		items(b, val_tuple(v)->p, v.o->n, depth);
		sbuf_cstr(b, v.o->n == 1 ? ",)" : ")");
		break;
	case VAL_DICT:
	case VAL_SET:
		dict_items(b, val_dict(v), depth);
		break;
	case VAL_RANGE:
		range_items(b, val_range(v));
		break;
	case VAL_PACKET:
	case VAL_RECORD:
		packet_line(b, val_packet(v));
		break;
	case VAL_OPTION:
		option_text(b, val_option(v));
		break;
	case VAL_RESULT:
		result_line(b, val_result(v), depth);
		break;
	case VAL_NATIVE:
		native_text(b, val_native(v), false);
		break;
	default:
		sbuf_printf(b, "<%s>", val_type_name(v));
		break;
	}
}

void text_repr(Sbuf *b, Value v, int depth)
{
	bool nests = v.tag == VAL_LIST || v.tag == VAL_TUPLE || v.tag == VAL_DICT || v.tag == VAL_SET ||
		     v.tag == VAL_RESULT;
	size_t at = b->n;

	if (nests && depth <= 0)
		sbuf_cstr(b, "...");
	else
		text_any(b, v, depth - nests);
	vm_charge(b->vm, 1 + (b->n - at) / 32);
}

void text_str(Sbuf *b, Value v)
{
	if (v.tag == VAL_STR)
		sbuf_obj(b, val_str(v));
	else if (v.tag == VAL_NONE)
		sbuf_char(b, '-');
	else if (v.tag == VAL_RESULT)
		text_result(b, val_result(v));
	else if (v.tag == VAL_NATIVE)
		native_text(b, val_native(v), true);
	else
		text_repr(b, v, TEXT_DEPTH);
}

Value text_value(Vm *vm, Value v)
{
	Sbuf b = sbuf(vm);

	if (v.tag == VAL_STR)
		return v;
	text_str(&b, v);
	return sbuf_done(&b, VAL_STR);
}
