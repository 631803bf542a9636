/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting packets: the first two bytes are the MTU.  Pieces fit and, put side by
 * side, are the packet's body.
 */
#include "wire/fuzz_check.h"

static void check_pieces(Bytes packet, const Bytes *piece, uint32_t n, uint32_t mtu)
{
	size_t body = 0;

	for (uint32_t i = 0; i < n; i++) {
		must(piece[i].n <= mtu);
		if (packet.p[0] >> 4 == 4)
			body += piece[i].n - (piece[i].p[0] & 15u) * 4u;
	}
	must(packet.p[0] >> 4 == 6 || body == packet.n - (packet.p[0] & 15u) * 4u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	Bytes *piece = NULL;
	uint32_t n = 0;

	if (size < 2 || size > LIMIT_FRAME)
		return 0;
	Bytes packet = BYTES(data + 2, size - 2);
	uint32_t mtu = get_be16(data);

	arena_init(&a, memory, sizeof memory, NULL);
	if (!wire_fragment(packet, mtu, 1, &a, &piece, &n))
		check_pieces(packet, piece, n, mtu);
	return 0;
}
