/* SPDX-License-Identifier: Apache-2.0
 *
 * One protocol's decoder: the build makes a target for each file of the registry,
 * with FIRST_PROTO the first protocol in it.
 */
#include "wire/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	WirePacket p;
	Bytes bytes = BYTES(data, size);

	arena_init(&a, memory, sizeof memory, NULL);
	wire_parse(bytes, FIRST_PROTO, &a, &p);
	check_accounts(&p, bytes);
	check_reads(&p, &a);
	check_again(&p, bytes, &a);
	return 0;
}
