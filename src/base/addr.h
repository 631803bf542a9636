/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses: IPv4/IPv6 (one type), networks, MACs; strict text in, canonical
 * text out.  One text means one address: dotted quads without leading zeros,
 * IPv6 as RFC 4291 2.2 allows it but without zone, networks without host bits.
 */
#ifndef SONDE_BASE_ADDR_H
#define SONDE_BASE_ADDR_H

#include "base/bytes.h"
#include "base/str.h"

typedef struct Ip {
	uint8_t v;     /* 4 or 6; 0: none */
	uint8_t b[16]; /* network order; v4 in b[0..3], the rest zero */
} Ip;

typedef struct Net {
	Ip ip;        /* host bits are zero */
	uint8_t bits; /* prefix length: 0..32 or 0..128 */
} Net;

typedef struct Mac {
	uint8_t b[6];
} Mac;

enum { IP_TEXT = 46, NET_TEXT = 50, MAC_TEXT = 18 };

bool ip_parse(Str s, Ip *ret_ip);
/* RFC 5952 text, zero-terminated; its length. */
size_t ip_format(Ip ip, char out[IP_TEXT]);

/* "10.0.0.0/8"; a bare address is a /32 or /128.  False for host bits too. */
bool net_parse(Str s, Net *ret_net);
size_t net_format(Net n, char out[NET_TEXT]);
bool net_has(Net n, Ip ip);
/* The first and the last address of n. */
void net_range(Net n, Ip *ret_first, Ip *ret_last);

/* v and the address's bytes, as messages and records have it; none: v alone.  Reading one
 * of no known family sets the cursor's error. */
void wr_ip(Writer *w, Ip ip);
Ip cur_ip(Cursor *c);

/* Six groups of two hex digits, by ':' or by '-'. */
bool mac_parse(Str s, Mac *ret_mac);
size_t mac_format(Mac m, char out[MAC_TEXT]);

static inline Ip ip4(uint32_t host_order)
{
	Ip ip = { .v = 4 };

	put_be32(ip.b, host_order);
	return ip;
}

static inline uint32_t ip4_num(Ip ip)
{
	return get_be32(ip.b);
}

/* p holds 4 or 16 bytes. */
static inline Ip ip_from(uint8_t v, const uint8_t *p)
{
	Ip ip = { .v = v };

	memcpy(ip.b, p, v == 4 ? 4 : 16);
	return ip;
}

/* An address as a number: of IPv4 32 bits, of IPv6 128. */
typedef unsigned __int128 IpNum;

static inline IpNum ip_num(Ip ip)
{
	if (ip.v == 4)
		return ip4_num(ip);
	return (IpNum)get_be32(ip.b) << 96 | (IpNum)get_be32(ip.b + 4) << 64 | (IpNum)get_be32(ip.b + 8) << 32 |
	       get_be32(ip.b + 12);
}

static inline Ip ip_of_num(uint8_t v, IpNum n)
{
	Ip ip = { .v = v };

	if (v == 4)
		return ip4((uint32_t)n);
	for (int i = 12; i >= 0; i -= 4, n >>= 32)
		put_be32(ip.b + i, (uint32_t)n);
	return ip;
}

static inline size_t ip_len(Ip ip)
{
	return ip.v == 4 ? 4 : ip.v == 6 ? 16 : 0;
}

/* v4 before v6, then by number: <0, 0, >0. */
int ip_cmp(Ip a, Ip b);

static inline bool ip_eq(Ip a, Ip b)
{
	return ip_cmp(a, b) == 0;
}

/* ip + delta; false if that leaves the family's range. */
bool ip_add(Ip ip, int64_t delta, Ip *ret_ip);

/* What an address is by RFC 6890 and its kin; the first row that holds. */
#define IP_CLASSES(X)                                                       \
	X(UNSPECIFIED, "unspecified")   /* 0.0.0.0/8, ::              */    \
	X(LOOPBACK, "loopback")         /* 127/8, ::1                 */    \
	X(LINK_LOCAL, "link-local")     /* 169.254/16, fe80::/10      */    \
	X(MULTICAST, "multicast")       /* 224/4, ff00::/8            */    \
	X(BROADCAST, "broadcast")       /* 255.255.255.255            */    \
	X(RESERVED, "reserved")         /* 240/4                      */    \
	X(V4_EMBEDDED, "IPv4-embedding") /* ::/96, ::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48, 2002::/16, 2001::/32 */ \
	X(UNICAST, "unicast")

#define IP_CLASS_ENUM_(id, text) IP_CLASS_##id,
typedef enum IpClass { IP_CLASSES(IP_CLASS_ENUM_) } IpClass;

IpClass ip_class(Ip ip);
const char *ip_class_name(IpClass c);

#endif
