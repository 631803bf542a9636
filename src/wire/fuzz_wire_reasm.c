/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments in any order, of a few packets of a few sources.
 *
 * The input is a list of [which][flags][offset / 8, 16 bits][length][first byte]: a piece
 * whose bytes count up from `first byte` plus its offset, so that pieces agree or not by
 * one byte.  A second, plain map of bytes says what may come out: nothing that overlapped,
 * and every byte as it came.
 */
#include "wire/fuzz_check.h"
#include "wire/reasm.h"

#include "base/units.h"

enum { IDS = 4, BODY = 65536, HEAD4 = 20, HEAD6 = 48 };

static uint8_t map[IDS][BODY];

static Bytes put_piece(uint8_t *p, uint8_t which, uint8_t ecn, uint32_t off, size_t n, uint8_t first)
{
	bool v6 = which & 1;
	size_t head = v6 ? HEAD6 : HEAD4;

	memset(p, 0, head);
	p[0] = v6 ? 0x60 : 0x45;
	p[1] = v6 ? (uint8_t)(ecn << 4) : ecn;
	if (v6)
		p[6] = 44;
	p[v6 ? 40 : 9] = 17;
	for (size_t i = 0; i < n; i++)
		p[head + i] = (uint8_t)(first + off + i);
	return BYTES(p, head + n);
}

static void check_whole(const Reassembled *r, uint8_t which)
{
	size_t head = which & 1 ? 40 : HEAD4;

	must(r->packet.n > head && r->n > 0 && r->n <= REASM_PIECES);
	for (size_t i = head; i < r->packet.n; i++)
		must(r->packet.p[i] == map[which][i - head]);
	if (which & 1)
		must(r->packet.p[6] == 17 && get_be16(r->packet.p + 4) == r->packet.n - 40);
	else
		must(wire_csum_fold(wire_csum(0, bytes_slice(r->packet, 0, HEAD4))) == 0);
}

static void *take(void *ctx, size_t bytes)
{
	return arena_alloc(ctx, bytes);
}

static void one(Reasm *r, Cursor *c, int64_t at_ns)
{
	static uint8_t bytes[HEAD6 + 255 * 8];
	uint8_t which = cur_u8(c) % IDS, flags = cur_u8(c);
	uint32_t off = (cur_be16(c) & 0x1fffu) * 8u;
	size_t n = (size_t)cur_u8(c) * (flags & 8 ? 8 : 1);
	uint8_t first = cur_u8(c);
	ReasmPiece p = { .src = { .v = which & 1 ? 6 : 4, .b = { 10, which } },
			 .dst = { .v = which & 1 ? 6 : 4, .b = { 10 } },
			 .proto = 17,
			 .ecn = flags & 3,
			 .more = flags & 4,
			 .id = which,
			 .off = off,
			 .packet = put_piece(bytes, which, flags & 3, off, n, first) };
	Reassembled whole;

	p.body = bytes_slice(p.packet, p.packet.n - n, p.packet.n);
	for (size_t i = 0; i < n && off + i < BODY; i++)
		map[which][off + i] = p.body.p[i];
	if (reasm_add(r, &p, at_ns, &whole))
		check_whole(&whole, which);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Cursor c = cursor(BYTES(data, size));
	Arena a;
	Reasm r;

	arena_init(&a, memory, sizeof memory, NULL);
	reasm_init(&r, &(ReasmConfig){ .packets = 3,
				       .per_source = 2,
				       .expire_ns = NS_PER_S,
				       .keep_pieces = size & 1,
				       .take = take,
				       .ctx = &a });
	for (int64_t at = 0; cur_left(&c) >= 6; at += NS_PER_MS) {
		one(&r, &c, at);
		must(reasm_wake_ns(&r) > at);
		if (data[0] & 64)
			reasm_expire(&r, at, false);
	}
	return 0;
}
