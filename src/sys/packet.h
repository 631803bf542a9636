/* SPDX-License-Identifier: Apache-2.0
 *
 * Packet sockets: frames out with transmit stamps, frames in with receive stamps.
 *
 * Promises relied on (packet(7), Documentation/networking/timestamping.rst):
 * - a socket opened with protocol 0 receives nothing until it is bound, so a
 *   filter set before holds for the first frame already; SO_LOCK_FILTER keeps it;
 * - a socket never sees what it sent itself, others bound to the interface see it
 *   as PACKET_OUTGOING, in the order of sending, before any answer to it;
 * - PACKET_AUXDATA tells the checksum's state and the VLAN tag that was taken off;
 * - SO_TIMESTAMPING with OPT_ID|OPT_TSONLY puts stamps with our own number into
 *   the error queue: SCHED when the frame enters the queue, SOFTWARE when it is
 *   given to the driver; SCM_TS_OPT_ID (Linux 6.13) makes the number ours;
 * - frames are stamped on CLOCK_REALTIME at the tap.  For some time after
 *   stamping was first asked for on a host, the "stamp" is the time of reading:
 *   packet_warm_up() asks early, packet_recv() marks what can't be true.
 *
 * Functions return 0, a count or a descriptor, or -errno.
 */
#ifndef SONDE_SYS_PACKET_H
#define SONDE_SYS_PACKET_H

#include "base/bytes.h"
#include "base/limits.h"

#include <linux/filter.h>

/* Stamping on, from now until the descriptor is closed. */
int packet_warm_up(void);

/* A socket of protocol 0 that receives nothing. */
int packet_open(void);

/* For sending on any interface, with transmit stamps. */
int packet_tx_setup(int fd, int sndbuf, int rcvbuf);

/* For receiving on one: filter, lock, buffers, stamps, auxdata, then bind. */
typedef struct PacketRx {
	int ifindex;
	const struct sock_filter *filter;
	unsigned filter_n;
	int rcvbuf;
	bool promiscuous;
} PacketRx;

int packet_rx_setup(int fd, const PacketRx *rx);

/* Frames lost by this socket since the last call. */
int packet_drops(int fd, uint64_t *ret_drops);

/* ---- receiving ---- */

enum { PACKET_ROOM = 16, PACKET_SLOT = PACKET_ROOM + LIMIT_FRAME + 3, PACKET_RX_BATCH = 32 };

/* As deal's CsumState; sys does not know deal. */
typedef enum PacketCsum { PACKET_CSUM_UNKNOWN, PACKET_CSUM_GOOD, PACKET_CSUM_NOT_COMPUTED } PacketCsum;

typedef struct PacketIn {
	Bytes frame;	    /* VLAN tag rebuilt (Ethernet); lives until the next receive */
	uint32_t orig_len;  /* as it was on the wire, tag included */
	int64_t stamp;	    /* CLOCK_REALTIME, ns; 0: none, or the time of reading */
	int ifindex;
	bool outgoing;	    /* another socket of this host sent it */
	bool to_us;	    /* addressed to our MAC */
	bool vlan;	    /* the tag was rebuilt */
	PacketCsum csum;
} PacketIn;

typedef struct PacketInbox {
	uint8_t *mem; /* PACKET_RX_BATCH * PACKET_SLOT bytes, the caller's */
	PacketIn in[PACKET_RX_BATCH];
	unsigned n;
} PacketInbox;

/* All that is there, at most a batch; 0: nothing.  `ether`: frames start with an
 * Ethernet header, so that tags can be rebuilt.  `ready`: a time (CLOCK_REALTIME)
 * at which the socket was known to be readable, or 0; a first frame stamped later
 * was stamped by its reader, and with it the batch. */
int packet_recv(int fd, bool ether, int64_t ready, PacketInbox *box);

/* ---- sending ---- */

enum { PACKET_TX_BATCH = 64 };

typedef struct PacketOut {
	Bytes head; /* link-layer header; empty on a link without one */
	Bytes body;
	int ifindex;
	uint16_t ethertype;
	uint32_t id; /* comes back in its stamps */
} PacketOut;

typedef struct PacketTx {
	int fd;
	bool own_ids;	  /* SCM_TS_OPT_ID works here; until it fails it is taken to */
	uint32_t next_id; /* else the kernel counts from 0 what it accepted */
} PacketTx;

/* Sends at most PACKET_TX_BATCH; the number sent, in order; -errno if the first
 * was refused.  Without own_ids, out[i].id is set to the kernel's number. */
int packet_send(PacketTx *tx, PacketOut *out, unsigned n);

typedef enum PacketStampKind { PACKET_STAMP_SENT, PACKET_STAMP_QUEUED } PacketStampKind;

typedef struct PacketStamp {
	uint32_t id;
	PacketStampKind kind;
	int64_t stamp; /* CLOCK_REALTIME, ns */
} PacketStamp;

/* Stamps from the error queue, at most cap; 0: none left. */
int packet_stamps(int fd, PacketStamp *ret, unsigned cap);

/* Bytes that the kernel has not given to the driver yet. */
int packet_unsent(int fd);

#endif
