/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>
#include <sys/mman.h>

static const size_t memory_bytes = (size_t)64 << 20;
enum { ASK_NS = 10000, START_S = 1000000 };

Host *host_new(void)
{
	Host *h = calloc(1, sizeof *h);
	void *m = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!h || m == MAP_FAILED)
		abort();
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->moved, NULL);
	pthread_cond_init(&h->settled, NULL);
	h->main = pthread_self();
	arena_init_zeroed(&h->arena, m, memory_bytes, NULL);
	h->s = stack_new(&h->arena, &(StackConfig){ .seed = 1, .max_bytes = memory_bytes - (1 << 20) });
	h->now_ns = START_S * INT64_C(1000000000);
	return h;
}

void host_free(Host *h)
{
	for (; h->count; h->count--, h->from = (h->from + 1) % HOST_PACKETS)
		free(h->out[h->from].p);
	munmap(h->arena.base, memory_bytes);
	free(h);
}

static void take_packets(Host *h)
{
	StackOut out;

	while (h->count < HOST_PACKETS && stack_pull(h->s, h->now_ns, &out)) {
		HostPacket *k = &h->out[(h->from + h->count++) % HOST_PACKETS];

		*k = (HostPacket){ h->now_ns, out.packet.n, malloc(out.packet.n) };
		if (!k->p)
			abort();
		memcpy(k->p, out.packet.p, out.packet.n);
		stack_sent(h->s, out.tag, h->now_ns);
	}
}

/* Blocked calls look one round each; then time may go on, unless one of them leaves. */
static void let_look(Host *h)
{
	h->round++;
	h->looked = 0;
	pthread_cond_broadcast(&h->moved);
	while (h->looked < h->waiting || h->leaving)
		pthread_cond_wait(&h->settled, &h->lock);
}

void host_moved(Host *h)
{
	take_packets(h);
	if (h->waiting && pthread_equal(pthread_self(), h->main))
		let_look(h);
}

void host_advance(Host *h, int64_t ns)
{
	for (int64_t wake; (wake = stack_wake_ns(h->s)) <= ns;) {
		if (wake > h->now_ns)
			h->now_ns = wake;
		stack_advance(h->s, h->now_ns);
		host_moved(h);
	}
	if (ns > h->now_ns)
		h->now_ns = ns;
}

void host_wait(Host *h)
{
	uint64_t seen = h->round;

	h->waiting++;
	h->looked++;
	pthread_cond_signal(&h->settled);
	while (h->round == seen)
		pthread_cond_wait(&h->moved, &h->lock);
	h->waiting--;
}

void host_leave(Host *h)
{
	h->leaving = true;
	pthread_cond_signal(&h->settled);
}

int64_t host_ask_time(Host *h)
{
	if (h->leaving && !pthread_equal(pthread_self(), h->main)) {
		h->leaving = false;
		pthread_cond_signal(&h->settled);
		return h->now_ns;
	}
	while (h->leaving)
		pthread_cond_wait(&h->settled, &h->lock);
	host_advance(h, h->now_ns + ASK_NS);
	return h->now_ns;
}
