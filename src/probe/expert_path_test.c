/* SPDX-License-Identifier: Apache-2.0
 *
 * The expert on DNS, on the path that quotes show, and on how answers fit their probes.
 */
#include "probe/expert_testing.h"

/* ---- dns ---- */

enum { OPT_TYPE = 41 };

static void wr_name(Writer *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		wr_u8(w, (uint8_t)n);
		wr_bytes(w, BYTES(name, n));
		name += n + (name[n] == '.');
	}
	wr_u8(w, 0);
}

static void wr_opt(Writer *w)
{
	wr_u8(w, 0);
	wr_be16(w, OPT_TYPE);
	wr_be16(w, 1232);
	wr_be32(w, 0);
	wr_be16(w, 0);
}

typedef struct Dns {
	uint16_t id, flags;
	const char *name;   /* NULL: no question */
	uint32_t a;	    /* an A record; 0: none */
	bool edns, referral;
	uint16_t pointer;   /* of the answer's name; 0: to the question */
} Dns;

static Bytes dns(Dns d)
{
	Writer w = tp_writer();

	wr_be16(&w, d.id);
	wr_be16(&w, d.flags);
	wr_be16(&w, d.name != NULL);
	wr_be16(&w, d.a != 0);
	wr_be16(&w, d.referral);
	wr_be16(&w, d.edns);
	if (d.name) {
		wr_name(&w, d.name);
		wr_be32(&w, 0x00010001);
	}
	if (d.a) {
		wr_be16(&w, d.pointer ? d.pointer : 0xc00c);
		wr_be32(&w, 0x00010001);
		wr_be32(&w, 300);
		wr_be16(&w, 4);
		wr_be32(&w, d.a);
	}
	if (d.referral) {
		wr_u8(&w, 0);
		wr_be32(&w, 0x00020001);
		wr_be32(&w, 300);
		wr_be16(&w, 3);
		wr_name(&w, "a");
	}
	if (d.edns)
		wr_opt(&w);
	return wr_done(&w);
}

/* A question to `server`, with EDNS, and its answer. */
static void lookup(uint32_t server, const char *name, Dns d)
{
	static uint16_t number;

	number++;
	d.id = number;
	ask(ip(ME, server, 17,
	       tp_udp((uint16_t)(5000 + number), 53, dns((Dns){ .id = number, .flags = 0x100, .name = name, .edns = true }))));
	got(ip(server, ME, 17, tp_udp(53, (uint16_t)(5000 + number), dns(d))));
}

static const Dns good = { .flags = 0x8180, .name = "www.a.b", .a = 0x0a000050, .edns = true };

static void healthy_dns(void)
{
	Dns no = good;

	lookup(PEER, "www.a.b", good);
	lookup(PEER, "www.a.b", good);
	lookup(OTHER, "www.a.b", good);
	no.name = "none.a.b";
	no.a = 0;
	no.flags = 0x8183; /* NXDOMAIN */
	lookup(PEER, "none.a.b", no);
	no.flags = 0x8400; /* an authoritative server has no such record */
	no.name = "empty.a.b";
	lookup(PEER, "empty.a.b", no);
	no.flags = 0x8005; /* REFUSED, and no EDNS either */
	no.name = "foreign";
	no.edns = false;
	lookup(PEER, "foreign", no);
	nothing();
}

static void dns_UNMATCHED_(void)
{
	healthy_dns();
	ask(ip(ME, PEER, 17, tp_udp(5000, 53, dns((Dns){ .id = 1, .flags = 0x100, .name = "a.b" }))));
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns((Dns){ .id = 2, .flags = 0x8180, .name = "a.b" }))));
	only(WARN_DNS_UNMATCHED);
}

#define DNS_CASE_(ID, change)                 \
	static void dns_##ID(void)            \
	{                                     \
		Dns d = good;                 \
					      \
		healthy_dns();                \
		change;                       \
		lookup(PEER, "www.a.b", d);   \
		only(WARN_##ID);              \
	}

DNS_CASE_(DNS_QUERY, d.flags = 0x0180)
DNS_CASE_(DNS_TC, (d.flags |= 0x200, d.a = 0))
DNS_CASE_(DNS_MALFORMED, d.pointer = 0xc0ff)
DNS_CASE_(DNS_NO_QUESTION, (d.name = NULL, d.a = 0))
DNS_CASE_(DNS_CASE, d.name = "wWw.a.B")
DNS_CASE_(EDNS_GONE, d.edns = false)
DNS_CASE_(DNS_RCODE, (d.flags = 0x8182, d.a = 0))
DNS_CASE_(DNS_DIFFER, d.a++)

static void dns_EDNS_REFUSED(void)
{
	healthy_dns();
	lookup(PEER, "other.a.b", (Dns){ .flags = 0x8181, .name = "other.a.b" });
	only(WARN_EDNS_REFUSED);
}

static void dns_DNS_LAME(void)
{
	healthy_dns();
	lookup(PEER, "lame.a.b", (Dns){ .flags = 0x8100, .name = "lame.a.b", .edns = true });
	only(WARN_DNS_LAME);
	lookup(PEER, "up.a.b", (Dns){ .flags = 0x8100, .name = "up.a.b", .referral = true, .edns = true });
	only(WARN_DNS_LAME);
}

static void dns_DNS_SERVERS(void)
{
	Dns d = good;

	d.name = "www.c";
	lookup(PEER, "www.c", d);
	d.a++;
	lookup(OTHER, "www.c", d);
	only(WARN_DNS_SERVERS);
}

static void dns_DNS_TWO(void)
{
	Dns d = { .id = 900, .flags = 0x8180, .name = "www.a.b", .a = 1 };

	ask(ip(ME, PEER, 17, tp_udp(5000, 53, dns((Dns){ .id = 900, .flags = 0x100, .name = "www.a.b" }))));
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns(d))));
	nothing();
	d.a = 2;
	got(ip(PEER, ME, 17, tp_udp(53, 5000, dns(d))));
	only(WARN_DNS_TWO);
}

/* ---- path ---- */

/* A router's error that quotes p with a byte or a word of it changed. */
static void quoted(Bytes p, size_t at, uint16_t word, WarnId id)
{
	Bytes q = copy_of(p);

	put_be16((uint8_t *)q.p + at, word);
	got(error_of(PEER, 3, 1, 0, with_ttl(q, 1), q.n));
	only(id);
}

static Bytes healthy_quote(uint16_t sport)
{
	got(error_of(PEER, 3, 1, 0, arrived(ask(udp(ME, FAR, sport, 7)), 1), 28));
	nothing();
	return ask(udp(ME, FAR, (uint16_t)(sport + 1), 7));
}

static void path_NAT(void)
{
	quoted(healthy_quote(5000), 14, 0x0063, WARN_NAT);
	quoted(healthy_quote(5010), 20, 6000, WARN_NAT);
}

static void path_DSCP(void)
{
	quoted(healthy_quote(5000), 0, 0x4528, WARN_DSCP);
}

static void path_ECN(void)
{
	quoted(healthy_quote(5000), 0, 0x4503, WARN_ECN);
}

static void path_DF_CLEARED(void)
{
	Bytes p = ask(with_frag(udp(ME, FAR, 5000, 7), 0x4000));

	got(error_of(PEER, 3, 1, 0, arrived(p, 1), 28));
	nothing();
	quoted(ask(with_frag(udp(ME, FAR, 5001, 7), 0x4000)), 6, 0, WARN_DF_CLEARED);
}

static void path_REWRITTEN(void)
{
	Bytes p = healthy_quote(5000);

	quoted(p, 4, (uint16_t)(get_be16(p.p + 4) ^ 0x100), WARN_REWRITTEN);
	p = healthy_quote(5010);
	quoted(p, 2, (uint16_t)(p.n + 4), WARN_REWRITTEN);
}

static Bytes far_syn(uint16_t sport)
{
	return ask(tcp(ME, FAR, (Segment){ sport, 80, 1000, 0, S, 65535, SYN_OPTIONS }));
}

static Bytes healthy_syn(void)
{
	Bytes p = far_syn(5000);

	got(error_of(PEER, 3, 1, 0, arrived(p, 1), p.n));
	nothing();
	p = far_syn(5001);
	got(error_of(PEER, 3, 1, 0, arrived(p, 1), 28)); /* options out of sight */
	nothing();
	return far_syn(5002);
}

static void path_SEQ(void)
{
	quoted(healthy_syn(), 24, 0x4711, WARN_SEQ);
}

static void path_MSS(void)
{
	quoted(healthy_syn(), 42, 1400, WARN_MSS);
}

static void path_OPTIONS(void)
{
	quoted(healthy_syn(), 44, 0x0101, WARN_OPTIONS); /* SAckOK made NOPs */
}

static void path_LOOPED(void)
{
	Bytes p = ask(echo(1, "abcd"));

	got(with_ttl(copy_of(p), 60));
	only(WARN_LOOPED);
}

/* Time exceeded for a probe with that TTL. */
static void hop(uint16_t sport, uint8_t ttl, uint32_t router)
{
	static uint16_t number;
	Bytes body = tp_udp(sport, 33434, BYTES(&number, 2));

	number++;
	Bytes p = ask(with_ttl(ip(ME, FAR, 17, body), ttl));
	got(error_of(router, 11, 0, 0, arrived(p, 1), 28));
}

enum { R1 = 0x0a010001, R2 = 0x0a020001, R3 = 0x0a030001 };

static void healthy_trace(void)
{
	for (int round = 0; round < 3; round++) {
		hop(5000, 1, R1);
		hop(5000, 2, R2);
		hop(5001, 1, R1);
		hop(5001, 2, R2);
	}
	nothing();
}

static void path_ECMP(void)
{
	healthy_trace();
	hop(5002, 2, R3);
	only(WARN_ECMP);
}

static void path_FLAP(void)
{
	healthy_trace();
	hop(5000, 2, R3);
	only(WARN_FLAP);
}

static void path_LOOP(void)
{
	healthy_trace();
	hop(5000, 3, R2); /* a hop that some router hides */
	nothing();
	hop(5000, 4, R2);
	only(WARN_LOOP);
}

static void path_ASYMMETRIC(void)
{
	Bytes p = ask(with_ttl(udp(ME, FAR, 5000, 33434), 10));

	got(with_ttl(error_of(FAR, 3, 3, 0, arrived(p, 7), 28), 61));
	nothing();
	p = ask(with_ttl(udp(ME, FAR, 5001, 33434), 10));
	got(with_ttl(error_of(FAR, 3, 3, 0, arrived(p, 7), 28), 60));
	only(WARN_ASYMMETRIC);
}

/* ---- answers and host ---- */

static void answer_DUPLICATE(void)
{
	Bytes p;

	ask(echo(1, "a"));
	got(p = echo_reply(1, "a"));
	nothing();
	got(p);
	only(WARN_DUPLICATE);
}

static void answer_FURTHER(void)
{
	ask(udp(ME, PEER, 5000, 7));
	got(udp(PEER, ME, 7, 5000));
	nothing();
	got(udp(PEER, ME, 7, 5000)); /* another IP id */
	only(WARN_FURTHER);
}

static void answer_LATE(void)
{
	ask(echo(1, "a"));
	matcher_close(matcher);
	got(echo_reply(1, "a"));
	only(WARN_LATE);
}

static void answer_UNSOLICITED(void)
{
	got(udp(PEER, ME, 7, 5000));
	only(WARN_UNSOLICITED);
}

static void answer_AMBIGUOUS(void)
{
	ask(udp(ME, PEER, 5000, 7));
	ask(udp(ME, PEER, 5000, 7));
	got(ip(PEER, ME, 17, tp_udp(7, 5000, TP_TEXT("other"))));
	only(WARN_AMBIGUOUS);
}

static void host_NO_STAMP(void)
{
	PacketId id;
	ExpertFrame f = view(&id, udp(PEER, ME, 1, 2), WIRE_IP);

	f.stamped = false;
	expert_frame(expert, &f);
	only(WARN_NO_STAMP);
}

static void host_OFFLOAD(void)
{
	static const uint8_t zeros[1480];

	see(ip(PEER, ME, 17, tp_udp(1, 2, BYTES(zeros, 1472))));
	nothing();
	see(ip(PEER, ME, 17, tp_udp(1, 2, BYTES(zeros, 1473))));
	only(WARN_OFFLOAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(dns_UNMATCHED_), CASE(dns_DNS_QUERY), CASE(dns_DNS_TC), CASE(dns_DNS_MALFORMED),
		CASE(dns_DNS_NO_QUESTION), CASE(dns_DNS_CASE), CASE(dns_EDNS_GONE), CASE(dns_DNS_RCODE),
		CASE(dns_DNS_DIFFER), CASE(dns_EDNS_REFUSED), CASE(dns_DNS_LAME), CASE(dns_DNS_SERVERS),
		CASE(dns_DNS_TWO), CASE(path_NAT), CASE(path_DSCP), CASE(path_ECN), CASE(path_DF_CLEARED),
		CASE(path_REWRITTEN), CASE(path_SEQ), CASE(path_MSS), CASE(path_OPTIONS), CASE(path_LOOPED),
		CASE(path_ECMP), CASE(path_FLAP), CASE(path_LOOP), CASE(path_ASYMMETRIC),
		CASE(answer_DUPLICATE), CASE(answer_FURTHER), CASE(answer_LATE), CASE(answer_UNSOLICITED),
		CASE(answer_AMBIGUOUS), CASE(host_NO_STAMP), CASE(host_OFFLOAD),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
