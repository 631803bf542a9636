/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets for tests, written byte by byte: an oracle must not come from the code
 * under test.  Each call gives a packet of its own from a ring of buffers.
 */
#ifndef SONDE_WIRE_TEST_PACKETS_H
#define SONDE_WIRE_TEST_PACKETS_H

#include "base/addr.h"
#include "wire/wire.h"

enum { TP_RING = 64, TP_SIZE = 4096 };

static uint8_t tp_ring[TP_RING][TP_SIZE];
static unsigned tp_at;

static inline Writer tp_writer(void)
{
	return writer(tp_ring[tp_at++ % TP_RING], TP_SIZE);
}

typedef struct TpIp {
	uint32_t src, dst;
	uint8_t proto;
	uint16_t id;
	uint8_t ttl, tos;
	uint16_t frag; /* the flags-and-offset word */
} TpIp;

static inline Bytes tp_ip4(TpIp h, Bytes body)
{
	Writer w = tp_writer();

	wr_u8(&w, 0x45);
	wr_u8(&w, h.tos);
	wr_be16(&w, (uint16_t)(20 + body.n));
	wr_be16(&w, h.id);
	wr_be16(&w, h.frag);
	wr_u8(&w, h.ttl ? h.ttl : 64);
	wr_u8(&w, h.proto);
	wr_be16(&w, 0);
	wr_be32(&w, h.src);
	wr_be32(&w, h.dst);
	put_be16(w.p + 10, wire_csum_fold(wire_csum(0, wr_done(&w))));
	wr_bytes(&w, body);
	return wr_done(&w);
}

/* With a checksum that stands for the payload, as identities need it. */
static inline Bytes tp_udp(uint16_t sport, uint16_t dport, Bytes payload)
{
	Writer w = tp_writer();

	wr_be16(&w, sport);
	wr_be16(&w, dport);
	wr_be16(&w, (uint16_t)(8 + payload.n));
	wr_be16(&w, wire_csum_fold(wire_csum((uint32_t)sport + dport, payload)));
	wr_bytes(&w, payload);
	return wr_done(&w);
}

typedef struct TpTcp {
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t window;
} TpTcp;

static inline Bytes tp_tcp(TpTcp t, Bytes payload)
{
	Writer w = tp_writer();

	wr_be16(&w, t.sport);
	wr_be16(&w, t.dport);
	wr_be32(&w, t.seq);
	wr_be32(&w, t.ack);
	wr_u8(&w, 5 << 4);
	wr_u8(&w, t.flags);
	wr_be16(&w, t.window);
	wr_be32(&w, 0);
	wr_bytes(&w, payload);
	return wr_done(&w);
}

static inline Bytes tp_icmp(uint8_t type, uint8_t code, uint32_t word, Bytes payload)
{
	Writer w = tp_writer();

	wr_u8(&w, type);
	wr_u8(&w, code);
	wr_be16(&w, 0);
	wr_be32(&w, word);
	wr_bytes(&w, payload);
	put_be16(w.p + 2, wire_csum_fold(wire_csum(0, wr_done(&w))));
	return wr_done(&w);
}

static inline Bytes tp_dns(uint16_t id, uint16_t flags, const char *name)
{
	Writer w = tp_writer();

	wr_be16(&w, id);
	wr_be16(&w, flags);
	wr_be16(&w, name ? 1 : 0);
	wr_zeros(&w, 6);
	while (name && *name) {
		size_t n = strcspn(name, ".");

		wr_u8(&w, (uint8_t)n);
		wr_bytes(&w, BYTES(name, n));
		name += n + (name[n] == '.');
	}
	if (name) {
		wr_u8(&w, 0);
		wr_be32(&w, 0x00010001);
	}
	return wr_done(&w);
}

#define TP_TEXT(s) BYTES(s, sizeof(s) - 1)

#endif
