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
	int64_t last_ns; /* when the last frame came that was looked at */
	ObjList *got;
} Sniff;

/* Later fragments and cut headers pass libpcap's `udp` too; but then the packet
 * does not have the layers that the checker counts on. */
static bool fits(Sniff *s, ObjPacket *p)
{
	uint64_t layers = 0;

	packet_parse(s->vm, p);
	for (unsigned i = 0; i < p->h.n; i++)
		layers |= WIRE_BIT(p->layer[i].proto->id);
	if (stacks_fit(&s->stacks, layers))
		return true;
	warn_add(&s->e->warnings, WARN_NO_LAYER, WARN_NOBODY, 1, "%zu bytes, %s", p->frame.n,
		 p->reason ? p->reason : "a later fragment");
	return false;
}

static void take_one(Sniff *s, const Queued *q, Bytes frame)
{
	size_t mark = arena_mark(vm_scratch(s->vm));
	Arrival a = { .frame = frame, .first = (WireId)q->first, .iface = q->iface, .rx_ns = q->rx_ns };

	if ((s->iface && s->iface->index != q->iface) || !filter_match(s->filter, frame, a.first))
		return;
	Value p = net_received_packet(s->e, s->vm, &a);
	if (fits(s, val_packet(p)))
		vm_push(s->vm, s->got, p);
	arena_reset(vm_scratch(s->vm), mark);
}

static void take_queued(Sniff *s)
{
	Engine *e = s->e;
	Queued q;

	while (e->queue_n && s->got->h.n < s->count) {
		Bytes frame = engine_queued(e, 0, &q);

		take_one(s, &q, frame);
		s->last_ns = q.rx_ns;
		engine_queue_pop(e);
	}
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
	const Call call = { .ctx = &s };
	int64_t timeout;
	bool ok;

	(void)n;
	if (!sniff_open(&s, args) || !vm_to_duration(vm, args[2], &timeout))
		return false;
	if (timeout < 0)
		return vm_fail(vm, "E-VALUE", "a time-out is not negative");
	s.e->call = &call;
	take_queued(&s);
	ok = s.got->h.n >= s.count || engine_refresh(s.e); /* enough has come already: nobody need be asked */
	take_queued(&s);
	int64_t until = ns_later(s.e->now_ns, timeout);
	while (ok && s.got->h.n < s.count && s.e->now_ns < until) {
		ok = engine_step(s.e, until);
		take_queued(&s);
	}
	s.e->call = NULL;
	if (s.count && s.got->h.n == s.count)
		s.e->mark_ns = s.last_ns - 1; /* it ended with that packet: what came behind is the next one's */
	else
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
