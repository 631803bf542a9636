/* SPDX-License-Identifier: Apache-2.0
 *
 * load: bytes in the background.  They are made as there is room for them, so a load
 * of a gigabyte takes no memory; with a rate, each write has its time.
 */
#include "vm/engine_conn.h"

#include "base/rng.h"

#include <math.h>

enum {
	QUEUE_AHEAD = 256 * 1024, /* bytes that TCP has queued at most: the window of a fast path */
	SIZE_MOST = 65507,
	CATCH_UP = 16, /* writes that a load which was held up may make at once */
};

/* ---- what it sends ---- */

static Bytes load_bytes(Engine *e, const Load *l, size_t n)
{
	if (!e->load_fill) {
		e->load_fill = arena_alloc(e->a, SIZE_MOST);
		for (size_t i = 0; i < SIZE_MOST; i++)
			e->load_fill[i] = (uint8_t)rng_draw(e->seed, STACK_SEED, i / 8) ^ (uint8_t)i;
	}
	n = n < l->left ? n : (size_t)l->left;
	return BYTES(e->load_fill, n);
}

static bool load_room(const Load *l)
{
	if (l->udp)
		return l->live->udp->out_n < STACK_UNSENT;
	return live_open(l->live) && tcp_unsent(l->live->tcp) < QUEUE_AHEAD;
}

static void load_end(Engine *e, Load *l, bool cut)
{
	if (l->done)
		return;
	l->done = true;
	l->ended_ns = e->now_ns;
	if (l->live->tcp && cut)
		tcp_reset(l->live->tcp, engine_stack_now(e));
	else if (l->live->tcp)
		tcp_close(l->live->tcp, engine_stack_now(e));
}

/* One write.  False: there is no room. */
static bool load_write(Engine *e, Load *l)
{
	Bytes b = load_bytes(e, l, l->size);
	size_t took = b.n;

	if (!load_room(l))
		return false;
	if (l->udp) {
		if (dgram_send(l->live->udp, b) != DGRAM_QUEUED)
			return false;
	} else {
		took = tcp_send(l->live->tcp, engine_stack_now(e), b);
	}
	l->queued += took;
	if (l->left != UINT64_MAX)
		l->left -= took;
	return took > 0;
}

static bool gave_up(const Load *l)
{
	return l->live->tcp && l->live->tcp->state == TCP_CLOSED;
}

static void load_run(Engine *e, Load *l)
{
	double gap = l->rate > 0 ? (double)l->size / l->rate * 1e9 : 0;

	if (gave_up(l) || (l->until_ns != NS_NONE && l->until_ns <= e->now_ns)) {
		load_end(e, l, false);
		return;
	}
	if (l->next_ns < e->now_ns - (int64_t)(gap * CATCH_UP))
		l->next_ns = e->now_ns - (int64_t)(gap * CATCH_UP);
	while (l->left && (gap <= 0 || l->next_ns <= e->now_ns) && load_write(e, l))
		l->next_ns = ns_later(l->next_ns, (int64_t)gap);
	if (!l->left)
		load_end(e, l, false);
}

void engine_loads_run(Engine *e)
{
	for (uint32_t i = 0; i < e->load.n; i++)
		if (!e->load.p[i]->done)
			load_run(e, e->load.p[i]);
}

int64_t engine_loads_wake(const Engine *e)
{
	int64_t at = INT64_MAX;

	for (uint32_t i = 0; i < e->load.n; i++) {
		const Load *l = e->load.p[i];

		if (l->done)
			continue;
		if (l->rate > 0 && l->next_ns < at && load_room(l))
			at = l->next_ns;
		if (l->until_ns != NS_NONE && l->until_ns < at)
			at = l->until_ns;
	}
	return at;
}

/* The run is over: what has no bound of its own ends now. */
void engine_loads_end(Engine *e)
{
	for (uint32_t i = 0; i < e->load.n; i++)
		load_end(e, e->load.p[i], true);
}

/* ---- the language's side ---- */

/* rate, bytes, time: what bounds it. */
static bool load_bounds(Vm *vm, const Value *args, Load *l)
{
	Engine *e = vm_ctx(vm);
	int64_t bytes, time;

	l->left = UINT64_MAX;
	l->until_ns = NS_NONE;
	if (!val_left_out(args[0]) && !vm_to_num(vm, args[0], &l->rate))
		return false;
	if (!val_left_out(args[0]) && !(l->rate > 0 && isfinite(l->rate)))
		return vm_fail(vm, "E-VALUE", "rate is bytes a second and above 0");
	if (!val_left_out(args[1])) {
		if (!vm_to_int(vm, args[1], &bytes))
			return false;
		l->left = bytes < 0 ? 0 : (uint64_t)bytes;
	}
	if (!val_left_out(args[2])) {
		if (!vm_to_duration(vm, args[2], &time))
			return false;
		l->until_ns = ns_later(e->now_ns, time == NS_NONE || time < 0 ? 0 : time);
	}
	return true;
}

/* (dst, dport, proto, size, rate, bytes, time, tos) */
bool bi_load(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Load *l = arena_new(e->a, Load);
	int64_t size, tos;
	LiveOpen o;
	Str proto;

	(void)n;
	if (!net_live_open(e, vm, args[0], args[1], &o) || !vm_to_str(vm, args[2], &proto) ||
	    !vm_to_int(vm, args[3], &size) || !vm_to_int(vm, args[7], &tos))
		return false;
	if (!str_is(proto, "tcp") && !str_is(proto, "udp"))
		return vm_fail(vm, "E-VALUE", "proto is \"tcp\" or \"udp\"");
	if (size < 1 || size > SIZE_MOST || tos < 0 || tos > UINT8_MAX)
		return vm_fail(vm, "E-VALUE", "size is 1..%d bytes, tos 0..255", SIZE_MOST);
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	if (!load_bounds(vm, args + 4, l))
		return false;
	l->udp = str_is(proto, "udp");
	l->size = (uint32_t)size;
	l->next_ns = l->first_ns = e->now_ns;
	TcpOpen t = net_live_defaults();
	t.tos = (uint8_t)tos;
	t.log = false;
	l->live = l->udp ? net_live_datagram(e, &o, 0, (uint8_t)tos) : net_live_tcp(e, &o, &t, 0);
	if (!l->live)
		return engine_halt(e, vm);
	l->udp = l->live->udp != NULL;
	l->done = !l->live->tcp && !l->udp;
	vec_push(e->a, &e->load, l);
	engine_conn_run(e);
	*ret = val_of(vm_native(vm, OWNER_LOAD, 0, l));
	return true;
}

static const Load *load_self(Value v)
{
	return val_native(v)->data;
}

bool m_load_stop(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);

	(void)n;
	(void)ret;
	load_end(e, val_native(args[0])->data, true);
	engine_conn_run(e);
	return true;
}

static uint64_t sent_bytes(const Load *l)
{
	return l->live->tcp ? l->live->tcp->out.bytes : l->live->udp ? l->live->udp->count.sent_bytes : 0;
}

bool a_load_running(Vm *vm, Value self, Value *ret)
{
	const Load *l = load_self(self);
	const TcpConn *c = l->live->tcp;

	(void)vm;
	*ret = val_bool(!l->done || (c && c->state != TCP_CLOSED && (tcp_unsent(c) || tcp_unacked(c))));
	return true;
}

bool a_load_state(Vm *vm, Value self, Value *ret)
{
	const Load *l = load_self(self);

	*ret = vm_str(vm, str_c(!l->live->udp ? live_state(l->live) : l->done ? "closed" : "established"));
	return true;
}

bool a_load_sent(Vm *vm, Value self, Value *ret)
{
	(void)vm;
	*ret = val_int((int64_t)sent_bytes(load_self(self)));
	return true;
}

bool a_load_acked(Vm *vm, Value self, Value *ret)
{
	const Load *l = load_self(self);

	(void)vm;
	*ret = val_int(l->live->tcp ? (int64_t)l->live->tcp->out.bytes_acked : 0);
	return true;
}

bool a_load_throughput(Vm *vm, Value self, Value *ret)
{
	const Engine *e = vm_ctx(vm);
	const Load *l = load_self(self);
	uint64_t bytes = l->live->tcp ? l->live->tcp->out.bytes_acked : sent_bytes(l);
	int64_t from = l->live->tcp ? engine_run_time(l->live->tcp->times.first_sent) : l->first_ns;
	int64_t to = l->done && !(l->live->tcp && tcp_unacked(l->live->tcp)) ? l->ended_ns : e->now_ns;

	*ret = val_float(bytes && from != NS_NONE && to > from ? (double)bytes / ((double)(to - from) / 1e9) : (double)NAN);
	return true;
}

bool a_load_retransmits(Vm *vm, Value self, Value *ret)
{
	const TcpConn *c = load_self(self)->live->tcp;

	(void)vm;
	*ret = val_int(c ? (int64_t)c->out.fast + c->out.rto + c->out.tlp : 0);
	return true;
}
