/* SPDX-License-Identifier: Apache-2.0
 *
 * What lib's http needs of C: URLs by their parts, a request's head, an answer off a
 * connection.  The verb itself, its strategy and its result are Sonde (lib/http.sonde).
 */
#include "vm/live_tls.h"

#include "vm/inside.h"
#include "wire/http.h"
#include "wire/url.h"

enum { HTTP_PIECE = 16 * 1024, BODY_MOST = 16 * 1024 * 1024, INT_TEXT = 24 };

/* ---- names and URLs ---- */

/* The checker put it into the manifest. */
bool bi_said(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	(void)vm;
	(void)n;
	*ret = args[0];
	return true;
}

/* The checker has read it before; what it did not see is a run-time error. */
static bool url_of(Vm *vm, Value v, Url *ret)
{
	Str s;

	if (!vm_to_str(vm, v, &s))
		return false;
	const char *fault = url_parse(s, ret);

	return !fault || vm_fail(vm, "E-VALUE", "\"%.*s\": a URL %s", STR_ARG(s), fault);
}

bool bi_url_host(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url u;

	(void)n;
	if (!url_of(vm, args[0], &u))
		return false;
	*ret = vm_str(vm, u.host);
	return true;
}

bool bi_url_port(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url u;

	(void)n;
	if (!url_of(vm, args[0], &u))
		return false;
	*ret = val_int(u.port);
	return true;
}

bool bi_url_tls(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url u;

	(void)n;
	if (!url_of(vm, args[0], &u))
		return false;
	*ret = val_bool(u.tls);
	return true;
}

bool bi_url_target(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url u;

	(void)n;
	if (!url_of(vm, args[0], &u))
		return false;
	*ret = vm_str(vm, u.target);
	return true;
}

/* (url, name) */
bool bi_url_authority(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Str name;
	Url u;

	(void)n;
	if (!url_of(vm, args[0], &u) || !vm_to_str(vm, args[1], &name))
		return false;
	if (!name.n)
		*ret = vm_str(vm, u.authority);
	else if (u.port == (u.tls ? 443 : 80))
		*ret = vm_str(vm, name);
	else
		*ret = vm_str(vm, str_printf(vm_scratch(vm), "%.*s:%u", STR_ARG(name), u.port));
	return true;
}

/* Where a Location leads: (url, target, location).  False: an error; *ret_leads false: it
 * is no URL of http. */
static bool location_of(Vm *vm, const Value *args, Url *ret_from, Url *ret_to, bool *ret_leads)
{
	Str target, location;

	if (!url_of(vm, args[0], ret_from) || !vm_to_str(vm, args[1], &target) || !vm_to_str(vm, args[2], &location))
		return false;
	ret_from->target = target;
	*ret_leads = !url_resolve(ret_from, location, vm_scratch(vm), ret_to);
	return true;
}

static bool same_host(const Url *a, const Url *b)
{
	return a->is_ip == b->is_ip && (a->is_ip ? ip_eq(a->ip, b->ip) : http_name_eq(a->host, b->host));
}

bool bi_url_moved(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url from, to;
	bool leads;

	(void)n;
	if (!location_of(vm, args, &from, &to, &leads))
		return false;
	if (leads && from.tls == to.tls && from.port == to.port && same_host(&from, &to))
		*ret = vm_str_peer(vm, to.target);
	return true;
}

bool bi_url_upgrade(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Url from, to;
	bool leads;

	(void)n;
	if (!location_of(vm, args, &from, &to, &leads))
		return false;
	*ret = val_bool(leads && !from.tls && to.tls && to.port == 443 && same_host(&from, &to) &&
			str_eq(from.target, to.target));
	return true;
}

/* ---- a request ---- */

/* Fields that the verb itself writes, in the order in which they stand; a program's own
 * takes the place of one that is not framing. */
static const struct {
	const char *name, *value; /* NULL: written in any case, a program may not */
} own_fields[] = {
	{ "Host", NULL },	    { "Content-Length", NULL },	    { "Transfer-Encoding", NULL },
	{ "Connection", NULL },	    { "User-Agent", "sonde" },	    { "Accept", "*/*" },
};

enum { OWN_FIELDS = sizeof own_fields / sizeof *own_fields };

/* The fields of a program; given[]: which of ours it gives. */
static bool put_given(Vm *vm, Value headers, Sb *out, bool given[OWN_FIELDS])
{
	ObjDict *d = val_dict(headers);
	uint32_t at = 0;
	Str name, value;

	for (DictEntry *e; (e = dict_next(d, &at));) {
		if (!vm_to_str(vm, e->k, &name) || !vm_to_str(vm, e->v, &value))
			return false;
		if (!http_token(name) || !http_value(value))
			return vm_fail(vm, "E-VALUE", "a field of a request has a name or value that none can have");
		for (size_t i = 0; i < OWN_FIELDS; i++) {
			if (!http_name_eq(name, str_c(own_fields[i].name)))
				continue;
			if (!own_fields[i].value)
				return vm_fail(vm, "E-VALUE", "%s is http's own field: it follows from url, name and body",
					       own_fields[i].name);
			given[i] = true;
		}
		sb_printf(out, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value));
	}
	return true;
}

/* RFC 9110 8.6: a method that has a body says how long it is, also if that is 0. */
static bool has_length(Str method, int64_t length)
{
	return length || str_is(method, "POST") || str_is(method, "PUT") || str_is(method, "PATCH");
}

/* Letters, digits and what stands in addresses and ports: nothing that ends a field. */
static bool host_ok(Str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!alnum && (c == 0 || !strchr("-._:[]", c)))
			return false;
	}
	return s.n;
}

/* (method, target, host, headers, length) */
bool bi_http_head(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Sb out = sb(vm_scratch(vm)), given_text = sb(vm_scratch(vm));
	bool given[OWN_FIELDS] = { false };
	Str method, target, host;
	int64_t length;

	(void)n;
	if (!vm_to_str(vm, args[0], &method) || !vm_to_str(vm, args[1], &target) || !vm_to_str(vm, args[2], &host) ||
	    !put_given(vm, args[3], &given_text, given) || !vm_to_int(vm, args[4], &length))
		return false;
	if (!http_token(method) || str_is(method, "CONNECT"))
		return vm_fail(vm, "E-VALUE", "a method is a word: GET, HEAD, POST, ...");
	if (!target.n || target.p[0] != '/' || !http_value(target) || memchr(target.p, ' ', target.n) || !host_ok(host))
		return vm_fail(vm, "E-VALUE", "a request needs a path and the name of a host, without blanks and control characters");
	sb_printf(&out, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", STR_ARG(method), STR_ARG(target), STR_ARG(host));
	for (size_t i = 0; i < OWN_FIELDS; i++)
		if (own_fields[i].value && !given[i])
			sb_printf(&out, "%s: %s\r\n", own_fields[i].name, own_fields[i].value);
	sb_str(&out, sb_done(&given_text));
	if (has_length(method, length))
		sb_printf(&out, "Content-Length: %lld\r\n", (long long)length);
	sb_cstr(&out, "Connection: close\r\n\r\n");
	*ret = vm_bytes(vm, str_bytes(sb_done(&out)));
	return true;
}

/* ---- an answer ---- */

typedef struct Reading {
	Engine *e;
	Live *l;
	HttpParser p;
	uint8_t *body;
	size_t n, max;
	int64_t began_ns, first_ns, last_ns;
	bool late, too_long;
} Reading;

static void keep(Reading *r, Bytes b)
{
	if (b.n > r->max - r->n) {
		b.n = r->max - r->n;
		r->too_long = true;
	}
	if (b.n)
		memcpy(r->body + r->n, b.p, b.n);
	r->n += b.n;
}

/* All that is there now. */
static void parse(Reading *r)
{
	uint8_t buf[HTTP_PIECE];
	size_t n;

	while (http_goes_on(&r->p) && !r->too_long && (n = live_take(r->e, r->l, buf, sizeof buf))) {
		Bytes in = BYTES(buf, n), body;

		r->last_ns = r->e->now_ns;
		if (r->first_ns == NS_NONE)
			r->first_ns = r->last_ns;
		while (in.n && http_goes_on(&r->p) && !r->too_long) {
			size_t used = http_feed(&r->p, in, &body);

			keep(r, body);
			in = bytes_slice(in, used, in.n);
		}
	}
	engine_conn_run(r->e); /* the window may be worth telling */
}

/* Until it is whole, cut, too long or late.  False: the run has ended. */
static bool read_answer(Reading *r, int64_t timeout_ns)
{
	if (!engine_refresh(r->e))
		return false;
	r->began_ns = r->e->now_ns;
	int64_t until = ns_later(r->began_ns, timeout_ns);

	for (;;) {
		if (!live_pump(r->e, r->l))
			return false;
		parse(r);
		if (!http_goes_on(&r->p) || r->too_long)
			return true;
		if (live_ended(r->l) && !live_readable(r->l)) {
			http_eof(&r->p);
			return true;
		}
		r->late = r->e->now_ns >= until;
		if (r->late)
			return true;
		if (!engine_step(r->e, until))
			return false;
	}
}

/* "content-type" as "Content-Type": a program looks a field up by one name. */
static Str field_name(Vm *vm, Str s)
{
	char *p = arena_copy(vm_scratch(vm), s.p, s.n);

	for (size_t i = 0; i < s.n; i++) {
		bool first = i == 0 || p[i - 1] == '-';

		if (first && p[i] >= 'a' && p[i] <= 'z')
			p[i] = (char)(p[i] - 32);
		else if (!first && p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (char)(p[i] + 32);
	}
	return (Str){ p, s.n };
}

/* RFC 9110 5.3: fields of one name are one field, their values joined by commas. */
static bool headers_value(Vm *vm, const HttpParser *p, Value *ret)
{
	ObjDict *d = dict_make(vm, VAL_DICT);

	for (uint32_t i = 0; i < p->field.n; i++) {
		Value k = vm_str_peer(vm, field_name(vm, p->field.p[i].name)), v = vm_str_peer(vm, p->field.p[i].value);
		DictEntry *e = NULL;
		Str was, now;

		if (!dict_find(vm, d, k, &e))
			return false;
		if (e) {
			if (!vm_to_str(vm, e->v, &was) || !vm_to_str(vm, v, &now))
				return false;
			v = vm_str_peer(vm, str_printf(vm_scratch(vm), "%.*s, %.*s", STR_ARG(was), STR_ARG(now)));
		}
		if (!dict_put(vm, d, k, v))
			return false;
	}
	*ret = val_of(d);
	return true;
}

static const char *why_not_whole(const Reading *r)
{
	if (r->p.error)
		return r->p.error;
	if (r->too_long)
		return "the body is longer than max";
	if (r->late)
		return http_has_head(&r->p) ? "the answer was not whole in time" : "no answer came in time";
	return NULL;
}

#define REPLY_FIELD(name) p[A_HTTPREPLY_##name - A_HTTPREPLY_status]

static bool reply(Vm *vm, const Reading *r, Value *ret)
{
	ObjResult *o = vm_result(vm, OWNER_HTTPREPLY);
	const char *why = why_not_whole(r);
	Value *p = o->p;

	if (http_has_head(&r->p)) {
		REPLY_FIELD(status) = val_int(r->p.status);
		REPLY_FIELD(reason) = vm_str_peer(vm, r->p.reason);
	}
	if (!headers_value(vm, &r->p, &REPLY_FIELD(headers)))
		return false;
	REPLY_FIELD(body) = vm_bytes_peer(vm, BYTES(r->body, r->n));
	REPLY_FIELD(error) = why ? vm_str(vm, str_c(why)) : val_none();
	REPLY_FIELD(first_byte) = val_duration(r->first_ns == NS_NONE ? NS_NONE : r->first_ns - r->began_ns);
	REPLY_FIELD(took) = val_duration(r->first_ns == NS_NONE ? NS_NONE : r->last_ns - r->began_ns);
	*ret = val_of(o);
	return true;
}

/* (c, method, max, timeout) */
bool bi_http_read(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Reading r = { .e = vm_ctx(vm), .l = live_self(args[0]), .first_ns = NS_NONE };
	int64_t max, timeout;
	Str method;

	(void)n;
	if (!vm_to_str(vm, args[1], &method) || !vm_to_int(vm, args[2], &max) || !vm_to_duration(vm, args[3], &timeout))
		return false;
	if (max < 0 || max > BODY_MOST)
		return vm_fail(vm, "E-VALUE", "max is 0..%d bytes", BODY_MOST);
	r.max = (size_t)max;
	r.body = heap_block(vm_heap(vm), r.max + 1);
	http_init(&r.p, vm_scratch(vm), str_is(method, "HEAD"));
	bool ok = read_answer(&r, timeout), made = ok && reply(vm, &r, ret);

	vm_charge(vm, r.n / 8);
	heap_free(vm_heap(vm), r.body, r.max + 1);
	return ok ? made : engine_halt(r.e, vm);
}
