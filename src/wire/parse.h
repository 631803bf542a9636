/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoder's state, for the `parse` functions of the protocols.
 *
 * Decoding locates headers and checks what could lead a reader past their end;
 * the numbers stay in the frame until somebody asks.  A parse function looks at
 * the first bytes (wire_head), checks, takes the header (wire_take) and names
 * what follows (`next`).  A failure ends the packet with a reason; a note gives
 * a reason and goes on.
 */
#ifndef SONDE_WIRE_PARSE_H
#define SONDE_WIRE_PARSE_H

#include "wire/table.h"

struct WireParse {
	Cursor c;       /* ends where the headers so far say that the packet ends */
	Arena *a;
	WirePacket *out;
	WireId next;    /* what stands behind this header; WIRE_NONE: nothing that is decoded */
	bool quoted;    /* inside an ICMP error: it may end early */
	bool fragment;  /* the first piece of an IP packet: it ends early */
};

/* Sets the reason, unless there is one; false. */
bool wire_fail(WireParse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define wire_note(p, ...) ((void)wire_fail((p), __VA_ARGS__))

/* The next `need` bytes, without taking them.  NULL and a reason if there are
 * fewer; in a quote the missing ones are zeros. */
const uint8_t *wire_head(WireParse *p, const WireLayer *l, size_t need);

/* How many of `n` bytes at the cursor are really there. */
static inline size_t wire_here(const WireParse *p, size_t n)
{
	return n < cur_left(&p->c) ? n : cur_left(&p->c);
}

/* Whether `need` bytes are there, in a quote too; a reason if not. */
static inline bool wire_whole(WireParse *p, const WireLayer *l, size_t need)
{
	size_t here = wire_here(p, need);

	return here == need ||
	       wire_fail(p, "%s header needs %zu bytes, %zu are there", l->proto->name, need, here);
}

/* Takes a header of n bytes: image, set, off and len of the layer.  False and a
 * reason if there are fewer, except in a quote: then it is cut. */
bool wire_take(WireParse *p, WireLayer *l, size_t n);

/* After wire_take(): bytes [from, to) of the header are the i-th variable field. */
void wire_take_var(WireParse *p, WireLayer *l, unsigned i, size_t from, size_t to);

/* Takes a header of n bytes that are there, whose image is no part of the frame. */
void wire_take_apart(WireParse *p, WireLayer *l, size_t n, uint8_t *image);

/* The parse function of all records: they are decoded with what holds them; on
 * their own they are nothing. */
bool wire_record_parse(WireParse *p, WireLayer *l);

/* The packet ends `n` bytes behind the cursor; false if fewer are there. */
static inline bool wire_limit(WireParse *p, size_t n)
{
	if (n > cur_left(&p->c))
		return false;
	p->c.n = p->c.off + n;
	return true;
}

/* What stands behind an IP header, by its protocol number. */
void wire_follow_ipproto(WireParse *p, uint8_t proto, bool in_ipv6);
void wire_follow_ethertype(WireParse *p, uint16_t type);
/* Of Ethernet and VLAN tags: up to 1500 it is the length of what LLC begins. */
void wire_follow_type_or_length(WireParse *p, uint16_t n);
void wire_follow_port(WireParse *p, bool tcp, uint16_t sport, uint16_t dport);

/* Notes the first option that is broken. */
void wire_check_options(WireParse *p, const WireProto *proto, Bytes options);

/* Decodes on from the cursor; wire_parse() and wire_quoted() are this. */
void wire_parse_on(WireParse *p, WireId first);

#endif
