/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <stdio.h>

static bool ip4_parse(Str s, uint8_t out[4])
{
	size_t at = 0;

	for (int i = 0; i < 4; i++) {
		size_t end = at;
		uint64_t v;

		while (end < s.n && s.p[end] != '.')
			end++;
		if (!str_to_u64((Str){ s.p + at, end - at }, 255, &v))
			return false;
		out[i] = (uint8_t)v;
		if ((i < 3) != (end < s.n))
			return false;
		at = end + 1;
	}
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One group of 1..4 hex digits at *at. */
static bool hextet(Str s, size_t *at, uint8_t out[2])
{
	unsigned v = 0;
	size_t n = 0;

	while (n < 4 && *at < s.n && hex_digit(s.p[*at]) >= 0) {
		v = v << 4 | (unsigned)hex_digit(s.p[(*at)++]);
		n++;
	}
	put_be16(out, (uint16_t)v);
	return n > 0;
}

/* RFC 4291 2.2: groups before "::" fill from the left, those behind it end at the right. */
static bool ip6_parse(Str s, uint8_t out[16])
{
	uint8_t b[16] = { 0 };
	size_t n = 0, gap = 17, at = 0;

	if (s.n >= 2 && s.p[0] == ':' && s.p[1] == ':') {
		gap = 0;
		at = 2;
	}
	while (at < s.n) {
		size_t start = at;

		if (n > 14 || !hextet(s, &at, b + n))
			return false;
		if (at < s.n && s.p[at] == '.') {
			if (n > 12 || !ip4_parse((Str){ s.p + start, s.n - start }, b + n))
				return false;
			n += 4;
			break;
		}
		n += 2;
		if (at == s.n)
			break;
		if (s.p[at++] != ':' || at == s.n)
			return false;
		if (s.p[at] == ':') {
			if (gap != 17)
				return false;
			gap = n;
			at++;
		}
	}
	if (gap == 17 ? n != 16 : n > 14)
		return false;
	memset(out, 0, 16);
	if (gap == 17)
		gap = 16;
	memcpy(out, b, gap < n ? gap : n);
	if (gap < n)
		memcpy(out + 16 - (n - gap), b + gap, n - gap);
	return true;
}

bool ip_parse(Str s, Ip *ret_ip)
{
	Ip ip = { .v = 4 };

	if (!ip4_parse(s, ip.b)) {
		ip = (Ip){ .v = 6 };
		if (!ip6_parse(s, ip.b))
			return false;
	}
	*ret_ip = ip;
	return true;
}

/* The longest run of zero groups (the first of equals, at least two): RFC 5952 4.2. */
static int zero_run(const uint8_t b[16], int *ret_len)
{
	int best = -1, len = 1;

	for (int i = 0; i < 8; i++) {
		int j = i;

		while (j < 8 && get_be16(b + (size_t)j * 2) == 0)
			j++;
		if (j - i > len) {
			best = i;
			len = j - i;
		}
		if (j > i)
			i = j;
	}
	*ret_len = len;
	return best;
}

static size_t ip6_format(const uint8_t b[16], char out[IP_TEXT])
{
	int len, run = zero_run(b, &len), n = 0;

	for (int i = 0; i < 8; i++) {
		if (i == run) {
			n += snprintf(out + n, (size_t)(IP_TEXT - n), "::");
			i += len - 1;
			continue;
		}
		if (i > 0 && i != run + len)
			n += snprintf(out + n, (size_t)(IP_TEXT - n), ":");
		n += snprintf(out + n, (size_t)(IP_TEXT - n), "%x", get_be16(b + (size_t)i * 2));
	}
	return (size_t)n;
}

size_t ip_format(Ip ip, char out[IP_TEXT])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (ip.v == 4)
		return (size_t)snprintf(out, IP_TEXT, "%u.%u.%u.%u", ip.b[0], ip.b[1], ip.b[2], ip.b[3]);
	if (ip.v != 6) {
		out[0] = '-';
		out[1] = 0;
		return 1;
	}
	if (memcmp(ip.b, mapped, 12) == 0) /* RFC 5952 5 */
		return (size_t)snprintf(out, IP_TEXT, "::ffff:%u.%u.%u.%u", ip.b[12], ip.b[13], ip.b[14], ip.b[15]);
	return ip6_format(ip.b, out);
}

/* Which bits of byte i a prefix of `bits` fixes. */
static uint8_t prefix_byte(size_t bits, size_t i)
{
	return bits >= i * 8 + 8 ? 0xff : bits <= i * 8 ? 0 : (uint8_t)(0xff00u >> (bits - i * 8));
}

static Ip net_mask(Net n, uint8_t fill)
{
	Ip ip = n.ip;

	for (size_t i = 0; i < ip_len(ip); i++) {
		uint8_t fixed = prefix_byte(n.bits, i);

		ip.b[i] = (uint8_t)((ip.b[i] & fixed) | (fill ? ~fixed : 0));
	}
	return ip;
}

bool net_parse(Str s, Net *ret_net)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	size_t at = slash ? (size_t)(slash - s.p) : s.n;
	Net n = { 0 };
	uint64_t bits;

	if (!ip_parse((Str){ s.p, at }, &n.ip))
		return false;
	bits = ip_len(n.ip) * 8;
	if (slash && !str_to_u64((Str){ s.p + at + 1, s.n - at - 1 }, bits, &bits))
		return false;
	n.bits = (uint8_t)bits;
	if (!ip_eq(net_mask(n, 0), n.ip))
		return false;
	*ret_net = n;
	return true;
}

size_t net_format(Net n, char out[NET_TEXT])
{
	size_t at = ip_format(n.ip, out);

	return at + (size_t)snprintf(out + at, NET_TEXT - at, "/%u", n.bits);
}

bool net_has(Net n, Ip ip)
{
	size_t whole = n.bits / 8;

	if (n.ip.v != ip.v || memcmp(n.ip.b, ip.b, whole) != 0)
		return false;
	return n.bits % 8 == 0 || (uint8_t)(ip.b[whole] & prefix_byte(n.bits, whole)) == n.ip.b[whole];
}

void net_range(Net n, Ip *ret_first, Ip *ret_last)
{
	*ret_first = net_mask(n, 0);
	*ret_last = net_mask(n, 1);
}

bool mac_parse(Str s, Mac *ret_mac)
{
	Mac m;

	if (s.n != 17)
		return false;
	for (size_t i = 0; i < 6; i++) {
		int hi = hex_digit(s.p[i * 3]), lo = hex_digit(s.p[i * 3 + 1]);

		if (hi < 0 || lo < 0 || (i < 5 && ((s.p[2] != ':' && s.p[2] != '-') || s.p[i * 3 + 2] != s.p[2])))
			return false;
		m.b[i] = (uint8_t)(hi << 4 | lo);
	}
	*ret_mac = m;
	return true;
}

size_t mac_format(Mac m, char out[MAC_TEXT])
{
	return (size_t)snprintf(out, MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", m.b[0], m.b[1], m.b[2], m.b[3],
				m.b[4], m.b[5]);
}

int ip_cmp(Ip a, Ip b)
{
	if (a.v != b.v)
		return a.v < b.v ? -1 : 1;
	return memcmp(a.b, b.b, sizeof a.b);
}

bool ip_add(Ip ip, int64_t delta, Ip *ret_ip)
{
	/* -1 as a carry runs through all bytes: the sum is taken byte by byte, delta as two's complement. */
	uint64_t d = (uint64_t)delta;
	int carry = 0;
	size_t n = ip_len(ip);

	if (n == 0)
		return false;
	if (n == 4) {
		int64_t sum;

		if (__builtin_add_overflow((int64_t)ip4_num(ip), delta, &sum) || sum < 0 || sum > UINT32_MAX)
			return false;
		*ret_ip = ip4((uint32_t)sum);
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		int byte = i < 8 ? (int)(d >> (8 * i) & 0xff) : delta < 0 ? 0xff : 0;
		int sum = ip.b[n - 1 - i] + byte + carry;

		ip.b[n - 1 - i] = (uint8_t)sum;
		carry = sum >> 8;
	}
	if (carry != (delta < 0))
		return false;
	*ret_ip = ip;
	return true;
}

typedef struct ClassRow {
	Net net;
	IpClass c;
} ClassRow;

/* The address's first bytes, how many bits count. */
#define V4(bits, ...) { { 4, { __VA_ARGS__ } }, bits }
#define V6(bits, ...) { { 6, { __VA_ARGS__ } }, bits }

/* First match wins.  RFC 1122 3.2.1.3, 3927, 5771, 1112 4, 4291 2.5, 6052, 8215, 3056, 4380. */
static const ClassRow class_rows[] = {
	{ V4(8, 0), IP_CLASS_UNSPECIFIED },
	{ V4(8, 127), IP_CLASS_LOOPBACK },
	{ V4(16, 169, 254), IP_CLASS_LINK_LOCAL },
	{ V4(4, 224), IP_CLASS_MULTICAST },
	{ V4(32, 255, 255, 255, 255), IP_CLASS_BROADCAST },
	{ V4(4, 240), IP_CLASS_RESERVED },
	{ V6(128, 0), IP_CLASS_UNSPECIFIED },
	{ V6(128, [15] = 1), IP_CLASS_LOOPBACK },
	{ V6(10, 0xfe, 0x80), IP_CLASS_LINK_LOCAL },
	{ V6(8, 0xff), IP_CLASS_MULTICAST },
	{ V6(96, 0), IP_CLASS_V4_EMBEDDED },			   /* v4-compatible */
	{ V6(96, [10] = 0xff, 0xff), IP_CLASS_V4_EMBEDDED },	   /* v4-mapped */
	{ V6(96, 0, 0x64, 0xff, 0x9b), IP_CLASS_V4_EMBEDDED },	   /* NAT64 */
	{ V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), IP_CLASS_V4_EMBEDDED }, /* NAT64, local */
	{ V6(16, 0x20, 0x02), IP_CLASS_V4_EMBEDDED },		   /* 6to4 */
	{ V6(32, 0x20, 0x01), IP_CLASS_V4_EMBEDDED },		   /* Teredo */
};
#undef V4
#undef V6

IpClass ip_class(Ip ip)
{
	for (size_t i = 0; i < sizeof class_rows / sizeof class_rows[0]; i++)
		if (net_has(class_rows[i].net, ip))
			return class_rows[i].c;
	return IP_CLASS_UNICAST;
}

const char *ip_class_name(IpClass c)
{
#define ROW_(id, text) [IP_CLASS_##id] = (text),
	static const char *const names[] = { IP_CLASSES(ROW_) };
#undef ROW_

	return names[c];
}

void wr_ip(Writer *w, Ip ip)
{
	wr_u8(w, ip.v);
	wr_bytes(w, BYTES(ip.b, ip_len(ip)));
}

Ip cur_ip(Cursor *c)
{
	Ip ip = { .v = cur_u8(c) };

	if (ip.v != 0 && ip.v != 4 && ip.v != 6)
		c->bad = true;
	Bytes b = cur_bytes(c, ip_len(ip));

	if (c->bad)
		return (Ip){ 0 };
	if (b.n)
		memcpy(ip.b, b.p, b.n);
	return ip;
}
