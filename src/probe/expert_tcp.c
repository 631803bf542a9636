/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP: single segments, and the answers to SYNs (RFC 9293, 7323, 2018).
 */
#include "probe/expert_inside.h"

enum {
	WSCALE_MOST = 14,     /* RFC 7323 2.3 */
	MSS_LEAST_4 = 536,    /* RFC 9293 3.7.1: what is taken if none is said */
	MSS_LEAST_6 = 1220,
	STEP_BACK = 1000,     /* of time stamps: more than what overtakes on the way can make */
};

/* ---- any segment ---- */

static void check_flags(Expert *e, const PacketId *id)
{
	IpText src = expert_ip_text(id->src);

	if (id->kind & TCP_SYN && id->kind & (TCP_RST | TCP_FIN))
		EXPERT_SAY(e, WARN_CHRISTMAS, id->src, "from %s port %u: flags 0x%02x", src.s, id->a, id->kind);
	if (id->kind & TCP_SYN && id->kind & TCP_URG)
		EXPERT_SAY(e, WARN_BAROQUE, id->src, "from %s port %u", src.s, id->a);
	if (!id->payload.n)
		return;
	if (id->kind & TCP_SYN)
		EXPERT_SAY(e, WARN_SYN_DATA, id->src, "from %s port %u: %zu bytes", src.s, id->a, id->payload.n);
	if (id->kind & TCP_RST)
		EXPERT_SAY(e, WARN_RST_DATA, id->src, "from %s port %u: %zu bytes", src.s, id->a, id->payload.n);
}

void expert_tcp_segment(Expert *e, const PacketId *id)
{
	size_t header = (size_t)(id->body.p[12] >> 4) * 4;

	if (expert_is_whole(id) && (header < 20 || header > id->body.n)) {
		EXPERT_SAY(e, WARN_TCP_HEADER, id->src, "from %s port %u: %zu bytes of header, %zu of segment",
			   expert_ip_text(id->src).s, id->a, header, id->body.n);
		return;
	}
	check_flags(e, id);
	if (id->opt.have & TCPOPT_WSCALE && id->opt.wscale > WSCALE_MOST)
		EXPERT_SAY(e, WARN_SCALE_RANGE, id->src, "from %s port %u: %u", expert_ip_text(id->src).s, id->a,
			   id->opt.wscale);
}

/* ---- answers ---- */

static void check_offers(Expert *e, const PacketId *syn, const PacketId *answer)
{
	IpText src = expert_ip_text(answer->src);
	uint8_t lacks = syn->opt.have & (uint8_t)~answer->opt.have;
	uint16_t least = answer->v == 6 ? MSS_LEAST_6 : MSS_LEAST_4;

	if (!(answer->opt.have & TCPOPT_WHOLE))
		return;
	if (lacks & TCPOPT_WSCALE)
		EXPERT_SAY(e, WARN_NO_WSCALE, answer->src, "from %s port %u", src.s, answer->a);
	if (lacks & TCPOPT_SACKOK)
		EXPERT_SAY(e, WARN_NO_SACK, answer->src, "from %s port %u", src.s, answer->a);
	if (lacks & TCPOPT_MSS)
		EXPERT_SAY(e, WARN_SMALL_MSS, answer->src, "from %s port %u: none, so %u holds", src.s, answer->a, least);
	else if (answer->opt.have & TCPOPT_MSS && answer->opt.mss < least)
		EXPERT_SAY(e, WARN_SMALL_MSS, answer->src, "from %s port %u: %u", src.s, answer->a, answer->opt.mss);
}

static void check_syn_answer(Expert *e, const PacketId *syn, const PacketId *answer)
{
	IpText src = expert_ip_text(answer->src);

	if (!(answer->kind & TCP_SYN) || answer->kind & TCP_RST)
		return;
	if (!(answer->kind & TCP_ACK)) {
		EXPERT_SAY(e, WARN_SIMULTANEOUS, answer->src, "from %s port %u", src.s, answer->a);
		return;
	}
	if (answer->window == 0)
		EXPERT_SAY(e, WARN_SYN_WINDOW, answer->src, "from %s port %u", src.s, answer->a);
	check_offers(e, syn, answer);
}

/* RFC 7323 4.2: one connection's time stamps grow. */
static void check_stamp(Expert *e, const PacketId *answer)
{
	bool is_new;
	Note *n = answer->opt.have & TCPOPT_STAMP
			  ? expert_note(e, NOTE_TSVAL, answer->src, (uint32_t)answer->a << 16 | answer->b, &is_new)
			  : NULL;

	if (!n)
		return;
	if (!is_new && serial_lt(answer->opt.tsval + STEP_BACK, (uint32_t)n->v))
		EXPERT_SAY(e, WARN_STAMP_BACK, answer->src, "%s port %u: %u, then %u", expert_ip_text(answer->src).s,
			   answer->a, (uint32_t)n->v, answer->opt.tsval);
	n->v = answer->opt.tsval;
}

void expert_answer_tcp(Expert *e, const PacketId *probe, const PacketId *answer)
{
	/* Wireshark's zero_window: a segment that opens, ends or resets nothing */
	if (answer->window == 0 && !(answer->kind & (TCP_SYN | TCP_FIN | TCP_RST)))
		EXPERT_SAY(e, WARN_ZERO_WINDOW, answer->src, "from %s port %u", expert_ip_text(answer->src).s, answer->a);
	check_stamp(e, answer);
	if (probe->kind & TCP_SYN && !(probe->kind & TCP_ACK))
		check_syn_answer(e, probe, answer);
}
