/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORLD_BYTES = 64 * 1024 * 1024 };

void fail(World *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, sizeof w->why, fmt, ap);
	va_end(ap);
	longjmp(w->fail, 1);
}

/* Bytes of both streams are a function of their place; another salt makes other bytes. */
uint8_t pattern(uint64_t off, unsigned salt)
{
	return (uint8_t)(off * 31 + (off >> 8) * 7 + salt);
}

static void forget_queue(World *w)
{
	for (uint32_t i = 0; i < w->q_n; i++)
		free(w->queue[w->q_from + i].b);
	w->q_from = w->q_n = 0;
}

void world_begin(World *w)
{
	StackConfig cfg = { .seed = 1, .max_bytes = WORLD_BYTES / 2 };
	uint8_t *memory = w->memory ? w->memory : malloc(WORLD_BYTES);
	const char *file = w->file;

	forget_queue(w);
	memset(w, 0, sizeof *w);
	w->file = file;
	w->memory = memory;
	arena_init(&w->arena, memory, WORLD_BYTES, NULL);
	/* Whatever was there before must not matter. */
	w->arena.dirty = WORLD_BYTES;
	w->s = stack_new(&w->arena, &cfg);
	w->ours = ip4(0xc0000201);
	w->peer = ip4(0xc6336407);
	w->our_port = 40000;
	w->peer_port = 80;
	w->peer_isn = 1000000;
	w->unsent_next = -1;
	w->now_ns = WORLD_EPOCH;
	w->open = (TcpOpen){ .mtu = 1500, .wscale = WSCALE_NONE, .window = 65535, .log = true };
}

void world_check(World *w)
{
	const char *bad = w->c && !w->gone ? tcp_check(w->c) : NULL;

	w->checks++;
	if (bad)
		fail(w, "invariant: %s", bad);
}

static void frame(World *w, const StackOut *out)
{
	Left *l = &w->queue[w->q_from + w->q_n];

	if (w->q_from + w->q_n >= MAX_QUEUE)
		fail(w, "the stack sends without end");
	*l = (Left){ .ns = w->now_ns, .tag = out->tag, .purpose = out->purpose, .n = (uint32_t)out->packet.n };
	l->b = malloc(l->n);
	memcpy(l->b, out->packet.p, l->n);
	w->q_n++;
	if (w->unsent_next >= 0) {
		stack_notsent(w->s, out->tag, (StackUnsent)w->unsent_next);
		w->unsent_next = -1;
		free(l->b);
		w->q_n--;
	} else if (w->hold) {
		if (w->n_held == sizeof w->held / sizeof *w->held)
			fail(w, "too many frames held");
		w->held[w->n_held++] = out->tag;
	} else {
		stack_sent(w->s, out->tag, w->now_ns);
	}
}

void world_pull(World *w)
{
	StackOut out;

	while (stack_pull(w->s, w->now_ns, &out)) {
		world_check(w);
		frame(w, &out);
		world_check(w);
	}
}

void world_until(World *w, int64_t ns)
{
	world_pull(w);
	for (int64_t at; (at = stack_wake_ns(w->s)) <= ns;) {
		w->now_ns = at > w->now_ns ? at : w->now_ns;
		stack_advance(w->s, w->now_ns);
		world_check(w);
		world_pull(w);
	}
	w->now_ns = ns;
}

Left *world_left(World *w)
{
	if (!w->q_n)
		return NULL;
	w->q_n--;
	return &w->queue[w->q_from++];
}

void world_input(World *w, Bytes packet, bool csum_good)
{
	StackRx rx = { .csum_good = csum_good };

	w->verdict = stack_input(w->s, w->now_ns, packet, &rx);
	world_check(w);
}
