/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/params.h"

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
