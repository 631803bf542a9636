/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads that a client may send: what was heard holds what http_head.h says of it.
 *
 * The input is lines, as on the wire: a request line, then names and values.
 */
#include "mcp/http_head.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Str until(Str *s, char c)
{
	const char *at = s->n ? memchr(s->p, c, s->n) : NULL;
	Str first = *s;

	if (at)
		first.n = (size_t)(at - s->p);
	*s = at ? (Str){ at + 1, s->n - first.n - 1 } : (Str){ s->p + s->n, 0 };
	return first;
}

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_heard(const HttpHead *h, const HttpRules *r)
{
	unsigned hosts = 0, lengths = 0;

	for (size_t i = 0; i < h->pairs; i++) {
		hosts += h->pair[i].name.n == 4 && strncasecmp(h->pair[i].name.p, "host", 4) == 0;
		lengths += h->pair[i].name.n == 14 && strncasecmp(h->pair[i].name.p, "content-length", 14) == 0;
		need(!(h->pair[i].name.n == 17 && strncasecmp(h->pair[i].name.p, "transfer-encoding", 17) == 0));
		need(!memchr(h->pair[i].value.p, 0, h->pair[i].value.n) && !memchr(h->pair[i].value.p, '\r', h->pair[i].value.n));
	}
	need(hosts == 1 && lengths <= 1 && h->length <= r->most_body);
	need(h->verb_id == HTTP_POST ? lengths == 1 : h->length == 0);
	need(!h->field[HTTP_ORIGIN].p || h->foreign_origin || memmem(h->field[HTTP_ORIGIN].p, h->field[HTTP_ORIGIN].n, "://", 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = { "localhost", "[::1]", "a.example:443", NULL };
	static const char *const origins[] = { "https://b.example", NULL };
	const HttpRules r = { .host = hosts, .origin = origins, .most_body = 1 << 20 };
	char *copy = malloc(size + 1);
	HttpPair *pair = calloc(HTTP_HEADERS + 2, sizeof *pair);
	const char *why = NULL;

	if (!copy || !pair)
		abort();
	memcpy(copy, data, size);
	Str rest = { copy, size }, line = until(&rest, '\n');
	HttpHead h = { .verb = until(&line, ' '), .path = until(&line, ' '), .version = line, .pair = pair };

	while (rest.n && h.pairs < HTTP_HEADERS + 2) {
		Str value = until(&rest, '\n'), name = until(&value, ':');

		pair[h.pairs++] = (HttpPair){ name, value };
	}
	h.bytes = h.verb.n + h.path.n + h.version.n + 6;
	for (size_t i = 0; i < h.pairs; i++)
		h.bytes += pair[i].name.n + pair[i].value.n + 4;
	int status = http_head_check(&h, &r, &why);

	if (!status)
		status = http_body_check(&h, &r, &why);
	need(!status == !why);
	if (!status)
		check_heard(&h, &r);
	Str bearer = http_bearer(h.field[HTTP_AUTHORIZATION]);

	need(!bearer.n || (bearer.p >= copy && bearer.p + bearer.n <= copy + size));
	free(pair);
	free(copy);
	return 0;
}
