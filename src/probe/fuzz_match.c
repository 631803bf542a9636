/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes and frames in any order: verdicts are consistent and nothing is read or
 * written where it should not be.
 *
 * The input is a list of [operation][length, 16 bits][bytes]: add a probe (whose
 * repetition is told by the operation's upper bits), match a frame, feed the
 * reassembler, drop, close.
 */
#include "probe/expert.h"
#include "probe/match.h"
#include "probe/reassemble.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 32 << 20 };

static const WireId firsts[] = { WIRE_ETHER, WIRE_IP, WIRE_IPV6, WIRE_ARP };

typedef struct Fuzz {
	Matcher *m;
	Expert *e;
	Reassembler *r;
	Warnings ws;
	uint64_t added;
	uint32_t answered;
} Fuzz;

static void judge(Fuzz *f, const PacketId *id)
{
	uint32_t n;
	const Match *m = matcher_match(f->m, id, &n);

	if (n == 0 || n > MATCH_MOST)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		const PacketId *probe = matcher_probe(f->m, m[i].probe);

		if ((m[i].verdict == VERDICT_UNSOLICITED) != (m[i].probe == 0) || m[i].probe > f->added)
			abort();
		if (m[i].verdict == VERDICT_ANSWER && ++f->answered > f->added)
			abort(); /* more first answers than probes */
		expert_match(f->e, probe, id, &m[i]);
	}
}

static void take(Fuzz *f, uint8_t op, Bytes packet, int64_t at)
{
	WireId first = firsts[op >> 3 & 3];
	Reassembled whole;
	PacketId id;

	if (!packet_id_read(packet, first, &id))
		return;
	if (id.packet.n > packet.n || id.body.n > id.packet.n || id.payload.n > id.packet.n)
		abort();
	expert_frame(f->e, &(ExpertFrame){ .id = &id,
					   .frame = packet,
					   .first = first,
					   .orig_len = (uint32_t)packet.n,
					   .mtu = 1500,
					   .computed = true,
					   .third_party = op & 0x20,
					   .from_link = op & 0x40,
					   .to_ours = op & 0x80 });
	if (!id.fragment)
		judge(f, &id);
	else if (reassemble(f->r, &id, at, &whole) &&
		 packet_id_read(whole.packet, id.v == 4 ? WIRE_IP : WIRE_IPV6, &id))
		judge(f, &id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *memory;
	Cursor c = cursor(BYTES(data, size));
	Arena a;
	Fuzz f = { 0 };

	if (!memory)
		memory = malloc(MEMORY);
	arena_init(&a, memory, MEMORY, NULL);
	f.m = matcher_new(&a);
	f.e = expert_new(&a, &f.ws);
	f.r = reassembler_new(&a, &f.ws);
	for (int64_t at = 0; cur_left(&c) >= 3; at += NS_PER_S) {
		uint8_t op = cur_u8(&c);
		size_t n = cur_be16(&c);
		Bytes b = cur_bytes(&c, n < cur_left(&c) ? n : cur_left(&c));
		uint64_t before = op & 0x80 && f.added ? f.added : 0;

		if ((op & 7) < 3)
			f.added = matcher_add(f.m, b, firsts[op >> 3 & 3], at > 0, before)
					  ? matcher_count(f.m)
					  : f.added;
		else if ((op & 7) == 6)
			matcher_drop(f.m, b.n ? b.p[0] : 0);
		else if ((op & 7) == 7)
			matcher_close(f.m);
		else
			take(&f, op, b, at);
	}
	return 0;
}
