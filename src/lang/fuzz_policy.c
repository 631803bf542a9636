/* SPDX-License-Identifier: Apache-2.0
 *
 * Policy files: what is read of one is encoded and decoded again to the same bytes, so
 * that what a stranger's file says has one meaning for all processes.
 */
#include "lang/decl.h"

#include "deal/manifest_codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20], once[1 << 20], twice[1 << 20];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Writer first = writer(once, sizeof once), second = writer(twice, sizeof twice);
	Decls d = { 0 }, again = { 0 };
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	DiagList diags = { .a = &a };

	if (!decl_policy((Str){ (const char *)data, size }, &a, &diags, &d) || !decls_encode(&d, &first))
		return 0;
	if (decls_decode(wr_done(&first), &a, &again) || !decls_encode(&again, &second))
		abort();
	if (first.n != second.n || memcmp(once, twice, first.n) != 0)
		abort();
	return 0;
}
