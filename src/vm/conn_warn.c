/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/conn_warn.h"

#include <stdio.h>

/* A counter of TcpConn, or several that mean one thing. */
enum { COUNTERS = 3 };

typedef enum RowKind {
	CONTENT,	    /* of the peer */
	ODD_UNLESS_BY_HAND, /* likewise; segments made by hand provoke it too: then it says nothing */
	MEASURED,	    /* tells no more than that no answer came: content of nobody */
} RowKind;

typedef struct ConnWarnRow {
	WarnId id;
	uint16_t counter[COUNTERS]; /* offsets into TcpConn of uint32_t; 0: no more */
	const char *unit;	    /* of the evidence: "3 fast, 1 by time-out" */
	RowKind kind;
} ConnWarnRow;

#define OUT(x) offsetof(TcpConn, out.x)
#define IN(x) offsetof(TcpConn, in.x)

static const ConnWarnRow rows[] = {
	{ WARN_RETRANSMISSION, { OUT(fast), OUT(rto), OUT(tlp) }, "segments sent again", CONTENT },
	{ WARN_SPURIOUS, { OUT(spurious_dsack), OUT(spurious_eifel) }, "needless retransmissions", CONTENT },
	{ WARN_SEGMENTS_REORDERED, { OUT(reordered) }, "segments of ours acknowledged out of order", CONTENT },
	{ WARN_PEER_AGAIN, { IN(retransmits) }, "segments with nothing new in them", ODD_UNLESS_BY_HAND },
	{ WARN_OUT_OF_ORDER, { IN(out_of_order) }, "segments before a gap", CONTENT },
	{ WARN_OVERLAP, { IN(overlaps) }, "segments with other bytes in old places", CONTENT },
	{ WARN_ZERO_WINDOW, { OUT(zero_windows) }, "times that the peer closed its window", CONTENT },
	{ WARN_SHRUNK, { OUT(window_shrunk) }, "times", CONTENT },
	{ WARN_OUT_OF_WINDOW, { IN(out_of_window) }, "segments", ODD_UNLESS_BY_HAND },
	{ WARN_ACK_UNSENT, { IN(ack_unsent) }, "acknowledgements of what was not sent", ODD_UNLESS_BY_HAND },
	{ WARN_OLD_STAMP, { IN(paws) }, "segments with old time stamps", ODD_UNLESS_BY_HAND },
	{ WARN_STAMP_GONE, { IN(no_timestamp) }, "segments without the agreed time stamp", CONTENT },
	{ WARN_RST_SEQ, { IN(rst_odd_seq) }, "resets", ODD_UNLESS_BY_HAND },
	{ WARN_LIVE_SYN, { IN(syns) }, "SYNs", ODD_UNLESS_BY_HAND },
	{ WARN_SYN_AGAIN, { OUT(syn_retries) }, "SYNs sent again", MEASURED },
	{ WARN_MTU_CHANGED, { OUT(mtu_changes) }, "changes of the path's MTU", CONTENT },
	{ WARN_ECHO_ECE, { OUT(ece_in) }, "echoes", CONTENT },
	{ WARN_ODD_ICMP, { IN(icmp_ignored) }, "ICMP errors", ODD_UNLESS_BY_HAND },
};

static uint32_t total(const TcpConn *c, const ConnWarnRow *r)
{
	uint32_t n = 0, one;

	for (unsigned i = 0; i < COUNTERS && r->counter[i]; i++) {
		memcpy(&one, (const char *)c + r->counter[i], sizeof one);
		n += one;
	}
	return n;
}

void conn_warnings(Warnings *ws, const TcpConn *c)
{
	char peer[IP_TEXT];

	ip_format(c->dst, peer);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t n = rows[i].kind == ODD_UNLESS_BY_HAND && c->crafted ? 0 : total(c, &rows[i]);

		if (n && rows[i].kind == MEASURED)
			warn_add(ws, rows[i].id, WARN_NOBODY, n, "%s port %u: %u %s", peer, c->dport, n, rows[i].unit);
		else if (n)
			warn_add(ws, rows[i].id, c->dst, n, "%s port %u: %u %s; %llu sent, %llu received", peer, c->dport, n,
				 rows[i].unit, (unsigned long long)c->out.segments, (unsigned long long)c->in.segments);
	}
}
