/* SPDX-License-Identifier: Apache-2.0
 *
 * summarize and count_by.
 */
#include "vm/py.h"

#include <math.h>

/* ---- summarize ---- */

typedef struct Sample {
	Value *p; /* in order; only present values */
	uint32_t n;
	bool durations;
} Sample;

static bool sample_of(Vm *vm, Value values, Sample *ret)
{
	Value it[3], x;
	ObjList *l = vm_list(vm, 0);

	if (!iter_begin(vm, values, it))
		return false;
	*ret = (Sample){ 0 };
	while (iter_next(vm, it, &x)) {
		bool num = x.tag == VAL_INT || x.tag == VAL_BOOL || x.tag == VAL_FLOAT;

		if (!num && x.tag != VAL_DURATION)
			return vm_fail_type(vm, "numbers or durations", x);
		ret->durations |= x.tag == VAL_DURATION;
		vm_charge(vm, 2);
		if (!val_absent(x))
			vm_push(vm, l, x);
	}
	ret->p = l->p;
	ret->n = l->h.n;
	return !vm->err.set && sort_values(vm, l->p, l->h.n, val_none(), false);
}

static double number_of(Value v)
{
	return v.tag == VAL_FLOAT ? v.f : (double)v.i;
}

static Value stat_of(const Sample *s, double v)
{
	if (s->durations)
		return val_duration(isnan(v) ? NS_NONE : llround(v));
	return val_float(v);
}

/* Nearest rank: the least value that `percent` of 100 are not above. */
static double rank(const Sample *s, unsigned percent)
{
	uint64_t at = ((uint64_t)s->n * percent + 99) / 100;

	return s->n ? number_of(s->p[at ? at - 1 : 0]) : NAN;
}

/* In two passes: the difference of two large sums would lose small variances. */
static void moments(const Sample *s, double *ret_mean, double *ret_stdev)
{
	long double sum = 0, squares = 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += (long double)number_of(s->p[i]);
	long double mean = sum / (s->n ? s->n : 1);

	for (uint32_t i = 0; i < s->n; i++) {
		long double d = (long double)number_of(s->p[i]) - mean;

		squares += d * d;
	}
	*ret_mean = s->n ? (double)mean : NAN;
	*ret_stdev = s->n > 1 ? (double)sqrtl(squares / (s->n - 1)) : NAN;
}

BUILTIN(summarize)
{
	Sample s;
	double mean, stdev;

	FIXED;
	if (!sample_of(vm, args[0], &s))
		return false;
	/* Numbers beside durations are seconds, as everywhere. */
	for (uint32_t i = 0; s.durations && i < s.n; i++) {
		int64_t ns;

		if (!vm_to_duration(vm, s.p[i], &ns))
			return false;
		s.p[i] = val_duration(ns);
	}
	moments(&s, &mean, &stdev);
	ObjResult *r = vm_result(vm, OWNER_STATS);
	double middle = s.n ? (number_of(s.p[(s.n - 1) / 2]) + number_of(s.p[s.n / 2])) / 2 : NAN;

#define FIELD(name) r->p[A_STATS_##name - A_STATS_n]
	FIELD(n) = val_int(s.n);
	FIELD(min) = stat_of(&s, s.n ? number_of(s.p[0]) : NAN);
	FIELD(avg) = stat_of(&s, mean);
	FIELD(median) = stat_of(&s, middle);
	FIELD(p95) = stat_of(&s, rank(&s, 95));
	FIELD(p99) = stat_of(&s, rank(&s, 99));
	FIELD(max) = stat_of(&s, s.n ? number_of(s.p[s.n - 1]) : NAN);
	FIELD(stdev) = stat_of(&s, stdev);
#undef FIELD
	*ret = val_of(r);
	return true;
}

/* ---- count_by ---- */

static bool key_of(Vm *vm, Value key, Value row, Value *ret)
{
	DictEntry *e;

	if (key.tag == VAL_FN)
		return vm_call(vm, key, &row, 1, ret);
	*ret = row;
	if (val_left_out(key))
		return true;
	if (key.tag != VAL_STR)
		return vm_fail_type(vm, "a function or the name of a field", key);
	if (row.tag != VAL_DICT)
		return val_attr_named(vm, row, str_of(val_str(key)), ret);
	if (!dict_find(vm, val_dict(row), key, &e))
		return false;
	*ret = e ? e->v : val_none();
	return true;
}

static bool counted(Vm *vm, Value rows, Value key, ObjDict *d)
{
	Value it[3], x, k;
	DictEntry *e;

	if (!iter_begin(vm, rows, it))
		return false;
	while (iter_next(vm, it, &x)) {
		vm_charge(vm, 2);
		if (!key_of(vm, key, x, &k) || !dict_find(vm, d, k, &e))
			return false;
		if (e)
			e->v.i++;
		else if (!dict_put(vm, d, k, val_int(1)))
			return false;
	}
	return !vm->err.set;
}

/* Most frequent first; among equals, the one that came first. */
BUILTIN(count_by)
{
	ObjDict *d = dict_make(vm, VAL_DICT), *out = dict_make(vm, VAL_DICT);
	DictEntry *e;
	ObjList *order = vm_list(vm, 0);

	FIXED;
	if (!counted(vm, args[0], args[1], d))
		return false;
	for (uint32_t at = 0; (e = dict_next(d, &at));)
		vm_push(vm, order, vm_pair(vm, val_int(-e->v.i), val_int(at - 1)));
	if (!sort_values(vm, order->p, order->h.n, val_none(), false))
		return false;
	for (uint32_t i = 0; i < order->h.n; i++) {
		e = &d->e[val_tuple(order->p[i])->p[1].i];
		if (!dict_put(vm, out, e->k, e->v))
			return false;
	}
	*ret = val_of(out);
	return true;
}
