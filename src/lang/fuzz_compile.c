/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a hostile author through all passes, down to bytecode.
 */
#include "lang/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[256 << 20];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "def twice(x, n: int = 2):\n    return [x for i in range(n)]\n";
	const LibSource lib = { .name = STR("lib"), .text = STR(text) };
	Arena a;
	Compiled c;

	arena_init(&a, memory, sizeof memory, NULL);
	CompileIn in = { .a = &a, .name = STR("fuzz"), .text = { (const char *)data, size }, .lib = &lib, .nlib = 1 };

	compile(&in, &c);
	return 0;
}
