/* SPDX-License-Identifier: Apache-2.0
 *
 * Constant arguments of declarations, each with one meaning only (guardrails.md 3).
 */
#include "lang/decl_priv.h"

#include "base/hostname.h"
#include "base/punycode.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"

Diag *decl_error(DeclReader *r, Span s, const char *fmt, ...)
{
	char text[LIMIT_DIAG_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return diag_add(r->d, "E-DECL", s, "%s", text);
}

const Node *arg_named(const Node *call, const char *name)
{
	for (uint32_t i = 0; i < call->call.n; i++)
		if (call->call.arg[i].name && str_is(call->call.arg[i].name->text, name))
			return call->call.arg[i].value;
	return NULL;
}

/* 64 * 1024, -1 */
static bool const_int(const Node *n, int64_t *ret)
{
	int64_t a, b;

	if (n->kind == N_INT) {
		*ret = n->i;
		return true;
	}
	if (n->kind == N_UNARY && n->op == UN_NEG && const_int(n->unary.value, &a))
		return !__builtin_sub_overflow(0, a, ret);
	if (n->kind != N_BINARY || !const_int(n->binary.left, &a) || !const_int(n->binary.right, &b))
		return false;
	if (n->op == OP_ADD)
		return !__builtin_add_overflow(a, b, ret);
	if (n->op == OP_SUB)
		return !__builtin_sub_overflow(a, b, ret);
	return n->op == OP_MUL && !__builtin_mul_overflow(a, b, ret);
}

bool arg_int(DeclReader *r, const Node *n, int64_t least, int64_t most, const char *what, int64_t *ret)
{
	int64_t v;

	if (!const_int(n, &v)) {
		decl_error(r, n->span, "%s is a whole number that is written out", what);
		return false;
	}
	if (v < least || v > most) {
		decl_error(r, n->span, "%s is %lld: it must be %lld to %lld", what, (long long)v,
			   (long long)least, (long long)most);
		return false;
	}
	*ret = v;
	return true;
}

bool arg_str(DeclReader *r, const Node *n, const char *what, Str *ret)
{
	if (n->kind != N_STR) {
		decl_error(r, n->span, "%s is a string that is written out", what);
		return false;
	}
	*ret = (Str){ arena_copy(r->a, n->s.p, n->s.n), n->s.n };
	return true;
}

bool arg_true(DeclReader *r, const Node *n, const char *what, bool *ret)
{
	if (n->kind != N_BOOL) {
		decl_error(r, n->span, "%s is True or False", what);
		return false;
	}
	*ret = n->i;
	return true;
}

bool arg_seconds(DeclReader *r, const Node *n, const char *what, int64_t *ret)
{
	int64_t v = 0;

	if (n->kind == N_DURATION)
		v = n->i;
	else if (n->kind == N_FLOAT)
		v = ns_from_s(n->f);
	else if (!const_int(n, &v) || __builtin_mul_overflow(v, NS_PER_S, &v)) {
		decl_error(r, n->span, "%s is a number of seconds or a duration that is written out", what);
		return false;
	}
	if (v <= 0) {
		decl_error(r, n->span, "%s must be above 0 and finite", what);
		return false;
	}
	*ret = v;
	return true;
}

/* ---- ports ---- */

static bool port_range(DeclReader *r, const Node *n, const char *what, PortSet *set)
{
	int64_t lo, hi;

	if (n->kind != N_TUPLE) {
		if (!arg_int(r, n, 1, 65535, what, &lo))
			return false;
		hi = lo;
	} else if (n->list.n != 2) {
		decl_error(r, n->span, "a range of ports is a pair: (low, high)");
		return false;
	} else if (!arg_int(r, n->list.p[0], 1, 65535, what, &lo) ||
		   !arg_int(r, n->list.p[1], 1, 65535, what, &hi)) {
		return false;
	}
	if (lo > hi) {
		decl_error(r, n->span, "this range of ports ends before it starts");
		return false;
	}
	ports_add(r->a, set, (uint16_t)lo, (uint16_t)hi);
	return true;
}

bool arg_ports(DeclReader *r, const Node *n, const char *what, PortSet *ret)
{
	if (n->kind == N_INT) {
		Diag *d = decl_error(r, n->span, "%s takes a list of ports", what);

		diag_fix(d, n->span, str_printf(r->a, "[%lld]", (long long)n->i));
		return false;
	}
	if (n->kind != N_LIST) {
		decl_error(r, n->span, "%s takes a list of ports and (low, high) pairs", what);
		return false;
	}
	if (n->list.n == 0) {
		decl_error(r, n->span, "%s is an empty list: leave it out, or name the ports", what);
		return false;
	}
	for (uint32_t i = 0; i < n->list.n; i++)
		if (!port_range(r, n->list.p[i], what, ret))
			return false;
	return true;
}

/* ---- addresses and names ---- */

static const char *check_name(Str s)
{
	return host_ends_in_number(s) ? "no address: a dotted quad has four numbers 0 to 255 without leading zeros" : host_name_fault(s);
}

static bool has_host_bits(Str s, Net *ret_net)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	size_t at = slash ? (size_t)(slash - s.p) : s.n;
	Ip ip;
	uint64_t bits;

	if (!slash || !ip_parse((Str){ s.p, at }, &ip) ||
	    !str_to_u64((Str){ slash + 1, s.n - at - 1 }, ip_len(ip) * 8, &bits))
		return false;
	for (size_t i = bits; i < ip_len(ip) * 8; i++)
		bits_put(ip.b, i, 1, 0);
	*ret_net = (Net){ ip, (uint8_t)bits };
	return true;
}

const char *decl_target(Arena *a, Str text, Target *ret)
{
	Net net;

	*ret = (Target){ 0 };
	if (net_parse(text, &net)) {
		net_range(net, &ret->lo, &ret->hi);
		return NULL;
	}
	if (has_host_bits(text, &net))
		return "a network with bits set behind its prefix";
	if (text.n && (memchr(text.p, ':', text.n) || memchr(text.p, '/', text.n)))
		return "neither an address nor a network";
	const char *why = check_name(text);

	if (why)
		return why;
	char *name = arena_copy(a, text.p, text.n);

	for (size_t i = 0; i < text.n; i++)
		if (name[i] >= 'A' && name[i] <= 'Z')
			name[i] = (char)(name[i] + 32);
	ret->name = (Str){ name, text.n };
	return NULL;
}

void decl_warn_name(DiagList *d, Arena *a, Span at, Str name)
{
	Sb shown = sb(a);

	punycode_name(name, &shown);
	if (!str_eq(sb_done(&shown), name))
		diag_add(d, "W-NAME", at, "`%.*s` stands for `%.*s`, which may look like another name", STR_ARG(name),
			 STR_ARG(sb_done(&shown)));
}

bool arg_target(DeclReader *r, const Node *n, const char *what, Target *ret)
{
	Str s;
	Net net;

	if (!arg_str(r, n, what, &s))
		return false;
	const char *why = decl_target(r->a, s, ret);

	if (!why) {
		decl_warn_name(r->d, r->a, n->span, ret->name);
		return true;
	}
	Diag *d = decl_error(r, n->span, "\"%.*s\" is %s", STR_ARG(s), why);

	if (has_host_bits(s, &net)) {
		char text[NET_TEXT];

		net_format(net, text);
		diag_fix(d, n->span, str_printf(r->a, "\"%s\"", text));
	}
	return false;
}

bool arg_addresses(DeclReader *r, const Node *n, const char *what, Target *ret)
{
	if (!arg_target(r, n, what, ret))
		return false;
	if (ret->name.n) {
		decl_error(r, n->span, "%s is an address or network, not a name", what);
		return false;
	}
	return true;
}
