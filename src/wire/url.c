/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/url.h"

#include "base/hostname.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

static Str from(Str s, size_t n)
{
	return n >= s.n ? (Str){ s.p + s.n, 0 } : (Str){ s.p + n, s.n - n };
}

/* Where one of these characters stands first; s.n: nowhere. */
static size_t find_any(Str s, const char *set)
{
	size_t i = 0;

	while (i < s.n && !strchr(set, s.p[i]))
		i++;
	return i;
}

/* Case does not count in a scheme (RFC 3986 3.1); its small letters only here. */
static bool starts_nocase(Str s, const char *prefix)
{
	size_t n = strlen(prefix);

	for (size_t i = 0; i < n && i < s.n; i++)
		if ((s.p[i] | (prefix[i] >= 'a' ? 0x20 : 0)) != prefix[i])
			return false;
	return s.n >= n;
}

/* RFC 3986 2: what may stand in a URL at all. */
static bool clean(Str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 127 || strchr("\"<>\\^`{|}", s.p[i]))
			return false;
	return true;
}

/* A name may end in a dot here (RFC 3986 3.2.2). */
static const char *check_name(Str h)
{
	if (h.n && h.p[h.n - 1] == '.')
		h.n--;
	return host_name_fault(h) ? "has a host that is neither a name nor an address" : NULL;
}

static const char *read_host(Url *u)
{
	u->is_ip = ip_parse(u->host, &u->ip);
	return u->is_ip && u->ip.v == 4 ? NULL : check_name(u->host);
}

/* "host", "host:port", "[v6]:port" */
static const char *read_authority(Url *u, Str s)
{
	uint64_t port = u->tls ? PORT_HTTPS : PORT_HTTP, own = port;
	const char *fault;
	Str rest;

	if (memchr(s.p, '@', s.n))
		return "has a user name or password: those are not sent";
	if (s.n && s.p[0] == '[') {
		size_t end = find_any(s, "]");

		u->host = (Str){ s.p + 1, end - 1 };
		u->is_ip = true;
		if (end == s.n || !ip_parse(u->host, &u->ip) || u->ip.v != 6)
			return "has brackets around what is no IPv6 address";
		rest = from(s, end + 1);
	} else {
		size_t end = find_any(s, ":");

		u->host = (Str){ s.p, end };
		fault = read_host(u);
		if (fault)
			return fault;
		rest = from(s, end);
	}
	if (rest.n && (rest.p[0] != ':' || !str_to_u64(from(rest, 1), 65535, &port) || !port))
		return "has a port that is no number from 1 to 65535";
	u->port = (uint16_t)port;
	u->authority = port == own ? (Str){ s.p, s.n - rest.n } : s;
	return NULL;
}

const char *url_parse(Str s, Url *ret_url)
{
	Url u = { 0 };
	const char *fault;

	if (!clean(s))
		return "has a blank or a character that must be percent-encoded";
	u.tls = starts_nocase(s, "https://");
	if (!u.tls && !starts_nocase(s, "http://"))
		return "starts with http:// or https://";
	s = from(s, u.tls ? 8 : 7);
	s.n = find_any(s, "#");
	size_t end = find_any(s, "/?");
	fault = read_authority(&u, (Str){ s.p, end });
	u.target = from(s, end);
	if (!u.target.n)
		u.target = STR("/");
	else if (u.target.p[0] == '?')
		return "has a query without a path: write host/?query";
	if (!fault)
		*ret_url = u;
	return fault;
}

/* ---- Location ---- */

/* RFC 3986 5.2.4: "." and ".." of a path that begins with '/'. */
static void put_path(Sb *out, Str path)
{
	size_t start = out->n;

	while (path.n) {
		size_t end = 1 + find_any(from(path, 1), "/");
		Str segment = { path.p, end };
		bool last = end == path.n, dot = str_is(segment, "/."), up = str_is(segment, "/..");

		while (up && out->n > start && out->p[--out->n] != '/')
			;
		if (!dot && !up)
			sb_str(out, segment);
		else if (last)
			sb_char(out, '/');
		path = from(path, end);
	}
}

static Str origin(const Url *u, Arena *a)
{
	return str_printf(a, "%s://%.*s", u->tls ? "https" : "http", STR_ARG(u->authority));
}

/* The part of the target up to and including the last '/' of its path. */
static Str folder(const Url *u)
{
	size_t n = find_any(u->target, "?");

	while (n && u->target.p[n - 1] != '/')
		n--;
	return (Str){ u->target.p, n };
}

const char *url_resolve(const Url *base, Str loc, Arena *a, Url *ret_url)
{
	size_t scheme = find_any(loc, ":/?#");
	Sb out = sb(a), path = sb(a);
	Str p;

	if (!clean(loc))
		return "has a blank or a character that must be percent-encoded";
	if (scheme < loc.n && loc.p[scheme] == ':')
		return url_parse(loc, ret_url);
	if (str_starts(loc, STR("//")))
		return url_parse(str_printf(a, "%s:%.*s", base->tls ? "https" : "http", STR_ARG(loc)), ret_url);
	sb_str(&out, origin(base, a));
	size_t end = find_any(loc, "?#");
	if (!end) { /* a query or a fragment alone: the same path */
		sb_str(&out, (Str){ base->target.p, find_any(base->target, loc.n && loc.p[0] == '?' ? "?" : "") });
	} else {
		if (loc.p[0] != '/')
			sb_str(&path, folder(base));
		sb_str(&path, (Str){ loc.p, end });
		p = sb_done(&path);
		put_path(&out, p);
	}
	sb_str(&out, from(loc, end));
	return url_parse(sb_done(&out), ret_url);
}
