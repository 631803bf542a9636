/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/flows.h"

#include "base/limits.h"

#include <netinet/in.h>

enum {
	LEAST_REMEMBERED = 256,
	MOST_REMEMBERED = 1 << 18,
	RECEIVED_REMEMBERED = 4096,
	TCP_SYN = 2,
	TCP_ACK = 16,
};

/* So that the same endpoint has another fingerprint in each set. */
enum { SALT_ENDPOINT = 1, SALT_TUPLE, SALT_QUOTE, SALT_FRAGMENT, SALT_DHCP };

void flows_init(Flows *f, Arena *a, const Rules *r, const Owned *o, uint64_t seed, uint64_t packets)
{
	uint32_t n = packets < LEAST_REMEMBERED ? LEAST_REMEMBERED
		     : packets > MOST_REMEMBERED ? MOST_REMEMBERED
						 : (uint32_t)packets;

	*f = (Flows){ .rules = r, .owned = o, .seed = seed };
	fpset_init(&f->local, a, LIMIT_OWN_PORTS);
	fpset_init(&f->remote, a, n);
	fpset_init(&f->opened, a, n);
	fpset_init(&f->syn_in, a, RECEIVED_REMEMBERED);
	fpset_init(&f->quotable, a, RECEIVED_REMEMBERED);
	fpset_init(&f->frags, a, RECEIVED_REMEMBERED);
	callers_init(&f->callers, a);
	f->held = arena_new_n(a, HeldFrame, FLOW_HELD);
}

static uint64_t endpoint(const Flows *f, Ip ip, uint8_t proto, uint16_t port)
{
	return fp_num(fp_ip(f->seed ^ SALT_ENDPOINT, ip), (uint64_t)proto << 16 | port);
}

static uint64_t tuple_fp(const Flows *f, const FlowTuple *t)
{
	uint64_t ports = (uint64_t)t->proto << 32 | (uint64_t)t->sport << 16 | t->dport;

	return fp_num(fp_ip(fp_ip(f->seed ^ SALT_TUPLE, t->src), t->dst), ports);
}

static bool is_icmp(uint8_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

/* ---- sending ---- */

/* `to_many`: anybody may answer, so the remote side is anybody. */
/* A peer and a protocol, whatever the port: all that a later fragment tells. */
static uint64_t peer_fp(const Flows *f, Ip ip, uint8_t proto)
{
	return fp_num(endpoint(f, ip, proto, 0), SALT_FRAGMENT);
}

void flows_sent(Flows *f, const FlowTuple *t, bool syn, bool to_many)
{
	static const Ip anybody = { 0 };
	uint16_t remote = is_icmp(t->proto) ? t->sport : t->dport;

	fpset_put(&f->remote, endpoint(f, to_many ? anybody : t->dst, t->proto, remote));
	fpset_put(&f->remote, peer_fp(f, t->dst, t->proto));
	if (t->proto)
		fpset_put(&f->local, endpoint(f, t->src, t->proto, t->sport));
	if (syn)
		fpset_put(&f->opened, tuple_fp(f, t));
}

static uint64_t dhcp_fp(const Flows *f, uint32_t xid)
{
	return fp_num(f->seed ^ SALT_DHCP, xid);
}

void flows_asked_dhcp(Flows *f, uint32_t xid)
{
	fpset_put(&f->remote, dhcp_fp(f, xid));
}

bool flows_answers_syn(const Flows *f, const FlowTuple *t)
{
	return fpset_has(&f->syn_in, tuple_fp(f, t));
}

bool flows_was_opened(const Flows *f, const FlowTuple *t)
{
	return fpset_has(&f->opened, tuple_fp(f, t));
}

CallSegment flows_call(const Flows *f, const FlowTuple *t, Bytes segment, size_t packet_bytes)
{
	uint64_t key = tuple_fp(f, t);

	return (CallSegment){ .key = key ? key : 1,
			      .seq = get_be32(segment.p + 4),
			      .ack = get_be32(segment.p + 8),
			      .bytes = (uint32_t)packet_bytes,
			      .flags = segment.p[13] };
}

/* ---- received packets ---- */

typedef struct Rx {
	uint8_t version; /* 4, 6; 0: no IP packet */
	bool arp;
	bool group;      /* to a group address of Ethernet */
	Ip src, dst;
	uint8_t proto;
	Bytes packet;    /* from the IP header on */
	Bytes body;      /* behind the IP headers */
	bool frag, more;
	uint32_t frag_off, frag_id;
	uint16_t sport, dport; /* of TCP and UDP; an ICMP query's or reply's id in both */
} Rx;

static void rx_ip4(Rx *r, Bytes p)
{
	size_t head = p.n >= 20 ? (p.p[0] & 15u) * 4 : 0;

	if (head < 20 || head > p.n)
		return;
	uint16_t frag = get_be16(p.p + 6), total = get_be16(p.p + 2);

	r->version = 4;
	r->src = ip_from(4, p.p + 12);
	r->dst = ip_from(4, p.p + 16);
	r->proto = p.p[9];
	r->more = frag & 0x2000;
	r->frag_off = (frag & 0x1fffu) * 8;
	r->frag = r->more || r->frag_off;
	r->frag_id = get_be16(p.p + 4);
	/* large frames of local peers may say 0 */
	r->packet = total > head && total < p.n ? bytes_slice(p, 0, total) : p;
	r->body = bytes_slice(r->packet, head, r->packet.n);
}

/* Extension headers, as far as they are whole: RFC 8200 4. */
static void rx_chain(Rx *r, uint8_t nh, Cursor c)
{
	for (unsigned n = 0; n < 8 && !r->frag_off; n++) {
		const uint8_t *h = c.p + c.off;
		size_t left = cur_left(&c), len;

		if (nh != IPPROTO_HOPOPTS && nh != IPPROTO_ROUTING && nh != IPPROTO_FRAGMENT && nh != IPPROTO_DSTOPTS)
			break;
		len = left < 8 ? left + 1 : nh == IPPROTO_FRAGMENT ? 8 : (h[1] + 1u) * 8;
		if (len > left)
			break;
		if (nh == IPPROTO_FRAGMENT) {
			r->more = h[3] & 1;
			r->frag_off = get_be16(h + 2) & 0xfff8u;
			r->frag = r->more || r->frag_off;
			r->frag_id = get_be32(h + 4);
		}
		nh = h[0];
		cur_skip(&c, len);
	}
	r->proto = nh;
	r->body = cur_rest(&c);
}

static void rx_ip6(Rx *r, Bytes p)
{
	size_t total;

	if (p.n < 40)
		return;
	total = 40 + (size_t)get_be16(p.p + 4);
	r->version = 6;
	r->src = ip_from(6, p.p + 8);
	r->dst = ip_from(6, p.p + 24);
	r->packet = total > 40 && total < p.n ? bytes_slice(p, 0, total) : p;
	Cursor c = cursor(r->packet);

	cur_skip(&c, 40);
	rx_chain(r, p.p[6], c);
}

/* Types of queries and replies, whose id is a port to us; the rest are errors or others. */
static bool icmp_is_reply(uint8_t version, uint8_t type)
{
	return version == 4 ? type == 0 || type == 14 : type == 129;
}

static bool icmp_is_query(uint8_t version, uint8_t type)
{
	return version == 4 ? type == 8 || type == 13 : type == 128;
}

static bool icmp_is_error(uint8_t version, uint8_t type)
{
	return version == 4 ? type == 3 || type == 4 || type == 5 || type == 11 || type == 12 : type >= 1 && type <= 4;
}

static void rx_ports(Rx *r)
{
	if (r->frag_off)
		return;
	if ((r->proto == IPPROTO_TCP || r->proto == IPPROTO_UDP) && r->body.n >= 4) {
		r->sport = get_be16(r->body.p);
		r->dport = get_be16(r->body.p + 2);
	} else if (is_icmp(r->proto) && r->body.n >= 6 &&
		   (icmp_is_reply(r->version, r->body.p[0]) || icmp_is_query(r->version, r->body.p[0]))) {
		r->sport = r->dport = get_be16(r->body.p + 4);
	}
}

static Rx rx_read(Bytes frame, bool ether)
{
	Rx r = { 0 };
	Cursor c = cursor(frame);
	uint16_t type;

	if (ether) {
		Bytes dst = cur_bytes(&c, 6);

		r.group = dst.n && (dst.p[0] & 1);
		cur_skip(&c, 6);
		for (type = cur_be16(&c); (type == 0x8100 || type == 0x88a8) && !c.bad; type = cur_be16(&c))
			cur_skip(&c, 2);
	} else {
		type = frame.n && frame.p[0] >> 4 == 4 ? 0x0800 : 0x86dd;
	}
	Bytes p = cur_rest(&c);

	r.arp = type == 0x0806 && p.n >= 28;
	r.packet = p;
	if (type == 0x0800 && p.n && p.p[0] >> 4 == 4)
		rx_ip4(&r, p);
	else if (type == 0x86dd && p.n && p.p[0] >> 4 == 6)
		rx_ip6(&r, p);
	rx_ports(&r);
	return r;
}

/* ---- whose is it ---- */

static bool is_local(const Flows *f, Ip ip, uint8_t proto, uint16_t port)
{
	return owned_has(f->owned, proto, ip, port) || fpset_has(&f->local, endpoint(f, ip, proto, port));
}

static bool was_asked(const Flows *f, Ip ip, uint8_t proto, uint16_t port)
{
	return fpset_has(&f->remote, endpoint(f, ip, proto, port)) ||
	       fpset_has(&f->remote, endpoint(f, (Ip){ 0 }, proto, port));
}

static bool is_many(Ip ip)
{
	return ip.v == 4 ? ip.b[0] >> 4 == 14 || ip4_num(ip) == UINT32_MAX : ip.b[0] == 0xff;
}

/* Not ours: the kernel's, or between others. */
static FlowVerdict not_own(const Flows *f, const Rx *r)
{
	if (rules_own(f->rules, r->src) || (rules_own(f->rules, r->dst) && !is_many(r->dst)))
		return FLOW_KERNEL;
	return FLOW_OTHER;
}

/* RFC 826: the answer to a question of ours; our question coming back. */
static FlowVerdict arp_verdict(const Flows *f, const Rx *r)
{
	uint16_t op = get_be16(r->packet.p + 6);
	Ip sender = ip_from(4, r->packet.p + 14), target = ip_from(4, r->packet.p + 24);

	if (op == 2 && was_asked(f, sender, 0, 0))
		return FLOW_OWN;
	if (op == 1 && rules_own(f->rules, sender) && was_asked(f, target, 0, 0))
		return FLOW_LOOPED;
	if (op == 1 && r->group && rules_own(f->rules, sender) && ip_eq(sender, target))
		return FLOW_OTHER; /* RFC 5227 2.4: whoever announces our address is not our kernel */
	if (rules_own(f->rules, sender) || (op == 2 && !r->group && rules_own(f->rules, target)))
		return FLOW_KERNEL;
	return FLOW_OTHER;
}

/* A quote's destination side is ours to ask about.  Where NAT left the source as it
 * was, it tells the kernel's flows from ours. */
static bool quotes_us(const Flows *f, const Rx *r)
{
	Bytes quote = bytes_slice(r->body, 8, r->body.n);
	Rx q = { 0 };
	uint16_t remote;

	if (quote.n && quote.p[0] >> 4 == 4 && r->version == 4)
		rx_ip4(&q, quote);
	else if (quote.n && quote.p[0] >> 4 == 6 && r->version == 6)
		rx_ip6(&q, quote);
	if (!q.version)
		return false;
	if (q.frag_off)
		return was_asked(f, q.dst, q.proto, 0);
	rx_ports(&q);
	remote = is_icmp(q.proto) ? q.sport : q.dport;
	if (rules_own(f->rules, q.src) && !is_local(f, q.src, q.proto, q.sport))
		return false;
	return was_asked(f, q.dst, q.proto, remote);
}

static bool is_advertisement(const Rx *r)
{
	return r->version == 6 && r->proto == IPPROTO_ICMPV6 && r->body.n >= 24 && r->body.p[0] == 136;
}

static FlowVerdict icmp_verdict(const Flows *f, const Rx *r)
{
	uint8_t type = r->body.n ? r->body.p[0] : 255;

	if (is_advertisement(r) && was_asked(f, ip_from(6, r->body.p + 8), 0, 0))
		return FLOW_OWN;
	if (icmp_is_error(r->version, type))
		return quotes_us(f, r) ? FLOW_OWN : not_own(f, r);
	if (icmp_is_reply(r->version, type) && is_local(f, r->dst, r->proto, r->dport) &&
	    was_asked(f, r->src, r->proto, r->dport))
		return FLOW_OWN;
	if (icmp_is_query(r->version, type) && is_local(f, r->src, r->proto, r->sport) &&
	    was_asked(f, r->dst, r->proto, r->sport))
		return FLOW_LOOPED;
	return not_own(f, r);
}

/* Between the ports of DHCP, while ours is one of them: many clients share both, so it is the
 * transaction that tells whose a message is (RFC 2131 4.1). */
static bool is_dhcp(const Flows *f, const Rx *r)
{
	enum { SERVER = 67, CLIENT = 68 };
	static const Ip nobody = { .v = 4 };

	return r->version == 4 && r->proto == IPPROTO_UDP && owned_has(f->owned, IPPROTO_UDP, nobody, CLIENT) &&
	       ((r->sport == SERVER && r->dport == CLIENT) || (r->sport == CLIENT && r->dport == SERVER));
}

static FlowVerdict dhcp_verdict(const Flows *f, const Rx *r)
{
	enum { UDP_HEADER = 8, XID = UDP_HEADER + 4, REPLY = 2 };

	if (r->body.n < XID + 4 || !fpset_has(&f->remote, dhcp_fp(f, get_be32(r->body.p + XID))))
		return not_own(f, r);
	return r->body.p[UDP_HEADER] == REPLY ? FLOW_OWN : FLOW_LOOPED;
}

static FlowVerdict whose(const Flows *f, const Rx *r)
{
	bool ports = r->proto == IPPROTO_TCP || r->proto == IPPROTO_UDP;

	if (is_dhcp(f, r))
		return dhcp_verdict(f, r);
	if (is_icmp(r->proto))
		return icmp_verdict(f, r);
	/* what comes to a port of ours is ours, from whomever: nobody else can have it */
	if (is_local(f, r->dst, r->proto, r->dport) && (ports || was_asked(f, r->src, r->proto, 0)))
		return FLOW_OWN;
	if (is_local(f, r->src, r->proto, r->sport) && (ports || was_asked(f, r->dst, r->proto, 0)))
		return FLOW_LOOPED;
	return not_own(f, r);
}

/* ---- fragments ---- */

static uint64_t frag_key(const Flows *f, const Rx *r)
{
	uint64_t key = fp_ip(fp_ip(f->seed ^ SALT_FRAGMENT, r->src), r->dst);

	key = fp_num(key, (uint64_t)r->frag_id << 8 | (r->version == 4 ? r->proto : 0));
	return key ? key : 1;
}

static void hold(Flows *f, uint64_t key, bool asked, Bytes frame, bool ether, Bytes meta)
{
	HeldFrame *h = &f->held[f->next_held];

	if (frame.n > FLOW_HELD_BYTES || meta.n > sizeof h->meta) {
		f->fragments_lost++;
		return;
	}
	f->fragments_lost += h->key != 0;
	f->next_held = (f->next_held + 1) % FLOW_HELD;
	h->key = key;
	h->asked = asked;
	h->age = 0;
	h->n = (uint32_t)frame.n;
	h->ether = ether;
	memcpy(h->data, frame.p, frame.n);
	memset(h->meta, 0, sizeof h->meta);
	if (meta.n)
		memcpy(h->meta, meta.p, meta.n);
}

/* A later fragment tells no port: it goes where the first one went. */
static FlowVerdict later_fragment(Flows *f, const Rx *r, Bytes frame, bool ether, Bytes meta)
{
	uint64_t key = frag_key(f, r);
	FlowVerdict v = not_own(f, r);

	if (fpset_has(&f->frags, key))
		return FLOW_OWN;
	if (v == FLOW_KERNEL || rules_spoof_ip(f->rules, r->dst) >= 0) {
		hold(f, key, fpset_has(&f->remote, peer_fp(f, r->src, r->proto)), frame, ether, meta);
		return FLOW_HOLD;
	}
	return v;
}

uint64_t flows_headless(Flows *f)
{
	enum { OVERDUE = 2 };

	for (uint32_t i = 0; i < FLOW_HELD; i++) {
		HeldFrame *h = &f->held[i];

		if (h->key && h->asked && h->age < OVERDUE)
			f->headless += ++h->age == OVERDUE;
	}
	return f->headless;
}

bool flows_released(Flows *f, Bytes *ret_frame, bool *ret_ether, Bytes *ret_meta)
{
	for (uint32_t i = 0; f->ready_key && i < FLOW_HELD; i++) {
		HeldFrame *h = &f->held[i];

		if (h->key != f->ready_key)
			continue;
		h->key = 0;
		*ret_frame = BYTES(h->data, h->n);
		*ret_ether = h->ether;
		*ret_meta = BYTES(h->meta, sizeof h->meta);
		return true;
	}
	f->ready_key = 0;
	return false;
}

/* ---- what later frames may refer to ---- */

/* RFC 792: an error quotes the IP header and at least 8 bytes behind it; these
 * must be as they were received. */
static bool quote_fp(const Flows *f, Bytes packet, uint64_t *ret_fp)
{
	size_t head = !packet.n ? 0 : packet.p[0] >> 4 == 4 ? (packet.p[0] & 15u) * 4 : 40;

	if (head < 20 || packet.n < head + 8)
		return false;
	*ret_fp = fp_bytes(f->seed ^ SALT_QUOTE, bytes_slice(packet, 0, head + 8));
	return true;
}

bool flows_may_quote(const Flows *f, Bytes quote)
{
	uint64_t fp;

	return quote_fp(f, quote, &fp) && fpset_has(&f->quotable, fp);
}

static void note_own(Flows *f, const Rx *r)
{
	FlowTuple back = { r->dst, r->src, r->proto, r->dport, r->sport };
	uint64_t fp;

	if (r->proto == IPPROTO_TCP && r->body.n >= 20 && !r->frag && rules_listens(f->rules, r->dport, r->src)) {
		CallSegment s = flows_call(f, &back, r->body, r->packet.n);

		callers_got(&f->callers, &s);
	}
	if (r->proto == IPPROTO_TCP && r->body.n >= 14 && !r->frag_off && (r->body.p[13] & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		fpset_put(&f->syn_in, tuple_fp(f, &back));
	if (quote_fp(f, r->packet, &fp))
		fpset_put(&f->quotable, fp);
	if (r->frag && !r->frag_off) {
		f->ready_key = frag_key(f, r);
		fpset_put(&f->frags, f->ready_key);
	}
}

FlowVerdict flows_received(Flows *f, Bytes frame, bool ether, Bytes meta)
{
	Rx r = rx_read(frame, ether);
	FlowVerdict v;

	f->ready_key = 0;
	if (r.arp)
		return arp_verdict(f, &r);
	if (!r.version)
		return FLOW_OTHER;
	if (r.frag_off)
		return later_fragment(f, &r, frame, ether, meta);
	v = whose(f, &r);
	if (v == FLOW_OWN)
		note_own(f, &r);
	return v;
}
