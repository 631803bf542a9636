/* SPDX-License-Identifier: Apache-2.0
 *
 * The VM's state: making one, running its entries, errors, roots, and what hosts
 * ask for.
 */
#include "vm/inside.h"
#include "vm/verify.h"

#include "base/rng.h"

#include <stdio.h>

static Value konst_value(Vm *vm, const Const *k)
{
	switch (k->kind) {
	case K_INT:
		return val_int(k->i);
	case K_FLOAT:
		return val_float(k->f);
	case K_DURATION:
		return val_duration(k->i);
	case K_TIME:
		return val_time(k->i);
	case K_STR:
		return vm_str(vm, k->s);
	case K_BYTES:
		return vm_bytes(vm, str_bytes(k->s));
	case K_IP:
		return vm_ip(vm, k->ip);
	case K_NET:
		return vm_net(vm, k->net);
	case K_MAC:
		return val_mac(k->mac);
	case K_PROTO:
		return val_proto((WireId)k->i);
	}
	return val_none();
}

static void number_instructions(Vm *vm)
{
	uint32_t n = 0;

	vm->fn_first = arena_new_n(vm->a, uint32_t, (size_t)vm->prog->nfn + 1);
	for (uint32_t i = 0; i < vm->prog->nfn; i++) {
		vm->fn_first[i] = n;
		n += vm->prog->fn[i].ncode;
	}
	vm->draws = arena_new_n(vm->a, uint32_t, (size_t)n + 1);
}

Vm *vm_new(Arena *a, const Program *p, const VmHost *host)
{
	Vm *vm = arena_new(a, Vm);

	vm->a = a;
	vm->prog = p;
	vm->host = *host;
	if (!vm->host.output_limit)
		vm->host.output_limit = LIMIT_OUTPUT;
	heap_init(&vm->heap, a);
	arena_init_zeroed(&vm->scratch, arena_alloc(a, a->cap / SCRATCH_SHARE), a->cap / SCRATCH_SHARE, a->full);
	vm->stack = arena_new_n(a, Value, STACK_SLOTS);
	vm->build = arena_new(a, WirePacket);
	if (!vm->host.fuel)
		vm->host.fuel = LIMIT_FUEL;
	vm->fuel = (int64_t)vm->host.fuel;
	vm->poll_at = vm->fuel > POLL_UNITS ? vm->fuel - POLL_UNITS : 0;
	vm->reflected = arena_new_n(a, uint64_t, (size_t)p->nreflect + 1);
	number_instructions(vm);
	tables_init(vm);
	vm->method_sig = sig_tables(a, vm);
	vm->konst = arena_new_n(a, Value, (size_t)p->nconst + 1);
	for (uint32_t i = 0; i < p->nconst; i++)
		vm->konst[i] = konst_value(vm, &p->konst[i]);
	vm->charge = 0;
	return vm;
}

static bool run_entries(Vm *vm)
{
	const Program *p = vm->prog;
	const char *why = verify_program(p);

	if (why)
		return vm_fail(vm, "E-VERIFY", "the compiled program is not sound: %s", why);
	for (uint32_t i = 0; i < p->nentry; i++) {
		if (!vm_enter(vm, &p->fn[p->entry[i]], 0, 0, true) || !vm_loop(vm))
			return false;
	}
	return true;
}

int vm_run(Vm *vm)
{
	jmp_buf *outer = vm->a->full;

	vm->a->full = vm->scratch.full = &vm->full;
	if (setjmp(vm->full) == 0)
		run_entries(vm);
	else
		vm_fail(vm, "E-MEMORY", "memory spent: the run's %zu MB are full", vm->a->cap / 1000000);
	vm->a->full = vm->scratch.full = outer;
	return vm->err.set ? vm->err.exit : 0;
}

const VmError *vm_error(const Vm *vm)
{
	return &vm->err;
}

void *vm_ctx(const Vm *vm)
{
	return vm->host.ctx;
}

Heap *vm_heap(Vm *vm)
{
	return &vm->heap;
}

Arena *vm_scratch(Vm *vm)
{
	return &vm->scratch;
}

const Program *vm_program(const Vm *vm)
{
	return vm->prog;
}

/* ---- errors ---- */

/* The message is kept beside the heap: at the arena's end there is no room. */
static void set_error(Vm *vm, uint8_t exit, const char *code, const char *fmt, va_list ap)
{
	static const size_t cap = sizeof vm->err_text;

	if (vm->err.set)
		return;
	int n = vsnprintf(vm->err_text, cap, fmt, ap);

	vm->err = (VmError){ .set = true, .exit = exit, .code = code, .span = vm_span(vm) };
	vm->err.message = (Str){ vm->err_text, n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1 };
	vm->err.received = vm->n_frames && vm->frame[vm->n_frames - 1].fn->lib && code &&
			   (!strcmp(code, "E-VALUE") || !strcmp(code, "E-KEY") || !strcmp(code, "E-INDEX"));
}

bool vm_fail_own(Vm *vm, const char *code, Str message)
{
	vm_fail(vm, code, "%.*s", STR_ARG(message));
	vm->err.received = false;
	return false;
}

bool vm_fail(Vm *vm, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_error(vm, 1, code, fmt, ap);
	va_end(ap);
	return false;
}

bool vm_stop(Vm *vm, uint8_t exit, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_error(vm, exit, code, fmt, ap);
	va_end(ap);
	return false;
}

bool vm_fail_type(Vm *vm, const char *what, Value got)
{
	if (got.tag == VAL_NONE)
		return vm_fail(vm, "E-NONE", "expected %s, got None", what);
	if (got.tag == VAL_UNSET)
		return vm_fail(vm, "E-UNSET", "expected %s, got a variable that has no value yet", what);
	return vm_fail(vm, "E-TYPE", "expected %s, got %s", what, val_type_name(got));
}

/* The innermost place in the user's text: code of lib is not his. */
Span vm_span(const Vm *vm)
{
	for (uint32_t i = vm->n_frames; i-- > 0;) {
		const Frame *f = &vm->frame[i];

		if (!f->fn->lib && f->pc > f->fn->code && f->fn->span)
			return f->fn->span[f->pc - f->fn->code - 1];
	}
	return (Span){ 0, 0 };
}

uint32_t vm_line(const Vm *vm)
{
	return line_col(vm->prog->source, vm_span(vm).from).line;
}

/* ---- fuel, draws, roots ---- */

void vm_charge(Vm *vm, uint64_t units)
{
	vm->charge += units < LIMIT_FUEL ? units : LIMIT_FUEL;
}

uint64_t vm_fuel_used(const Vm *vm)
{
	return vm->host.fuel - (uint64_t)vm->fuel + vm->charge;
}

uint64_t vm_draw(Vm *vm)
{
	const Frame *f = &vm->frame[vm->n_frames - 1];
	uint32_t site = vm->fn_first[f->fn - vm->prog->fn] + (uint32_t)(f->pc - f->fn->code) - 1;

	return rng_draw(vm->host.seed, site, vm->draws[site]++);
}

void vm_mark(Vm *vm, Value v)
{
	heap_mark(&vm->heap, v);
}

void vm_collect(Vm *vm)
{
	const Frame *top = &vm->frame[vm->n_frames - 1];
	uint32_t n = top->base + top->fn->nslots;

	heap_mark_begin(&vm->heap);
	for (uint32_t i = 0; i < n; i++)
		vm_mark(vm, vm->stack[i]);
	for (uint32_t i = 0; i < vm->prog->nconst; i++)
		vm_mark(vm, vm->konst[i]);
	for (unsigned m = 0; m < M_N; m++)
		for (unsigned k = 0; k < vm->method_sig[m].n; k++)
			vm_mark(vm, vm->method_sig[m].p[k].dflt);
	vm_mark(vm, vm->ret);
	if (vm->host.roots)
		vm->host.roots(vm->host.ctx, vm);
	heap_sweep(&vm->heap);
}

uint64_t vm_output_cut(const Vm *vm)
{
	return vm->out_cut;
}

/* ---- results ---- */

ObjResult *vm_result(Vm *vm, BuiltinOwner owner)
{
	const ResultType *t = &vm->result_type[owner];
	ObjResult *r = (ObjResult *)heap_obj(&vm->heap, VAL_RESULT, sizeof(ObjResult) + t->n * sizeof(Value));

	r->type = t;
	r->h.n = t->n;
	for (uint32_t i = 0; i < t->n; i++)
		r->p[i] = val_none();
	return r;
}

ObjNative *vm_native(Vm *vm, BuiltinOwner owner, uint32_t n, void *data)
{
	ObjNative *o = (ObjNative *)heap_obj(&vm->heap, VAL_NATIVE, sizeof(ObjNative) + n * sizeof(Value));

	o->owner = (uint16_t)owner;
	o->data = data;
	o->h.n = n;
	for (uint32_t i = 0; i < n; i++)
		o->p[i] = val_none();
	return o;
}
