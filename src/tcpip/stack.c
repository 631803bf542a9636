/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/inside.h"
#include "tcpip/ip.h"

#include "tcpip/timer_heap.h"

#include "base/rng.h"

enum { STACK_TABLE = 64 }; /* first size of the hash tables */
static const size_t STACK_BYTES = 64u * 1024 * 1024; /* StackConfig.max_bytes left out */

/* ---- tables ---- */

NetStack *stack_new(Arena *a, const StackConfig *c)
{
	NetStack *s = arena_new(a, NetStack);

	pool_init(&s->pool, a, c->max_bytes ? c->max_bytes : STACK_BYTES);
	s->seed = c->seed;
	s->by_id = arena_new_n(a, Endpoint *, STACK_TABLE);
	s->by_tuple = arena_new_n(a, TcpConn *, STACK_TABLE);
	s->id_mask = s->tuple_mask = STACK_TABLE - 1;
	return s;
}

static Endpoint **id_slot(const NetStack *s, uint32_t id)
{
	return &s->by_id[id & s->id_mask];
}

/* Chains may grow long if there is no memory for a wider table; they stay right. */
static void widen_ids(NetStack *s)
{
	uint32_t was = s->id_mask + 1;
	Endpoint **old = s->by_id, **wide = pool_table(&s->pool, 2 * was * sizeof *wide);

	if (!wide)
		return;
	s->by_id = wide;
	s->id_mask = 2 * was - 1;
	for (uint32_t i = 0; i < was; i++) {
		for (Endpoint *e = old[i], *next; e; e = next) {
			next = e->id_next;
			e->id_next = *id_slot(s, e->id);
			*id_slot(s, e->id) = e;
		}
	}
}

static Endpoint *endpoint_find(const NetStack *s, uint32_t id)
{
	Endpoint *e = *id_slot(s, id);

	while (e && e->id != id)
		e = e->id_next;
	return e;
}

void endpoint_add(NetStack *s, Endpoint *e, const EndpointOps *ops)
{
	if (s->n_endpoints++ > s->id_mask)
		widen_ids(s);
	*e = (Endpoint){ .ops = ops, .stack = s, .id = ++s->last_id, .due_ns = STACK_NEVER };
	e->id_next = *id_slot(s, e->id);
	*id_slot(s, e->id) = e;
}

/* ---- turns ---- */

void endpoint_ready(Endpoint *e)
{
	NetStack *s = e->stack;

	if (e->ready || e->unsent >= STACK_UNSENT)
		return;
	e->ready = true;
	if (!s->ready) {
		s->ready = e->ready_next = e->ready_prev = e;
		return;
	}
	/* Behind all others: before the one whose turn it is. */
	e->ready_next = s->ready;
	e->ready_prev = s->ready->ready_prev;
	e->ready_prev->ready_next = e->ready_next->ready_prev = e;
}

static void not_ready(Endpoint *e)
{
	NetStack *s = e->stack;

	if (!e->ready)
		return;
	e->ready = false;
	if (e->ready_next == e) {
		s->ready = NULL;
		return;
	}
	e->ready_prev->ready_next = e->ready_next;
	e->ready_next->ready_prev = e->ready_prev;
	if (s->ready == e)
		s->ready = e->ready_next;
}

void endpoint_due(Endpoint *e, int64_t due_ns)
{
	if (due_ns == e->due_ns)
		return;
	if (e->due_ns != STACK_NEVER)
		timer_heap_remove(&e->stack->heap, e);
	e->due_ns = due_ns;
	if (due_ns != STACK_NEVER)
		timer_heap_add(&e->stack->heap, e);
}

void endpoint_remove(Endpoint *e)
{
	Endpoint **at = id_slot(e->stack, e->id);

	endpoint_due(e, STACK_NEVER);
	not_ready(e);
	while (*at != e)
		at = &(*at)->id_next;
	*at = e->id_next;
	e->stack->n_endpoints--;
}

uint64_t endpoint_tag(const Endpoint *e, uint32_t what)
{
	return (uint64_t)e->id << 32 | what;
}

/* ---- packets ---- */

/* A packet's stamp may lie a little before what was done already. */
static void see_time(NetStack *s, int64_t now_ns)
{
	if (s->now_ns < now_ns)
		s->now_ns = now_ns;
}

/* Where a whole packet goes by its protocol. */
static const struct {
	uint8_t proto;
	StackVerdict (*in)(NetStack *s, int64_t now_ns, const IpPacket *ip, const StackRx *rx);
} proto_in[] = {
	{ IP_PROTO_TCP, tcp_input },
	{ IP_PROTO_UDP, udp_input },
	{ IP_PROTO_ICMP, icmp_input },
	{ IP_PROTO_ICMPV6, icmp_input },
};

StackVerdict stack_input(NetStack *s, int64_t now_ns, Bytes packet, const StackRx *rx)
{
	IpPacket ip;

	see_time(s, now_ns);
	s->counts.packets_in++;
	if (!ip_packet_read(packet, &ip)) {
		s->counts.malformed++;
		return STACK_NOT_OURS;
	}
	/* A piece is nobody's, its packet may be somebody's. */
	if (ip.fragment && !ip_reassemble(s, now_ns, &ip, &ip))
		return STACK_NOT_OURS;
	for (size_t i = 0; i < sizeof proto_in / sizeof *proto_in; i++) {
		if (proto_in[i].proto == ip.proto)
			return proto_in[i].in(s, now_ns, &ip, rx);
	}
	return STACK_NOT_OURS;
}

static bool pull_loose(NetStack *s, StackOut *ret_out)
{
	if (!s->loose_n)
		return false;
	const LooseReset *r = &s->loose[s->loose_from];

	s->loose_from = (s->loose_from + 1) % LOOSE_RESETS;
	s->loose_n--;
	s->counts.resets_out++;
	s->counts.packets_out++;
	*ret_out = (StackOut){ .packet = BYTES(s->out, tcp_loose_write(r, s->out)), .tag = 1 };
	return true;
}

bool stack_pull(NetStack *s, int64_t now_ns, StackOut *ret_out)
{
	see_time(s, now_ns);
	if (pull_loose(s, ret_out))
		return true;
	while (s->ready) {
		Endpoint *e = s->ready;
		StackOut out = { .conn = e->id };
		size_t n = e->unsent < STACK_UNSENT ? e->ops->pull(e, now_ns, s->out, &out) : 0;

		if (!n) {
			not_ready(e);
			continue;
		}
		e->unsent++;
		s->ready = e->ready_next;
		s->counts.packets_out++;
		out.packet = BYTES(s->out, n);
		*ret_out = out;
		return true;
	}
	return false;
}

/* The endpoint that a tag is of, with one frame less on its way; NULL: it is gone. */
static Endpoint *landed(NetStack *s, uint64_t tag)
{
	Endpoint *e = endpoint_find(s, (uint32_t)(tag >> 32));

	if (e && e->unsent)
		e->unsent--;
	return e;
}

void stack_sent(NetStack *s, uint64_t tag, int64_t tx_ns)
{
	Endpoint *e = landed(s, tag);

	if (!e)
		return;
	endpoint_ready(e);
	e->ops->sent(e, tag, tx_ns);
}

void stack_notsent(NetStack *s, uint64_t tag, StackUnsent why)
{
	Endpoint *e = landed(s, tag);

	if (!e)
		return;
	endpoint_ready(e);
	e->ops->notsent(e, tag, why);
}

bool stack_has_output(const NetStack *s)
{
	return s->loose_n || s->ready;
}

/* ---- time ---- */

int64_t stack_wake_ns(const NetStack *s)
{
	int64_t pieces = ip_wake_ns(s), own = s->heap ? s->heap->due_ns : STACK_NEVER;

	return pieces < own ? pieces : own;
}

void stack_advance(NetStack *s, int64_t now_ns)
{
	see_time(s, now_ns);
	ip_advance(s, now_ns);
	while (s->heap && s->heap->due_ns <= now_ns) {
		Endpoint *e = s->heap;

		endpoint_due(e, STACK_NEVER);
		e->ops->due(e, now_ns);
	}
}
