/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP errors: quotes that end anywhere, extensions, label stacks.
 */
#include "wire/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	WirePacket p, q;
	WireMpls labels[4];

	if (size == 0)
		return 0;
	arena_init(&a, memory, sizeof memory, NULL);
	wire_parse(BYTES(data + 1, size - 1), data[0] & 1 ? WIRE_ICMP : WIRE_ICMPV6, &a, &p);
	if (wire_quoted(&p, &a, &q)) {
		check_accounts(&q, q.frame);
		check_reads(&q, &a);
	}
	(void)wire_icmp_mpls(&p, labels, 4);
	return 0;
}
