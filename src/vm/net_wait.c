/* SPDX-License-Identifier: Apache-2.0
 *
 * sniff, sleep, now: waiting, and what came meanwhile.
 */
#include "vm/engine_inside.h"

#include "probe/filter.h"

typedef struct Sniff {
	Engine *e;
	Vm *vm;
	const Filter *filter;
	const HostIface *iface;
	StackSet stacks;
	int64_t count; /* INT64_MAX: no bound */
	uint32_t seen; /* of the queue */
	ObjList *got;
} Sniff;

/* Later fragments and cut headers pass libpcap's `udp` too; but then the packet
 * does not have the layers that the checker counts on. */
static bool fits(Sniff *s, ObjPacket *p)
{
	WirePacket *w = arena_new(vm_scratch(s->vm), WirePacket);
	uint64_t layers = 0;

	packet_view(s->vm, p, w);
	for (unsigned i = 0; i < w->n; i++)
		layers |= WIRE_BIT(w->layer[i].proto->id);
	if (stacks_fit(&s->stacks, layers))
		return true;
	warn_add(&s->e->warnings, WARN_NO_LAYER, WARN_NOBODY, 1, "%zu bytes, %s", w->frame.n,
		 w->reason ? w->reason : "a later fragment");
	return false;
}

static void take_queued(Sniff *s)
{
	Engine *e = s->e;

	for (; s->seen < e->queue_n && s->got->h.n < s->count; s->seen++) {
		size_t mark = arena_mark(vm_scratch(s->vm));
		Queued q;
		Bytes frame = engine_queued(e, s->seen, &q);
		Arrival a = { .frame = frame, .first = (WireId)q.first, .iface = q.iface, .rx_ns = q.rx_ns };

		if ((s->iface && s->iface->index != q.iface) || !filter_match(s->filter, frame, a.first))
			continue;
		Value p = net_received_packet(e, s->vm, &a);
		if (fits(s, val_packet(p)))
			vm_push(s->vm, s->got, p);
		arena_reset(vm_scratch(s->vm), mark);
	}
}

/* The queue may have dropped its oldest frames: what is new stands at its end. */
static void on_queued(void *ctx)
{
	Sniff *s = ctx;

	if (s->seen >= s->e->queue_n)
		s->seen = s->e->queue_n - 1;
}

static bool sniff_open(Sniff *s, const Value *args)
{
	FilterError error;
	Str text;

	if (!vm_to_str(s->vm, args[0], &text) || !net_iface(s->e, s->vm, args[3], &s->iface))
		return false;
	s->filter = filter_parse(text, vm_scratch(s->vm), &error);
	if (!s->filter)
		return vm_fail(s->vm, "E-CAPTURE", "%.*s", STR_ARG(error.message));
	filter_stacks(s->filter, &s->stacks);
	s->count = INT64_MAX;
	if (!val_left_out(args[1]) && !vm_to_int(s->vm, args[1], &s->count))
		return false;
	return s->count >= 0 || vm_fail(s->vm, "E-VALUE", "count is not negative");
}

/* (filter, count, timeout, iface) */
bool bi_sniff(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Sniff s = { .e = vm_ctx(vm), .vm = vm, .got = vm_list(vm, 0) };
	const Call call = { .ctx = &s, .queued = on_queued };
	int64_t timeout;
	bool ok;

	(void)n;
	if (!sniff_open(&s, args) || !vm_to_duration(vm, args[2], &timeout))
		return false;
	if (timeout < 0)
		return vm_fail(vm, "E-VALUE", "a time-out is not negative");
	s.e->call = &call;
	ok = engine_refresh(s.e);
	take_queued(&s);
	int64_t until = ns_later(s.e->now_ns, timeout);
	while (ok && s.got->h.n < s.count && s.e->now_ns < until) {
		ok = engine_step(s.e, until);
		take_queued(&s);
	}
	s.e->call = NULL;
	engine_mark(s.e);
	*ret = val_of(s.got);
	return ok || engine_halt(s.e, vm);
}

bool bi_sleep(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	int64_t d;

	(void)n;
	(void)ret;
	if (!vm_to_duration(vm, args[0], &d))
		return false;
	if (d < 0)
		return vm_fail(vm, "E-VALUE", "sleep takes no negative duration");
	return (engine_refresh(e) && engine_until(e, ns_later(e->now_ns, d))) || engine_halt(e, vm);
}

bool bi_now(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);

	(void)args;
	(void)n;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	*ret = val_time(ns_later(e->epoch_ns, e->now_ns));
	return true;
}
