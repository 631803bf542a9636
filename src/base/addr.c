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

static Ip net_mask(Net n, uint8_t fill)
{
	Ip ip = n.ip;

	for (size_t bit = n.bits; bit < ip_len(ip) * 8; bit++)
		bits_put(ip.b, bit, 1, fill);
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
	return n.ip.v == ip.v && ip_eq(net_mask((Net){ ip, n.bits }, 0), n.ip);
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
	const char *net;
	IpClass c;
} ClassRow;

/* First match wins.  RFC 1122 3.2.1.3, 3927, 5771, 1112 4, 4291 2.5, 6052, 8215, 3056, 4380. */
static const ClassRow class_rows[] = {
	{ "0.0.0.0/8", IP_CLASS_UNSPECIFIED },	  { "127.0.0.0/8", IP_CLASS_LOOPBACK },
	{ "169.254.0.0/16", IP_CLASS_LINK_LOCAL }, { "224.0.0.0/4", IP_CLASS_MULTICAST },
	{ "255.255.255.255/32", IP_CLASS_BROADCAST }, { "240.0.0.0/4", IP_CLASS_RESERVED },
	{ "::/128", IP_CLASS_UNSPECIFIED },	  { "::1/128", IP_CLASS_LOOPBACK },
	{ "fe80::/10", IP_CLASS_LINK_LOCAL },	  { "ff00::/8", IP_CLASS_MULTICAST },
	{ "::/96", IP_CLASS_V4_EMBEDDED },	  { "::ffff:0:0/96", IP_CLASS_V4_EMBEDDED },
	{ "64:ff9b::/96", IP_CLASS_V4_EMBEDDED }, { "64:ff9b:1::/48", IP_CLASS_V4_EMBEDDED },
	{ "2002::/16", IP_CLASS_V4_EMBEDDED },	  { "2001::/32", IP_CLASS_V4_EMBEDDED },
};

IpClass ip_class(Ip ip)
{
	for (size_t i = 0; i < sizeof class_rows / sizeof class_rows[0]; i++) {
		Net n;

		if (net_parse(str_c(class_rows[i].net), &n) && net_has(n, ip))
			return class_rows[i].c;
	}
	return IP_CLASS_UNICAST;
}

const char *ip_class_name(IpClass c)
{
#define ROW_(id, text) [IP_CLASS_##id] = (text),
	static const char *const names[] = { IP_CLASSES(ROW_) };
#undef ROW_

	return names[c];
}
