/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames from the network: whose they are is decided without reading beyond them,
 * and what is held comes back whole.  The first byte says whether it has an
 * Ethernet header.
 */
#include "gate/test_lab.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20];
static Lab lab;
static size_t mark;

static void setup(void)
{
	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", "spoof 10.0.0.77 max=20000");
	lab_program(&lab, "spoof 10.0.0.77;emit 10.0.0.2 udp 9");
	if (!lab_make(&lab))
		abort();
	mark = arena_mark(&lab.a);
}

static void sent(const Scene *s)
{
	const FlowTuple tuples[] = { { s->us4, s->peer4, 17, s->sport, 9 }, { s->us4, s->peer4, 6, s->sport, 80 },
				     { s->us4, s->peer4, 1, s->id, 0 }, { s->us6, s->peer6, 58, s->id, 0 },
				     { s->us4, s->peer4, 0, 0, 0 }, { s->us6, s->peer6, 0, 0, 0 },
				     { lab_ip("10.0.0.77"), s->peer4, 17, 5, 9 } };

	for (size_t i = 0; i < sizeof tuples / sizeof tuples[0]; i++)
		flows_sent(&lab.flows, &tuples[i], tuples[i].proto == 6, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Scene s = lab_scene();
	Bytes frame, meta;
	bool ether;

	if (!lab.r)
		setup();
	if (size == 0)
		return 0;
	arena_reset(&lab.a, mark);
	lab_start(&lab);
	sent(&s);
	for (int twice = 0; twice < 2; twice++) {
		FlowVerdict v = flows_received(&lab.flows, BYTES(data + 1, size - 1), data[0] & 1, BYTES("meta", 4));

		if (v > FLOW_HOLD)
			abort();
		while (flows_released(&lab.flows, &frame, &ether, &meta))
			if (!bytes_eq(frame, BYTES(data + 1, size - 1)) || memcmp(meta.p, "meta", 4) != 0)
				abort();
		(void)flows_may_quote(&lab.flows, BYTES(data + 1, size - 1));
	}
	return 0;
}
