/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a frame that the engine wants to send.
 *
 *   EMIT: copied once into a slot; its route; frame_check() judges the copy
 *   queue: a heap by the engine's schedule
 *   due: next hop (a neighbour may have to be asked), then the budget, which may
 *        hold it, then a batch for sendmmsg
 *   sent: stamps.c waits for its witnesses and frees the slot
 */
#include "gate/gate.h"

#include "base/exits.h"
#include "sys/proc.h"
#include "wire/wire.h"

#include <errno.h>

/* FULL_TRIES: ms that a full socket is waited for; its buffer is larger than all
 * that may be in flight, so that is the driver's doing. */
enum { PIECES_BYTES = 256 * 1024, ETHER_HEAD = 14, FULL_TRIES = 20 };

#define NOW_OR(t) ((t) == NS_NONE ? INT64_MIN : (t))

/* ---- slots ---- */

void outgoing_init(Gate *g, Arena *a, void *slots_mem)
{
	g->slot = arena_new_n(a, Slot, GATE_SLOTS);
	g->heap = arena_new_n(a, uint32_t, GATE_SLOTS);
	g->pieces = arena_alloc(a, PIECES_BYTES);
	g->free = NEIGH_NOBODY;
	for (uint32_t i = GATE_SLOTS; i-- > 0;) {
		g->slot[i].data = (uint8_t *)slots_mem + (size_t)i * GATE_SLOT_BYTES;
		g->slot[i].next = g->free;
		g->free = i;
	}
	g->nfree = GATE_SLOTS;
}

static uint32_t slot_number(const Gate *g, const Slot *s)
{
	return (uint32_t)(s - g->slot);
}

/* The last that was freed is taken first: its memory is warm. */
static Slot *slot_take(Gate *g)
{
	Slot *s = &g->slot[g->free];

	g->free = s->next;
	g->nfree--;
	return s;
}

static void slot_free(Gate *g, Slot *s)
{
	s->next = g->free;
	g->free = slot_number(g, s);
	g->nfree++;
}

/* ---- the heap ---- */

static bool before(const Gate *g, uint32_t a, uint32_t b)
{
	const Slot *x = &g->slot[a], *y = &g->slot[b];

	if (NOW_OR(x->not_before) != NOW_OR(y->not_before))
		return NOW_OR(x->not_before) < NOW_OR(y->not_before);
	return x->seq < y->seq;
}

static void heap_swap(Gate *g, uint32_t i, uint32_t k)
{
	uint32_t t = g->heap[i];

	g->heap[i] = g->heap[k];
	g->heap[k] = t;
}

static void heap_push(Gate *g, uint32_t slot)
{
	uint32_t i = g->nheap++;

	g->heap[i] = slot;
	while (i && before(g, g->heap[i], g->heap[(i - 1) / 2])) {
		heap_swap(g, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void heap_pop(Gate *g)
{
	uint32_t i = 0;

	g->heap[0] = g->heap[--g->nheap];
	for (;;) {
		uint32_t least = i;

		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < g->nheap; k++)
			if (before(g, g->heap[k], g->heap[least]))
				least = k;
		if (least == i)
			return;
		heap_swap(g, i, least);
		i = least;
	}
}

/* ---- what the engine is told ---- */

static Bytes slot_head(const Slot *s)
{
	return s->verdict.was_ether ? BYTES(s->data, ETHER_HEAD) : BYTES(s->head, s->nhead);
}

static Bytes slot_body(const Slot *s)
{
	size_t skip = s->verdict.was_ether ? ETHER_HEAD : 0;

	return BYTES(s->data + skip, s->n - skip);
}

void outgoing_sent(Gate *g, Slot *s, int64_t tx, StampSource source, int64_t queue)
{
	Msg m = { .type = MSG_SENT,
		  .sent = { .tx_id = s->tx_id,
			    .tx_ns = tx,
			    .source = (uint8_t)source,
			    .queue_ns = queue,
			    .paced_ns = s->paced,
			    .iface = s->iface->gl.index } };

	g->stamps.by_source[source]++;
	outbox_put(&g->outbox, &m);
	if (evidence_on(&g->evidence)) {
		char comment[64];

		snprintf(comment, sizeof comment, "tx_id=%u stamp=%s", s->tx_id, stamp_text(source));
		evidence_frame(&g->evidence, s->iface->evidence_id, g->time.epoch + tx, slot_head(s), slot_body(s),
			       (uint32_t)(slot_head(s).n + slot_body(s).n), true, comment);
	}
	slot_free(g, s);
}

void outgoing_notsent(Gate *g, Slot *s, NotSent reason, const char *detail)
{
	Msg m = { .type = MSG_NOTSENT,
		  .notsent = { .tx_id = s->tx_id,
			       .reason = (uint8_t)reason,
			       .detail = str_bytes(str_c(detail)) } };

	outbox_put(&g->outbox, &m);
	slot_free(g, s);
}

/* ---- EMIT ---- */

/* Interface and MTU by the kernel's route, or by what the engine named. */
static bool slot_route(Gate *g, Slot *s, uint16_t iface, int64_t now, NotSent *ret_reason)
{
	Ip dst;
	const Hop *h;

	if (!frame_dst(s->kind, BYTES(s->data, s->n), &dst)) {
		s->iface = iface ? links_find(&g->links, iface) : NULL;
		s->mtu = s->iface ? s->iface->gl.mtu : 0;
		return true;
	}
	h = links_hop(&g->links, dst, iface, now);
	s->iface = h->iface;
	s->mtu = h->mtu;
	*ret_reason = h->reason;
	return h->reason == NOTSENT_NONE;
}

static bool slot_check(Gate *g, Slot *s, int64_t now)
{
	GateLink gl = s->iface ? s->iface->gl : (GateLink){ 0 };
	FrameIn in = { .kind = s->kind,
		       .purpose = s->purpose,
		       .data = BYTES(s->data, s->n),
		       .link = s->iface && s->iface->may_send ? &gl : NULL,
		       .now = now };

	gl.mtu = s->mtu;
	return frame_check(&g->check, &in, &s->verdict);
}

static void route_text(const Gate *g, const Slot *s, NotSent reason, char *out, size_t cap)
{
	char ip[IP_TEXT] = "the destination";
	Ip dst;

	(void)g;
	if (frame_dst(s->kind, BYTES(s->data, s->n), &dst))
		ip_format(dst, ip);
	if (reason == NOTSENT_LINK_DOWN && s->iface)
		snprintf(out, cap, "%s, on the way to %s, is down", s->iface->link.name, ip);
	else
		snprintf(out, cap, "no route to %s", ip);
}

void outgoing_emit(Gate *g, const Msg *m)
{
	Slot *s = slot_take(g);
	int64_t now = gate_now(g);
	NotSent reason = NOTSENT_NONE;
	char text[128];

	*s = (Slot){ .tx_id = m->emit.tx_id,
		     .kind = (EmitKind)m->emit.kind,
		     .purpose = (EmitPurpose)m->emit.purpose,
		     .not_before = m->emit.not_before,
		     .due = m->emit.not_before > now ? m->emit.not_before : now,
		     .seq = g->seq++,
		     .data = s->data,
		     .n = (uint32_t)m->emit.data.n };
	if (s->n > LIMIT_FRAME || (g->phase != GATE_RUNS && s->purpose != PURPOSE_CLEANUP)) {
		outgoing_notsent(g, s, s->n > LIMIT_FRAME ? NOTSENT_TOO_LONG : NOTSENT_STOPPED, "");
		return;
	}
	memcpy(s->data, m->emit.data.p, s->n);
	if (!slot_route(g, s, m->emit.iface, now, &reason)) {
		route_text(g, s, reason, text, sizeof text);
		outgoing_notsent(g, s, reason, text);
	} else if (!slot_check(g, s, now)) {
		if (s->verdict.counts)
			gate_refused(g, s, s->verdict.reason, s->verdict.text);
		outgoing_notsent(g, s, s->verdict.reason, s->verdict.text);
	} else {
		heap_push(g, slot_number(g, s));
	}
}

/* ---- next hop ---- */

static void head_make(Slot *s, Mac dst)
{
	Writer w = writer(s->head, sizeof s->head);

	wr_bytes(&w, BYTES(dst.b, 6));
	wr_bytes(&w, BYTES(s->iface->gl.mac.b, 6));
	wr_be16(&w, s->kind == EMIT_IP4 ? 0x0800 : 0x86dd);
	s->nhead = ETHER_HEAD;
}

static void wait_for(Gate *g, NeighRow *r, Slot *s)
{
	uint32_t k = slot_number(g, s);

	s->next = NEIGH_NOBODY;
	if (r->first == NEIGH_NOBODY)
		r->first = k;
	else
		g->slot[r->last].next = k;
	r->last = k;
}

void outgoing_wake(Gate *g, NeighRow *r)
{
	uint32_t k = r->first;

	r->first = r->last = NEIGH_NOBODY;
	while (k != NEIGH_NOBODY) {
		uint32_t next = g->slot[k].next;

		g->slot[k].due = gate_now(g); /* what it waited for was no rate */
		heap_push(g, k);
		k = next;
	}
}

static void no_neighbour(Gate *g, Slot *s, Ip next)
{
	char ip[IP_TEXT], text[128];

	ip_format(next, ip);
	snprintf(text, sizeof text, "%s does not answer %s on %s", ip, next.v == 4 ? "ARP" : "neighbour solicitation",
		 s->iface->link.name);
	outgoing_notsent(g, s, NOTSENT_NO_NEIGHBOUR, text);
}

/* The next hop's MAC is known: the head is made, or the one that came is judged. */
static bool head_known(Gate *g, Slot *s, Mac mac)
{
	if (!s->verdict.was_ether) {
		head_make(s, mac);
		return true;
	}
	if (frame_hop_ok(&s->verdict, mac))
		return true;
	gate_refused(g, s, s->verdict.reason, s->verdict.text);
	outgoing_notsent(g, s, s->verdict.reason, s->verdict.text);
	return false;
}

/* True: the frame has its head (or needs none).  False: it waits, or is gone. */
static bool hop_ready(Gate *g, Slot *s, int64_t now)
{
	const Hop *h;
	NeighRow *r;

	if (s->verdict.hop == HOP_NONE)
		return true;
	if (s->verdict.hop == HOP_MAC) {
		if (!s->verdict.was_ether)
			head_make(s, s->verdict.hop_mac);
		return true;
	}
	if (s->iface->link.loopback) /* nobody is asked there, and all have the MAC 0 */
		return head_known(g, s, (Mac){ 0 });
	h = links_hop(&g->links, s->verdict.hop_ip, s->iface->gl.index, now);
	if (h->reason != NOTSENT_NONE || h->iface != s->iface) {
		outgoing_notsent(g, s, h->reason != NOTSENT_NONE ? h->reason : NOTSENT_NO_ROUTE, "the route changed");
		return false;
	}
	r = neighs_find(&g->neighs, s->iface, h->next, now);
	if (r && r->say == NEIGH_WAIT) {
		wait_for(g, r, s);
		return false;
	}
	if (!r || r->say == NEIGH_SILENT) {
		no_neighbour(g, s, h->next);
		return false;
	}
	return head_known(g, s, r->mac);
}

/* ---- budget ---- */

static MeterFrame slot_cost(const Gate *g, const Slot *s)
{
	WireCut cut;
	MeterFrame f = { .packets = 1,
			 .bytes = slot_head(s).n + slot_body(s).n,
			 .syn = s->verdict.syn,
			 .cleanup = s->verdict.cleanup,
			 .called = s->verdict.called,
			 .spoof = s->verdict.spoof,
			 .dst = s->verdict.tuple.dst };

	if (s->verdict.cut && !wire_cut_init(&cut, slot_body(s), s->mtu, g->cut_id)) {
		f.packets = wire_cut_count(&cut, &f.bytes);
		f.bytes += (uint64_t)f.packets * s->nhead;
	}
	return f;
}

/* True: paid.  Else it is held (all wait behind it) or refused. */
static bool budget_ready(Gate *g, Slot *s, int64_t now, bool *ret_refused)
{
	MeterFrame f = slot_cost(g, s);
	const char *lacks = purse_lacks(&g->purse, &f);
	MeterAnswer a = lacks ? (MeterAnswer){ .say = METER_REFUSE, .bound = lacks } : meter_ask(&g->meter, &f, now);

	*ret_refused = a.say == METER_REFUSE;
	if (a.say == METER_SEND) {
		if (s->due < g->hold_end) { /* it, or one before it, was held when it was due */
			s->paced = now - s->due;
			g->held++;
		}
		purse_pay(&g->purse, &f);
		g->sent_packets += f.packets;
		g->sent_bytes += f.bytes;
		g->sent_syn += f.syn;
		return true;
	}
	if (a.say == METER_HOLD) {
		g->held_until = g->hold_end = a.until;
		return false;
	}
	outgoing_notsent(g, s, NOTSENT_BUDGET, a.bound);
	if (lacks && !g->purse.fault)
		gate_note(g->cmd_fd, 2,
			  "what the policy allows this session in an hour (%s) is used up: `sonde ledger` shows it, and it comes "
			  "back as it gets an hour old",
			  lacks);
	if (g->purse.fault)
		gate_stop(g, STOP_ENVIRONMENT, SONDE_EXIT_ENVIRONMENT, "%s", g->purse.fault);
	else
		gate_stop(g, STOP_BUDGET, SONDE_EXIT_BUDGET, "%s", a.bound);
	return false;
}

/* ---- sending ---- */

static NotSent send_reason(int err, const char **ret_text)
{
	static const struct {
		int err;
		NotSent reason;
		const char *text;
	} rows[] = {
		{ EMSGSIZE, NOTSENT_TOO_LONG, "longer than the interface takes" },
		{ ENETDOWN, NOTSENT_LINK_DOWN, "the interface went down" },
		{ ENXIO, NOTSENT_LINK_DOWN, "the interface is gone" },
		{ ENODEV, NOTSENT_LINK_DOWN, "the interface is gone" },
		{ EAGAIN, NOTSENT_STAMP, "the driver takes no frames" },
		{ ENOBUFS, NOTSENT_STAMP, "the interface's queue is full or its cable out" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].err == err) {
			*ret_text = rows[i].text;
			return rows[i].reason;
		}
	*ret_text = "the kernel refused it";
	return NOTSENT_STAMP;
}

static void batch_failed(Gate *g, unsigned i, int err)
{
	Slot *s = &g->slot[g->batch_slot[i]];
	const char *text;
	NotSent reason = send_reason(err, &text);

	stamps_remove(g, g->batch[i].id);
	links_forget(&g->links);
	s->stamps.lost = true;
	if (--s->stamps.left == 0)
		outgoing_notsent(g, s, reason, text);
}

static void batch_went(Gate *g, unsigned i, uint32_t planned)
{
	if (!g->tx.own_ids)
		stamps_renumber(g, planned, g->batch[i].id + 1);
}

static void batch_send(Gate *g)
{
	unsigned done = 0, tries = 0;

	while (done < g->nbatch) {
		uint32_t planned[PACKET_TX_BATCH];
		int r;

		for (unsigned i = done; i < g->nbatch; i++)
			planned[i] = g->batch[i].id;
		r = packet_send(&g->tx, &g->batch[done], g->nbatch - done);
		if (r == -EAGAIN && tries++ < FULL_TRIES) {
			proc_readable(-1, 1);
			continue;
		}
		for (unsigned i = 0; r > 0 && i < (unsigned)r; i++)
			batch_went(g, done + i, planned[done + i]);
		if (r <= 0)
			batch_failed(g, done, -r);
		done += r > 0 ? (unsigned)r : 1;
	}
	g->nbatch = 0;
	g->npieces = 0;
}

static uint16_t ethertype(const Slot *s)
{
	if (s->verdict.was_ether)
		return get_be16(s->data + 12);
	return s->kind == EMIT_IP4 ? 0x0800 : 0x86dd;
}

/* False: no room for its stamps now. */
static bool batch_add(Gate *g, Slot *s, Bytes head, Bytes body)
{
	uint32_t id;

	if (g->nbatch == PACKET_TX_BATCH)
		batch_send(g);
	id = stamps_add(g, slot_number(g, s), head, body);
	if (!id)
		return false;
	g->batch[g->nbatch] = (PacketOut){
		.head = head, .body = body, .ifindex = s->iface->link.index, .ethertype = ethertype(s), .id = id
	};
	g->batch_slot[g->nbatch++] = slot_number(g, s);
	s->stamps.left++;
	return true;
}

static bool batch_cut(Gate *g, Slot *s)
{
	WireCut cut;
	Writer w;
	bool any = false;

	if (wire_cut_init(&cut, slot_body(s), s->mtu, ++g->cut_id))
		return false;
	batch_send(g); /* the pieces need all of g->pieces */
	s->stamps.left = 1; /* held until the last piece is added */
	for (;;) {
		if (g->nbatch == PACKET_TX_BATCH || g->npieces + s->mtu > PIECES_BYTES)
			batch_send(g);
		w = writer(g->pieces + g->npieces, s->mtu);
		if (!wire_cut_next(&cut, &w) || !batch_add(g, s, slot_head(s), wr_done(&w)))
			break;
		g->npieces += (uint32_t)w.n;
		any = true;
	}
	s->stamps.left--;
	return any;
}

static void slot_go(Gate *g, Slot *s, int64_t now)
{
	const FrameVerdict *v = &s->verdict;
	bool ok;

	flows_sent(&g->flows, &v->tuple, v->syn, v->to_many);
	if (v->dhcp)
		flows_asked_dhcp(&g->flows, v->dhcp_xid);
	if (v->cleanup) {
		g->resets++;
		g->last_reset = now;
	} else {
		ending_expect(g, &v->tuple, now);
	}
	ok = v->cut ? batch_cut(g, s) : batch_add(g, s, slot_head(s), slot_body(s));
	if (!ok && s->stamps.left == 0)
		outgoing_notsent(g, s, NOTSENT_TOO_LONG, "it can't be cut to the MTU");
}

static bool stamps_full(const Gate *g)
{
	return g->stamps.out > STAMP_PIECES / 2 - 64;
}

void outgoing_run(Gate *g)
{
	int64_t now = gate_now(g);

	g->held_until = INT64_MIN;
	while (g->nheap && !stamps_full(g)) {
		Slot *s = &g->slot[g->heap[0]];
		bool refused = false;

		if (NOW_OR(s->not_before) > now)
			break;
		if (!hop_ready(g, s, now)) {
			heap_pop(g);
			continue;
		}
		if (!budget_ready(g, s, now, &refused)) {
			if (!refused)
				break;
			heap_pop(g);
			continue;
		}
		heap_pop(g);
		slot_go(g, s, now);
	}
	if (g->nbatch)
		batch_send(g);
}

int64_t outgoing_next(const Gate *g)
{
	int64_t at;

	if (!g->nheap)
		return INT64_MAX;
	at = NOW_OR(g->slot[g->heap[0]].not_before);
	return at > g->held_until ? at : g->held_until;
}

void outgoing_cancel(Gate *g, bool cleanup_too)
{
	uint32_t n = g->nheap, kept = 0;

	g->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		Slot *s = &g->slot[g->heap[i]];

		if (cleanup_too || s->purpose != PURPOSE_CLEANUP)
			outgoing_notsent(g, s, NOTSENT_STOPPED, "");
		else
			g->heap[kept++] = g->heap[i];
	}
	n = kept;
	for (uint32_t i = 0; i < n; i++)
		heap_push(g, g->heap[i]);
}
