/* SPDX-License-Identifier: Apache-2.0
 *
 * IP headers, transport checksums and lengths, and what the TTLs and ids of one peer's
 * answers say about who sends them.
 */
#include "probe/expert_inside.h"

enum {
	SMALL_FRAGMENT = 64, /* Zeek's MIN_ACCEPTABLE_FRAG_SIZE */
	SAME_IDS = 4,	     /* answers in a row with one id */
	ECN_CE = 3,
};

/* ---- frames ---- */

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

/* False: its checksum says nothing. */
static bool check_udp(Expert *e, const PacketId *id)
{
	IpText src = expert_ip_text(id->src);

	if (id->udp_len != id->body.n) {
		EXPERT_SAY(e, WARN_UDP_LENGTH, id->src, "from %s: UDP says %u bytes, IP %zu", src.s, id->udp_len,
			   id->body.n);
		return false;
	}
	if (id->csum == 0 && id->v == 6) /* RFC 8200 8.1: must not be */
		EXPERT_SAY(e, WARN_UDP_ZERO, id->src, "from %s port %u", src.s, id->a);
	return id->csum != 0;
}

static void check_transport(Expert *e, const ExpertFrame *f)
{
	const PacketId *id = f->id;
	bool udp = id->proto == PROTO_UDP, tcp = id->proto == PROTO_TCP;

	if (!expert_is_whole(id) || (!udp && !tcp && !expert_is_icmp(id)))
		return;
	if ((udp && !check_udp(e, id)) || !f->computed || csum_good(id))
		return;
	WarnId bad = udp ? WARN_BAD_UDP : tcp ? WARN_BAD_TCP : WARN_BAD_ICMP;
	EXPERT_SAY(e, bad, id->src, "from %s, %u bytes", expert_ip_text(id->src).s, id->ip_len);
}

static void check_header(Expert *e, const PacketId *id)
{
	size_t header = (size_t)(id->packet.p[0] & 15) * 4;
	IpText src = expert_ip_text(id->src);

	if (wire_csum_fold(wire_csum(0, bytes_slice(id->packet, 0, header))) != 0)
		EXPERT_SAY(e, WARN_BAD_IP, id->src, "from %s", src.s);
	if (id->fragment && id->df)
		EXPERT_SAY(e, WARN_FRAG_DF, id->src, "from %s, id %u", src.s, id->ip_id);
}

static void check_fragment(Expert *e, const PacketId *id)
{
	IpText src = expert_ip_text(id->src);

	if (id->fragment && id->more && id->ip_len < SMALL_FRAGMENT)
		EXPERT_SAY(e, WARN_FRAG_SMALL, id->src, "from %s, id %u: %u bytes, and more follow", src.s, id->ip_id,
			   id->ip_len);
	if (id->atomic)
		EXPERT_SAY(e, WARN_ATOMIC, id->src, "from %s, id %u", src.s, id->ip_id);
}

void expert_ip(Expert *e, const ExpertFrame *f)
{
	const PacketId *id = f->id;
	IpText src = expert_ip_text(id->src);

	if (id->v == 4)
		check_header(e, id);
	check_fragment(e, id);
	if (f->frame.n == f->orig_len && id->ip_len > id->packet.n)
		EXPERT_SAY(e, WARN_CUT, id->src, "from %s: %u bytes by its header, %zu came", src.s, id->ip_len,
			   id->packet.n);
	if (f->mtu && id->ip_len > f->mtu)
		EXPERT_SAY(e, WARN_OFFLOAD, id->src, "%u bytes from %s on an interface with MTU %u", id->ip_len, src.s,
			   f->mtu);
	check_transport(e, f);
}

/* ---- answers ---- */

/* Whose TTL it is: of a port, and resets apart from all else. */
static uint64_t ttl_key(const PacketId *id, bool reset)
{
	return (uint64_t)id->proto << 32 | (uint32_t)(expert_is_icmp(id) ? 0 : id->a) << 8 | reset;
}

static void say_ttl(Expert *e, WarnId id, const PacketId *answer, uint64_t was)
{
	EXPERT_SAY(e, id, answer->src, "%s: %u, then %u", expert_ip_text(answer->src).s, (unsigned)was, answer->ttl);
}

/* The first answer of a port: as far away as the resets of this port, as other ports? */
static void check_new_port(Expert *e, const PacketId *answer, bool reset)
{
	bool is_new;
	Note *n = expert_note(e, NOTE_TTL, answer->src, ttl_key(answer, !reset), &is_new);

	if (n && is_new)
		n->v = 0;
	if (n && n->v && n->v != answer->ttl) {
		EXPERT_SAY(e, WARN_RST_TTL, answer->src, "%s port %u: %u, %s %u", expert_ip_text(answer->src).s,
			   answer->a, (unsigned)n->v, reset ? "the reset" : "another segment", answer->ttl);
		return;
	}
	n = expert_note(e, NOTE_TTL_PROTO, answer->src, answer->proto, &is_new);
	if (n && !is_new && n->v != answer->ttl)
		EXPERT_SAY(e, WARN_TTL_PORT, answer->src, "%s: port %u has %u, others %u",
			   expert_ip_text(answer->src).s, answer->a, answer->ttl, (unsigned)n->v);
	else if (n)
		n->v = answer->ttl;
}

static void check_distance(Expert *e, const PacketId *answer)
{
	int hops = expert_hops(answer->ttl);
	bool is_new;
	Note *n = hops < 0 ? NULL : expert_note(e, NOTE_DISTANCE, answer->src, 0, &is_new);

	if (!n)
		return;
	if (is_new) {
		n->v = (uint64_t)hops;
		n->n = answer->proto;
	} else if (n->n != answer->proto && n->v != (uint64_t)hops) {
		EXPERT_SAY(e, WARN_DISTANCE, answer->src, "%s: %u hops by protocol %u, %d by protocol %u",
			   expert_ip_text(answer->src).s, (unsigned)n->v, n->n, hops, answer->proto);
	}
}

static void check_ttl(Expert *e, const PacketId *answer)
{
	bool reset = answer->proto == PROTO_TCP && answer->kind & TCP_RST, is_new;
	Note *n = expert_note(e, NOTE_TTL, answer->src, ttl_key(answer, reset), &is_new);

	if (!n)
		return;
	is_new = n->v == 0;
	if (!is_new && n->v != answer->ttl)
		say_ttl(e, WARN_TTL, answer, n->v);
	n->v = answer->ttl;
	if (!is_new)
		return;
	if (!expert_is_icmp(answer))
		check_new_port(e, answer, reset);
	check_distance(e, answer);
}

/* RFC 6864 4.1: an id that repeats is no id, and only DF makes that harmless. */
static void check_ip_id(Expert *e, const PacketId *answer)
{
	bool is_new;
	Note *n = answer->v == 4 && !answer->df && answer->ip_id
			  ? expert_note(e, NOTE_IP_ID, answer->src, answer->proto, &is_new)
			  : NULL;

	if (!n)
		return;
	n->n = n->v == answer->ip_id ? n->n + 1 : 1;
	n->v = answer->ip_id;
	if (n->n >= SAME_IDS)
		EXPERT_SAY(e, WARN_IP_ID, answer->src, "%s: id %u, %u times in a row", expert_ip_text(answer->src).s,
			   answer->ip_id, n->n);
}

void expert_answer_ip(Expert *e, const PacketId *probe, const PacketId *answer)
{
	check_ttl(e, answer);
	check_ip_id(e, answer);
	/* echo replies carry the request's own bits back */
	if ((answer->tos & 3) == ECN_CE && (probe->tos & 3) != ECN_CE)
		EXPERT_SAY(e, WARN_CE, answer->src, "from %s", expert_ip_text(answer->src).s);
}
