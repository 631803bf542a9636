/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture filters: the numeric part of pcap-filter(7).
 *
 * The checker needs to know which layers a filtered packet has, and the gate must
 * not hand engine text to libpcap's parser; so the language has a parser of its
 * own, and what it writes (filter_text) is all that libpcap ever sees.  The
 * meaning is libpcap's, byte for byte (filter_test compares them), but for three
 * rules that make packets typed and text unambiguous:
 *   host, net   without protocol: IP or IPv6, by the address; where the filter
 *               joins them by `and` to something that may be ARP, ARP's too
 *   port        without protocol: TCP or UDP
 *   proto       takes the names tcp, udp, icmp, icmp6 as well
 * All of them stand spelt out in filter_text.
 *
 * Ownership: a Filter and its texts live in the arena given; the source text may
 * go away.
 */
#ifndef SONDE_PROBE_FILTER_H
#define SONDE_PROBE_FILTER_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/str.h"
#include "wire/wire.h"

typedef struct Filter Filter;

typedef struct FilterError {
	uint32_t from, to; /* bytes of the filter's text */
	Str message;	   /* one sentence without a full stop */
	Str hint;	   /* what to write instead; may be empty */
} FilterError;

/* NULL, with the error, for what is no filter.  "" is one: everything passes. */
const Filter *filter_parse(Str text, Arena *a, FilterError *ret_error);

/* Does a frame, whose outermost header is `first` (ETHER, IP, IPV6), pass?  As in
 * BPF a test that reads behind the frame's end rejects it, also below `not`. */
bool filter_match(const Filter *f, Bytes frame, WireId first);

/* One way in which a packet may be made up: masks of WIRE_BITs. */
typedef struct StackAlt {
	uint64_t must;
	uint64_t mustnot;
} StackAlt;

typedef struct StackSet {
	uint32_t n; /* 0: nothing can pass */
	StackAlt alt[LIMIT_STACKS];
} StackSet;

/* What each branch of the filter says about a packet's layers. */
void filter_stacks(const Filter *f, StackSet *ret_set);

/* Is a packet with these layers one that filter_stacks() announced?  libpcap's
 * `udp` passes later fragments and cut headers too, which have no UDP layer: sniff
 * keeps them out by this test, so that what the checker says holds. */
bool stacks_fit(const StackSet *s, uint64_t layers);

/* The same filter for libpcap, all spelt out.  "" passes everything. */
Str filter_text(const Filter *f, Arena *a);

#endif
