/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/expert.h"

enum { PEERS = 4096 };

typedef struct Peer {
	Ip ip;
	uint8_t kind; /* protocol of what came, 0: ARP */
	uint8_t ttl;
	Mac mac;
} Peer;

struct Expert {
	Warnings *ws;
	WarnSet odd; /* of the frame at hand */
	uint32_t n;
	Peer peer[PEERS];
};

Expert *expert_new(Arena *a, Warnings *ws)
{
	Expert *e = arena_new(a, Expert);

	e->ws = ws;
	return e;
}

/* What is known of an address; a new row has v 0.  NULL: the table is full. */
static Peer *peer_of(Expert *e, Ip ip, uint8_t kind)
{
	uint64_t h = bytes_hash(BYTES(ip.b, ip_len(ip))) * 31 + kind;

	for (uint32_t i = 0; i < PEERS; i++) {
		Peer *p = &e->peer[(h + i) % PEERS];

		if (p->ip.v && ip_eq(p->ip, ip) && p->kind == kind)
			return p;
		if (!p->ip.v)
			return e->n < PEERS * 3 / 4 ? p : NULL;
	}
	return NULL;
}

typedef struct IpText {
	char s[IP_TEXT];
} IpText;

static IpText ip_text(Ip ip)
{
	IpText t = { "-" };

	if (ip.v)
		ip_format(ip, t.s);
	return t;
}

/* ---- frames ---- */

static void odd(Expert *e, WarnId id)
{
	warn_set(&e->odd, id);
}

static bool csum_good(const PacketId *id)
{
	uint8_t tail[4] = { 0, id->proto, 0, 0 };
	uint32_t sum = 0;

	if (id->proto != PROTO_ICMP || id->v == 6) { /* RFC 9293 3.1, RFC 8200 8.1: the pseudo header */
		put_be16(tail + 2, (uint16_t)id->body.n);
		sum = wire_csum(sum, BYTES(id->src.b, ip_len(id->src)));
		sum = wire_csum(sum, BYTES(id->dst.b, ip_len(id->dst)));
		sum = wire_csum(sum, BYTES(tail, sizeof tail));
	}
	uint16_t rest = wire_csum_fold(wire_csum(sum, id->body));
	return rest == 0 || rest == 0xffff;
}

static void check_transport(Expert *e, const PacketId *id)
{
	bool udp = id->proto == PROTO_UDP, tcp = id->proto == PROTO_TCP;
	bool icmp = id->proto == (id->v == 4 ? PROTO_ICMP : PROTO_ICMP6);
	bool whole = id->packet.n == id->ip_len && !id->fragment && id->have & HAVE_HEADER;

	if (!whole || (!udp && !tcp && !icmp) || (udp && id->v == 4 && id->csum == 0) || csum_good(id))
		return;
	WarnId bad = udp ? WARN_BAD_UDP : tcp ? WARN_BAD_TCP : WARN_BAD_ICMP;
	odd(e, bad);
	warn_add(e->ws, bad, id->src, 1, "from %s, %u bytes", ip_text(id->src).s, id->ip_len);
}

static void check_ip4(Expert *e, const PacketId *id)
{
	size_t header = (size_t)(id->packet.p[0] & 15) * 4;

	if (wire_csum_fold(wire_csum(0, bytes_slice(id->packet, 0, header))) != 0) {
		odd(e, WARN_BAD_IP);
		warn_add(e->ws, WARN_BAD_IP, id->src, 1, "from %s", ip_text(id->src).s);
	}
	if (id->fragment && id->packet.p[6] & 0x40) {
		odd(e, WARN_FRAG_DF);
		warn_add(e->ws, WARN_FRAG_DF, id->src, 1, "from %s, id %u", ip_text(id->src).s, id->ip_id);
	}
}

/* RFC 5227: two hardware addresses that claim one IP address. */
static void check_arp(Expert *e, const PacketId *id)
{
	Peer *p = id->src.v && ip4_num(id->src) ? peer_of(e, id->src, 0) : NULL;
	Mac mac;
	char was[MAC_TEXT], is[MAC_TEXT];

	if (!p)
		return;
	memcpy(mac.b, id->packet.p + 8, 6);
	if (!p->ip.v) {
		*p = (Peer){ .ip = id->src, .mac = mac };
		e->n++;
	} else if (memcmp(p->mac.b, mac.b, 6) != 0) {
		mac_format(p->mac, was);
		mac_format(mac, is);
		warn_add(e->ws, WARN_ARP_DUP, id->src, 1, "%s is at %s and at %s", ip_text(id->src).s, was, is);
		p->mac = mac;
	}
}

WarnSet expert_frame(Expert *e, const PacketId *id, bool computed)
{
	e->odd = (WarnSet){ 0 };
	if (id->v == 0)
		check_arp(e, id);
	if (id->v == 4)
		check_ip4(e, id);
	if (id->v && computed)
		check_transport(e, id);
	return e->odd;
}

/* ---- matches ---- */

bool expert_corrupted(const PacketId *probe, const PacketId *answer)
{
	bool icmp = answer->proto == (answer->v == 4 ? PROTO_ICMP : PROTO_ICMP6);

	return icmp && (answer->v == 4 ? answer->kind == 0 : answer->kind == 129) &&
	       answer->content != probe->content;
}

static void check_ttl(Expert *e, const PacketId *answer)
{
	Peer *p = answer->v ? peer_of(e, answer->src, answer->proto) : NULL;

	if (!p)
		return;
	if (!p->ip.v) {
		*p = (Peer){ .ip = answer->src, .kind = answer->proto, .ttl = answer->ttl };
		e->n++;
	} else if (p->ttl != answer->ttl) {
		warn_add(e->ws, WARN_TTL, answer->src, 1, "%s: %u, then %u", ip_text(answer->src).s, p->ttl, answer->ttl);
		p->ttl = answer->ttl;
	}
}

/* RFC 1191 3: an MTU below 68 or one that the packet would have fitted is none. */
static void check_mtu(Expert *e, const PacketId *probe, const PacketId *answer)
{
	bool needed = answer->v == 4 ? answer->kind == 3 && answer->code == 4 : answer->kind == 2;
	uint32_t mtu = answer->v == 4 ? answer->b : (uint32_t)answer->a << 16 | answer->b;
	uint32_t least = answer->v == 4 ? 68 : 1280;

	if (needed && (mtu < least || mtu >= probe->ip_len))
		warn_add(e->ws, WARN_FRAG_NEEDED, answer->src, 1, "%s says %u for a packet of %u bytes",
			 ip_text(answer->src).s, mtu, probe->ip_len);
}

static void check_quote(Expert *e, const PacketId *probe, const PacketId *answer)
{
	PacketId q;

	if (!packet_id_quote(answer, &q))
		return;
	IpText by = ip_text(answer->src);
	bool ports = q.have & HAVE_PORTS && (probe->proto == PROTO_TCP || probe->proto == PROTO_UDP);
	if (!ip_eq(q.src, probe->src) || (ports && q.a != probe->a))
		warn_add(e->ws, WARN_NAT, answer->src, 1, "%s quotes %s port %u, sent was %s port %u", by.s,
			 ip_text(q.src).s, ports ? q.a : 0, ip_text(probe->src).s, ports ? probe->a : 0);
	if (q.tos >> 2 != probe->tos >> 2)
		warn_add(e->ws, WARN_DSCP, answer->src, 1, "%s saw %u, sent was %u", by.s, q.tos >> 2, probe->tos >> 2);
	if ((q.tos & 3) != (probe->tos & 3))
		warn_add(e->ws, WARN_ECN, answer->src, 1, "%s saw %u, sent was %u", by.s, q.tos & 3, probe->tos & 3);
	check_mtu(e, probe, answer);
}

/* RFC 5961 4: what further SYNs of one flow earn is no answer of somebody else. */
static bool is_challenge_ack(const PacketId *probe, const PacketId *answer)
{
	return probe && answer->v && answer->proto == PROTO_TCP && probe->kind & TCP_SYN &&
	       (answer->kind & (TCP_SYN | TCP_RST | TCP_ACK)) == TCP_ACK;
}

void expert_match(Expert *e, const PacketId *probe, const PacketId *answer, const Match *m)
{
	IpText src = ip_text(answer->src);

	if (m->how == HOW_FLOW && m->verdict != VERDICT_ANSWER && is_challenge_ack(probe, answer))
		return;
	if (m->verdict == VERDICT_DUPLICATE)
		warn_add(e->ws, WARN_DUPLICATE, answer->src, 1, "from %s", src.s);
	if (m->verdict == VERDICT_FURTHER && m->how != HOW_REDIRECT)
		warn_add(e->ws, WARN_FURTHER, answer->src, 1, "from %s", src.s);
	if (m->verdict == VERDICT_LATE)
		warn_add(e->ws, WARN_LATE, answer->src, 1, "from %s", src.s);
	if (m->how == HOW_LOOPED)
		warn_add(e->ws, WARN_LOOPED, answer->dst, 1, "to %s, TTL %u", ip_text(answer->dst).s, answer->ttl);
	if (m->how == HOW_REDIRECT)
		warn_add(e->ws, WARN_REDIRECT, answer->src, 1, "from %s", src.s);
	if (m->verdict == VERDICT_UNSOLICITED) {
		warn_add(e->ws, answer->has_dns && answer->a == 53 ? WARN_DNS_UNMATCHED : WARN_UNSOLICITED, answer->src, 1,
			 "from %s", src.s);
		return;
	}
	if (m->ambiguous)
		warn_add(e->ws, WARN_AMBIGUOUS, answer->src, 1, "from %s", src.s);
	if (!probe)
		return;
	if (m->how == HOW_FLOW) {
		check_ttl(e, answer);
		if (expert_corrupted(probe, answer))
			warn_add(e->ws, WARN_CORRUPT, answer->src, 1, "from %s, seq %u", src.s, answer->b);
	} else if (m->how == HOW_QUOTE) {
		check_quote(e, probe, answer);
	}
}
