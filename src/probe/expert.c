/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/expert_inside.h"

Expert *expert_new(Arena *a, Warnings *ws)
{
	Expert *e = arena_new(a, Expert);

	e->ws = ws;
	return e;
}

void expert_own_mac(Expert *e, Mac mac)
{
	if (e->own_macs < OWN_MACS)
		e->own_mac[e->own_macs++] = mac;
}

WarnSet expert_odd(const Expert *e)
{
	return e->odd;
}

/* ---- what is remembered ---- */

Note *expert_note(Expert *e, NoteKind kind, Ip ip, uint64_t what, bool *ret_new)
{
	uint64_t h = bytes_hash(BYTES(ip.b, ip_len(ip))) ^ (what + kind) * 0x9e3779b97f4a7c15u;

	h ^= h >> 29;
	*ret_new = false;
	for (uint32_t i = 0; i < NOTE_STEPS; i++) {
		Note *n = &e->note[(h + i) % NOTES];

		if (n->kind == kind && n->what == what && ip_eq(n->ip, ip))
			return n;
		if (n->kind != NOTE_FREE)
			continue;
		if (e->notes >= NOTES * 3 / 4)
			return NULL;
		*n = (Note){ .kind = (uint8_t)kind, .ip = ip, .what = what };
		e->notes++;
		*ret_new = true;
		return n;
	}
	return NULL;
}

IpText expert_ip_text(Ip ip)
{
	IpText t = { "-" };

	if (ip.v)
		ip_format(ip, t.s);
	return t;
}

int expert_hops(uint8_t ttl)
{
	/* RFC 1700's 64, Windows' 128, and 255; what is left of 32 may have been 64 */
	return ttl <= 32 ? -1 : ttl <= 64 ? 64 - ttl : ttl <= 128 ? 128 - ttl : 255 - ttl;
}

/* ---- frames ---- */

void expert_frame(Expert *e, const ExpertFrame *f)
{
	e->odd = (WarnSet){ 0 };
	if (!f->stamped)
		EXPERT_SAY(e, WARN_NO_STAMP, WARN_NOBODY, "a received frame has the time at which it was read");
	expert_link(e, f);
	if (f->id->v)
		expert_ip(e, f);
	if (f->id->v && f->id->proto == PROTO_TCP && f->id->have & HAVE_HEADER)
		expert_tcp_segment(e, f->id);
}

/* ---- matches ---- */

/* A row that younger ones with the same place overwrite: a scan of many ports leaves
 * room for what is asked behind it. */
static Asked *asked_row(Expert *e, uint8_t proto, uint16_t ours, uint16_t theirs, uint64_t *ret_key)
{
	*ret_key = (uint64_t)proto << 32 | (uint32_t)ours << 16 | theirs;
	return &e->asked[(*ret_key * 0x9e3779b97f4a7c15u >> 40) % ASKED];
}

/* Whom a packet would answer if it came from the right peer; NULL: nobody was asked. */
static const Asked *asked_of(Expert *e, const PacketId *answer)
{
	bool ports = answer->v && (answer->proto == PROTO_TCP || answer->proto == PROTO_UDP);
	uint64_t key;
	const Asked *a = asked_row(e, answer->proto, answer->b, answer->a, &key);

	return ports && a->key == key ? a : NULL;
}

void expert_probe(Expert *e, const PacketId *probe, bool tagged)
{
	uint64_t key;

	e->tagged |= tagged;
	if (!probe->v || (probe->proto != PROTO_TCP && probe->proto != PROTO_UDP))
		return;
	Asked *a = asked_row(e, probe->proto, probe->a, probe->b, &key);
	*a = (Asked){ .key = key, .whom = probe->dst, .flags = probe->kind };
}

/* RFC 9293 3.10.7.3 judges such segments not acceptable; which kind tells who sent it. */
static bool odd_segment(Expert *e, const PacketId *answer, const Asked *asked)
{
	IpText src = expert_ip_text(answer->src);
	bool ack = answer->kind & TCP_ACK;
	WarnId id;

	if (!(asked->flags & TCP_SYN) || asked->flags & TCP_ACK || !ip_eq(asked->whom, answer->src))
		return false;
	if (answer->kind & TCP_RST)
		id = WARN_RST_ACK;
	else if (answer->kind & TCP_SYN && ack)
		id = WARN_BAD_SYN_ACK;
	else if (ack && !answer->payload.n)
		id = WARN_CHALLENGE;
	else
		return false;
	EXPERT_SAY(e, id, answer->src, "%s port %u: seq %u, ack %u", src.s, answer->a, answer->seq, answer->ack);
	return true;
}

static void unsolicited(Expert *e, const PacketId *answer)
{
	IpText src = expert_ip_text(answer->src);
	const Asked *asked = asked_of(e, answer);

	if (asked && answer->proto == PROTO_TCP && odd_segment(e, answer, asked))
		return;
	if (asked && answer->proto == PROTO_UDP && !ip_eq(asked->whom, answer->src)) {
		EXPERT_SAY(e, WARN_OTHER_ADDRESS, answer->src, "%s answers what %s was asked on port %u", src.s,
			   expert_ip_text(asked->whom).s, answer->a);
		return;
	}
	EXPERT_SAY(e, answer->has_dns && answer->a == 53 ? WARN_DNS_UNMATCHED : WARN_UNSOLICITED, answer->src,
		   "from %s", src.s);
}

bool expert_corrupted(const PacketId *probe, const PacketId *answer)
{
	return expert_is_icmp(answer) && (answer->v == 4 ? answer->kind == 0 : answer->kind == 129) &&
	       answer->content != probe->content;
}

static void check_echo(Expert *e, const PacketId *probe, const PacketId *answer)
{
	if (!expert_corrupted(probe, answer))
		return;
	if (probe->ip_len != answer->ip_len)
		EXPERT_SAY(e, WARN_ECHO_LENGTH, answer->src, "from %s, seq %u: %u bytes for %u",
			   expert_ip_text(answer->src).s, answer->b, answer->ip_len, probe->ip_len);
	else
		EXPERT_SAY(e, WARN_CORRUPT, answer->src, "from %s, seq %u", expert_ip_text(answer->src).s, answer->b);
}

/* RFC 5961 4: what further SYNs of one flow earn is no answer of somebody else. */
static bool is_challenge_ack(const PacketId *probe, const PacketId *answer)
{
	return probe && answer->v && answer->proto == PROTO_TCP && probe->kind & TCP_SYN &&
	       (answer->kind & (TCP_SYN | TCP_RST | TCP_ACK)) == TCP_ACK;
}

/* The verdicts that are a warning by themselves. */
static void check_verdict(Expert *e, const PacketId *answer, const Match *m)
{
	IpText src = expert_ip_text(answer->src);
	bool dns = answer->has_dns && answer->a == 53;

	if (m->verdict == VERDICT_DUPLICATE)
		EXPERT_SAY(e, WARN_DUPLICATE, answer->src, "from %s", src.s);
	if (m->verdict == VERDICT_FURTHER && m->how != HOW_REDIRECT)
		EXPERT_SAY(e, dns ? WARN_DNS_TWO : WARN_FURTHER, answer->src, "from %s", src.s);
	if (m->verdict == VERDICT_LATE)
		EXPERT_SAY(e, WARN_LATE, answer->src, "from %s", src.s);
	if (m->how == HOW_LOOPED)
		EXPERT_SAY(e, WARN_LOOPED, answer->dst, "to %s, TTL %u", expert_ip_text(answer->dst).s, answer->ttl);
	if (m->how == HOW_REDIRECT)
		EXPERT_SAY(e, WARN_REDIRECT, answer->src, "from %s", src.s);
	if (m->ambiguous)
		EXPERT_SAY(e, WARN_AMBIGUOUS, answer->src, "from %s", src.s);
}

void expert_match(Expert *e, const PacketId *probe, const PacketId *answer, const Match *m)
{
	if (m->how == HOW_FLOW && m->verdict != VERDICT_ANSWER && is_challenge_ack(probe, answer))
		return;
	if (m->verdict == VERDICT_UNSOLICITED) {
		unsolicited(e, answer);
		return;
	}
	check_verdict(e, answer, m);
	if (!probe)
		return;
	if (m->how == HOW_QUOTE)
		expert_quote(e, probe, answer);
	if (m->how != HOW_FLOW || !answer->v)
		return;
	check_echo(e, probe, answer);
	if (m->verdict == VERDICT_ANSWER)
		expert_answer_ip(e, probe, answer);
	if (m->verdict == VERDICT_ANSWER && answer->proto == PROTO_TCP)
		expert_answer_tcp(e, probe, answer);
	if (m->verdict == VERDICT_ANSWER && answer->has_dns && answer->a == 53)
		expert_answer_dns(e, probe, answer);
}
