/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/params.h"

#include "base/escape.h"

#include "base/sort.h"

#include "cmd/cmd.h"

bool params_read(Arena *a, const OptList *l, const FactsParam **ret_p, uint32_t *ret_n)
{
	FactsParam *p = arena_new_n(a, FactsParam, l->n);

	for (unsigned i = 0; i < l->n; i++) {
		const char *eq = strchr(l->v[i], '=');

		if (!eq || eq == l->v[i]) {
			cmd_fail(0, "-p %s: write -p name=value", l->v[i]);
			return false;
		}
		p[i] = (FactsParam){ .name = { l->v[i], (size_t)(eq - l->v[i]) }, .value = str_c(eq + 1) };
	}
	*ret_p = p;
	*ret_n = l->n;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return bytes_cmp(str_bytes(((const FactsParam *)a)->name), str_bytes(((const FactsParam *)b)->name));
}

Str params_text(Arena *a, const FactsParam *p, uint32_t n)
{
	FactsParam *sorted = arena_new_n(a, FactsParam, n);
	Sb out = sb(a);

	for (uint32_t i = 0; i < n; i++)
		sorted[i] = p[i];
	sort_items(sorted, n, sizeof *sorted, by_name);
	for (uint32_t i = 0; i < n; i++) {
		escape_line(&out, sorted[i].name);
		sb_char(&out, '=');
		escape_peer(&out, str_bytes(sorted[i].value));
		sb_char(&out, '\n');
	}
	return sb_done(&out);
}
