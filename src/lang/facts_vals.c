/* SPDX-License-Identifier: Apache-2.0
 *
 * Known values: sets of ranges (numbers, addresses) and of texts.
 *
 * Numbers that do not fit LIMIT_INTERVALS ranges are covered by fewer, wider ones;
 * addresses never are, since a range too wide would let a program send to hosts
 * that it does not name: they become TOP (NULL), and E-REACH asks.
 */
#include "base/sort.h"
#include "lang/facts_inside.h"

int64_t facts_sat64_add(int64_t a, int64_t b)
{
	int64_t r;

	if (__builtin_add_overflow(a, b, &r))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return r;
}

static int64_t sat64_mul(int64_t a, int64_t b)
{
	int64_t r;

	if (__builtin_mul_overflow(a, b, &r))
		return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
	return r;
}

/* ---- ranges of numbers ---- */

static int range_cmp(const void *a, const void *b)
{
	const Range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Joins overlapping ranges, and neighbours at most `gap` apart. */
static uint32_t ranges_pack(Range *r, uint32_t n, uint64_t gap)
{
	uint32_t out = 0;

	for (uint32_t i = 1; i < n; i++) {
		if (r[i].lo <= r[out].hi || (gap && (uint64_t)r[i].lo - (uint64_t)r[out].hi <= gap)) {
			if (r[i].hi > r[out].hi)
				r[out].hi = r[i].hi;
		} else {
			r[++out] = r[i];
		}
	}
	return n ? out + 1 : 0;
}

static const Vals *ranges_norm(Facts *f, Range *r, uint32_t n)
{
	Vals *v = arena_new(f->a, Vals);

	facts_step(f, n / 16);
	sort_items(r, n, sizeof *r, range_cmp);
	n = ranges_pack(r, n, 0);
	for (uint64_t gap = 1; n > LIMIT_INTERVALS; gap *= 4)
		n = ranges_pack(r, n, gap > UINT64_C(1) << 60 ? UINT64_MAX : gap);
	*v = (Vals){ .n = n, .r = r };
	return v;
}

static const Vals *ranges_join(Facts *f, const Vals *a, const Vals *b)
{
	Range *r = arena_new_n(f->a, Range, a->n + b->n);

	memcpy(r, a->r, a->n * sizeof *r);
	memcpy(r + a->n, b->r, b->n * sizeof *r);
	return ranges_norm(f, r, a->n + b->n);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	if (b == -1)
		return a == INT64_MIN ? INT64_MAX : -a;
	return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	return b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}

static Range corners(int64_t a, int64_t b, int64_t c, int64_t d)
{
	Range r = { a, a };
	const int64_t v[] = { b, c, d };

	for (int i = 0; i < 3; i++) {
		r.lo = v[i] < r.lo ? v[i] : r.lo;
		r.hi = v[i] > r.hi ? v[i] : r.hi;
	}
	return r;
}

static Range range_mod(Range a, Range b)
{
	if (b.lo == b.hi) {
		uint64_t size = (uint64_t)a.hi - (uint64_t)a.lo;

		if (a.lo == a.hi || (size < (b.lo < 0 ? 0 - (uint64_t)b.lo : (uint64_t)b.lo) &&
				     floor_mod(a.lo, b.lo) <= floor_mod(a.hi, b.lo) &&
				     floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo)))
			return (Range){ floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo) };
		return b.lo > 0 ? (Range){ 0, b.lo - 1 } : (Range){ b.lo + 1, 0 };
	}
	return (Range){ b.lo < 0 ? b.lo : 0, b.hi > 0 ? b.hi : 0 };
}

static uint64_t mask_over(int64_t x)
{
	uint64_t m = (uint64_t)x;

	for (unsigned s = 1; s < 64; s *= 2)
		m |= m >> s;
	return m;
}

static bool range_bits(BinOp op, Range a, Range b, Range *r)
{
	if (a.lo == a.hi && b.lo == b.hi) {
		int64_t v = op == OP_AND ? a.lo & b.lo : op == OP_OR ? a.lo | b.lo : a.lo ^ b.lo;

		*r = (Range){ v, v };
		return true;
	}
	if (a.lo < 0 || b.lo < 0)
		return false;
	if (op == OP_AND)
		*r = (Range){ 0, a.hi < b.hi ? a.hi : b.hi };
	else
		*r = (Range){ 0, (int64_t)(mask_over(a.hi) | mask_over(b.hi)) };
	return true;
}

static bool range_shift(BinOp op, Range a, Range b, Range *r)
{
	if (b.lo < 0 || b.hi > 62 || a.lo < 0)
		return false;
	if (op == OP_SHR)
		*r = (Range){ a.lo >> b.hi, a.hi >> b.lo };
	else
		*r = (Range){ sat64_mul(a.lo, INT64_C(1) << b.lo), sat64_mul(a.hi, INT64_C(1) << b.hi) };
	return true;
}

static bool range_pow(Range a, Range b, Range *r)
{
	int64_t v = 1;

	if (a.lo != a.hi || b.lo != b.hi || b.lo < 0 || b.lo > 64)
		return false;
	for (int64_t i = 0; i < b.lo; i++)
		v = sat64_mul(v, a.lo);
	*r = (Range){ v, v };
	return true;
}

/* a op b for all numbers of both; false: nothing is known. */
static bool range_op(BinOp op, Range a, Range b, Range *r)
{
	switch (op) {
	case OP_ADD:
		*r = (Range){ facts_sat64_add(a.lo, b.lo), facts_sat64_add(a.hi, b.hi) };
		return true;
	case OP_SUB:
		*r = (Range){ facts_sat64_add(a.lo, b.hi == INT64_MIN ? INT64_MAX : -b.hi),
			      facts_sat64_add(a.hi, b.lo == INT64_MIN ? INT64_MAX : -b.lo) };
		return true;
	case OP_MUL:
		*r = corners(sat64_mul(a.lo, b.lo), sat64_mul(a.lo, b.hi), sat64_mul(a.hi, b.lo),
			     sat64_mul(a.hi, b.hi));
		return true;
	case OP_FLOOR:
		if (b.lo <= 0 && b.hi >= 0)
			return false;
		*r = corners(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo),
			     floor_div(a.hi, b.hi));
		return true;
	case OP_MOD:
		if (b.lo <= 0 && b.hi >= 0)
			return false;
		*r = range_mod(a, b);
		return true;
	case OP_AND:
	case OP_OR:
	case OP_XOR:
		return range_bits(op, a, b, r);
	case OP_SHL:
	case OP_SHR:
		return range_shift(op, a, b, r);
	case OP_POW:
		return range_pow(a, b, r);
	default:
		return false;
	}
}

const Vals *vals_op(Facts *f, BinOp op, const Vals *a, const Vals *b)
{
	if (!a || !b)
		return NULL;
	uint64_t n = (uint64_t)a->n * b->n;

	if (n > LIMIT_INTERVALS * LIMIT_INTERVALS)
		return NULL;
	facts_step(f, (uint32_t)n / 8);
	Range *r = arena_new_n(f->a, Range, n);
	uint32_t k = 0;

	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < b->n; j++)
			if (!range_op(op, a->r[i], b->r[j], &r[k++]))
				return NULL;
	return ranges_norm(f, r, k);
}

const Vals *vals_meet(Facts *f, const Vals *v, int64_t lo, int64_t hi)
{
	const Range all = { INT64_MIN, INT64_MAX };
	const Vals top = { .n = 1, .r = &all };
	Vals *out = arena_new(f->a, Vals);

	if (!v)
		v = &top;
	Range *r = arena_new_n(f->a, Range, v->n);

	for (uint32_t i = 0; i < v->n; i++) {
		Range x = { v->r[i].lo > lo ? v->r[i].lo : lo, v->r[i].hi < hi ? v->r[i].hi : hi };

		if (x.lo <= x.hi)
			r[out->n++] = x;
	}
	out->r = r;
	return out;
}

const Vals *vals_without(Facts *f, const Vals *v, int64_t x)
{
	if (!v)
		return NULL;
	const Vals *below = x == INT64_MIN ? &(Vals){ 0 } : vals_meet(f, v, INT64_MIN, x - 1);
	const Vals *above = x == INT64_MAX ? &(Vals){ 0 } : vals_meet(f, v, x + 1, INT64_MAX);

	return ranges_join(f, below, above);
}

bool vals_bounds(const Fact *x, int64_t *ret_lo, int64_t *ret_hi)
{
	const Vals *v = x->vals;

	if (!v || !v->n ||
	    (x->kind != T_INT && x->kind != T_BOOL && x->kind != T_DURATION && x->kind != T_FLAGS))
		return false;
	*ret_lo = v->r[0].lo;
	*ret_hi = v->r[v->n - 1].hi;
	return true;
}

bool vals_one(const Fact *x, int64_t *ret_v)
{
	int64_t hi;

	return vals_bounds(x, ret_v, &hi) && *ret_v == hi;
}

bool fact_one_str(const Fact *x, Str *ret_s)
{
	if ((x->kind != T_STR && x->kind != T_BYTES) || !x->vals || x->vals->n != 1)
		return false;
	*ret_s = x->vals->s[0];
	return true;
}

bool fact_number(const Fact *x, double *ret_d)
{
	int64_t i;

	if (x->kind == T_FLOAT && x->vals && x->vals->n == 1) {
		*ret_d = x->vals->f[0];
		return true;
	}
	if ((x->kind == T_INT || x->kind == T_BOOL) && vals_one(x, &i)) {
		*ret_d = (double)i;
		return true;
	}
	return false;
}

/* ---- sets of texts, addresses, floats ---- */

static size_t item_size(FactKind k)
{
	switch (k) {
	case T_STR:
	case T_BYTES:
		return sizeof(Str);
	case T_IP:
		return sizeof(Target);
	case T_NET:
		return sizeof(Net);
	case T_MAC:
		return sizeof(Mac);
	case T_FLOAT:
		return sizeof(double);
	default:
		return 0;
	}
}

static bool item_eq(FactKind k, const void *a, const void *b)
{
	if (k == T_STR || k == T_BYTES)
		return str_eq(*(const Str *)a, *(const Str *)b);
	if (k == T_IP) {
		const Target *x = a, *y = b;

		return str_eq(x->name, y->name) &&
		       (x->name.n || (ip_eq(x->lo, y->lo) && ip_eq(x->hi, y->hi)));
	}
	if (k == T_NET) {
		const Net *x = a, *y = b;

		return x->bits == y->bits && ip_eq(x->ip, y->ip);
	}
	return memcmp(a, b, item_size(k)) == 0;
}

static bool is_ranges(FactKind k)
{
	return k == T_INT || k == T_BOOL || k == T_DURATION || k == T_FLAGS;
}

/* The union of two sets without order; NULL above `most` items. */
static const Vals *sets_join(Facts *f, FactKind k, const Vals *a, const Vals *b, uint32_t most)
{
	size_t size = item_size(k);
	uint8_t *p = arena_array(f->a, a->n + b->n, size);
	uint32_t n = a->n;

	memcpy(p, a->r, a->n * size);
	facts_step(f, a->n / 64 * (b->n / 8 + 1));
	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *x = (const uint8_t *)b->r + i * size;
		uint32_t j = 0;

		while (j < n && !item_eq(k, p + j * size, x))
			j++;
		if (j == n)
			memcpy(p + n++ * size, x, size);
	}
	if (n == a->n)
		return a;
	if (n > most)
		return NULL;
	Vals *v = arena_new(f->a, Vals);

	*v = (Vals){ .n = n, .r = (const Range *)(const void *)p };
	return v;
}

const Vals *vals_join(Facts *f, FactKind k, const Vals *a, const Vals *b)
{
	if (!a || !b)
		return NULL;
	if (a == b || vals_eq(k, a, b))
		return a;
	if (is_ranges(k))
		return ranges_join(f, a, b);
	return sets_join(f, k, a, b, k == T_IP ? LIMIT_INTERVALS * 16 : k == T_FLOAT ? 16 : LIMIT_KNOWN);
}

bool vals_eq(FactKind k, const Vals *a, const Vals *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->n != b->n)
		return false;
	if (is_ranges(k))
		return memcmp(a->r, b->r, a->n * sizeof(Range)) == 0;
	for (uint32_t i = 0; i < a->n; i++)
		if (!item_eq(k, (const uint8_t *)a->r + i * item_size(k),
			     (const uint8_t *)b->r + i * item_size(k)))
			return false;
	return true;
}

/* ---- texts ---- */

static const Vals *texts_of_ranges(Facts *f, FactKind k, const Vals *v)
{
	Str *s = arena_new_n(f->a, Str, LIMIT_KNOWN);
	Vals *out = arena_new(f->a, Vals);
	uint64_t total = 0;

	for (uint32_t i = 0; i < v->n; i++) {
		total += (uint64_t)v->r[i].hi - (uint64_t)v->r[i].lo + 1;
		if (total > LIMIT_KNOWN || total == 0)
			return NULL;
		for (int64_t x = v->r[i].lo;; x++) {
			s[out->n++] = k == T_BOOL ? (x ? STR("True") : STR("False"))
						  : str_printf(f->a, "%lld", (long long)x);
			if (x == v->r[i].hi)
				break;
		}
	}
	facts_step(f, out->n / 4);
	out->s = s;
	return out;
}

static const Vals *texts_of_ips(Facts *f, const Vals *v)
{
	Str *s = arena_new_n(f->a, Str, LIMIT_KNOWN);
	Vals *out = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < v->n; i++) {
		if (!v->ip[i].lo.v)
			return NULL; /* it prints as the address that it is pinned to */
		for (Ip ip = v->ip[i].lo;;) {
			char text[IP_TEXT];

			if (out->n == LIMIT_KNOWN)
				return NULL;
			s[out->n++] = (Str){ arena_copy(f->a, text, 0), 0 };
			size_t n = ip_format(ip, text);

			s[out->n - 1] = (Str){ arena_copy(f->a, text, n), n };
			if (ip_eq(ip, v->ip[i].hi) || !ip_add(ip, 1, &ip))
				break;
		}
	}
	facts_step(f, out->n / 4);
	out->s = s;
	return out;
}

const Vals *vals_texts(Facts *f, const Fact *x)
{
	if (x->none || x->field)
		return NULL;
	if (x->kind == T_STR || !x->vals)
		return x->kind == T_STR ? x->vals : NULL;
	if (x->kind == T_INT || x->kind == T_BOOL)
		return texts_of_ranges(f, x->kind, x->vals);
	if (x->kind == T_IP)
		return texts_of_ips(f, x->vals);
	if (x->kind == T_NET || x->kind == T_MAC) {
		Str *s = arena_new_n(f->a, Str, x->vals->n);
		Vals *out = arena_new(f->a, Vals);
		char text[NET_TEXT];

		for (uint32_t i = 0; i < x->vals->n; i++) {
			size_t n = x->kind == T_NET ? net_format(x->vals->net[i], text)
						    : mac_format(x->vals->mac[i], text);

			s[i] = (Str){ arena_copy(f->a, text, n), n };
		}
		*out = (Vals){ .n = x->vals->n, .s = s };
		return out;
	}
	return NULL;
}

const Vals *vals_concat(Facts *f, const Vals *a, const Vals *b)
{
	if (!a || !b || (uint64_t)a->n * b->n > LIMIT_KNOWN)
		return NULL;
	Str *s = arena_new_n(f->a, Str, (size_t)a->n * b->n);
	Vals *v = arena_new(f->a, Vals);

	facts_step(f, a->n * b->n / 4);
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < b->n; j++) {
			Sb t = sb(f->a);

			if (a->s[i].n + b->s[j].n > LIMIT_SOURCE)
				return NULL;
			sb_str(&t, a->s[i]);
			sb_str(&t, b->s[j]);
			s[v->n++] = sb_done(&t);
		}
	v->s = s;
	return v;
}

const Vals *vals_ip_add(Facts *f, const Vals *ip, const Vals *by, bool minus)
{
	if (!ip || !by || (uint64_t)ip->n * by->n > LIMIT_INTERVALS)
		return NULL;
	Target *t = arena_new_n(f->a, Target, (size_t)ip->n * by->n);
	Vals *v = arena_new(f->a, Vals);

	for (uint32_t i = 0; i < ip->n; i++)
		for (uint32_t j = 0; j < by->n; j++) {
			int64_t lo = by->r[j].lo, hi = by->r[j].hi;

			if (!ip->ip[i].lo.v || lo == INT64_MIN || hi == INT64_MAX)
				return NULL;
			if (minus) {
				int64_t x = -lo;

				lo = -hi;
				hi = x;
			}
			if (!ip_add(ip->ip[i].lo, lo, &t[v->n].lo) || !ip_add(ip->ip[i].hi, hi, &t[v->n].hi))
				return NULL;
			v->n++;
		}
	v->ip = t;
	return v;
}
