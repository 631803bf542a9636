/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations at run time.  The VM reads a str as an address wherever one is due,
 * so most annotations need no code; but `x: ip = "10.0.0.1"` makes x an ip, whose
 * `+ 1` is the next address.
 */
#include "lang/decl.h"
#include "lang/lower_priv.h"

#include <math.h>
#include <stdlib.h>

static const struct {
	const char *type;
	BuiltinFunc fn;
} by_call[] = { { "ip", BI_ip }, { "net", BI_net }, { "mac", BI_mac } };

static Str type_name(const Node *type)
{
	return type && type->type.sym ? type->type.sym->text : (Str){ 0 };
}

static void convert_by(Fn *f, Str name, Reg r)
{
	Reg top = f->top, x;

	for (unsigned i = 0; i < sizeof by_call / sizeof by_call[0]; i++)
		if (str_is(name, by_call[i].type)) {
			x = reg_temp(f);
			code_emit(f, insn_abc(I_MOVE, 0, x, r, 0));
			code_emit(f, insn_abc(I_CALLB, 1, r, by_call[i].fn, x));
		}
	if (str_is(name, "duration")) { /* a number and a duration of 0: seconds */
		x = reg_temp(f);
		code_load_const(f, x, (Const){ .kind = K_DURATION, .i = 0 });
		code_emit(f, insn_abc(I_ADD, 0, r, r, x));
	}
	f->top = top;
}

void conv_emit(Fn *f, const Node *type, Reg r)
{
	Str name = type_name(type);
	Jumps none = { 0 };

	if (!str_is(name, "ip") && !str_is(name, "net") && !str_is(name, "mac") && !str_is(name, "duration"))
		return;
	code_jump(f, I_JNONE, r, 0, &none); /* T?, and a default of None */
	convert_by(f, name, r);
	code_land(f, &none);
}

static bool str_as(Str name, Str s, Const *ret)
{
	*ret = (Const){ .kind = K_IP };
	if (str_is(name, "ip"))
		return ip_parse(s, &ret->ip);
	ret->kind = K_NET;
	if (str_is(name, "net"))
		return net_parse(s, &ret->net);
	ret->kind = K_MAC;
	return str_is(name, "mac") && mac_parse(s, &ret->mac);
}

bool conv_literal(const Node *type, const Node *n, Const *ret)
{
	Str name = type_name(type);

	if (n->kind == N_STR)
		return str_as(name, n->s, ret);
	if (str_is(name, "float") && n->kind == N_INT) {
		*ret = (Const){ .kind = K_FLOAT, .f = (double)n->i };
		return true;
	}
	if (!str_is(name, "duration") || (n->kind != N_INT && n->kind != N_FLOAT))
		return false;
	*ret = (Const){ .kind = K_DURATION, .i = ns_from_s(n->kind == N_INT ? (double)n->i : n->f) };
	return ret->i != NS_NONE;
}

/* "20ms", "0.5" (seconds) */
static bool duration_text(Str s, int64_t *ret)
{
	char buf[40], *end;

	if (s.n == 0 || s.n >= sizeof buf)
		return false;
	memcpy(buf, s.p, s.n);
	buf[s.n] = 0;
	double v = strtod(buf, &end);
	Str suffix = str_c(end);
	const UnitRow *u = suffix.n ? unit_find(suffix) : unit_find(STR("s"));

	if (end == buf || !u || !u->is_time || !(fabs(v * (double)u->factor) < 9.2e18))
		return false;
	*ret = (int64_t)llrint(v * (double)u->factor);
	return true;
}

static bool int_text(Str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t v;

	if (!str_to_u64((Str){ s.p + minus, s.n - minus }, INT64_MAX, &v))
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

static bool float_text(Str s, double *ret)
{
	char buf[40], *end;

	if (s.n == 0 || s.n >= sizeof buf || s.p[0] == ' ')
		return false;
	memcpy(buf, s.p, s.n);
	buf[s.n] = 0;
	*ret = strtod(buf, &end);
	return *end == 0 && isfinite(*ret);
}

/* Without an annotation the default's type is meant. */
static Str type_of_default(const Node *dflt)
{
	static const char *const names[N_COUNT] = {
		[N_INT] = "int",
		[N_FLOAT] = "float",
		[N_BOOL] = "bool",
		[N_DURATION] = "duration",
	};

	return str_c(dflt && names[dflt->kind] ? names[dflt->kind] : "str");
}

bool lower_param_value(Arena *a, const Node *param, Str text, Const *ret)
{
	Str name = type_name(param->param.type);

	if (!name.n)
		name = type_of_default(param->param.value);
	if (str_as(name, text, ret))
		return true;
	if (str_is(name, "ip")) { /* a name: converted where it is loaded, by its pinned address */
		Target t;

		*ret = (Const){ .kind = K_STR, .s = { arena_copy(a, text.p, text.n), text.n } };
		return decl_target(a, text, &t) == NULL && t.name.n > 0;
	}
	*ret = (Const){ .kind = K_INT };
	if (str_is(name, "int"))
		return int_text(text, &ret->i);
	if (str_is(name, "bool")) {
		ret->i = str_is(text, "True");
		return ret->i || str_is(text, "False");
	}
	if (str_is(name, "float")) {
		ret->kind = K_FLOAT;
		return float_text(text, &ret->f);
	}
	if (str_is(name, "duration")) {
		ret->kind = K_DURATION;
		return duration_text(text, &ret->i);
	}
	ret->kind = str_is(name, "bytes") ? K_BYTES : K_STR;
	ret->s = (Str){ arena_copy(a, text.p, text.n), text.n };
	return !str_is(name, "net") && !str_is(name, "mac");
}
