/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of those who may ask: a text that passes is rows to its end, one policy a name.
 */
#include "deal/keys.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_rows(Str text)
{
	Str rest = text;
	KeyRow r, other;
	int n;

	while ((n = keys_next(&rest, &r)) == 1) {
		Str all = text;

		need(keys_name_ok(r.name) && r.name.p >= text.p && r.name.p + r.name.n <= text.p + text.n);
		need(r.by_subject ? r.subject.n > 0 : r.subject.n == 0);
		need(r.policy.n == 0 || r.policy.p[0] == '/');
		need(!r.until || (r.until >= 20000101 && r.until <= 99991231));
		while (keys_next(&all, &other) == 1)
			need(!str_eq(r.name, other.name) || str_eq(r.policy, other.policy));
	}
	need(n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	const char *why = NULL;
	unsigned line = 0;

	if (!copy || size > 4096) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	if (keys_check((Str){ copy, size }, &line, &why))
		check_rows((Str){ copy, size });
	else
		need(why && line >= 1);
	free(copy);
	return 0;
}
