/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters: text up to the first line end, behind it a frame.  What filter_text
 * writes must parse and mean the same.
 */
#include "probe/filter.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t memory[4 << 20];
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size;
	Bytes frame = bytes_slice(BYTES(data, size), n + 1, size);
	FilterError error;
	StackSet stacks;
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	const Filter *f = filter_parse((Str){ (const char *)data, n }, &a, &error);
	if (!f) {
		if (error.from > error.to || error.to > n || !error.message.n)
			abort();
		return 0;
	}
	filter_stacks(f, &stacks);
	Str text = filter_text(f, &a);
	const Filter *again = text.n <= LIMIT_FILTER_TEXT ? filter_parse(text, &a, &error) : f;
	if (!again || filter_match(f, frame, WIRE_ETHER) != filter_match(again, frame, WIRE_ETHER) ||
	    filter_match(f, frame, WIRE_IP) != filter_match(again, frame, WIRE_IP))
		abort();
	return 0;
}
