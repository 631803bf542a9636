/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS answers: against the question, against the rules of RFC 1035 and 6891, and
 * against what was answered to the same question before.
 */
#include "probe/expert_inside.h"

#include "wire/dns.h"

enum {
	HEADER = 12,
	QR = 0x8000,
	AA = 0x0400,
	TC = 0x0200,
	RA = 0x0080,
	RCODE = 0x000f,
	NOERROR = 0,
	FORMERR = 1,
	NXDOMAIN = 3,
	NOTIMP = 4,
	RECORD_FIXED = 10, /* type, class, TTL, length */
	RECORDS_MOST = 512,
};

/* What is in an answer. */
typedef struct Message {
	Bytes b;
	size_t at;
	uint16_t flags, count[4]; /* questions, answers, authorities, additional */
	uint64_t answers;	  /* a hash that does not depend on their order */
	bool edns, root_referral;
	const char *wrong;
} Message;

static bool name(Message *m, size_t *at, Bytes *ret_name, uint8_t *room)
{
	Writer w = writer(room, DNS_NAME_MOST + 1);

	m->wrong = dns_name_expand(m->b, at, &w);
	*ret_name = wr_done(&w);
	return !m->wrong;
}

static uint64_t name_hash(Bytes n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n.n; i++)
		h = (h ^ (n.p[i] >= 'A' && n.p[i] <= 'Z' ? n.p[i] + 32u : n.p[i])) * 0x100000001b3u;
	return h;
}

/* Of record data; names in it may be compressed otherwise the next time. */
static bool data_hash(Message *m, uint16_t type, Bytes data, uint64_t *ret_hash)
{
	const DnsLayout *layout = dns_layout(type);
	uint8_t room[DNS_NAME_MOST + 1];
	size_t at = (size_t)(data.p - m->b.p) + (layout ? layout->before : 0);
	uint64_t h = type;
	Bytes n;

	if (!layout) {
		*ret_hash = h * 0x100000001b3u ^ bytes_hash(data);
		return true;
	}
	for (unsigned i = 0; i < layout->names; i++) {
		if (!name(m, &at, &n, room))
			return false;
		h = h * 0x100000001b3u ^ name_hash(n);
	}
	if (at > (size_t)(data.p - m->b.p) + data.n)
		m->wrong = "has record data that is longer than it says";
	*ret_hash = h;
	return !m->wrong;
}

static bool record(Message *m, unsigned section)
{
	uint8_t room[DNS_NAME_MOST + 1];
	uint64_t hash = 0;
	Bytes owner;

	if (!name(m, &m->at, &owner, room))
		return false;
	if (m->b.n - m->at < RECORD_FIXED) {
		m->wrong = "has a record that runs past the end";
		return false;
	}
	const uint8_t *p = m->b.p + m->at;
	uint16_t type = get_be16(p), len = get_be16(p + 8);

	m->at += RECORD_FIXED;
	if (len > m->b.n - m->at) {
		m->wrong = "has record data that runs past the end";
		return false;
	}
	if (!data_hash(m, type, BYTES(m->b.p + m->at, len), &hash))
		return false;
	m->at += len;
	if (section == 1)
		m->answers += hash | 1;
	m->root_referral |= section == 2 && type == DNS_TYPE_NS && owner.n == 1;
	m->edns |= section == 3 && type == DNS_TYPE_OPT;
	return true;
}

static void read_message(Message *m)
{
	uint8_t room[DNS_NAME_MOST + 1];
	unsigned left = RECORDS_MOST;
	Bytes n;

	m->flags = get_be16(m->b.p + 2);
	for (unsigned i = 0; i < 4; i++)
		m->count[i] = get_be16(m->b.p + 4 + 2 * i);
	m->at = HEADER;
	for (unsigned i = 0; i < m->count[0]; i++) {
		if (!name(m, &m->at, &n, room))
			return;
		m->at += 4;
		if (m->at > m->b.n) {
			m->wrong = "has a question that runs past the end";
			return;
		}
	}
	for (unsigned section = 1; section < 4; section++)
		for (unsigned i = 0; i < m->count[section] && left; i++, left--)
			if (!record(m, section))
				return;
}

/* ---- against the question and the rules ---- */

static void check_form(Expert *e, const PacketId *probe, const PacketId *answer, const Message *m)
{
	IpText src = expert_ip_text(answer->src);
	unsigned rcode = m->flags & RCODE;

	if (!(m->flags & QR))
		EXPERT_SAY(e, WARN_DNS_QUERY, answer->src, "from %s", src.s);
	if (m->flags & TC)
		EXPERT_SAY(e, WARN_DNS_TC, answer->src, "from %s, %zu bytes", src.s, m->b.n);
	else if (m->wrong)
		EXPERT_SAY(e, WARN_DNS_MALFORMED, answer->src, "the message of %s %s", src.s, m->wrong);
	if (!answer->dns_question && rcode == NOERROR)
		EXPERT_SAY(e, WARN_DNS_NO_QUESTION, answer->src, "from %s", src.s);
	if (answer->dns_question && answer->dns_spelling != probe->dns_spelling)
		EXPERT_SAY(e, WARN_DNS_CASE, answer->src, "from %s", src.s);
	/* RFC 6891 6.1.1, 7: with OPT in the query there is one in the answer */
	if (!probe->dns_edns || m->edns || m->wrong)
		return;
	if (rcode == FORMERR || rcode == NOTIMP)
		EXPERT_SAY(e, WARN_EDNS_REFUSED, answer->src, "%s says %s", src.s, rcode == FORMERR ? "FORMERR" : "NOTIMP");
	else if (rcode == NOERROR || rcode == NXDOMAIN)
		EXPERT_SAY(e, WARN_EDNS_GONE, answer->src, "from %s", src.s);
}

/* RFC 8499, "lame delegation": it answers, but knows nothing of the zone and asks nobody. */
static void check_lame(Expert *e, const PacketId *answer, const Message *m)
{
	bool nothing = !m->count[1] && (!m->count[2] || m->root_referral);

	if (!m->wrong && m->flags & QR && !(m->flags & (AA | RA | TC | RCODE)) && nothing)
		EXPERT_SAY(e, WARN_DNS_LAME, answer->src, "%s%s", expert_ip_text(answer->src).s,
			   m->root_referral ? " refers to the root" : " has no answer and no referral");
}

/* ---- against what was answered before ---- */

/* True: it said so. */
static bool check_same_server(Expert *e, const PacketId *answer, const Message *m)
{
	unsigned rcode = m->flags & RCODE;
	IpText src = expert_ip_text(answer->src);
	bool is_new;
	Note *n = expert_note(e, NOTE_DNS, answer->src, answer->dns_question, &is_new);

	if (!n)
		return false;
	bool differs = !is_new && (n->n != rcode || n->v != m->answers);
	if (differs && n->n != rcode)
		EXPERT_SAY(e, WARN_DNS_RCODE, answer->src, "%s: RCODE %u, then %u", src.s, n->n, rcode);
	else if (differs)
		EXPERT_SAY(e, WARN_DNS_DIFFER, answer->src, "%s: other records than before", src.s);
	n->n = rcode;
	n->v = m->answers;
	return differs;
}

static void check_other_servers(Expert *e, const PacketId *answer, const Message *m)
{
	unsigned rcode = m->flags & RCODE;
	bool is_new;
	Note *n = expert_note(e, NOTE_DNS_ANY, WARN_NOBODY, answer->dns_question, &is_new);

	if (!n)
		return;
	if (!is_new && !ip_eq(n->at, answer->src) && (n->n != rcode || n->v != m->answers))
		EXPERT_SAY(e, WARN_DNS_SERVERS, answer->src, "%s: RCODE %u; %s: RCODE %u%s", expert_ip_text(n->at).s,
			   n->n, expert_ip_text(answer->src).s, rcode, n->n == rcode ? ", other records" : "");
	*n = (Note){ .kind = n->kind, .ip = n->ip, .what = n->what, .at = answer->src, .v = m->answers, .n = rcode };
}

void expert_answer_dns(Expert *e, const PacketId *probe, const PacketId *answer)
{
	Message m = { .b = answer->payload };

	if (m.b.n < HEADER)
		return;
	read_message(&m);
	check_form(e, probe, answer, &m);
	check_lame(e, answer, &m);
	if (!answer->dns_question || m.wrong || m.flags & TC)
		return;
	if (!check_same_server(e, answer, &m))
		check_other_servers(e, answer, &m);
}
