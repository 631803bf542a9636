/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagrams that must be more than well-formed: DNS queries for names inside the
 * zones, NTP without control modes, SNMP that only reads, DHCP of our own.
 */
#include "gate/frame_inside.h"

/* ---- DNS, RFC 1035 4.1 ---- */

enum { DNS_HEADER = 12, QR = 0x8000, OPCODE = 0x7800, POINTER = 0xc0 };

/* A name at *at, of which only the length counts.  A pointer goes back, to behind
 * the header, so that whoever follows it comes to an end. */
static bool skip_name(Cursor *c)
{
	size_t limit = c->off, total = 1;
	Cursor walk = *c;
	bool jumped = false;

	for (;;) {
		uint8_t len = cur_u8(&walk);

		if (walk.bad)
			return false;
		if (len == 0) {
			if (!jumped)
				*c = walk;
			return true;
		}
		if ((len & POINTER) == POINTER) {
			size_t to = (len & 0x3fu) << 8 | cur_u8(&walk);

			if (walk.bad || to < DNS_HEADER || to >= limit)
				return false;
			if (!jumped)
				*c = walk;
			jumped = true;
			limit = walk.off = to;
			continue;
		}
		total += len + 1u;
		if (len > NAME_LABEL_MAX || total > NAME_WIRE_MAX)
			return false;
		cur_skip(&walk, len);
	}
}

/* The question's name, uncompressed, root label included. */
static bool question_name(Cursor *c, Bytes *ret_name)
{
	size_t from = c->off;

	for (;;) {
		uint8_t len = cur_u8(c);

		if (c->bad || len > NAME_LABEL_MAX)
			return false;
		cur_skip(c, len);
		if (len == 0)
			break;
	}
	*ret_name = BYTES(c->p + from, c->off - from);
	return !c->bad && ret_name->n <= NAME_WIRE_MAX;
}

static const char *dns_fault(const Rules *r, Bytes data)
{
	Cursor c = cursor(data);
	Bytes name = { 0 };

	cur_skip(&c, 2);
	uint16_t flags = cur_be16(&c), questions = cur_be16(&c);
	uint32_t records = (uint32_t)cur_be16(&c) + cur_be16(&c) + cur_be16(&c);

	/* QR 0, one question, decodable to the end, for a name inside the zones */
	if (c.bad || (flags & (QR | OPCODE)) || questions != 1)
		return "only DNS queries with one question may be sent";
	if (!question_name(&c, &name))
		return "a DNS question that can't be decoded";
	cur_skip(&c, 4);
	while (records-- > 0) {
		if (!skip_name(&c))
			return "a DNS record that can't be decoded";
		cur_skip(&c, 8);
		cur_skip(&c, cur_be16(&c));
		if (c.bad)
			break;
	}
	if (c.bad || cur_left(&c))
		return "a DNS message that can't be decoded to its end";
	return rules_name_wire(r, name) ? NULL : "a name outside the zones";
}

/* ---- NTP, RFC 9327: modes 6 and 7 are control ---- */

static const char *ntp_fault(const Rights *r, Bytes data)
{
	unsigned mode = data.n ? data.p[0] & 7u : 0;

	return mode < 6 || r->ntp_control ? NULL : "NTP modes 6 and 7 go only where program and policy name port 123";
}

/* ---- SNMP, RFC 3416 3, RFC 3412 6 ---- */

enum { INTEGER = 0x02, OCTETS = 0x04, SEQUENCE = 0x30, GET = 0xa0, GET_NEXT = 0xa1, GET_BULK = 0xa5, PRIVATE = 2 };

/* One BER value of a known tag; its content. */
static Bytes ber(Cursor *c, uint8_t tag)
{
	size_t n;

	if (cur_u8(c) != tag)
		c->bad = true;
	n = cur_u8(c);
	if (n & 0x80) {
		size_t bytes = n & 0x7f;

		if (bytes == 0 || bytes > 4)
			c->bad = true;
		for (n = 0; bytes > 0 && !c->bad; bytes--)
			n = n << 8 | cur_u8(c);
	}
	return cur_bytes(c, n);
}

static bool is_read(uint8_t pdu)
{
	return pdu == GET || pdu == GET_NEXT || pdu == GET_BULK;
}

static bool snmp3_reads(Cursor *c)
{
	Cursor head = cursor(ber(c, SEQUENCE)), scoped;
	Bytes flags;

	(void)ber(&head, INTEGER);
	(void)ber(&head, INTEGER);
	flags = ber(&head, OCTETS);
	(void)ber(&head, INTEGER);
	(void)ber(c, OCTETS);
	if (head.bad || c->bad || flags.n != 1 || (flags.p[0] & PRIVATE))
		return false;
	scoped = cursor(ber(c, SEQUENCE));
	(void)ber(&scoped, OCTETS);
	(void)ber(&scoped, OCTETS);
	return is_read(cur_u8(&scoped)) && !scoped.bad && !c->bad && !cur_left(c);
}

/* What this can't read might be a set request to an agent that is more lenient. */
static const char *snmp_fault(const Rights *r, Bytes data)
{
	Cursor c = cursor(data), m;
	Bytes version;
	bool reads;

	if (data.n == 0 || rights_word(r, WORD_SNMP_WRITE))
		return NULL;
	m = cursor(ber(&c, SEQUENCE));
	version = ber(&m, INTEGER);
	if (!c.bad && !cur_left(&c) && version.n == 1 && version.p[0] == 3) {
		reads = snmp3_reads(&m);
	} else {
		(void)ber(&m, OCTETS);
		reads = is_read(cur_u8(&m)) && !m.bad && !c.bad && !cur_left(&c) && version.n == 1 && version.p[0] <= 1;
	}
	return reads ? NULL : "SNMP other than get requests needs the word snmp_write";
}

/* ---- DHCP, RFC 2131, 2132; DHCPv6, RFC 8415 ---- */

static bool claims(Look *l, const uint8_t *mac)
{
	Mac m;

	memcpy(m.b, mac, sizeof m.b);
	return mac_claimable(l, m);
}

/* RFC 8415 11: DUIDs of types 1 and 3 hold a link-layer address; the others, nobody
 * can tell from whose they are. */
static bool duid_claimed(Look *l, Bytes d)
{
	size_t at = d.n >= 4 && get_be16(d.p) == 1 ? 8 : 4;

	return d.n == at + 6 && (get_be16(d.p) == 1 || get_be16(d.p) == 3) && get_be16(d.p + 2) == 1 &&
	       claims(l, d.p + at);
}

/* RFC 2132 9.14, RFC 4361 6.1: a hardware address, or IAID and DUID. */
static bool client_id_claimed(Look *l, Bytes id)
{
	enum { ETHERNET = 1, DUID = 255, IAID = 5 };

	if (id.n > IAID && id.p[0] == DUID)
		return duid_claimed(l, bytes_slice(id, IAID, id.n));
	return id.n == 7 && id.p[0] == ETHERNET && claims(l, id.p + 1);
}

static const char *dhcp4_options(Look *l, Cursor *c)
{
	enum { PAD = 0, OVERLOAD = 52, CLIENT_ID = 61, END = 255 };

	while (cur_left(c)) {
		uint8_t kind = cur_u8(c);

		if (kind == PAD)
			continue;
		if (kind == END)
			return NULL;
		Bytes data = cur_bytes(c, cur_u8(c));

		if (c->bad || kind == OVERLOAD)
			return "a DHCP option that can't be checked";
		if (kind == CLIENT_ID && !client_id_claimed(l, data))
			return "a DHCP client id that is not ours";
	}
	return NULL;
}

/* A client's message: whose hardware address it carries is a claim. */
static const char *dhcp4_fault(Look *l, Bytes data)
{
	static const uint8_t cookie[4] = { 99, 130, 83, 99 };
	enum { CIADDR = 12, GIADDR = 24, CHADDR = 28, OPTIONS = 236 };

	if (data.n < OPTIONS + 4 || data.p[0] != 1 || data.p[1] != 1 || data.p[2] != 6 ||
	    memcmp(data.p + OPTIONS, cookie, sizeof cookie) != 0)
		return "only DHCP clients' messages for Ethernet may be sent";
	Ip ciaddr = ip_from(4, data.p + CIADDR);

	if (get_be32(data.p + GIADDR))
		return "a DHCP relay's message";
	if (!claims(l, data.p + CHADDR))
		return "a DHCP hardware address that is not ours";
	if (ip4_num(ciaddr) && !rules_own(l->fc->rules, ciaddr) && !use_spoof(l, rules_spoof_ip(l->fc->rules, ciaddr)))
		return "a DHCP client's address that is not ours";
	Cursor c = cursor(bytes_slice(data, OPTIONS + 4, data.n));

	l->v->dhcp = l->depth == 0;
	l->v->dhcp_xid = get_be32(data.p + 4);
	return dhcp4_options(l, &c);
}

static const char *dhcp6_fault(Look *l, Bytes data)
{
	static const uint8_t clients[] = { 1, 3, 4, 5, 6, 8, 9, 11 }; /* RFC 8415 7.3 */
	enum { CLIENT_ID = 1 };
	Cursor c = cursor(data);
	uint8_t type = cur_u8(&c);

	if (!memchr(clients, type, sizeof clients))
		return "only DHCPv6 clients' messages may be sent";
	cur_skip(&c, 3);
	while (!c.bad && cur_left(&c)) {
		uint16_t kind = cur_be16(&c);
		Bytes option = cur_bytes(&c, cur_be16(&c));

		if (kind == CLIENT_ID && !c.bad && !duid_claimed(l, option))
			return "a DHCPv6 client id that is not ours";
	}
	return c.bad ? "a DHCPv6 option that is cut" : NULL;
}

/* ---- by port ---- */

const char *payload_fault(Look *l, uint16_t dport, Bytes data)
{
	switch (dport) {
	case 53:
	case 5353:
		return dns_fault(l->fc->rules, data);
	case 123:
		return ntp_fault(l->rights, data);
	case 161:
		return snmp_fault(l->rights, data);
	case 67:
	case 68:
		return dhcp4_fault(l, data);
	case 546:
	case 547:
		return dhcp6_fault(l, data);
	default:
		return NULL;
	}
}
