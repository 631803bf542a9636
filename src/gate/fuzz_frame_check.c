/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of a hostile engine: the check reads no byte beyond them, and what it
 * lets out goes where the rules say.  The first byte chooses kind and purpose.
 */
#include "gate/test_lab.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20];
static Lab lab;
static size_t mark;

static void setup(void)
{
	static const char text[] =
		"reach 0.0.0.0/0 tcp=80 udp=9,53,67,123,161,4754,4789,6081 icmp other=51 other=132 vlan=10 +icmp_error "
		"+nd +ra +arp_claim +dhcp +tunnel +fragments +options +broadcast;"
		"reach ::/0 tcp=80 udp=9,53,547 icmp other=51 +nd +ra +tunnel +fragments +options;"
		"deny 203.0.113.0/24;deny 2001:db8:bad::/48;zone acme.corp;spoof 10.0.0.77 max=20000;";

	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", text);
	lab_program(&lab, text);
	lab_program(&lab, "emit 10.0.0.2 udp 9 ether;budget packets=1000");
	if (!lab_make(&lab))
		abort();
	mark = arena_mark(&lab.a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const EmitKind kinds[] = { EMIT_IP4, EMIT_IP6, EMIT_ETHER, (EmitKind)77 };
	FrameVerdict v;
	Ip dst;

	if (!lab.r)
		setup();
	if (size == 0)
		return 0;
	arena_reset(&lab.a, mark);
	lab_start(&lab);
	FrameIn in = { .kind = kinds[data[0] & 3], .purpose = data[0] & 4 ? PURPOSE_CLEANUP : PURPOSE_PROBE,
		       .data = BYTES(data + 1, size - 1), .link = &lab.link };
	bool has_dst = frame_dst(in.kind, in.data, &dst);

	for (int twice = 0; twice < 2; twice++) {
		if (!frame_check(&lab.fc, &in, &v)) {
			if (v.reason == NOTSENT_NONE || !v.text[0])
				abort();
			continue;
		}
		/* what leaves has a destination in reach, or is for a neighbour that is */
		if (v.reason != NOTSENT_NONE || !has_dst || v.tuple.dst.v == 0)
			abort();
		if (v.tuple.proto && (!rules_peer(lab.r, v.tuple.dst) || !ip_eq(v.tuple.dst, dst)))
			abort();
		flows_sent(&lab.flows, &v.tuple, v.syn, v.to_many);
	}
	return 0;
}
