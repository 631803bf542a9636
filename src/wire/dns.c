/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS (RFC 1035; ad and cd RFC 4035, EDNS RFC 6891, over TCP RFC 7766)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              id               |q|opcode |a|t|r|r|z|a|c| rcode |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            qdcount            |            ancount            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            nscount            |            arcount            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  qd: questions   an: answers   ns: authority   ar: additional |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * A question is name, type, class; a record is
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          rrname ...                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             type              |            rclass             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                 ttl (OPT: extrcode, version, z)               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             rdlen             |           rdata ...           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * A message whose records are broken still has its header and the records in
 * front of the broken one: sections that are not whole are not `set`.
 */
#include "wire/dns.h"
#include "wire/build.h"
#include "wire/link.h"
#include "wire/parse.h"

extern const WireProto wire_proto_DNSRR, wire_proto_DNSRROPT;

enum { HDR = 12, QR_FIXED = 4, RR_FIXED = 10, SECTIONS = 4, V_NAME = 0, V_RDATA = 1 };

static const WireName opcodes[] = {
	{ "QUERY", 0 }, { "IQUERY", 1 }, { "STATUS", 2 }, { "NOTIFY", 4 }, { "UPDATE", 5 }, { NULL, 0 },
};

/* IANA "DNS RCODEs", by Scapy's words where it has some. */
static const WireName rcodes[] = {
	{ "ok", 0 },        { "format-error", 1 }, { "server-failure", 2 }, { "name-error", 3 },
	{ "not-implemented", 4 }, { "refused", 5 }, { "yxdomain", 6 },      { "yxrrset", 7 },
	{ "nxrrset", 8 },   { "notauth", 9 },      { "notzone", 10 },       { NULL, 0 },
};

const WireName wire_dns_type_names[] = {
	{ "A", 1 },       { "NS", 2 },      { "CNAME", 5 },   { "SOA", 6 },     { "NULL", 10 },
	{ "PTR", 12 },    { "HINFO", 13 },  { "MINFO", 14 },  { "MX", 15 },     { "TXT", 16 },
	{ "RP", 17 },     { "AFSDB", 18 },  { "SIG", 24 },    { "KEY", 25 },    { "AAAA", 28 },
	{ "LOC", 29 },    { "SRV", 33 },    { "NAPTR", 35 },  { "KX", 36 },     { "CERT", 37 },
	{ "DNAME", 39 },  { "OPT", 41 },    { "DS", 43 },     { "SSHFP", 44 },  { "IPSECKEY", 45 },
	{ "RRSIG", 46 },  { "NSEC", 47 },   { "DNSKEY", 48 }, { "DHCID", 49 },  { "NSEC3", 50 },
	{ "NSEC3PARAM", 51 }, { "TLSA", 52 }, { "CDS", 59 },  { "CDNSKEY", 60 }, { "SVCB", 64 },
	{ "HTTPS", 65 },  { "SPF", 99 },    { "TSIG", 250 },  { "IXFR", 251 },  { "AXFR", 252 },
	{ "ANY", 255 },   { "URI", 256 },   { "CAA", 257 },   { NULL, 0 },
};

const WireName wire_dns_class_names[] = {
	{ "IN", 1 }, { "CS", 2 }, { "CH", 3 }, { "HS", 4 }, { "NONE", 254 }, { "ANY", 255 }, { NULL, 0 },
};

#define COUNT(nm, at, of)                                                                              \
	FIELD(nm, at, 16, UINT, CONTENT, "number of " of "; of those that are there", .computed = true, \
	      .follows = true)

static const WireField fields[] = {
	[F_DNS_ID] =
		FIELD("id", 0, 16, UINT, MATCHED, "identifier; distinct for each query", .computed = true),
	[F_DNS_QR] = FIELD("qr", 16, 1, UINT, CONTENT, "0 query, 1 response"),
	[F_DNS_OPCODE] = FIELD("opcode", 17, 4, ENUM, CONTENT, "kind of query", .names = opcodes),
	[F_DNS_AA] = FIELD("aa", 21, 1, UINT, CONTENT, "authoritative answer"),
	[F_DNS_TC] = FIELD("tc", 22, 1, UINT, CONTENT, "truncated"),
	[F_DNS_RD] = FIELD("rd", 23, 1, UINT, CONTENT, "recursion desired", .dflt = 1),
	[F_DNS_RA] = FIELD("ra", 24, 1, UINT, CONTENT, "recursion available"),
	[F_DNS_Z] = FIELD("z", 25, 1, UINT, CONTENT, "reserved"),
	[F_DNS_AD] = FIELD("ad", 26, 1, UINT, CONTENT, "authentic data"),
	[F_DNS_CD] = FIELD("cd", 27, 1, UINT, CONTENT, "checking disabled"),
	[F_DNS_RCODE] = FIELD("rcode", 28, 4, ENUM, CONTENT, "response code", .names = rcodes),
	[F_DNS_QDCOUNT] = COUNT("qdcount", 32, "questions"),
	[F_DNS_ANCOUNT] = COUNT("ancount", 48, "answers"),
	[F_DNS_NSCOUNT] = COUNT("nscount", 64, "authority records"),
	[F_DNS_ARCOUNT] = COUNT("arcount", 80, "additional records"),
	[F_DNS_QD] = FIELD("qd", 96, 0, RECORDS, MATCHED, "questions: DNSQR", .record = WIRE_DNSQR),
	[F_DNS_AN] = FIELD("an", 96, 0, RECORDS, CONTENT, "answers: DNSRR", .record = WIRE_DNSRR),
	[F_DNS_NS] = FIELD("ns", 96, 0, RECORDS, CONTENT, "authority: DNSRR", .record = WIRE_DNSRR),
	[F_DNS_AR] = FIELD("ar", 96, 0, RECORDS, CONTENT, "additional: DNSRR, DNSRROPT", .record = WIRE_DNSRR),
};

static const WireField qr_fields[] = {
	[F_DNSQR_QNAME] = FIELD("qname", 0, 0, NAME, MATCHED, "the name that is asked for", .required = true),
	[F_DNSQR_QTYPE] = FIELD("qtype", 0, 16, ENUM, MATCHED, "type of the records asked for", .dflt = 1,
				.names = wire_dns_type_names),
	[F_DNSQR_QCLASS] = FIELD("qclass", 16, 16, ENUM, MATCHED, "class", .dflt = 1,
				 .names = wire_dns_class_names),
};

#define RR_NAME FIELD("rrname", 0, 0, NAME, CONTENT, "owner of the record")
#define RR_LEN                                                                                  \
	FIELD("rdlen", 64, 16, UINT, CONTENT, "bytes of rdata", .computed = true, .follows = true)

static const WireField rr_fields[] = {
	[F_DNSRR_RRNAME] = RR_NAME,
	[F_DNSRR_TYPE] = FIELD("type", 0, 16, ENUM, CONTENT, "type", .dflt = 1, .names = wire_dns_type_names),
	[F_DNSRR_RCLASS] = FIELD("rclass", 16, 16, ENUM, CONTENT, "class", .dflt = 1,
				 .names = wire_dns_class_names),
	[F_DNSRR_TTL] = FIELD("ttl", 32, 32, UINT, CONTENT, "seconds that it may be cached"),
	[F_DNSRR_RDLEN] = RR_LEN,
	[F_DNSRR_RDATA] = FIELD("rdata", 80, 0, BYTES, CONTENT, "the data, by type"),
};

static const WireField opt_fields[] = {
	[F_DNSRROPT_RRNAME] = RR_NAME,
	[F_DNSRROPT_TYPE] = FIELD("type", 0, 16, ENUM, CONTENT, "OPT", .dflt = DNS_TYPE_OPT,
				  .names = wire_dns_type_names),
	[F_DNSRROPT_RCLASS] = FIELD("rclass", 16, 16, UINT, CONTENT,
				    "bytes of UDP payload that the sender takes", .dflt = 4096),
	[F_DNSRROPT_EXTRCODE] = FIELD("extrcode", 32, 8, UINT, CONTENT, "upper 8 bits of the response code"),
	[F_DNSRROPT_VERSION] = FIELD("version", 40, 8, UINT, CONTENT, "EDNS version"),
	[F_DNSRROPT_Z] = FIELD("z", 48, 16, UINT, CONTENT, "flags; 0x8000: DNSSEC records wanted (DO)"),
	[F_DNSRROPT_RDLEN] = RR_LEN,
	[F_DNSRROPT_RDATA] = FIELD("rdata", 80, 0, OPTIONS, CONTENT, "EDNS options"),
};

/* IANA "DNS EDNS0 Option Codes" */
static const WireOption edns_options[] = {
	OPTION("NSID", 3, 0, 0, "the server's name (RFC 5001)"),
	OPTION("ClientSubnet", 8, 0, 0, "RFC 7871"),
	OPTION("Cookie", 10, 0, 0, "RFC 7873"),
	OPTION("Keepalive", 11, 0, 0, "RFC 7828"),
	OPTION("Padding", 12, 0, 0, "RFC 7830"),
	OPTION("EDE", 15, 0, 0, "extended error: code, text (RFC 8914)"),
	END_OF_OPTIONS,
};

static const char *const section_names[SECTIONS] = { "question", "answer", "authority", "additional" };

/* ---- decoding ---- */

typedef struct Reader {
	Bytes msg;
	size_t at;
	Writer w;
	const char *fault;
	bool odd; /* some record's data do not fit its type */
} Reader;

static bool fault(Reader *r, const char *what)
{
	r->fault = what;
	return false;
}

static bool read_name(Reader *r)
{
	const char *f = dns_name_expand(r->msg, &r->at, &r->w);

	return f ? fault(r, f) : true;
}

static bool read_bytes(Reader *r, size_t n)
{
	if (n > r->msg.n - r->at)
		return fault(r, "runs past the end");
	wr_bytes(&r->w, BYTES(r->msg.p + r->at, n));
	r->at += n;
	return true;
}

static bool read_question(Reader *r)
{
	return read_name(r) && read_bytes(r, QR_FIXED);
}

/* Record data with names, which may be compressed; it ends where rdlen says. */
static bool read_layout(Reader *r, const DnsLayout *d, size_t rdlen)
{
	size_t end = r->at + rdlen;
	Bytes whole = r->msg;

	r->msg.n = end; /* nothing of it, and no pointer, reaches behind */
	bool ok = read_bytes(r, d->before);

	for (unsigned i = 0; ok && i < d->names; i++)
		ok = read_name(r);
	ok = ok && read_bytes(r, d->behind);
	r->msg = whole;
	if (ok && r->at != end)
		return fault(r, "has data that do not fit its type");
	return ok;
}

/* Whether record data without names are what their type says; if not, the record
 * is kept as it is, since the next one is found by rdlen. */
static bool fits_type(uint16_t type, Bytes rdata)
{
	Cursor c = cursor(rdata);

	if (type == DNS_TYPE_A)
		return rdata.n == 4;
	if (type == DNS_TYPE_AAAA)
		return rdata.n == 16;
	while (type == DNS_TYPE_TXT && cur_left(&c) && !c.bad)
		cur_skip(&c, cur_u8(&c));
	return !c.bad;
}

static bool read_record(Reader *r)
{
	if (!read_name(r) || !read_bytes(r, RR_FIXED))
		return false;
	const uint8_t *fixed = r->msg.p + r->at - RR_FIXED;
	uint16_t rdlen = get_be16(fixed + 8);
	const DnsLayout *d = dns_layout(get_be16(fixed));
	size_t body = r->w.n;

	if (rdlen > r->msg.n - r->at)
		return fault(r, "runs past the end");
	if (rdlen == 0) /* UPDATE has empty record data (RFC 2136 2.4) */
		return true;
	if (!d) {
		r->odd = r->odd || !fits_type(get_be16(fixed), BYTES(fixed + RR_FIXED, rdlen));
		return read_bytes(r, rdlen);
	}
	if (!read_layout(r, d, rdlen))
		return false;
	if (!r->w.full)
		put_be16(r->w.p + body - 2, (uint16_t)(r->w.n - body));
	return true;
}

/* Expands the sections; true unless the writer is too small.  A fault ends it. */
static bool read_sections(WireParse *p, WireLayer *l, Reader *r)
{
	for (unsigned s = 0; s < SECTIONS; s++) {
		unsigned count = (unsigned)wire_num(l, F_DNS_QDCOUNT + s);
		size_t start = r->w.n;

		for (unsigned i = 0; i < count && !r->fault; i++) {
			size_t n = r->w.n, at = r->at;
			bool ok = s == 0 ? read_question(r) : read_record(r);

			if (r->w.full)
				return false;
			if (!ok) {
				r->w.n = n;
				r->at = at;
				wire_note(p, "DNS %s %u %s", section_names[s], i + 1, r->fault);
			}
		}
		l->var[s] = BYTES(r->w.p + start, r->w.n - start);
		if (r->fault)
			l->set &= ~(UINT64_C(1) << (F_DNS_QD + s));
	}
	return true;
}

/* Most messages grow little; the worst grow a hundredfold, up to the limit. */
static size_t expand(WireParse *p, WireLayer *l, Bytes msg)
{
	for (size_t cap = msg.n * 2 + DNS_NAME_MOST;; cap *= 8) {
		size_t mark = arena_mark(p->a);

		if (cap > DNS_EXPANDED_MOST)
			cap = DNS_EXPANDED_MOST;
		Reader r = { .msg = msg, .at = HDR, .w = writer(arena_alloc(p->a, cap), cap) };

		if (read_sections(p, l, &r)) {
			if (r.odd)
				wire_note(p, "a DNS record has data that do not fit its type");
			if (!p->out->reason) /* it was taken behind the records */
				arena_reset(p->a, mark + (r.w.n + 15) / 16 * 16);
			return r.at;
		}
		arena_reset(p->a, mark);
		if (cap == DNS_EXPANDED_MOST) {
			wire_note(p, "DNS records of more than %d bytes, expanded", DNS_EXPANDED_MOST);
			l->set &= ~(UINT64_C(15) << F_DNS_QD);
			memset(l->var, 0, sizeof l->var);
			return HDR;
		}
	}
}

/* RFC 1035 4.2.2: over TCP a length goes before the message, which may be spread
 * over segments, or share one. */
static bool skip_length(WireParse *p)
{
	size_t left = cur_left(&p->c);
	const uint8_t *h = p->c.p + p->c.off;

	if (left < 2 + HDR)
		return wire_fail(p, "DNS over TCP: %zu bytes are no whole message", left);
	if (get_be16(h) > left - 2)
		return wire_fail(p, "DNS over TCP: a message of %u bytes, %zu of them are here", get_be16(h),
				 left - 2);
	if (get_be16(h) < HDR)
		return wire_fail(p, "DNS over TCP: a message of %u bytes has no header", get_be16(h));
	if (get_be16(h) < left - 2)
		wire_note(p, "DNS over TCP: %zu bytes follow the first message", left - 2 - get_be16(h));
	cur_skip(&p->c, 2);
	return true;
}

static bool parse(WireParse *p, WireLayer *l)
{
	bool tcp = p->out->n && l[-1].proto->id == WIRE_TCP;

	if (tcp && !skip_length(p))
		return false;
	size_t from = p->c.off, n = tcp ? get_be16(p->c.p + from - 2) : cur_left(&p->c);

	if (!wire_head(p, l, HDR) || !wire_take(p, l, HDR))
		return false;
	size_t used = expand(p, l, BYTES(p->c.p + from, n));

	p->c.off = from + used;
	l->len = (uint32_t)(p->c.off - l->off);
	if (used < n)
		wire_note(p, "DNS message is followed by %zu bytes", n - used);
	return true;
}

/* ---- encoding ---- */

static unsigned count_records(Bytes b, WireId kind)
{
	Cursor c = cursor(b);
	WireLayer l;
	unsigned n = 0;

	while (wire_record_next(kind, &c, &l))
		n++;
	return n;
}

static void finish(WireBuild *b, unsigned at)
{
	for (unsigned s = 0; s < SECTIONS; s++)
		wire_derive_len(b, at, F_DNS_QDCOUNT + s, count_records(b->out->layer[at].var[s], s == 0 ? WIRE_DNSQR : WIRE_DNSRR),
				"number of records");
}

/* ---- records ---- */

static Bytes name_at(Cursor *c)
{
	size_t from = c->off;
	size_t n;

	while ((n = cur_u8(c)) != 0 && n <= DNS_LABEL_MOST)
		cur_skip(c, n);
	if (n)
		c->bad = true;
	return c->bad ? (Bytes){ 0 } : BYTES(c->p + from, c->off - from);
}

static bool next_question(Cursor *c, WireLayer *l)
{
	l->var[V_NAME] = name_at(c);
	l->image = (uint8_t *)(uintptr_t)cur_bytes(c, QR_FIXED).p;
	return !c->bad;
}

static bool next_record(Cursor *c, WireLayer *l)
{
	l->var[V_NAME] = name_at(c);
	Bytes image = cur_bytes(c, RR_FIXED);

	if (c->bad)
		return false;
	l->image = (uint8_t *)(uintptr_t)image.p;
	if (get_be16(image.p) == DNS_TYPE_OPT)
		l->proto = &wire_proto_DNSRROPT;
	else if (l->proto == &wire_proto_DNSRROPT)
		l->proto = &wire_proto_DNSRR;
	l->var[V_RDATA] = cur_bytes(c, get_be16(image.p + 8));
	return !c->bad;
}

/* ---- printing ---- */

static void summary(const WireLayer *l, Sb *out)
{
	Cursor c = cursor(l->var[0]);
	WireLayer q;

	if (wire_num(l, F_DNS_QR)) {
		sb_cstr(out, " response ");
		wire_field_text(l, F_DNS_RCODE, out);
		sb_printf(out, ", %u answers", (unsigned)wire_num(l, F_DNS_ANCOUNT));
	} else {
		sb_cstr(out, " query");
	}
	if (wire_record_next(WIRE_DNSQR, &c, &q)) {
		sb_char(out, ' ');
		wire_field_text(&q, F_DNSQR_QTYPE, out);
		sb_char(out, ' ');
		dns_name_text(q.var[V_NAME], out);
	}
}

const WireProto wire_proto_DNS = {
	.id = WIRE_DNS,
	.name = "DNS",
	.title = "Domain Name System",
	.rfc = "RFC 1035",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_DNS_N,
	.nvars = SECTIONS,
	.var = { F_DNS_QD, F_DNS_AN, F_DNS_NS, F_DNS_AR },
	.fixed = HDR,
	.rewritten = true,
	.parse = parse,
	.finish = finish,
	.summary = summary,
};

const WireProto wire_proto_DNSQR = {
	.id = WIRE_DNSQR,
	.name = "DNSQR",
	.title = "DNS question",
	.rfc = "RFC 1035",
	.role = ROLE_RECORD,
	.fields = qr_fields,
	.nfields = F_DNSQR_N,
	.nvars = 1,
	.var = { F_DNSQR_QNAME },
	.fixed = QR_FIXED,
	.next = next_question,
	.parse = wire_record_parse,
};

const WireProto wire_proto_DNSRR = {
	.id = WIRE_DNSRR,
	.name = "DNSRR",
	.title = "DNS record",
	.rfc = "RFC 1035",
	.role = ROLE_RECORD,
	.fields = rr_fields,
	.nfields = F_DNSRR_N,
	.nvars = 2,
	.var = { F_DNSRR_RRNAME, F_DNSRR_RDATA },
	.fixed = RR_FIXED,
	.next = next_record,
	.parse = wire_record_parse,
};

const WireProto wire_proto_DNSRROPT = {
	.id = WIRE_DNSRROPT,
	.name = "DNSRROPT",
	.title = "DNS EDNS record",
	.rfc = "RFC 6891",
	.role = ROLE_RECORD,
	.fields = opt_fields,
	.nfields = F_DNSRROPT_N,
	.nvars = 2,
	.var = { F_DNSRROPT_RRNAME, F_DNSRROPT_RDATA },
	.fixed = RR_FIXED,
	.opt_form = OPT_EDNS,
	.options = edns_options,
	.next = next_record,
	.parse = wire_record_parse,
};
