/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/http_head.h"

#define FIELD_NAME_(id, name) name,
static const char *const field_names[HTTP_FIELD_N] = { HTTP_FIELDS(FIELD_NAME_) };
#undef FIELD_NAME_

static bool same(Str a, const char *z)
{
	return str_same(a, str_c(z));
}

/* RFC 9110, 5.6.2. */
static bool is_token(Str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = ascii_lower(s.p[i]);

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (!c || !memchr("!#$%&'*+-.^_`|~", c, 15)))
			return false;
	}
	return s.n > 0;
}

static bool is_plain(Str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((uint8_t)s.p[i] < 32 ? s.p[i] != '\t' : s.p[i] == 127)
			return false;
	return true;
}

static Str trim(Str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (Str){ .p = s.p + 1, .n = s.n - 1 };
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

static bool any_field(HttpHead *h, const HttpPair *p, const char **ret_why)
{
	for (int f = 0; f < HTTP_FIELD_N; f++) {
		if (!same(p->name, field_names[f]))
			continue;
		if (h->field[f].p) {
			*ret_why = "a header stands there twice of which there is one";
			return false;
		}
		h->field[f] = (Str){ .p = p->value.p ? p->value.p : "", .n = p->value.n };
	}
	return true;
}

/* q=0, q=0.000 (RFC 9110, 12.4.2). */
static bool is_zero_weight(Str param)
{
	if (param.n < 3 || ascii_lower(param.p[0]) != 'q' || param.p[1] != '=')
		return false;
	for (size_t i = 2; i < param.n; i++)
		if (param.p[i] != '0' && (i != 3 || param.p[i] != '.'))
			return false;
	return true;
}

/* What an Accept header admits: types and ranges; a weight of 0 is a no. */
static void add_accepted(HttpHead *h, Str list)
{
	while (list.n) {
		Str item = str_until(&list, ','), type = trim(str_until(&item, ';'));
		bool no = false;

		while (item.n) {
			Str param = trim(str_until(&item, ';'));

			no = no || is_zero_weight(param);
		}
		if (no)
			continue;
		h->accepts_json = h->accepts_json || same(type, "application/json") || same(type, "application/*") || same(type, "*/*");
		h->accepts_stream = h->accepts_stream || same(type, "text/event-stream") || same(type, "text/*") || same(type, "*/*");
	}
}

static bool read_fields(HttpHead *h, const char **ret_why)
{
	bool accept = false;

	memset(h->field, 0, sizeof h->field);
	h->accepts_json = h->accepts_stream = false;
	if (h->pairs > HTTP_HEADERS) {
		*ret_why = "too many headers";
		return false;
	}
	for (size_t i = 0; i < h->pairs; i++) {
		const HttpPair *p = &h->pair[i];

		if (!is_token(p->name) || !is_plain(p->value)) {
			*ret_why = "a header's name or value has characters that it may not have";
			return false;
		}
		if (!any_field(h, p, ret_why))
			return false;
		if (same(p->name, "accept")) {
			accept = true;
			add_accepted(h, p->value);
		}
	}
	if (!accept) /* whoever says nothing takes anything */
		h->accepts_json = h->accepts_stream = true;
	return true;
}

/* [::1]:80, name:80: the name, lower or upper case as it came; *ret_port its port or
 * empty.  False: it is no such thing. */
static bool host_split(Str s, Str *ret_name, Str *ret_port)
{
	const char *end = s.n && s.p[0] == '[' ? memchr(s.p, ']', s.n) : NULL;
	size_t n = end ? (size_t)(end - s.p) + 1 : 0;

	*ret_port = (Str){ 0 };
	if (!end)
		while (n < s.n && s.p[n] != ':')
			n++;
	*ret_name = (Str){ .p = s.p, .n = n };
	if (n == 0 || (n < s.n && (s.p[n] != ':' || n + 1 == s.n)))
		return false;
	for (size_t i = n + 1; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	if (n < s.n)
		*ret_port = (Str){ .p = s.p + n + 1, .n = s.n - n - 1 };
	return true;
}

static bool host_allowed(Str value, const HttpRules *r)
{
	Str name, port, want, want_port;

	if (!host_split(value, &name, &port))
		return false;
	for (const char *const *p = r->host; p && *p; p++)
		if (host_split(str_c(*p), &want, &want_port) && str_same(name, want) &&
		    (!want_port.n || str_eq(want_port, port)))
			return true;
	return false;
}

/* Our own pages' origin is a scheme before the Host that was just allowed. */
static bool origin_allowed(HttpHead *h, const HttpRules *r)
{
	static const char *const schemes[] = { "http://", "https://" };
	Str o = h->field[HTTP_ORIGIN], host = h->field[HTTP_HOST];

	for (unsigned i = 0; i < 2; i++)
		if (str_starts(o, str_c(schemes[i])) && str_eq((Str){ o.p + strlen(schemes[i]), o.n - strlen(schemes[i]) }, host))
			return true;
	for (const char *const *p = r->origin; p && *p; p++)
		if (str_is(o, *p) && !same(o, "null")) {
			h->foreign_origin = true;
			return true;
		}
	return false;
}

static HttpVerb verb_of(Str s)
{
	static const struct {
		const char *name;
		HttpVerb verb;
	} verbs[] = { { "POST", HTTP_POST }, { "GET", HTTP_GET }, { "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_PREFLIGHT } };

	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (str_is(s, verbs[i].name))
			return verbs[i].verb;
	return HTTP_OTHER;
}

static HttpPlace place_of(Str path)
{
	if (str_is(path, HTTP_PATH))
		return HTTP_ENDPOINT;
	return str_is(path, HTTP_METADATA) || str_is(path, HTTP_METADATA HTTP_PATH) ? HTTP_ABOUT : HTTP_NOWHERE;
}

static int refuse(int status, const char **ret_why, const char *why)
{
	*ret_why = why;
	return status;
}

/* Two ways to tell where the body ends are how a request is hidden in another. */
static int check_length(HttpHead *h, const HttpRules *r, const char **ret_why)
{
	Str length = h->field[HTTP_CONTENT_LENGTH];
	uint64_t n = 0;

	h->length = 0;
	if (h->field[HTTP_TRANSFER_ENCODING].p)
		return length.p ? refuse(400, ret_why, "two lengths of one body") :
				  refuse(411, ret_why, "a body says its length beforehand, by Content-Length");
	if (!length.p)
		return h->verb_id == HTTP_POST ? refuse(411, ret_why, "a body says its length beforehand, by Content-Length") : 0;
	if (!str_to_u64(length, UINT64_MAX, &n))
		return refuse(400, ret_why, "Content-Length is no number");
	if (h->verb_id != HTTP_POST && n)
		return refuse(400, ret_why, "a body where there is none");
	if (n > r->most_body)
		return refuse(413, ret_why, "the body is too long");
	h->length = (size_t)n;
	return 0;
}

static bool is_written_plainly(const HttpHead *h)
{
	size_t n = h->verb.n + h->path.n + h->version.n + 4 + 2;

	for (size_t i = 0; i < h->pairs; i++)
		n += h->pair[i].name.n + h->pair[i].value.n + 4;
	return h->bytes >= n && h->bytes - n <= HTTP_SLACK;
}

int http_head_check(HttpHead *h, const HttpRules *r, const char **ret_why)
{
	h->verb_id = verb_of(h->verb);
	h->place = place_of(h->path);
	h->foreign_origin = false;
	if (!str_is(h->version, "HTTP/1.1") && !str_is(h->version, "HTTP/1.0"))
		return refuse(505, ret_why, "HTTP/1.1 is spoken here");
	if (!read_fields(h, ret_why))
		return 400;
	if (!is_written_plainly(h))
		return refuse(400, ret_why, "a head is lines of \"Name: value\", without a query, and nothing else");
	if (!h->field[HTTP_HOST].p)
		return refuse(400, ret_why, "no Host");
	if (!host_allowed(h->field[HTTP_HOST], r))
		return refuse(403, ret_why, "this Host is none of this server's names (sonde mcp --host)");
	if (h->field[HTTP_ORIGIN].p && !origin_allowed(h, r))
		return refuse(403, ret_why, "this Origin may not ask here (sonde mcp --origin)");
	if (!h->field[HTTP_ORIGIN].p && same(h->field[HTTP_FETCH_SITE], "cross-site"))
		return refuse(403, ret_why, "a page of another site may not ask here");
	if (h->place == HTTP_NOWHERE)
		return refuse(404, ret_why, "nothing is here: the endpoint is " HTTP_PATH);
	if (h->verb_id == HTTP_OTHER || (h->place == HTTP_ABOUT && h->verb_id != HTTP_GET && h->verb_id != HTTP_PREFLIGHT) ||
	    (h->verb_id == HTTP_PREFLIGHT && !h->foreign_origin))
		return refuse(405, ret_why, "no such method here");
	if (h->field[HTTP_EXPECT].p && !same(h->field[HTTP_EXPECT], "100-continue"))
		return refuse(417, ret_why, "nothing else than 100-continue can be expected");
	return check_length(h, r, ret_why);
}

/* application/json, with no charset but UTF-8. */
static bool is_json(Str type)
{
	if (!same(trim(str_until(&type, ';')), "application/json"))
		return false;
	while (type.n) {
		Str param = trim(str_until(&type, ';')), name = trim(str_until(&param, '='));

		param = trim(param);
		if (same(name, "charset") && !same(param, "utf-8") && !same(param, "\"utf-8\"") && !same(param, "utf8"))
			return false;
	}
	return true;
}

int http_body_check(HttpHead *h, const HttpRules *r, const char **ret_why)
{
	(void)r;
	if (h->verb_id == HTTP_GET && h->place == HTTP_ENDPOINT && !h->accepts_stream)
		return refuse(406, ret_why, "GET gives text/event-stream");
	if (h->verb_id != HTTP_POST)
		return 0;
	if (!is_json(h->field[HTTP_CONTENT_TYPE]))
		return refuse(415, ret_why, "Content-Type must be application/json");
	if (h->field[HTTP_CONTENT_ENCODING].p && !same(h->field[HTTP_CONTENT_ENCODING], "identity"))
		return refuse(415, ret_why, "no Content-Encoding");
	if (!h->accepts_json || !h->accepts_stream)
		return refuse(406, ret_why, "Accept must list application/json and text/event-stream");
	return 0;
}

Str http_bearer(Str authorization)
{
	Str s = authorization, scheme = str_until(&s, ' ');

	return same(scheme, "bearer") ? trim(s) : (Str){ 0 };
}
