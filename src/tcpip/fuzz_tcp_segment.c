/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments, time and the owner's calls in any order on a live connection; after each, all
 * that must hold of it holds (tcp_check, fuzz_live.h).
 *
 * The input: how the connection begins, then a list of operations, one byte each with
 * arguments behind it.  Numbers of segments are offsets from what is expected, so that
 * most of them are near to what matters.
 */
#include "tcpip/fuzz_live.h"

static uint8_t memory[LIVE_MEMORY];
static Live live;

static uint32_t near(uint32_t from, uint16_t off)
{
	/* small steps, or large ones with the low bit set */
	return from + (uint32_t)(off & 1 ? (int16_t)off * 64 : (int16_t)off / 2);
}

static void op_segment(Live *l, Cursor *c)
{
	uint8_t flags = cur_u8(c);
	uint32_t rcv = l->c ? l->c->rcv_nxt : LIVE_IRS, una = l->c ? l->c->snd_una : l->iss;
	uint32_t seq = near(rcv, cur_be16(c)), ack = near(una, cur_be16(c));
	uint16_t window = cur_be16(c);
	uint8_t how = cur_u8(c);
	size_t payload = (size_t)(how & 15) * (how & 16 ? 97 : 1);
	uint8_t options[40] = { 0 };
	size_t n = how >> 5;

	/* the right time stamp first, then what the input says */
	memcpy(options, (const uint8_t[4]){ 1, 1, 8, 10 }, 4);
	put_be32(options + 4, 2 + (uint32_t)(l->now_ns / 1000000));
	put_be32(options + 8, l->c ? l->c->ts_offset + (uint32_t)(l->now_ns / 1000000) : 0);
	Bytes more = cur_bytes(c, n * 4 < cur_left(c) ? n * 4 : 0);
	if (more.n)
		memcpy(options + 12, more.p, more.n);
	live_input(l, live_segment(l, flags, seq, ack, window, BYTES(options, l->plain ? 0 : 12 + more.n), payload));
}

/* What a real peer would say: all that came is acknowledged. */
static void op_ack_all(Live *l, Cursor *c)
{
	uint8_t options[12] = { 1, 1, 8, 10 };

	if (!l->c)
		return;
	put_be32(options + 4, 2 + (uint32_t)(l->now_ns / 1000000));
	put_be32(options + 8, l->c->ts_offset + (uint32_t)(l->now_ns / 1000000));
	live_input(l, live_segment(l, F_ACK, l->c->rcv_nxt, l->c->snd_nxt, 65535, BYTES(options, l->plain ? 0 : 12),
				   cur_u8(c)));
}

static void op_raw(Live *l, Cursor *c)
{
	size_t n = cur_u8(c);
	Bytes b = cur_bytes(c, n < cur_left(c) ? n : cur_left(c));

	live_input(l, b);
}

static void op_write(Live *l, Cursor *c)
{
	live_write(l, (size_t)cur_u8(c) * 32);
}

static void op_read(Live *l, Cursor *c)
{
	live_read(l, (size_t)cur_u8(c) * 2);
}

static void op_time(Live *l, Cursor *c)
{
	live_advance(l, (int64_t)cur_be16(c) * 1000000);
}

/* To the next timer. */
static void op_timer(Live *l, Cursor *c)
{
	int64_t wake = stack_wake_ns(l->s);

	(void)c;
	if (wake != STACK_NEVER && wake > l->now_ns)
		live_advance(l, wake - l->now_ns);
}

static void op_close(Live *l, Cursor *c)
{
	(void)c;
	if (l->c)
		tcp_close(l->c, l->now_ns);
}

static void op_end(Live *l, Cursor *c)
{
	uint8_t how = cur_u8(c);

	if (!l->c)
		return;
	if (how & 1)
		tcp_reset(l->c, l->now_ns);
	if (how & 2) {
		tcp_release(l->c, l->now_ns);
		l->c = NULL;
	}
}

static void op_drop(Live *l, Cursor *c)
{
	l->drops = cur_u8(c);
}

static void op_auto_ack(Live *l, Cursor *c)
{
	uint8_t on = cur_u8(c) & 1;

	if (l->c)
		tcp_auto_ack(l->c, l->now_ns, on);
}

/* One made by hand leaves: at an odd place, with odd flags. */
static void op_craft(Live *l, Cursor *c)
{
	static uint8_t buf[2048];
	uint8_t payload[64];
	TcpCraft k = { .flags = cur_u8(c) };
	uint8_t which = cur_u8(c);

	if (!l->c)
		return;
	k.seq_set = which & 1;
	k.ack_set = which & 2;
	k.seq = near(l->c->snd_nxt, cur_be16(c));
	k.ack = near(l->c->rcv_nxt, cur_be16(c));
	k.payload = BYTES(payload, which >> 2);
	for (size_t i = 0; i < k.payload.n; i++)
		payload[i] = live_byte((k.seq_set ? k.seq : l->c->snd_nxt) + (uint32_t)i);
	size_t n = tcp_craft(l->c, l->now_ns, &k, buf, sizeof buf);
	l->crafted |= k.payload.n;
	if (n)
		tcp_crafted(l->c, l->now_ns, BYTES(buf, n), 100000000);
}

static void (*const ops[])(Live *, Cursor *) = {
	op_segment, op_segment, op_segment, op_segment, op_ack_all, op_ack_all, op_raw,	  op_write,
	op_write,   op_read,	op_time,    op_timer,	op_close,   op_end,	op_drop,  op_craft,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Cursor c = cursor(BYTES(data, size));

	live_start(&live, memory, cur_u8(&c));
	live_check(&live);
	for (int i = 0; i < 400 && cur_left(&c); i++) {
		uint8_t op = cur_u8(&c);

		if (op == 255)
			op_auto_ack(&live, &c);
		else
			ops[op & 15](&live, &c);
		live_check(&live);
	}
	return 0;
}
