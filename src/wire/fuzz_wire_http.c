/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server answers: however its bytes are cut, the same is read.  And URLs, as a
 * program writes them and as a server's Location names them: what is read reads again.
 */
#include "wire/http.h"
#include "wire/url.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[2][32 << 20];

typedef struct Read {
	HttpParser p;
	Arena a;
	uint64_t hash;
	size_t n;
} Read;

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void read_all(Read *r, void *mem, Bytes in, size_t piece, bool head_only)
{
	arena_init(&r->a, mem, sizeof memory[0], NULL);
	http_init(&r->p, &r->a, head_only);
	r->hash = r->n = 0;
	for (size_t at = 0, used; at < in.n && http_goes_on(&r->p); at += used) {
		Bytes b;

		used = http_feed(&r->p, bytes_slice(in, at, at + piece), &b);
		must(used > 0);
		for (size_t i = 0; i < b.n; i++)
			r->hash = r->hash * 31 + b.p[i];
		r->n += b.n;
	}
	if (http_goes_on(&r->p))
		http_eof(&r->p);
}

static void same(const Read *a, const Read *b)
{
	must(a->p.state == b->p.state && a->p.status == b->p.status && a->n == b->n && a->hash == b->hash);
	must(a->p.field.n == b->p.field.n && a->p.field.n <= HTTP_FIELDS_MOST);
	for (uint32_t i = 0; i < a->p.field.n; i++)
		must(str_eq(a->p.field.p[i].value, b->p.field.p[i].value) && http_token(a->p.field.p[i].name) &&
		     http_value(a->p.field.p[i].value));
}

static void urls(Str s, Arena *a)
{
	Url base, u, again;

	must(!url_parse(STR("https://a.b:8443/c/d?e"), &base));
	if (url_parse(s, &u) && url_resolve(&base, s, a, &u))
		return;
	Str text = str_printf(a, "%s://%.*s%.*s", u.tls ? "https" : "http", STR_ARG(u.authority), STR_ARG(u.target));
	must(!url_parse(text, &again));
	must(str_eq(again.host, u.host) && again.port == u.port && again.tls == u.tls && str_eq(again.target, u.target));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Read whole, cut;

	if (size < 2)
		return 0;
	Bytes in = BYTES(data + 1, size - 1);
	read_all(&whole, memory[0], in, in.n, data[0] & 1);
	read_all(&cut, memory[1], in, 1 + (data[0] >> 1), data[0] & 1);
	same(&whole, &cut);
	urls((Str){ (const char *)in.p, in.n }, &whole.a);
	return 0;
}
