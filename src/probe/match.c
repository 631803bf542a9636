/* SPDX-License-Identifier: Apache-2.0
 *
 * Each probe hangs in up to KEYS hash chains, one a question that may be asked:
 *
 *   KEY_FLOW     reversed flow: addresses, protocol, ports (ICMP: id, seq)
 *   KEY_CONTENT  the flow and what tells its packets apart: payload, DNS id and
 *                question; TCP: the acknowledgement that it earns
 *   KEY_QUOTE_ID destination, protocol, IP id
 *   KEY_QUOTE    destination, protocol, ports (ICMP: id, seq)
 *   KEY_FINE     KEY_QUOTE and sequence number or checksum
 *
 * A chain has two lists: `fresh` (open, unanswered, oldest first) and `done` (the
 * rest, newest first).  So the next probe "in order" is at a head, whatever
 * thousands of its flow were answered before.
 */
#include "probe/match.h"

enum { KEY_FLOW, KEY_CONTENT, KEY_QUOTE_ID, KEY_QUOTE, KEY_FINE, KEYS };

enum {
	CHUNK = 1024,
	CHUNKS = LIMIT_OUTSTANDING / CHUNK,
	BUCKETS_FIRST = 1024,
	BUCKETS_MOST = 1 << 18,
	SCAN_MOST = 512, /* of one list: what a hostile peer can make us look at for a packet */
};

typedef struct Link {
	uint64_t hash; /* 0: not linked */
	uint32_t next, prev;
	bool done;
} Link;

typedef struct Probe {
	uint64_t number;
	uint64_t group;
	PacketId id;
	uint64_t answer, further; /* bytes hashes of the first and of the latest other answer */
	uint64_t leader;	  /* first of its group, which knows whether it is answered */
	bool open, answered, dropped;
	Link link[KEYS];
} Probe;

typedef struct Bucket {
	uint32_t fresh, fresh_tail, done;
} Bucket;

struct Matcher {
	Arena *a;
	Probe *chunk[CHUNKS];
	uint64_t count;	 /* numbers given */
	uint64_t opened; /* the first number that is still open */
	Bucket *bucket;
	uint32_t nbuckets;
	uint32_t n_broadcast;
	Ip broadcast[MATCH_BROADCASTS];
	uint32_t n_result;
	Match result[MATCH_MOST];
};

/* ---- probes ---- */

static Probe *probe_slot(const Matcher *m, uint64_t number)
{
	uint32_t slot = (uint32_t)(number % LIMIT_OUTSTANDING);

	return &m->chunk[slot / CHUNK][slot % CHUNK];
}

static Probe *probe_at(const Matcher *m, uint64_t number)
{
	if (!number || number > m->count || m->count - number >= LIMIT_OUTSTANDING)
		return NULL;
	return probe_slot(m, number);
}

static Probe *leader_of(const Matcher *m, Probe *p)
{
	Probe *l = probe_at(m, p->leader);

	return l ? l : p;
}

static bool is_answered(const Matcher *m, Probe *p)
{
	return leader_of(m, p)->answered;
}

/* ---- chains ---- */

static uint32_t link_ref(uint64_t number, unsigned key)
{
	return (uint32_t)(number % LIMIT_OUTSTANDING) * KEYS + key + 1;
}

static Probe *ref_probe(const Matcher *m, uint32_t ref)
{
	return probe_slot(m, (ref - 1) / KEYS);
}

static Link *ref_link(const Matcher *m, uint32_t ref)
{
	return &ref_probe(m, ref)->link[(ref - 1) % KEYS];
}

static Bucket *bucket_of(const Matcher *m, uint64_t hash)
{
	return &m->bucket[hash & (m->nbuckets - 1)];
}

static void link_in(Matcher *m, uint64_t number, unsigned key, bool done)
{
	uint32_t ref = link_ref(number, key);
	Link *l = ref_link(m, ref);
	Bucket *b = bucket_of(m, l->hash);

	l->done = done;
	l->next = l->prev = 0;
	if (done) {
		l->next = b->done;
		if (b->done)
			ref_link(m, b->done)->prev = ref;
		b->done = ref;
		return;
	}
	l->prev = b->fresh_tail;
	if (b->fresh_tail)
		ref_link(m, b->fresh_tail)->next = ref;
	else
		b->fresh = ref;
	b->fresh_tail = ref;
}

static void link_out(Matcher *m, uint64_t number, unsigned key)
{
	Link *l = ref_link(m, link_ref(number, key));
	Bucket *b = bucket_of(m, l->hash);

	if (l->prev)
		ref_link(m, l->prev)->next = l->next;
	else if (l->done)
		b->done = l->next;
	else
		b->fresh = l->next;
	if (l->next)
		ref_link(m, l->next)->prev = l->prev;
	else if (!l->done)
		b->fresh_tail = l->prev;
}

static void probe_unlink(Matcher *m, Probe *p)
{
	for (unsigned k = 0; k < KEYS; k++)
		if (p->link[k].hash) {
			link_out(m, p->number, k);
			p->link[k].hash = 0;
		}
}

/* Answered or closed: behind all that still wait. */
static void probe_done(Matcher *m, Probe *p)
{
	for (unsigned k = 0; k < KEYS; k++)
		if (p->link[k].hash && !p->link[k].done) {
			link_out(m, p->number, k);
			link_in(m, p->number, k, true);
		}
}

static void grow(Matcher *m)
{
	uint64_t live = m->count < LIMIT_OUTSTANDING ? m->count : LIMIT_OUTSTANDING;

	if (live * KEYS < m->nbuckets || m->nbuckets >= BUCKETS_MOST)
		return;
	m->nbuckets *= 4;
	m->bucket = arena_new_n(m->a, Bucket, m->nbuckets);
	for (uint64_t n = m->count - live + 1; n <= m->count; n++) {
		Probe *p = probe_slot(m, n);

		for (unsigned k = 0; k < KEYS; k++)
			if (p->link[k].hash)
				link_in(m, n, k, p->link[k].done);
	}
}

/* ---- keys ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t mix_ip(uint64_t h, Ip ip)
{
	return mix(h, bytes_hash(BYTES(ip.b, ip_len(ip))) ^ ip.v);
}

void matcher_broadcast(Matcher *m, Ip ip)
{
	if (m->n_broadcast < MATCH_BROADCASTS)
		m->broadcast[m->n_broadcast++] = ip;
}

/* Answers come from others than the destination. */
bool matcher_to_many(const Matcher *m, Ip ip)
{
	IpClass c = ip_class(ip);

	if (c == IP_CLASS_MULTICAST || c == IP_CLASS_BROADCAST)
		return true;
	for (uint32_t i = 0; i < m->n_broadcast; i++)
		if (ip_eq(m->broadcast[i], ip))
			return true;
	return false;
}

/* The two ends as the probe sees them. */
typedef struct Ends {
	uint8_t v, proto;
	int query; /* ICMP type */
	Ip local, remote;
	uint16_t a, b;
} Ends;

static uint64_t key_flow(const Ends *e)
{
	uint64_t h = mix(KEY_FLOW + 1, (uint64_t)e->v << 40 | (uint64_t)e->proto << 32 | (uint32_t)e->query);

	h = mix_ip(h, e->local);
	h = mix_ip(h, e->remote);
	return mix(h, (uint32_t)e->a << 16 | e->b) | 1;
}

static uint64_t key_content(const Ends *e, uint64_t content)
{
	return mix(key_flow(e), content) | 1;
}

static uint64_t key_quote(unsigned key, const PacketId *id, uint64_t what)
{
	uint64_t h = mix(key + 1, (uint64_t)id->v << 8 | id->proto);

	return mix(mix_ip(h, id->dst), what) | 1;
}

static uint64_t pair(const PacketId *id)
{
	return (uint32_t)id->a << 16 | id->b;
}

static uint64_t fine(const PacketId *id)
{
	return pair(id) << 32 | (id->proto == PROTO_TCP ? id->seq : id->csum);
}

static bool is_icmp(const PacketId *id)
{
	return id->proto == (id->v == 4 ? PROTO_ICMP : PROTO_ICMP6);
}

static bool is_nd(const PacketId *id)
{
	return id->v == 6 && id->target.v == 6;
}

static Ends probe_ends(const Matcher *m, const PacketId *id)
{
	Ends e = { .v = id->v, .proto = id->proto, .query = -1, .a = id->a, .b = id->b };

	e.local = id->src;
	e.remote = id->dst;
	if (is_icmp(id))
		e.query = id->kind;
	if (id->v == 0 || is_nd(id)) { /* by target alone: the answer's link addresses vary */
		e.local = (Ip){ 0 };
		e.remote = is_nd(id) ? id->target : id->dst;
		e.a = e.b = 0;
	} else if (id->has_xid) { /* whoever answers, to whatever address it gives */
		e.local = e.remote = (Ip){ 0 };
	} else if (matcher_to_many(m, id->dst)) {
		e.remote = (Ip){ 0 };
	}
	return e;
}

/* The flow that this packet would answer; false: it is no answer by its kind. */
static bool answer_ends(const PacketId *id, Ends *ret_e)
{
	Ends e = { .v = id->v, .proto = id->proto, .query = -1, .a = id->b, .b = id->a };

	e.local = id->dst;
	e.remote = id->src;
	if (is_icmp(id)) {
		e.query = icmp_query_of(id->v, id->kind);
		if (e.query < 0)
			return false;
		e.a = id->a;
		e.b = id->b;
	}
	if (id->v == 0 || is_nd(id)) {
		if (id->v == 0 && id->kind != 2) /* ares_op$REPLY, RFC 826 */
			return false;
		e.local = (Ip){ 0 };
		e.remote = is_nd(id) ? id->target : id->src;
		e.a = e.b = 0;
	}
	if (id->has_xid)
		e.local = e.remote = (Ip){ 0 };
	*ret_e = e;
	return true;
}

static uint64_t probe_content(const PacketId *id)
{
	return id->proto == PROTO_TCP ? id->seq + id->seq_len : id->content;
}

static void probe_keys(const Matcher *m, Probe *p)
{
	const PacketId *id = &p->id;
	Ends e = probe_ends(m, id);

	p->link[KEY_FLOW].hash = key_flow(&e);
	p->link[KEY_CONTENT].hash = key_content(&e, probe_content(id));
	if (id->v == 4)
		p->link[KEY_QUOTE_ID].hash = key_quote(KEY_QUOTE_ID, id, id->ip_id);
	if (id->v && id->have & HAVE_PORTS) {
		p->link[KEY_QUOTE].hash = key_quote(KEY_QUOTE, id, pair(id));
		p->link[KEY_FINE].hash = key_quote(KEY_FINE, id, fine(id));
	} else if (id->v) {
		p->link[KEY_QUOTE].hash = key_quote(KEY_QUOTE, id, 0);
	}
}

/* ---- adding and closing ---- */

Matcher *matcher_new(Arena *a)
{
	Matcher *m = arena_new(a, Matcher);

	m->a = a;
	m->nbuckets = BUCKETS_FIRST;
	m->bucket = arena_new_n(a, Bucket, m->nbuckets);
	m->opened = 1;
	return m;
}

uint64_t matcher_add(Matcher *m, Bytes packet, WireId first, uint64_t group, uint64_t repeats)
{
	PacketId id;
	uint64_t number = m->count + 1;
	uint32_t slot = (uint32_t)(number % LIMIT_OUTSTANDING);

	if (!packet_id_read(packet, first, &id))
		return 0;
	if (!m->chunk[slot / CHUNK])
		m->chunk[slot / CHUNK] = arena_new_n(m->a, Probe, CHUNK);
	Probe *p = probe_slot(m, number);
	if (p->number)
		probe_unlink(m, p);
	id.packet = id.payload = id.body = id.piece = (Bytes){ 0 };
	*p = (Probe){ .number = number, .group = group, .id = id, .open = true };
	p->leader = repeats ? repeats : number;
	m->count = number;
	probe_keys(m, p);
	for (unsigned k = 0; k < KEYS; k++)
		if (p->link[k].hash)
			link_in(m, number, k, false);
	grow(m);
	return number;
}

void matcher_drop(Matcher *m, uint64_t probe)
{
	Probe *p = probe_at(m, probe);

	if (!p || p->dropped)
		return;
	p->dropped = true;
	probe_unlink(m, p);
}

void matcher_close(Matcher *m)
{
	uint64_t oldest = m->count >= LIMIT_OUTSTANDING ? m->count - LIMIT_OUTSTANDING + 1 : 1;

	for (uint64_t n = m->opened > oldest ? m->opened : oldest; n <= m->count; n++) {
		Probe *p = probe_slot(m, n);

		p->open = false;
		probe_done(m, p);
	}
	m->opened = m->count + 1;
}

const PacketId *matcher_probe(const Matcher *m, uint64_t probe)
{
	const Probe *p = probe_at(m, probe);

	return p ? &p->id : NULL;
}

uint64_t matcher_count(const Matcher *m)
{
	return m->count;
}

/* ---- choosing among candidates ---- */

typedef struct Pick {
	Probe *best;
	unsigned score;
	bool rival; /* another, unanswered probe fits as well */
} Pick;

typedef struct Ask {
	Matcher *m;
	const PacketId *id;  /* the packet, or the quote in it */
	Ends ends;	     /* of a flow */
	uint64_t bytes_hash; /* of the packet received */
	unsigned most;	     /* nothing fits better than this; 0: not known */
	/* 0: this probe can't be it; else how much agrees */
	unsigned (*fits)(const struct Ask *q, const Probe *p);
} Ask;

/* Who is the likelier owner, other things equal. */
static unsigned state_score(const Ask *q, Probe *p)
{
	Probe *l = leader_of(q->m, p);

	if (p->open && !l->answered)
		return 4;
	if (p->open && l->answer == q->bytes_hash)
		return 3;
	if (!p->open && !l->answered)
		return 2;
	return p->open;
}

static void consider(const Ask *q, Pick *pick, Probe *p)
{
	unsigned fit = p == pick->best ? 0 : q->fits(q, p);

	if (!fit)
		return;
	unsigned score = fit * 8 + state_score(q, p);
	bool equal_fit = pick->best && fit == pick->score / 8;
	if (equal_fit && leader_of(q->m, p) == leader_of(q->m, pick->best)) {
		/* a repetition with the same identity: likelier the latest, but who knows */
		if (p->number > pick->best->number)
			pick->best = p;
		pick->rival = true;
	} else if (!pick->best || score > pick->score) {
		pick->rival = equal_fit && !is_answered(q->m, pick->best);
		pick->best = p;
		pick->score = score;
	} else if (equal_fit && !is_answered(q->m, p)) {
		pick->rival = true;
	}
}

/* Two that wait and fit as well as can be: the older one it is, whoever follows. */
static bool is_settled(const Ask *q, const Pick *pick)
{
	return pick->rival && q->most && pick->score >= q->most * 8 + 4;
}

static void scan(const Ask *q, Pick *pick, uint64_t hash, unsigned key)
{
	Bucket *b = bucket_of(q->m, hash);
	uint32_t lists[2] = { b->fresh, b->done };

	for (int i = 0; i < 2; i++) {
		unsigned left = SCAN_MOST;

		for (uint32_t ref = lists[i]; ref && left; ref = ref_link(q->m, ref)->next, left--)
			if ((ref - 1) % KEYS == key && ref_link(q->m, ref)->hash == hash) {
				consider(q, pick, ref_probe(q->m, ref));
				if (is_settled(q, pick))
					return;
			}
	}
}

/* ---- (a) reversed flows ---- */

static bool same_ends(const Ask *q, const Probe *p)
{
	Ends e = probe_ends(q->m, &p->id);
	const Ends *x = &q->ends;

	return e.v == x->v && e.proto == x->proto && e.query == x->query && e.a == x->a && e.b == x->b &&
	       ip_eq(e.local, x->local) && ip_eq(e.remote, x->remote);
}

/* RFC 9293 3.10.7.3 and .4, seen from the probe; all comparisons are serial. */
static unsigned tcp_fits(const PacketId *p, const PacketId *r)
{
	uint32_t end = p->seq + p->seq_len;
	uint32_t next = p->seq_len ? end : end + 1; /* a keep-alive one below the window earns seq + 1 */
	bool ack = r->kind & TCP_ACK;

	if (p->kind & TCP_SYN &&
	    !(p->kind & TCP_ACK)) { /* SYN-SENT: what acknowledges the SYN, or another SYN */
		if (!ack)
			return r->kind & TCP_SYN ? 1 : 0;
		return serial_within(r->ack, p->seq + 1, end) ? 2 : 0;
	}
	if (!(p->kind & TCP_ACK)) { /* RFC 9293 3.10.7.1: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK> */
		if (!ack)
			return 0;
		return serial_within(r->ack, p->seq, end + 1) ? 2 : !(r->kind & TCP_RST);
	}
	/* <SEQ=SEG.ACK><CTL=RST>; else a segment within what our ACK and window, at any scale, invite */
	if (r->kind & TCP_RST && r->seq == p->ack)
		return 2;
	if (!serial_within(r->seq, p->ack - 1, p->ack + ((uint32_t)p->window << 14 & 0x3fffffff) + 1))
		return 0;
	if (!ack)
		return r->kind & TCP_RST ? 1 : 0;
	if (serial_lt(next, r->ack))
		return 0;
	return r->ack == next || r->ack == end ? 2 : 1;
}

static unsigned flow_fits(const Ask *q, const Probe *p)
{
	const PacketId *r = q->id;

	if (!same_ends(q, p))
		return 0;
	if (r->proto == PROTO_TCP && r->v)
		return tcp_fits(&p->id, r);
	if (r->v == 0 || is_nd(r))
		return 1;
	if (p->id.has_dns) {
		if (!r->has_dns || r->dns_id != p->id.dns_id)
			return 0;
		return r->content == p->id.content ? 2 : r->content == 0 ? 1 : 0;
	}
	if (p->id.has_xid || r->has_xid)
		return p->id.has_xid && r->has_xid && p->id.content == r->content ? 2 : 0;
	return p->id.content == r->content ? 2 : 1;
}

static void pick_flow(Ask *q, Pick *pick, const Ends *e)
{
	uint64_t content = q->id->proto == PROTO_TCP ? q->id->ack : q->id->content;

	q->ends = *e;
	q->fits = flow_fits;
	q->most = 2;
	scan(q, pick, key_content(e, content), KEY_CONTENT);
	if (pick->best && pick->score >= 2 * 8)
		return;
	if (q->id->proto != PROTO_TCP) /* who has equal content was found above */
		q->most = 1;
	scan(q, pick, key_flow(e), KEY_FLOW);
}

static void match_flow(Ask *q, Pick *pick)
{
	Ends e;

	if (!answer_ends(q->id, &e))
		return;
	pick_flow(q, pick, &e);
	if (!pick->best && e.remote.v) { /* whoever answers a multicast or broadcast */
		e.remote = (Ip){ 0 };
		pick_flow(q, pick, &e);
	}
}

/* ---- (b) quotes ---- */

static unsigned quote_fits(const Ask *q, const Probe *p)
{
	const PacketId *a = q->id, *b = &p->id;
	bool ports = a->have & HAVE_PORTS && b->have & HAVE_PORTS, eight = a->have & HAVE_EIGHT;

	if (a->v != b->v || a->proto != b->proto || !ip_eq(a->dst, b->dst))
		return 0;
	if (is_icmp(a) && (!eight || a->kind != b->kind))
		ports = false;
	bool by_id = a->v == 4 && a->ip_id == b->ip_id;
	bool by_pair = ports && pair(a) == pair(b);
	bool by_fine = by_pair && eight && fine(a) == fine(b);
	bool neither = !(b->have & HAVE_PORTS); /* a protocol of which we know no ports */
	bool enough = by_id || (by_pair && (a->proto != PROTO_TCP || by_fine)) || (neither && a->v == 6);
	if (!enough)
		return 0;
	return 1 + 4u * by_id + 4u * by_pair + 4u * by_fine + (ip_eq(a->src, b->src) ? 1 : 0) +
	       (eight && a->udp_len == b->udp_len) + (a->ip_len == b->ip_len);
}

static void pick_quote(Ask *q, Pick *pick)
{
	const PacketId *id = q->id;

	if (id->v == 0)
		return;
	if (id->have & HAVE_EIGHT)
		scan(q, pick, key_quote(KEY_FINE, id, fine(id)), KEY_FINE);
	if (id->v == 4)
		scan(q, pick, key_quote(KEY_QUOTE_ID, id, id->ip_id), KEY_QUOTE_ID);
	/* the coarsest key only where no finer one found anybody: its chain may be long */
	if (!pick->best)
		scan(q, pick, key_quote(KEY_QUOTE, id, id->have & HAVE_PORTS ? pair(id) : 0), KEY_QUOTE);
}

static MatchHow match_quote(Ask *q, Pick *pick)
{
	PacketId quote;
	const PacketId *packet = q->id;

	if (!packet_id_quote(packet, &quote))
		return HOW_NONE;
	q->id = &quote;
	q->fits = quote_fits;
	pick_quote(q, pick);
	q->id = packet;
	return icmp_is_redirect(packet->v, packet->kind) ? HOW_REDIRECT : HOW_QUOTE;
}

/* ---- (c) looped ---- */

static unsigned loop_fits(const Ask *q, const Probe *p)
{
	const PacketId *a = q->id, *b = &p->id;

	if (!ip_eq(a->src, b->src) || a->content != b->content || a->kind != b->kind)
		return 0;
	return quote_fits(q, p);
}

static void match_looped(Ask *q, Pick *pick)
{
	q->fits = loop_fits;
	q->most = 0;
	pick_quote(q, pick);
}

/* ---- verdicts ---- */

static void result_add(Matcher *m, Probe *p, MatchHow how, Verdict v, bool ambiguous)
{
	if (m->n_result < MATCH_MOST)
		m->result[m->n_result++] = (Match){ p->number, p->group, v, how, ambiguous };
}

static void settle(const Ask *q, Probe *p, MatchHow how, bool ambiguous)
{
	Probe *l = leader_of(q->m, p);
	Verdict v;

	if (how == HOW_REDIRECT) { /* the packet went on: its answer is still to come */
		result_add(q->m, p, how, p->open ? VERDICT_FURTHER : VERDICT_LATE, ambiguous);
		return;
	}
	if (!l->answered) {
		v = VERDICT_ANSWER;
		l->answered = true;
		l->answer = q->bytes_hash;
		probe_done(q->m, l);
		probe_done(q->m, p);
	} else if (q->bytes_hash == l->answer || q->bytes_hash == l->further) {
		v = VERDICT_DUPLICATE;
	} else {
		v = VERDICT_FURTHER;
		l->further = q->bytes_hash;
	}
	result_add(q->m, p, how, p->open ? v : VERDICT_LATE, ambiguous);
}

/* A cumulative ACK answers all segments of its flow that it covers. */
static void settle_covered(const Ask *q)
{
	uint32_t ack = q->id->ack;
	uint64_t hash = key_flow(&q->ends);
	uint32_t ref = bucket_of(q->m, hash)->fresh;

	for (unsigned left = SCAN_MOST; ref && left; left--) {
		Probe *p = ref_probe(q->m, ref);
		Link *l = ref_link(q->m, ref);
		uint32_t end = p->id.seq + p->id.seq_len;

		bool here = (ref - 1) % KEYS == KEY_FLOW && l->hash == hash && same_ends(q, p);

		ref = l->next;
		if (here && p->id.kind & TCP_ACK && p->id.seq_len &&
		    serial_within(ack, end, end + 0x3fffffff) && !is_answered(q->m, p))
			settle(q, p, HOW_FLOW, false);
	}
}

const Match *matcher_match(Matcher *m, const PacketId *id, uint32_t *ret_n)
{
	Ask q = { .m = m, .id = id, .bytes_hash = packet_id_bytes_hash(id) };
	Pick pick = { 0 };
	MatchHow how = match_quote(&q, &pick);

	m->n_result = 0;
	if (!pick.best && how == HOW_NONE) {
		how = HOW_FLOW;
		match_flow(&q, &pick);
	}
	if (!pick.best && how == HOW_FLOW) {
		how = HOW_LOOPED;
		match_looped(&q, &pick);
	}
	if (pick.best) {
		bool waiting = !is_answered(m, pick.best);

		settle(&q, pick.best, how, pick.rival && waiting);
		if (how == HOW_FLOW && id->v && id->proto == PROTO_TCP && id->kind & TCP_ACK &&
		    !(id->kind & TCP_RST))
			settle_covered(&q);
	} else {
		m->result[m->n_result++] = (Match){ .verdict = VERDICT_UNSOLICITED };
	}
	*ret_n = m->n_result;
	return m->result;
}
