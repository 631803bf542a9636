/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet_id.h"

enum {
	TYPE_IP4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IP6 = 0x86dd,
	PORT_DNS = 53,
	PORT_MDNS = 5353,
	DNS_OPT = 41,
	EXT_HOPOPT = 0,
	EXT_ROUTING = 43,
	EXT_FRAGMENT = 44,
	EXT_DESTOPT = 60,
	EXT_MOST = 8,
	ND_SOLICIT = 135,
	ND_ADVERT = 136,
};

/* ---- ICMP types ---- */

/* v, query, answer: RFC 792, 950, 4443, 4861. */
static const struct IcmpPair {
	uint8_t v, query, answer;
} icmp_pairs[] = {
	{ 4, 8, 0 },   { 4, 13, 14 },	{ 4, 15, 16 },
	{ 4, 17, 18 }, { 6, 128, 129 }, { 6, ND_SOLICIT, ND_ADVERT },
};

enum { ICMP_PAIRS = sizeof icmp_pairs / sizeof *icmp_pairs };

int icmp_query_of(uint8_t v, uint8_t type)
{
	for (size_t i = 0; i < ICMP_PAIRS; i++)
		if (icmp_pairs[i].v == v && icmp_pairs[i].answer == type)
			return icmp_pairs[i].query;
	return -1;
}

bool icmp_is_query(uint8_t v, uint8_t type)
{
	for (size_t i = 0; i < ICMP_PAIRS; i++)
		if (icmp_pairs[i].v == v && icmp_pairs[i].query == type)
			return true;
	return false;
}

bool icmp_is_error(uint8_t v, uint8_t type)
{
	if (v == 6)
		return type >= 1 && type <= 4;			   /* RFC 4443 3 */
	return type == 3 || type == 4 || type == 11 || type == 12; /* RFC 792 */
}

bool icmp_is_redirect(uint8_t v, uint8_t type)
{
	return v == 4 && type == 5;
}

/* ---- DNS ---- */

static uint64_t hash_byte(uint64_t h, uint8_t b)
{
	return (h ^ b) * 0x100000001b3u;
}

/* Reads the one question; names compare without case (RFC 1035 2.3.3), so that
 * servers that don't keep the query's case still match. */
static bool dns_question(Cursor *c, uint64_t *hash, uint64_t *spelling)
{
	size_t from = c->off;

	for (;;) {
		uint8_t len = cur_u8(c);

		if (c->bad || len > 63)
			return false;
		*hash = hash_byte(*hash, len);
		if (!len)
			break;
		for (uint8_t i = 0; i < len; i++) {
			uint8_t ch = cur_u8(c);

			*hash = hash_byte(*hash, ch >= 'A' && ch <= 'Z' ? (uint8_t)(ch + 32) : ch);
		}
	}
	*spelling = bytes_hash(BYTES(c->p + from, c->off - from));
	uint32_t type_class = cur_be32(c);
	for (int shift = 24; shift >= 0; shift -= 8)
		*hash = hash_byte(*hash, (uint8_t)(type_class >> shift));
	return !c->bad;
}

/* An answer to a malformed query may come without the question (RFC 1035 4.1.1). */
static void read_dns(PacketId *id)
{
	Cursor c = cursor(id->payload);
	uint16_t dns_id = cur_be16(&c);
	uint16_t flags = cur_be16(&c);
	uint16_t questions = cur_be16(&c);
	uint32_t records = cur_be32(&c); /* answers, authorities */
	uint64_t hash = 0xcbf29ce484222325u;

	cur_skip(&c, 2);
	if (c.bad || questions > 1 || (flags >> 11 & 15) > 6)
		return;
	if (questions && !dns_question(&c, &hash, &id->dns_spelling))
		return;
	id->has_dns = true;
	id->dns_id = dns_id;
	id->dns_flags = flags;
	id->dns_question = questions ? hash : 0;
	id->dns_edns = questions && !records && cur_u8(&c) == 0 && cur_be16(&c) == DNS_OPT;
	id->content = questions ? hash_byte(hash_byte(hash, (uint8_t)(dns_id >> 8)), (uint8_t)dns_id) : 0;
}

/* ---- transport headers ---- */

static void read_udp(PacketId *id, Cursor *c)
{
	id->udp_len = cur_be16(c);
	id->csum = cur_be16(c);
	id->have |= HAVE_HEADER;
	id->payload = cur_rest(c);
	if (id->udp_len >= 8)
		id->payload = bytes_slice(id->payload, 0, id->udp_len - 8u);
}

/* RFC 9293 3.1: kind, or kind, length of the whole, data. */
static void read_options(Bytes options, TcpOptions *ret_o)
{
	for (size_t i = 0; i < options.n && options.p[i];) {
		const uint8_t *p = options.p + i;
		size_t n = *p == 1 ? 1 : i + 1 < options.n ? p[1] : 0;

		if (n == 0 || n > options.n - i || (*p != 1 && n < 2))
			return;
		if (*p == 2 && n == 4) {
			ret_o->have |= TCPOPT_MSS;
			ret_o->mss = get_be16(p + 2);
		} else if (*p == 3 && n == 3) {
			ret_o->have |= TCPOPT_WSCALE;
			ret_o->wscale = p[2];
		} else if (*p == 4) {
			ret_o->have |= TCPOPT_SACKOK;
		} else if (*p == 8 && n == 10) {
			ret_o->have |= TCPOPT_STAMP;
			ret_o->tsval = get_be32(p + 2);
		} else if (*p != 1) {
			ret_o->have |= TCPOPT_OTHER;
			ret_o->other += bytes_hash(BYTES(p, n));
		}
		i += n;
	}
	ret_o->have |= TCPOPT_WHOLE;
}

static void read_tcp(PacketId *id, Cursor *c)
{
	id->seq = cur_be32(c);
	if (cur_left(c) < 12)
		return;
	id->ack = cur_be32(c);
	size_t header = (size_t)(cur_u8(c) >> 4) * 4;
	id->kind = cur_u8(c);
	id->window = cur_be16(c);
	id->csum = cur_be16(c);
	id->have |= HAVE_HEADER;
	id->payload = bytes_slice(id->body, header < 20 ? 20 : header, id->body.n);
	if (header >= 20 && header <= id->body.n)
		read_options(bytes_slice(id->body, 20, header), &id->opt);
	/* what the IP header says, even where a quote is shorter */
	size_t ip_header = id->packet.n - id->body.n;
	size_t total = id->ip_len > ip_header ? id->ip_len - ip_header : 0;
	size_t data = total > header ? total - header : 0;
	id->seq_len = (uint32_t)data + (id->kind & TCP_SYN ? 1 : 0) + (id->kind & TCP_FIN ? 1 : 0);
}

static void read_icmp(PacketId *id, Cursor *c)
{
	uint16_t type_code = id->a;

	id->kind = (uint8_t)(type_code >> 8);
	id->code = (uint8_t)type_code;
	id->csum = id->b;
	id->a = cur_be16(c);
	id->b = cur_be16(c);
	id->have |= HAVE_HEADER;
	id->payload = cur_rest(c);
	if (id->v == 6 && (id->kind == ND_SOLICIT || id->kind == ND_ADVERT) && id->payload.n >= 16)
		id->target = ip_from(6, id->payload.p);
}

static void read_transport(PacketId *id)
{
	Cursor c = cursor(id->body);
	bool icmp = id->proto == (id->v == 4 ? PROTO_ICMP : PROTO_ICMP6);

	id->payload = id->body;
	if ((!icmp && id->proto != PROTO_UDP && id->proto != PROTO_TCP) || id->frag_off)
		return;
	if (id->body.n < 4)
		return;
	id->a = cur_be16(&c);
	id->b = cur_be16(&c);
	id->have |= HAVE_PORTS;
	if (id->body.n < 8)
		return;
	id->have |= HAVE_EIGHT;
	if (icmp)
		read_icmp(id, &c);
	else if (id->proto == PROTO_UDP)
		read_udp(id, &c);
	else
		read_tcp(id, &c);
}

/* RFC 2131 4.1: the transaction tells whose a message is; addresses are still to be given. */
static bool read_xid(PacketId *id)
{
	enum { SERVER = 67, CLIENT = 68, XID = 4 };

	if (id->v != 4 || id->proto != PROTO_UDP || id->payload.n < XID + 4 ||
	    !((id->a == CLIENT && id->b == SERVER) || (id->a == SERVER && id->b == CLIENT)))
		return false;
	id->content = bytes_hash(bytes_slice(id->payload, XID, XID + 4));
	return true;
}

static void read_content(PacketId *id)
{
	bool dns = id->proto == PROTO_UDP && id->have & HAVE_HEADER &&
		   (id->a == PORT_DNS || id->b == PORT_DNS || id->a == PORT_MDNS || id->b == PORT_MDNS);

	id->content = bytes_hash(id->payload);
	if (dns)
		read_dns(id);
	id->has_xid = read_xid(id);
}

/* ---- network headers ---- */

static bool read_ip4(PacketId *id)
{
	Cursor c = cursor(id->packet);
	size_t header = (size_t)(cur_u8(&c) & 15) * 4;

	id->v = 4;
	id->tos = cur_u8(&c);
	id->ip_len = cur_be16(&c);
	id->ip_id = cur_be16(&c);
	uint16_t frag = cur_be16(&c);
	id->df = frag >> 14 & 1;
	id->more = frag >> 13 & 1;
	id->frag_off = (uint16_t)((frag & 0x1fff) * 8);
	id->fragment = id->more || id->frag_off;
	id->ttl = cur_u8(&c);
	id->proto = cur_u8(&c);
	cur_skip(&c, 2);
	Bytes src = cur_bytes(&c, 4), dst = cur_bytes(&c, 4);
	if (c.bad || header < 20 || header > id->packet.n)
		return false;
	id->src = ip_from(4, src.p);
	id->dst = ip_from(4, dst.p);
	if (id->ip_len >= header)
		id->packet = bytes_slice(id->packet, 0, id->ip_len);
	id->body = id->piece = bytes_slice(id->packet, header, id->packet.n);
	return true;
}

/* RFC 8200 4: headers until the first that is no extension. */
static void skip_extensions(PacketId *id, Cursor *c)
{
	for (int i = 0; i < EXT_MOST; i++) {
		uint8_t kind = id->proto;

		if (kind != EXT_HOPOPT && kind != EXT_ROUTING && kind != EXT_FRAGMENT && kind != EXT_DESTOPT)
			return;
		if (id->frag_off || cur_left(c) < 8)
			return;
		id->proto = cur_u8(c);
		uint8_t units = cur_u8(c);
		if (kind != EXT_FRAGMENT) {
			cur_skip(c, 6 + (size_t)units * 8);
			continue;
		}
		uint16_t frag = cur_be16(c);
		id->frag_off = frag & 0xfff8;
		id->more = frag & 1;
		id->fragment = id->more || id->frag_off;
		id->atomic = !id->fragment;
		id->ip_id = cur_be32(c);
		id->piece = bytes_slice(id->packet, c->off, id->packet.n);
	}
}

static bool read_ip6(PacketId *id)
{
	Cursor c = cursor(id->packet);
	uint32_t first = cur_be32(&c);

	id->v = 6;
	id->tos = (uint8_t)(first >> 20);
	uint32_t total = 40u + cur_be16(&c);
	id->ip_len = total > 65535 ? 65535 : (uint16_t)total;
	id->proto = cur_u8(&c);
	id->ttl = cur_u8(&c);
	Bytes src = cur_bytes(&c, 16), dst = cur_bytes(&c, 16);
	if (c.bad)
		return false;
	id->src = ip_from(6, src.p);
	id->dst = ip_from(6, dst.p);
	id->packet = bytes_slice(id->packet, 0, total);
	c = cursor(id->packet);
	cur_skip(&c, 40);
	skip_extensions(id, &c);
	if (c.bad)
		return false;
	id->body = cur_rest(&c);
	return true;
}

/* RFC 826, for IPv4 over Ethernet. */
static bool read_arp(PacketId *id)
{
	Cursor c = cursor(id->packet);

	if (cur_be32(&c) != 0x00010800 || cur_be16(&c) != 0x0604)
		return false;
	id->kind = (uint8_t)cur_be16(&c);
	cur_skip(&c, 6);
	Bytes psrc = cur_bytes(&c, 4);
	cur_skip(&c, 6);
	Bytes pdst = cur_bytes(&c, 4);
	if (c.bad)
		return false;
	id->src = ip_from(4, psrc.p);
	id->dst = ip_from(4, pdst.p);
	id->packet = bytes_slice(id->packet, 0, 28);
	return true;
}

/* Behind Ethernet and VLAN tags; the EtherType, 0 if cut. */
static uint16_t skip_link(Bytes *frame)
{
	Cursor c = cursor(*frame);

	cur_skip(&c, 12);
	uint16_t type = cur_be16(&c);
	for (int tags = 0; tags < 4 && (type == 0x8100 || type == 0x88a8 || type == 0x9100); tags++) {
		cur_skip(&c, 2);
		type = cur_be16(&c);
	}
	*frame = cur_rest(&c);
	return c.bad ? 0 : type;
}

bool packet_id_read(Bytes frame, WireId first, PacketId *ret_id)
{
	uint16_t type = 0;

	*ret_id = (PacketId){ 0 };
	if (first == WIRE_ETHER)
		type = skip_link(&frame);
	else if (first == WIRE_ARP)
		type = TYPE_ARP;
	else if (frame.n)
		type = frame.p[0] >> 4 == 4 ? TYPE_IP4 : frame.p[0] >> 4 == 6 ? TYPE_IP6 : 0;
	ret_id->packet = frame;
	if (type == TYPE_ARP)
		return read_arp(ret_id);
	if (type != TYPE_IP4 && type != TYPE_IP6)
		return false;
	if (!frame.n || !(type == TYPE_IP4 ? frame.p[0] >> 4 == 4 && read_ip4(ret_id)
					   : frame.p[0] >> 4 == 6 && read_ip6(ret_id)))
		return false;
	read_transport(ret_id);
	read_content(ret_id);
	return true;
}

bool packet_id_quote(const PacketId *error, PacketId *ret_quote)
{
	bool icmp = error->proto == (error->v == 4 ? PROTO_ICMP : PROTO_ICMP6) && error->have & HAVE_HEADER;

	if (!icmp || !(icmp_is_error(error->v, error->kind) || icmp_is_redirect(error->v, error->kind)))
		return false;
	return packet_id_read(error->payload, error->v == 4 ? WIRE_IP : WIRE_IPV6, ret_quote) &&
	       ret_quote->v == error->v;
}

uint64_t packet_id_bytes_hash(const PacketId *id)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < id->packet.n; i++) {
		bool skip = id->v == 4 ? i == 8 || i == 10 || i == 11 : id->v == 6 && i == 7;

		if (!skip)
			h = hash_byte(h, id->packet.p[i]);
	}
	return h;
}
