/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames: the first byte says with which header they start.
 */
#include "wire/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const WireId first[] = { WIRE_ETHER, WIRE_IP, WIRE_IPV6, WIRE_ARP };
	Arena a;
	WirePacket p;

	if (size == 0)
		return 0;
	Bytes frame = BYTES(data + 1, size - 1);

	arena_init(&a, memory, sizeof memory, NULL);
	wire_parse(frame, first[data[0] % 4], &a, &p);
	check_accounts(&p, frame);
	check_reads(&p, &a);
	check_again(&p, frame, &a);
	return 0;
}
