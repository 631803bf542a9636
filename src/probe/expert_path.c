/* SPDX-License-Identifier: Apache-2.0
 *
 * The path: what ICMP errors and the packets that they quote say about the way
 * between here and there.  Whoever says it, it is of the peer that was asked
 * (guardrails.md 5): who forwards our packets can write to it anyway.
 */
#include "probe/expert_inside.h"

enum {
	UNREACHABLE = 3,
	QUENCH = 4,
	TIME_EXCEEDED = 11,
	PARAMETER = 12,
	UNREACHABLE_6 = 1,
	TOO_BIG_6 = 2,
	TIME_EXCEEDED_6 = 3,
	PARAMETER_6 = 4,
	QUOTE_LEAST = 8,  /* RFC 792: bytes behind the IP header */
	LOOP_APART = 2,	  /* TTLs at which a router is met again */
};

/* ---- what the error says ---- */

/* v, type, code (-1: any) -> warning */
static const struct ErrorRow {
	uint8_t v, type;
	int16_t code;
	WarnId id;
} errors[] = {
	{ 4, UNREACHABLE, 9, WARN_PROHIBITED },	   /* RFC 1122 3.2.2.1 */
	{ 4, UNREACHABLE, 10, WARN_PROHIBITED },
	{ 4, UNREACHABLE, 13, WARN_PROHIBITED },   /* RFC 1812 5.2.7.1 */
	{ 6, UNREACHABLE_6, 1, WARN_PROHIBITED },  /* RFC 4443 3.1 */
	{ 6, UNREACHABLE_6, 5, WARN_PROHIBITED },
	{ 4, QUENCH, -1, WARN_QUENCH },		   /* RFC 6633: long gone */
	{ 4, TIME_EXCEEDED, 1, WARN_REASSEMBLY },
	{ 6, TIME_EXCEEDED_6, 1, WARN_REASSEMBLY },
	{ 4, PARAMETER, -1, WARN_PARAMETER },
	{ 6, PARAMETER_6, -1, WARN_PARAMETER },
};

static void check_error(Expert *e, const PacketId *probe, const PacketId *answer)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		const struct ErrorRow *r = &errors[i];

		if (r->v == answer->v && r->type == answer->kind && (r->code < 0 || r->code == answer->code))
			EXPERT_SAY(e, r->id, probe->dst, "from %s: type %u, code %u", expert_ip_text(answer->src).s,
				   answer->kind, answer->code);
	}
}

/* Whether the answer is of that kind in its version. */
static bool is_error(const PacketId *answer, uint8_t type4, int code4, uint8_t type6, int code6)
{
	return answer->kind == (answer->v == 4 ? type4 : type6) && answer->code == (answer->v == 4 ? code4 : code6);
}

static bool is_no_router(Ip ip)
{
	IpClass c = ip_class(ip);

	return c == IP_CLASS_UNSPECIFIED || c == IP_CLASS_LOOPBACK || c == IP_CLASS_MULTICAST ||
	       c == IP_CLASS_BROADCAST || c == IP_CLASS_RESERVED;
}

/* Who says so. */
static void check_author(Expert *e, const PacketId *probe, const PacketId *answer)
{
	IpText by = expert_ip_text(answer->src), dst = expert_ip_text(probe->dst);
	bool self = ip_eq(answer->src, probe->dst);
	bool no_port = is_error(answer, UNREACHABLE, 3, UNREACHABLE_6, 4) || (answer->v == 4 && is_error(answer, UNREACHABLE, 2, 0, 0));

	if (!self && is_no_router(answer->src))
		EXPERT_SAY(e, WARN_MARTIAN, probe->dst, "an error about a packet to %s comes from %s", dst.s, by.s);
	if (!self && no_port)
		EXPERT_SAY(e, WARN_PORT_BY_OTHER, probe->dst, "%s says that a port of %s is closed", by.s, dst.s);
	if (self && is_error(answer, TIME_EXCEEDED, 0, TIME_EXCEEDED_6, 0))
		EXPERT_SAY(e, WARN_TTL_BY_DST, probe->dst, "%s, for a packet to itself", by.s);
}

/* RFC 1191 3: an MTU below 68 or one that the packet would have fitted is none. */
static void check_mtu(Expert *e, const PacketId *probe, const PacketId *answer)
{
	bool needed = answer->v == 4 ? answer->kind == UNREACHABLE && answer->code == 4 : answer->kind == TOO_BIG_6;
	uint32_t mtu = answer->v == 4 ? answer->b : (uint32_t)answer->a << 16 | answer->b;
	uint32_t least = answer->v == 4 ? 68 : 1280;

	if (needed && (mtu < least || mtu >= probe->ip_len))
		EXPERT_SAY(e, WARN_FRAG_NEEDED, probe->dst, "%s says %u for a packet of %u bytes",
			   expert_ip_text(answer->src).s, mtu, probe->ip_len);
}

/* ---- what was rewritten ---- */

static bool has_ports(const PacketId *probe, const PacketId *q)
{
	return q->have & HAVE_PORTS && (probe->proto == PROTO_TCP || probe->proto == PROTO_UDP);
}

static void check_ip_fields(Expert *e, const PacketId *probe, const PacketId *q, Ip by)
{
	IpText at = expert_ip_text(by);
	bool ports = has_ports(probe, q);

	if (!ip_eq(q->src, probe->src) || (ports && q->a != probe->a))
		EXPERT_SAY(e, WARN_NAT, probe->dst, "%s quotes %s port %u, sent was %s port %u", at.s, expert_ip_text(q->src).s,
			   ports ? q->a : 0, expert_ip_text(probe->src).s, ports ? probe->a : 0);
	if (q->tos >> 2 != probe->tos >> 2)
		EXPERT_SAY(e, WARN_DSCP, probe->dst, "%s saw %u, sent was %u", at.s, q->tos >> 2, probe->tos >> 2);
	if ((q->tos & 3) != (probe->tos & 3))
		EXPERT_SAY(e, WARN_ECN, probe->dst, "%s saw %u, sent was %u", at.s, q->tos & 3, probe->tos & 3);
	if (probe->df && !q->df)
		EXPERT_SAY(e, WARN_DF_CLEARED, probe->dst, "%s saw none", at.s);
	/* what the gate cut is quoted in pieces */
	if (!q->fragment && q->ip_len != probe->ip_len)
		EXPERT_SAY(e, WARN_REWRITTEN, probe->dst, "%s saw %u bytes, sent were %u", at.s, q->ip_len, probe->ip_len);
	else if (probe->v == 4 && q->ip_id != probe->ip_id)
		EXPERT_SAY(e, WARN_REWRITTEN, probe->dst, "%s saw IP id %u, sent was %u", at.s, q->ip_id, probe->ip_id);
}

static void check_tcp_fields(Expert *e, const PacketId *probe, const PacketId *q, Ip by)
{
	IpText at = expert_ip_text(by);
	const TcpOptions *a = &probe->opt, *b = &q->opt;
	bool known = q->have & HAVE_HEADER && a->have & TCPOPT_WHOLE && b->have & TCPOPT_WHOLE;

	if (q->have & HAVE_EIGHT && q->seq != probe->seq)
		EXPERT_SAY(e, WARN_SEQ, probe->dst, "%s saw %u, sent was %u", at.s, q->seq, probe->seq);
	if (!known)
		return;
	if (a->have & b->have & TCPOPT_MSS && a->mss != b->mss)
		EXPERT_SAY(e, WARN_MSS, probe->dst, "%s saw %u, sent was %u", at.s, b->mss, a->mss);
	if (a->have != b->have || a->wscale != b->wscale || a->tsval != b->tsval || a->other != b->other)
		EXPERT_SAY(e, WARN_OPTIONS, probe->dst, "%s saw%s%s%s%s, sent were%s%s%s%s", at.s,
			   b->have & TCPOPT_MSS ? " MSS" : "", b->have & TCPOPT_WSCALE ? " WScale" : "",
			   b->have & TCPOPT_SACKOK ? " SAckOK" : "", b->have & TCPOPT_STAMP ? " Timestamp" : "",
			   a->have & TCPOPT_MSS ? " MSS" : "", a->have & TCPOPT_WSCALE ? " WScale" : "",
			   a->have & TCPOPT_SACKOK ? " SAckOK" : "", a->have & TCPOPT_STAMP ? " Timestamp" : "");
}

static void check_quote_length(Expert *e, const PacketId *probe, const PacketId *q, Ip by)
{
	size_t header = q->packet.n - q->body.n;

	if (q->ip_len >= header + QUOTE_LEAST && q->body.n < QUOTE_LEAST)
		EXPERT_SAY(e, WARN_SHORT_QUOTE, probe->dst, "%s: %zu bytes behind the IP header", expert_ip_text(by).s, q->body.n);
}

/* ---- who is met where ---- */

/* What routers hash to choose a way: RFC 2992, and for ICMP its checksum. */
static uint64_t flow_of(const PacketId *probe)
{
	uint64_t h = (uint64_t)probe->proto << 32 | (uint32_t)probe->a << 16 | probe->b;

	if (expert_is_icmp(probe))
		h = (uint64_t)probe->proto << 32 | (uint32_t)probe->a << 16 | probe->csum;
	return h * 0x9e3779b97f4a7c15u >> 8;
}

static void check_hop(Expert *e, const PacketId *probe, const PacketId *answer)
{
	IpText by = expert_ip_text(answer->src), dst = expert_ip_text(probe->dst);
	bool is_new;
	Note *n = expert_note(e, NOTE_FLOW_HOP, probe->dst, flow_of(probe) << 8 | probe->ttl, &is_new);

	if (n && !is_new && !ip_eq(n->at, answer->src)) {
		EXPERT_SAY(e, WARN_FLAP, probe->dst, "to %s, TTL %u, one flow: %s, then %s", dst.s, probe->ttl,
			   expert_ip_text(n->at).s, by.s);
		n->at = answer->src;
		return;
	}
	if (n)
		n->at = answer->src;
	n = expert_note(e, NOTE_HOP, probe->dst, probe->ttl, &is_new);
	if (n && is_new)
		n->at = answer->src;
	else if (n && !ip_eq(n->at, answer->src))
		EXPERT_SAY(e, WARN_ECMP, probe->dst, "to %s, TTL %u: %s and %s", dst.s, probe->ttl,
			   expert_ip_text(n->at).s, by.s);
}

static void check_loop(Expert *e, const PacketId *probe, const PacketId *answer)
{
	uint64_t router = bytes_hash(BYTES(answer->src.b, ip_len(answer->src)));
	bool is_new;
	Note *n = expert_note(e, NOTE_ROUTER, probe->dst, flow_of(probe) ^ router, &is_new);

	if (!n)
		return;
	if (is_new)
		n->v = probe->ttl;
	else if (probe->ttl >= n->v + LOOP_APART || n->v >= probe->ttl + (uint64_t)LOOP_APART)
		EXPERT_SAY(e, WARN_LOOP, probe->dst, "to %s: %s is met at TTL %u and %u", expert_ip_text(probe->dst).s,
			   expert_ip_text(answer->src).s, (unsigned)n->v, probe->ttl);
}

/* The destination's own error tells both ways: by the TTL that our packet had left, and
 * by its own. */
static void check_symmetry(Expert *e, const PacketId *probe, const PacketId *q, const PacketId *answer)
{
	int back = expert_hops(answer->ttl), there = (int)probe->ttl - (int)q->ttl;

	if (ip_eq(answer->src, probe->dst) && q->ttl && there >= 0 && back >= 0 && there != back)
		EXPERT_SAY(e, WARN_ASYMMETRIC, probe->dst, "%s: %d hops there, %d back", expert_ip_text(answer->src).s,
			   there, back);
}

void expert_quote(Expert *e, const PacketId *probe, const PacketId *answer)
{
	PacketId q;

	if (!packet_id_quote(answer, &q))
		return;
	check_error(e, probe, answer);
	check_author(e, probe, answer);
	check_mtu(e, probe, answer);
	check_ip_fields(e, probe, &q, answer->src);
	if (probe->proto == PROTO_TCP)
		check_tcp_fields(e, probe, &q, answer->src);
	check_quote_length(e, probe, &q, answer->src);
	if (is_error(answer, TIME_EXCEEDED, 0, TIME_EXCEEDED_6, 0)) {
		check_hop(e, probe, answer);
		check_loop(e, probe, answer);
	}
	check_symmetry(e, probe, &q, answer);
}
