/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of this folder share: an arena, packets to start from.
 */
#ifndef SONDE_WIRE_TESTING_H
#define SONDE_WIRE_TESTING_H

#include "wire/dns.h"
#include "wire/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint8_t memory[8 << 20];
static Arena arena;

static inline int fresh(void **state)
{
	(void)state;
	arena_init(&arena, memory, sizeof memory, NULL);
	return 0;
}

/* A copy of its own, so that a sanitizer sees each byte read behind the end. */
static inline Bytes own(Bytes b)
{
	uint8_t *p = malloc(b.n ? b.n : 1);

	if (b.n)
		memcpy(p, b.p, b.n);
	return BYTES(p, b.n);
}

static inline void disown(Bytes b)
{
	free((void *)(uintptr_t)b.p);
}

static inline WireLayer *add(WirePacket *p, WireId id)
{
	WireLayer *l = &p->layer[p->n++];

	wire_layer_init(l, wire_proto(id), &arena);
	return l;
}

static inline WirePacket *packet(void)
{
	return arena_new(&arena, WirePacket);
}

static inline Bytes built(const WirePacket *p)
{
	Bytes frame = { 0 };

	assert_null(wire_build(p, &arena, &frame, NULL));
	return frame;
}

static inline WirePacket *parsed(Bytes frame, WireId first)
{
	WirePacket *p = packet();

	wire_parse(frame, first, &arena, p);
	return p;
}

/* IP / UDP with some payload. */
static inline WirePacket *ip_udp(size_t n)
{
	WirePacket *p = packet();
	WireLayer *ip = add(p, WIRE_IP), *udp = add(p, WIRE_UDP);

	wire_set_num(ip, F_IP_SRC, 0x0a000001);
	wire_set_num(ip, F_IP_DST, 0x0a000002);
	wire_set_num(ip, F_IP_ID, 7);
	wire_set_num(udp, F_UDP_SPORT, 40000);
	wire_set_num(udp, F_UDP_DPORT, 33434);
	p->payload = BYTES(arena_alloc(&arena, n), n);
	for (size_t i = 0; i < n; i++)
		((uint8_t *)(uintptr_t)p->payload.p)[i] = (uint8_t)(i * 7);
	return p;
}

static inline WirePacket *ip_tcp(void)
{
	WirePacket *p = packet();
	WireLayer *ip = add(p, WIRE_IP), *tcp = add(p, WIRE_TCP);

	wire_set_num(ip, F_IP_SRC, 0x0a000001);
	wire_set_num(ip, F_IP_DST, 0x0a000002);
	wire_set_num(tcp, F_TCP_SPORT, 40000);
	wire_set_num(tcp, F_TCP_DPORT, 80);
	wire_set_num(tcp, F_TCP_SEQ, 5);
	return p;
}

#endif
