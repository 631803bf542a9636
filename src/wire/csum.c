/* SPDX-License-Identifier: Apache-2.0
 *
 * The Internet checksum, RFC 1071: the one's complement of the one's complement
 * sum of all 16-bit words.  The sum is kept in 64 bits and folded late
 * (RFC 1071 2, "deferred carries"), 32 bits at a time (2, "parallel summation").
 */
#include "wire/wire.h"

static uint32_t fold32(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (uint32_t)sum;
}

uint32_t wire_csum(uint32_t sum, Bytes b)
{
	uint64_t s = sum;
	size_t i = 0;

	for (; i + 4 <= b.n; i += 4)
		s += get_be32(b.p + i);
	if (i + 2 <= b.n) {
		s += (uint64_t)get_be16(b.p + i) << 16;
		i += 2;
		if (i < b.n)
			s += (uint64_t)b.p[i] << 8;
	} else if (i < b.n) {
		s += (uint64_t)b.p[i] << 24;
	}
	return fold32(s);
}

uint16_t wire_csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
