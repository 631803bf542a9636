/* SPDX-License-Identifier: Apache-2.0
 *
 * send, sr, sr1: rounds of probes, and what became of each.
 *
 * An item is one packet of the program's list.  Each round sends the items that
 * are not answered yet, with new identities where they are free; the wait ends
 * with the time-out behind the last transmit stamp, or when nothing is left to
 * wait for.
 */
#include "vm/engine_inside.h"

#include <math.h>

#include "probe/stats.h"

enum {
	RETRY_MOST = 100,
	LINGER_LEAST_MS = 10, /* once all are answered: a moment more, for copies of the last ones */
	LINGER_MOST_MS = 100,
};

typedef struct Got {
	Value r;
	struct Got *next;
} Got;

typedef struct Item {
	ObjPacket *p; /* as the program built it */
	Value s;      /* as it was sent last, or as its answer proves */
	uint64_t first, probe;
	int64_t tx_ns, rx_ns;
	Value r;
	Got *got, *got_last;
	uint8_t line;
	bool left; /* at least one copy was sent */
	bool answered, direct;
	NotSent refused;
	Value why; /* str */
} Item;

/* A copy of an item's packet: which of them an answer belongs to. */
typedef struct Copy {
	uint64_t probe;
	uint32_t item;
	Value s;
	int64_t tx_ns;
} Copy;

typedef struct Sr {
	Engine *e;
	Vm *vm;
	Item *item;
	uint32_t n;
	const HostIface *iface;
	double rate;
	int64_t timeout_ns;
	int retry;
	Value stop;	 /* a function, or None */
	bool first_only; /* sr1 */
	bool many;	 /* several may answer one probe: the whole time-out is waited */
	bool done;	 /* stop= said so, or sr1 has its answer */
	bool failed;	 /* a run-time error inside stop= */
	uint32_t open;	 /* items sent and not answered */
	int64_t last_tx_ns, longest_ns;
	Copy *copy; /* of this call, by number of the probe */
	uint32_t copies, copy_cap;
	uint64_t copy_base; /* number of the probe before the first copy */
	uint32_t duplicates, late, unsolicited, ambiguous;
	ObjList *late_all, *unsolicited_all; /* NULL: sr1 lists nothing */
	Item *first; /* the first item that was answered */
} Sr;

/* ---- what the engine tells ---- */

static Copy *copy_of(Sr *sr, uint64_t probe)
{
	uint64_t i = probe - sr->copy_base - 1;

	return probe > sr->copy_base && i < sr->copies ? &sr->copy[i] : NULL;
}

static void on_sent(void *ctx, uint32_t at, int64_t tx_ns, uint16_t iface)
{
	Sr *sr = ctx;
	Copy *c = &sr->copy[at];
	ObjPacket *s = val_packet(c->s);

	c->tx_ns = tx_ns;
	s->time = ns_later(sr->e->epoch_ns, tx_ns);
	s->iface = iface;
	sr->item[c->item].tx_ns = tx_ns;
	if (tx_ns > sr->last_tx_ns || sr->last_tx_ns == NS_NONE)
		sr->last_tx_ns = tx_ns;
}

static void item_refused(Sr *sr, Item *it, NotSent why, Str detail)
{
	Arena *a = vm_scratch(sr->vm);

	it->refused = why;
	it->why = vm_str(sr->vm, detail.n ? str_printf(a, "%s: %.*s", notsent_text(why), STR_ARG(detail))
					  : str_c(notsent_text(why)));
}

static void on_notsent(void *ctx, uint32_t at, NotSent why, Str detail)
{
	Sr *sr = ctx;
	Item *it = &sr->item[sr->copy[at].item];

	/* an earlier copy may have left all the same */
	if (it->tx_ns == NS_NONE) {
		it->left = false;
		sr->open -= !it->answered;
	}
	item_refused(sr, it, why, detail);
}

static void keep_answer(Sr *sr, Item *it, Value r)
{
	Got *g = heap_block(vm_heap(sr->vm), sizeof *g);

	*g = (Got){ r, NULL };
	if (it->got_last)
		it->got_last->next = g;
	else
		it->got = g;
	it->got_last = g;
}

static void ask_stop(Sr *sr, Value r)
{
	Value yes;

	if (val_left_out(sr->stop))
		return;
	if (!vm_call(sr->vm, sr->stop, &r, 1, &yes))
		sr->failed = sr->done = true;
	else if (val_truth(yes))
		sr->done = true;
}

static void first_answer(Sr *sr, Item *it, Copy *c, const Arrival *a, const Match *m, Value r)
{
	it->answered = true;
	it->direct = m->how == HOW_FLOW;
	it->rx_ns = a->rx_ns;
	it->tx_ns = c->tx_ns;
	it->s = c->s;
	it->r = r;
	sr->open--;
	sr->e->line[it->line].answered++;
	if (!sr->first)
		sr->first = it;
	if (c->tx_ns != NS_NONE && a->rx_ns < c->tx_ns)
		warn_add(&sr->e->warnings, WARN_EARLY, a->id.src, 1, "rtt %.3f ms", (double)(a->rx_ns - c->tx_ns) / 1e6);
	if (c->tx_ns != NS_NONE && a->rx_ns - c->tx_ns > sr->longest_ns)
		sr->longest_ns = a->rx_ns - c->tx_ns;
	if (sr->first_only)
		sr->done = true;
	ask_stop(sr, r);
}

/* What answers no probe of this call, as far as there is room. */
static void list_stray(Sr *sr, ObjList *l, const Arrival *a)
{
	if (l && l->h.n < LIMIT_LISTED)
		vm_push(sr->vm, l, net_received_packet(sr->e, sr->vm, a));
}

static void on_arrived(void *ctx, const Arrival *a, const Match *m)
{
	Sr *sr = ctx;
	Copy *c = copy_of(sr, m->probe);

	if (m->verdict == VERDICT_UNSOLICITED) {
		sr->unsolicited++;
		list_stray(sr, sr->unsolicited_all, a);
	}
	if (m->verdict == VERDICT_LATE) {
		sr->late++;
		list_stray(sr, sr->late_all, a);
	}
	/* an ICMP error about a connection's segment is the connection's (language.md 6) */
	if (c && m->how == HOW_QUOTE && sr->item[c->item].p->h.bits & OP_CONN)
		return;
	sr->duplicates += m->verdict == VERDICT_DUPLICATE;
	sr->ambiguous += m->ambiguous;
	if (!c || m->verdict == VERDICT_UNSOLICITED || m->verdict == VERDICT_LATE || sr->failed)
		return;
	Item *it = &sr->item[c->item];
	Value r = net_received_packet(sr->e, sr->vm, a);
	if (c->tx_ns != NS_NONE)
		val_packet(r)->rtt = a->rx_ns - c->tx_ns;
	keep_answer(sr, it, r);
	if (m->verdict == VERDICT_ANSWER && !it->answered)
		first_answer(sr, it, c, a, m, r);
}

/* ---- a round ---- */

static void add_copy(Sr *sr, Copy c)
{
	if (sr->copies == sr->copy_cap) {
		uint32_t cap = sr->copy_cap ? 2 * sr->copy_cap : sr->n + 1;

		sr->copy = heap_grow(vm_heap(sr->vm), sr->copy, sr->copy_cap * sizeof *sr->copy,
				     cap * sizeof *sr->copy);
		sr->copy_cap = cap;
	}
	sr->copy[sr->copies++] = c;
}

static bool send_item(Sr *sr, uint32_t i, int64_t even_at)
{
	Engine *e = sr->e;
	Arena *a = vm_scratch(sr->vm);
	size_t mark = arena_mark(a);
	Item *it = &sr->item[i];
	PacketId id;
	Ready r;

	if (!net_ready(e, sr->vm, it->p, sr->iface, a, &r))
		return false;
	sr->many |= r.many;
	Value s = net_sent_packet(e, sr->vm, &r);
	if (!it->left)
		it->s = s;
	it->line = packet_id_read(r.bytes, r.first, &id) ? (uint8_t)engine_line(&id) : LINE_OTHER;
	if (r.refused != NOTSENT_NONE) {
		item_refused(sr, it, r.refused, str_c(r.why));
		e->line[it->line].not_sent++;
		warn_add(&e->warnings, WARN_NOT_SENT, WARN_NOBODY, 1, "%s: %s", notsent_text(r.refused), r.why);
		arena_reset(a, mark);
		return true;
	}
	uint64_t probe = matcher_add(e->matcher, r.bytes, r.first, i, it->first);
	if (!probe)
		return vm_fail(sr->vm, "E-FRAME",
			       "no answer could be told: the packet has no whole IP or ARP header");
	it->s = it->answered ? it->s : s;
	it->first = it->first ? it->first : probe;
	add_copy(sr, (Copy){ probe, i, s, NS_NONE });
	if (!it->left) {
		it->left = true;
		sr->open++;
	}
	Outgoing o = { .bytes = r.bytes,
		       .first = r.first,
		       .iface = r.iface,
		       .even_at = even_at,
		       .probe = probe,
		       .item = sr->copies - 1,
		       .told = true,
		       .wait_ns = sr->timeout_ns };
	bool ok = engine_emit(e, &o) || engine_halt(e, sr->vm);
	arena_reset(a, mark);
	return ok;
}

static bool send_round(Sr *sr)
{
	int64_t start = sr->e->now_ns;
	uint32_t sent = 0;

	sr->last_tx_ns = NS_NONE;
	for (uint32_t i = 0; i < sr->n && !sr->done; i++) {
		double offset = sr->rate > 0 ? (double)sent / sr->rate * 1e9 : 0;

		if (sr->item[i].answered)
			continue;
		if (!send_item(sr, i, sr->rate > 0 ? ns_later(start, (int64_t)offset) : NS_NONE))
			return false;
		sent++;
	}
	while (sr->e->told && !sr->done)
		if (!engine_step(sr->e, NS_NONE))
			return engine_halt(sr->e, sr->vm);
	return !sr->failed;
}

static int64_t linger(const Sr *sr)
{
	int64_t least = LINGER_LEAST_MS * NS_PER_MS, most = LINGER_MOST_MS * NS_PER_MS;
	int64_t d = sr->longest_ns < least ? least : sr->longest_ns > most ? most : sr->longest_ns;

	return ns_later(sr->e->now_ns, d);
}

static bool wait_round(Sr *sr)
{
	if (sr->last_tx_ns == NS_NONE || sr->done)
		return !sr->failed;
	int64_t until = ns_later(sr->last_tx_ns, sr->timeout_ns);
	bool short_cut = false;

	while (sr->e->now_ns < until && !sr->done) {
		if (!sr->open && !sr->many && !short_cut) {
			int64_t soon = linger(sr);

			short_cut = true;
			until = soon < until ? soon : until;
			continue;
		}
		if (!engine_step(sr->e, until))
			return engine_halt(sr->e, sr->vm);
	}
	return !sr->failed;
}

static bool add_item(Vm *vm, ObjPacket *p, uint32_t i, void *ctx)
{
	Sr *sr = ctx;

	(void)vm;
	if (sr->item)
		sr->item[i] = (Item){ .p = p, .tx_ns = NS_NONE, .rx_ns = NS_NONE };
	else
		sr->n++;
	return true;
}

/* args: timeout, retry, rate */
static bool sr_open(Sr *sr, Value packets, const Value *args, Value inter)
{
	double rate;
	int64_t retry;

	if (!packet_each(sr->vm, packets, add_item, sr))
		return false;
	if (sr->n > LIMIT_PACKET_LIST)
		return vm_fail(sr->vm, "E-VALUE", "at most 65,536 packets go into one call");
	sr->item = heap_block(vm_heap(sr->vm), (sr->n + 1) * sizeof *sr->item);
	if (!packet_each(sr->vm, packets, add_item, sr) ||
	    !vm_to_duration(sr->vm, args[0], &sr->timeout_ns) || !vm_to_int(sr->vm, args[1], &retry) ||
	    !net_rate(sr->vm, args[2], inter, &rate))
		return false;
	if (sr->timeout_ns < 0)
		return vm_fail(sr->vm, "E-VALUE", "a time-out is not negative");
	if (retry < 0 || retry > RETRY_MOST)
		return vm_fail(sr->vm, "E-VALUE", "retry is 0..100");
	sr->retry = (int)retry;
	sr->rate = rate;
	return true;
}

static void sr_close(Sr *sr)
{
	Heap *h = vm_heap(sr->vm);

	for (uint32_t i = 0; sr->item && i < sr->n; i++)
		for (Got *g = sr->item[i].got, *next; g; g = next) {
			next = g->next;
			heap_free(h, g, sizeof *g);
		}
	heap_free(h, sr->copy, sr->copy_cap * sizeof *sr->copy);
	heap_free(h, sr->item, (sr->n + 1) * sizeof *sr->item);
}

static bool sr_run(Sr *sr)
{
	Engine *e = sr->e;
	const Call call = { sr, on_sent, on_notsent, on_arrived };
	bool ok = engine_refresh(e) || engine_halt(e, sr->vm);

	sr->copy_base = matcher_count(e->matcher);
	e->call = &call;
	for (int round = 0; ok && round <= sr->retry && !sr->done && (round == 0 || sr->open); round++)
		ok = send_round(sr) && wait_round(sr);
	e->call = NULL;
	/* what is still on its way belongs to nobody any more */
	for (uint32_t i = 0; i < LIMIT_IN_FLIGHT; i++)
		e->tx[i].told = false;
	e->told = 0;
	matcher_close(e->matcher);
	e->crafted.n = 0;
	engine_mark(e);
	for (uint32_t i = 0; i < sr->n; i++) {
		StatLine *l = &e->line[sr->item[i].line];

		l->probes += sr->item[i].left;
		l->lost += sr->item[i].left && !sr->item[i].answered;
	}
	return ok;
}

/* ---- results ---- */

static void series(Sr *sr, SeriesStats *ret_stats)
{
	Arena *a = vm_scratch(sr->vm);
	Outcome *o = heap_block(vm_heap(sr->vm), (sr->n + 1) * sizeof *o);
	uint32_t n = 0;

	for (uint32_t i = 0; i < sr->n; i++) {
		const Item *it = &sr->item[i];

		if (!it->left)
			continue;
		const PacketId *id = matcher_probe(sr->e->matcher, it->first);
		o[n++] = (Outcome){ it->tx_ns, it->rx_ns, it->answered, it->direct,
				    id ? bytes_hash(BYTES(id->dst.b, 16)) : 0 };
	}
	stats_series(o, n, a, ret_stats);
	heap_free(vm_heap(sr->vm), o, (sr->n + 1) * sizeof *o);
	if (ret_stats->reordered)
		warn_add(&sr->e->warnings, WARN_REORDERED, WARN_NOBODY, ret_stats->reordered,
			 "at most %u places late, of %u probes", ret_stats->max_displacement,
			 ret_stats->sent);
}

#define ANSWERS_FIELD(name) p[A_ANSWERS_##name - A_ANSWERS_ans]

static Value all_answers(Sr *sr)
{
	ObjList *l = vm_list(sr->vm, sr->n);

	for (uint32_t i = 0; i < sr->n; i++) {
		ObjList *rs = vm_list(sr->vm, 1);

		if (!sr->item[i].left)
			continue;
		for (const Got *g = sr->item[i].got; g; g = g->next)
			vm_push(sr->vm, rs, g->r);
		vm_push(sr->vm, l, vm_pair(sr->vm, sr->item[i].s, val_of(rs)));
	}
	return val_of(l);
}

static Value answers(Sr *sr)
{
	Vm *vm = sr->vm;
	ObjResult *res = vm_result(vm, OWNER_ANSWERS);
	Value *p = res->p;
	ObjList *ans = vm_list(vm, sr->n), *unans = vm_list(vm, 0), *rtts = vm_list(vm, sr->n);
	ObjList *runs = vm_list(vm, 0), *refused = vm_list(vm, 0);
	SeriesStats s;

	series(sr, &s);
	for (uint32_t i = 0; i < sr->n; i++) {
		const Item *it = &sr->item[i];

		if (it->answered) {
			vm_push(vm, ans, vm_pair(vm, it->s, it->r));
			vm_push(vm, rtts, val_duration(val_packet(it->r)->rtt));
		} else if (it->left) {
			vm_push(vm, unans, it->s);
		} else if (it->refused != NOTSENT_NONE) {
			vm_push(vm, refused, vm_pair(vm, it->s, it->why));
		}
	}
	for (uint32_t i = 0; i < s.n_lost_runs; i++)
		vm_push(vm, runs, val_int(s.lost_runs[i]));
	ANSWERS_FIELD(ans) = val_of(ans);
	ANSWERS_FIELD(unans) = val_of(unans);
	ANSWERS_FIELD(sent) = val_int(s.sent);
	ANSWERS_FIELD(received) = val_int(s.received);
	ANSWERS_FIELD(loss) = val_float(s.loss);
	ANSWERS_FIELD(rtts) = val_of(rtts);
	ANSWERS_FIELD(duplicates) = val_int(sr->duplicates);
	ANSWERS_FIELD(late) = val_int(sr->late);
	ANSWERS_FIELD(unsolicited) = val_int(sr->unsolicited);
	ANSWERS_FIELD(reordered) = val_int(s.reordered);
	ANSWERS_FIELD(max_displacement) = val_int(s.max_displacement);
	ANSWERS_FIELD(ambiguous) = val_int(sr->ambiguous);
	ANSWERS_FIELD(lost_runs) = val_of(runs);
	ANSWERS_FIELD(answers_all) = all_answers(sr);
	ANSWERS_FIELD(notsent) = val_of(refused);
	ANSWERS_FIELD(late_all) = val_of(sr->late_all);
	ANSWERS_FIELD(unsolicited_all) = val_of(sr->unsolicited_all);
	return val_of(res);
}

/* (p, timeout, retry, rate, stop, iface) */
bool bi_sr(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Sr sr = { .e = vm_ctx(vm), .vm = vm, .stop = args[4] };

	(void)n;
	sr.late_all = vm_list(vm, 0);
	sr.unsolicited_all = vm_list(vm, 0);
	bool ok = net_iface(sr.e, vm, args[5], &sr.iface) && sr_open(&sr, args[0], args + 1, args[6]) && sr_run(&sr);

	if (ok)
		*ret = answers(&sr);
	sr_close(&sr);
	return ok;
}

/* (p, timeout, retry, rate, iface, inter) */
bool bi_sr1(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Sr sr = { .e = vm_ctx(vm), .vm = vm, .first_only = true, .stop = val_none() };
	bool ok = net_iface(sr.e, vm, args[4], &sr.iface) && sr_open(&sr, args[0], args + 1, args[5]) && sr_run(&sr);

	(void)n;
	if (ok)
		*ret = sr.first ? sr.first->r : val_none();
	sr_close(&sr);
	return ok;
}

/* ---- send ---- */

typedef struct Send {
	Engine *e;
	const HostIface *iface;
	double rate;
	int64_t start_ns;
	uint32_t sent;
} Send;

static bool send_one(Vm *vm, ObjPacket *p, uint32_t i, void *ctx)
{
	Send *s = ctx;
	Arena *a = vm_scratch(vm);
	size_t mark = arena_mark(a);
	PacketId id;
	Ready r;

	(void)i;
	if (!net_ready(s->e, vm, p, s->iface, a, &r))
		return false;
	if (r.refused != NOTSENT_NONE) {
		s->e->line[packet_id_read(r.bytes, r.first, &id) ? engine_line(&id) : LINE_OTHER].not_sent++;
		warn_add(&s->e->warnings, WARN_NOT_SENT, WARN_NOBODY, 1, "%s: %s", notsent_text(r.refused), r.why);
		arena_reset(a, mark);
		return true;
	}
	double offset = s->rate > 0 ? (double)s->sent++ / s->rate * 1e9 : 0;
	Outgoing o = { .bytes = r.bytes, .first = r.first, .iface = r.iface };

	o.even_at = s->rate > 0 ? ns_later(s->start_ns, (int64_t)offset) : NS_NONE;
	bool ok = engine_emit(s->e, &o) || engine_halt(s->e, vm);
	arena_reset(a, mark);
	return ok;
}

/* (p, rate, iface) */
bool bi_send(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Send s = { .e = vm_ctx(vm) };

	(void)n;
	(void)ret;
	if (!net_iface(s.e, vm, args[2], &s.iface) || !net_rate(vm, args[1], args[3], &s.rate))
		return false;
	if (!engine_refresh(s.e))
		return engine_halt(s.e, vm);
	s.start_ns = s.e->now_ns;
	return packet_each(vm, args[0], send_one, &s);
}
