/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's functions of numbers, and random draws.
 */
#include "vm/py.h"

#include "base/rng.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_int(Value v)
{
	return v.tag == VAL_INT || v.tag == VAL_BOOL;
}

BUILTIN(abs)
{
	Value v = args[0];

	FIXED;
	if (v.tag == VAL_FLOAT) {
		*ret = val_float(fabs(v.f));
		return true;
	}
	if (!is_int(v) && v.tag != VAL_DURATION)
		return vm_fail_type(vm, "a number", v);
	if (v.tag == VAL_BOOL)
		v = val_int(v.i);
	if (v.i >= 0 || val_absent(v)) {
		*ret = v;
		return true;
	}
	return arith_unary(vm, I_NEG, v, ret);
}

BUILTIN(bool)
{
	(void)vm;
	FIXED;
	*ret = val_bool(val_truth(args[0]));
	return true;
}

BUILTIN(chr)
{
	Sbuf b = sbuf(vm);
	int64_t c;

	FIXED;
	if (!vm_to_size(vm, args[0], 0, 0x10ffff, "a code point", &c))
		return false;
	if (c >= 0xd800 && c < 0xe000)
		return vm_fail(vm, "E-VALUE", "surrogates are no characters");
	sbuf_cp(&b, (uint32_t)c);
	if (args[0].vf & VF_PEER)
		sbuf_mark(&b, 0);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

BUILTIN(ord)
{
	ObjStr *s = val_str(args[0]);
	uint32_t cp;

	FIXED;
	if (!val_is_text(args[0]))
		return vm_fail_type(vm, "str", args[0]);
	if (s->n_cp != 1)
		return vm_fail(vm, "E-VALUE", "one character expected, got %u", s->n_cp);
	cp = (uint8_t)s->p[0];
	if (s->h.tag == VAL_STR)
		utf8_decode(str_of(s), &cp);
	*ret = val_int(cp);
	ret->vf = s->n_marks ? VF_PEER : 0;
	return true;
}

BUILTIN(divmod)
{
	Value two[2];

	FIXED;
	if (!arith(vm, I_FLOOR, false, args[0], args[1], &two[0]) ||
	    !arith(vm, I_MOD, false, args[0], args[1], &two[1]))
		return false;
	*ret = tuple_of(vm, two, 2);
	return true;
}

BUILTIN(hex)
{
	char out[24];
	int64_t v;

	FIXED;
	if (!vm_to_int(vm, args[0], &v))
		return false;
	int len = snprintf(out, sizeof out, "%s0x%llx", v < 0 ? "-" : "",
			   (unsigned long long)(v < 0 ? 0 - (uint64_t)v : (uint64_t)v));

	*ret = vm_str(vm, (Str){ out, (size_t)len });
	return true;
}

/* ---- text to numbers ---- */

static Str stripped(Str s)
{
	while (s.n && isspace((unsigned char)s.p[0]))
		s.p++, s.n--;
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static int64_t take_prefix(Str *s, int64_t base)
{
	static const struct {
		char letter;
		int64_t base;
	} rows[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };

	for (size_t i = 0; i < 3; i++) {
		if (s->n > 2 && s->p[0] == '0' && (s->p[1] | 0x20) == rows[i].letter &&
		    (base == 0 || base == rows[i].base)) {
			s->p += 2;
			s->n -= 2;
			if (s->p[0] == '_')
				s->p++, s->n--;
			return rows[i].base;
		}
	}
	return base ? base : 10;
}

static bool fail_number(Vm *vm, Str s)
{
	return vm_fail(vm, "E-VALUE", "\"%.*s\" is no number", (int)(s.n < 60 ? s.n : 60), s.p);
}

bool text_to_int(Vm *vm, Str text, int64_t base, int64_t *ret)
{
	Str s = stripped(text);
	bool negative = s.n && s.p[0] == '-', digit = false;
	bool by_prefix = base == 0;
	int64_t v = 0;

	if (base != 0 && (base < 2 || base > 36))
		return vm_fail(vm, "E-VALUE", "a base is 0 or 2..36");
	if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
		s.p++, s.n--;
	base = take_prefix(&s, base);
	if (by_prefix && base == 10 && s.n > 1 && s.p[0] == '0' && digit_value(s.p[1]) < 10 && s.p[1] != '0')
		return fail_number(vm, text);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '_' && digit && i + 1 < s.n && s.p[i + 1] != '_')
			continue;
		int d = digit_value(s.p[i]);

		if (d >= base)
			return fail_number(vm, text);
		digit = true;
		/* Downwards, since there is one more negative number. */
		if (__builtin_mul_overflow(v, base, &v) || __builtin_sub_overflow(v, d, &v))
			return vm_fail(vm, "E-OVERFLOW", "the number does not fit 64 bits");
	}
	if (!digit)
		return fail_number(vm, text);
	if (!negative && v == INT64_MIN)
		return vm_fail(vm, "E-OVERFLOW", "the number does not fit 64 bits");
	*ret = negative ? v : -v;
	return true;
}

static bool int_of_float(Vm *vm, double f, Value *ret)
{
	if (isnan(f))
		return vm_fail(vm, "E-VALUE", "an absent number has no int");
	if (!(f >= -0x1p63 && f < 0x1p63))
		return vm_fail(vm, "E-OVERFLOW", "the number does not fit 64 bits");
	*ret = val_int((int64_t)f);
	return true;
}

BUILTIN(int)
{
	Value v = args[0];
	int64_t base, i;

	FIXED;
	if (v.tag == VAL_FLOAT)
		return int_of_float(vm, v.f, ret);
	if (is_int(v) || v.tag == VAL_FLAGS || v.tag == VAL_IP4 || v.tag == VAL_MAC) {
		*ret = val_int(v.i);
		ret->vf = v.vf & VF_PEER;
		return true;
	}
	if (v.tag == VAL_IP6)
		return vm_fail(vm, "E-OVERFLOW", "an IPv6 address does not fit 64 bits");
	if (!val_is_text(v))
		return vm_fail_type(vm, "a number", v);
	if (!vm_to_int(vm, args[1], &base) || !text_to_int(vm, str_of(val_str(v)), base, &i))
		return false;
	*ret = val_int(i);
	return true;
}

BUILTIN(float)
{
	char text[64], *end;
	Str s;
	double f;

	FIXED;
	if (args[0].tag != VAL_STR) {
		if (!vm_to_num(vm, args[0], &f))
			return false;
		*ret = val_float(f);
		return true;
	}
	s = stripped(str_of(val_str(args[0])));
	size_t len = 0;

	for (size_t i = 0; i < s.n; i++) {
		bool between = i && i + 1 < s.n && isdigit((unsigned char)s.p[i - 1]) &&
			       isdigit((unsigned char)s.p[i + 1]);

		if (s.p[i] == '_' && between)
			continue;
		if (len + 1 >= sizeof text || s.p[i] == '_' || (s.p[i] | 0x20) == 'x')
			return fail_number(vm, s);
		text[len++] = s.p[i];
	}
	text[len] = 0;
	f = strtod(text, &end);
	if (!len || *end || strchr(text, '('))
		return fail_number(vm, s);
	*ret = val_float(f);
	return true;
}

/* ---- round ---- */

static bool round_int(Vm *vm, int64_t v, int64_t digits, Value *ret)
{
	int64_t unit = 1, q, r;

	*ret = val_int(v);
	if (digits >= 0)
		return true;
	for (; digits < 0; digits++) {
		if (__builtin_mul_overflow(unit, 10, &unit)) {
			*ret = val_int(0);
			return true;
		}
	}
	if (!int_floor(vm, v, unit, &q, &r))
		return false;
	q += r > unit - r || (r == unit - r && q & 1);
	if (__builtin_mul_overflow(q, unit, &q))
		return vm_fail(vm, "E-OVERFLOW", "the result does not fit 64 bits");
	*ret = val_int(q);
	return true;
}

static Value round_float(double f, int64_t digits)
{
	char out[400];

	if (digits > 330 || !isfinite(f))
		return val_float(f);
	if (digits < -310)
		return val_float(copysign(0, f));
	if (digits < 0) {
		double unit = pow(10, (double)-digits);

		return val_float(nearbyint(f / unit) * unit);
	}
	/* printf rounds the exact value, which is what Python does too. */
	snprintf(out, sizeof out, "%.*f", (int)(digits < 30 ? digits : 30), f);
	return val_float(fabs(f) < 1e300 ? strtod(out, NULL) : f);
}

BUILTIN(round)
{
	int64_t digits = 0;
	bool given = val_given(args[1]) && args[1].tag != VAL_NONE;

	FIXED;
	if (given && !vm_to_int(vm, args[1], &digits))
		return false;
	if (is_int(args[0]))
		return round_int(vm, args[0].i, digits, ret);
	if (args[0].tag != VAL_FLOAT)
		return vm_fail_type(vm, "a number", args[0]);
	if (!given)
		return int_of_float(vm, nearbyint(args[0].f), ret);
	*ret = round_float(args[0].f, digits);
	return true;
}

/* ---- random ---- */

BUILTIN(randint)
{
	int64_t a, b;

	FIXED;
	if (!vm_to_int(vm, args[0], &a) || !vm_to_int(vm, args[1], &b))
		return false;
	if (a > b)
		return vm_fail(vm, "E-VALUE", "randint(%lld, %lld): the first is above the second", (long long)a,
			       (long long)b);
	*ret = val_int((int64_t)((uint64_t)a + rng_below(vm_draw(vm), (uint64_t)b - (uint64_t)a + 1)));
	return true;
}

/* One draw; the stream is a function of it. */
static Value drawn_bytes(Vm *vm, uint64_t draw, int64_t len)
{
	ObjStr *s = (ObjStr *)heap_obj(&vm->heap, VAL_BYTES, sizeof(ObjStr) + (size_t)len + 1);

	s->h.n = s->n_cp = (uint32_t)len;
	for (int64_t i = 0; i < len; i += 8) {
		uint64_t w = rng_mix(draw + (uint64_t)i);

		memcpy(s->p + i, &w, len - i < 8 ? (size_t)(len - i) : 8);
	}
	vm_charge(vm, (uint64_t)len / 32);
	return val_of(s);
}

BUILTIN(random_bytes)
{
	int64_t len;

	FIXED;
	if (!vm_to_size(vm, args[0], 0, 16 * 1024 * 1024, "the number of bytes", &len))
		return false;
	*ret = drawn_bytes(vm, vm_draw(vm), len);
	return true;
}

BUILTIN(fill)
{
	int64_t len;
	Ip dst;

	FIXED;
	if (!vm_to_ip(vm, args[0], &dst) || !vm_to_size(vm, args[1], 0, 65535, "the number of bytes", &len))
		return false;
	*ret = drawn_bytes(vm, rng_draw(vm->host.seed, bytes_hash(BYTES(dst.b, ip_len(dst))), 0), len);
	return true;
}
