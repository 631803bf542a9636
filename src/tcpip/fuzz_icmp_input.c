/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP errors about a live connection and a datagram socket, and ICMP of any bytes: an
 * error ends no connection that is up, an MTU stays within what RFCs allow.
 *
 * The input: how the connection begins, then a list of [what][bytes]: an error whose quote
 * is near a segment in flight, a raw ICMP message, data, a timer.
 */
#include "tcpip/fuzz_live.h"

#include "tcpip/pmtu.h"

static uint8_t memory[LIVE_MEMORY];
static Live live;

static void input_icmp(Live *l, Bytes message)
{
	static uint8_t packet[2048];
	bool v6 = l->us.v == 6;
	IpPacket ip = { .src = l->peer, .dst = l->us, .proto = v6 ? IP_PROTO_ICMPV6 : IP_PROTO_ICMP, .ttl = 60 };
	size_t hdr = ip_packet_write(&ip, message.n, packet);
	uint8_t *m = packet + hdr;

	if (message.n)
		memcpy(m, message.p, message.n);
	if (message.n >= 4) {
		memset(m + 2, 0, 2);
		uint16_t sum = ip_csum_done(ip_csum_add(v6 ? ip_pseudo_sum(&ip, message.n) : 0, BYTES(m, message.n)));

		memcpy(m + 2, &sum, sizeof sum);
	}
	live_input(l, BYTES(packet, hdr + message.n));
}

static void error_about(Live *l, Cursor *c, bool udp)
{
	uint8_t message[128], quote[64] = { 0 };
	IpPacket ip = { .src = l->us, .dst = l->peer, .proto = udp ? IP_PROTO_UDP : IP_PROTO_TCP, .ttl = 1 };
	Writer w = writer(message, sizeof message);
	uint8_t type = cur_u8(c), code = cur_u8(c);
	uint16_t mtu = cur_be16(c), off = cur_be16(c), len = cur_be16(c);
	size_t hdr = ip_packet_write(&ip, len, quote);

	put_be16(quote + hdr, udp || !l->passive ? LIVE_SPORT : LIVE_PORT);
	put_be16(quote + hdr + 2, LIVE_PORT);
	put_be32(quote + hdr + 4, (l->c ? l->c->snd_una : 0) + (uint32_t)(int16_t)off);
	wr_u8(&w, type % 16);
	wr_u8(&w, code % 16);
	wr_be16(&w, 0);
	wr_be32(&w, mtu);
	wr_bytes(&w, BYTES(quote, hdr + 8));
	input_icmp(l, wr_done(&w));
}

static void one(Live *l, Cursor *c)
{
	uint8_t op = cur_u8(c);
	size_t n = cur_u8(c);

	if ((op & 7) < 3)
		error_about(l, c, op & 4);
	else if ((op & 7) == 3)
		input_icmp(l, cur_bytes(c, n < cur_left(c) ? n : cur_left(c)));
	else if ((op & 7) == 4)
		dgram_send(l->d, BYTES(memory, n * 16));
	else if ((op & 7) == 5)
		live_write(l, n * 32);
	else if ((op & 7) == 6)
		error_about(l, c, true);
	else if (stack_wake_ns(l->s) != STACK_NEVER && stack_wake_ns(l->s) > l->now_ns)
		live_advance(l, stack_wake_ns(l->s) - l->now_ns);
}

static void check_mtus(const Live *l)
{
	uint32_t least = l->us.v == 6 ? PMTU_LEAST_V6 : PMTU_LEAST_V4;

	must(l->d->mtu >= least && l->d->mtu <= LIVE_MTU);
	must(!l->c || (l->c->mtu >= least && l->c->mtu <= LIVE_MTU));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Cursor c = cursor(BYTES(data, size));

	live_start(&live, memory, cur_u8(&c));
	live.d = dgram_open(live.s, live.now_ns, &(DgramOpen){ .src = live.us,
								 .dst = live.peer,
								 .sport = LIVE_SPORT,
								 .dport = LIVE_PORT,
								 .mtu = LIVE_MTU,
								 .ttl = 64 });
	must(live.d);
	bool up = live.c && live.c->was_open;
	for (int i = 0; i < 200 && cur_left(&c) >= 2; i++) {
		one(&live, &c);
		live_check(&live);
		check_mtus(&live);
		/* RFC 5927 4.2: only the peer's silence or the peer itself ends it */
		must(!up || live.c->error != TCP_ERR_UNREACHABLE || live.c->backoff || live.c->state == TCP_CLOSED);
	}
	return 0;
}
