/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools of the fixed probes: arguments to parameters of their programs.
 */
#include "mcp/tool_args.h"
#include "mcp/tool_probe.h"
#include "mcp/tools_inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS = 8, NUMBER = 24 };

/* Parameters of one run, with the texts that they need. */
typedef struct Params {
	const Tool *tool;
	json_t *args; /* what templates may name, defaults among them */
	RunParam p[PARAMS];
	char number[PARAMS][NUMBER];
	unsigned n;
} Params;

static void add_text(Params *p, const char *name, const char *value)
{
	p->p[p->n++] = (RunParam){ name, value };
}

static void add_int(Params *p, const char *name, const char *arg)
{
	int64_t v = args_int(p->tool, p->args, arg);

	json_object_set_new(p->args, arg, json_integer(v));
	snprintf(p->number[p->n], NUMBER, "%" PRId64, v);
	add_text(p, name, p->number[p->n]);
}

/* Milliseconds as the language writes them. */
static void add_ms(Params *p, const char *name, const char *arg)
{
	snprintf(p->number[p->n], NUMBER, "%" PRId64 "ms", args_int(p->tool, p->args, arg));
	add_text(p, name, p->number[p->n]);
}

static void add_bool(Params *p, const char *name)
{
	add_text(p, name, args_bool(p->tool, p->args, name) ? "True" : "False");
}

static bool bad_target(Params *p, const char *name, ToolResult *ret_r)
{
	const char *text = args_text(p->tool, p->args, name), *why = target_fault(text);

	if (why)
		args_refuse(p->tool, ret_r, "%s %s", name, why);
	return why;
}

/* What templates may name beside the arguments, none of which it may replace: parameters point into
 * them.  A step that comes out empty is none. */
__attribute__((format(printf, 3, 4))) static void say(Params *p, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_object_set_new(p->args, name, json_vsprintf(fmt, ap));
	va_end(ap);
}

/* The target as a URL writes it. */
static void say_authority(Params *p)
{
	const char *target = args_text(p->tool, p->args, "target");

	say(p, "authority", strchr(target, ':') ? "[%s]" : "%s", target);
}

/* A port to compare with. */
static void say_other_port(Params *p)
{
	say(p, "other_port", args_int(p->tool, p->args, "port") == 443 ? "80" : "443");
}

static bool go(Call *c, Params *p, const Probe *probe, ToolResult *ret_r)
{
	return probe_run(c, p->tool, probe, p->args, p->p, p->n, ret_r);
}

bool work_ping_host(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	Params p = { .tool = t, .args = args };

	if (bad_target(&p, "target", ret_r))
		return true;
	add_text(&p, "target", args_text(t, args, "target"));
	add_int(&p, "count", "count");
	add_int(&p, "size", "size");
	add_ms(&p, "interval", "interval_ms");
	add_bool(&p, "df");
	return go(c, &p, &probe_ping_host, ret_r);
}

bool work_tcp_reachability(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	Params p = { .tool = t, .args = args };

	if (bad_target(&p, "target", ret_r))
		return true;
	add_text(&p, "target", args_text(t, args, "target"));
	add_int(&p, "port", "port");
	add_ms(&p, "timeout", "timeout_ms");
	say(&p, "scheme", args_int(t, args, "port") % 1000 == 443 ? "https" : "http"); /* 443, 8443 */
	say_authority(&p);
	say_other_port(&p);
	return go(c, &p, &probe_tcp_reachability, ret_r);
}

bool work_traceroute_host(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	Params p = { .tool = t, .args = args };
	const char *proto = args_text(t, args, "proto");

	if (bad_target(&p, "target", ret_r))
		return true;
	if (strcmp(proto, "icmp") == 0 && json_object_get(args, "port"))
		return args_refuse(t, ret_r, "icmp has no port: leave port out, or say proto udp or tcp");
	if (strcmp(proto, "tcp") == 0 && !json_object_get(args, "port"))
		return args_refuse(t, ret_r, "proto tcp needs a port: the one whose service is in question, as 443");
	add_text(&p, "target", args_text(t, args, "target"));
	add_text(&p, "proto", proto);
	add_int(&p, "port", "port");
	add_int(&p, "max_hops", "max_hops");
	say_other_port(&p);
	if (strcmp(proto, "tcp") != 0) /* of a service */
		json_object_set_new(args, "port", json_integer(443));
	return go(c, &p, &probe_traceroute_host, ret_r);
}

bool work_resolve_dns(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *name = args_text(t, args, "name"), *server = args_text(t, args, "server"), *why = name_fault(name);
	const char *type = args_text(t, args, "type"), *zone = strchr(name, '.');
	Params p = { .tool = t, .args = args };

	if (why)
		return args_refuse(t, ret_r, "name %s", why);
	if (server && (why = address_fault(server)))
		return args_refuse(t, ret_r, "server %s", why);
	json_object_set(args, "target", json_object_get(args, "name"));
	add_text(&p, "name", name);
	add_text(&p, "type", type);
	if (server) /* else the gate chooses, and the program tells whom */
		add_text(&p, "server", server);
	add_bool(&p, "tcp");
	if (!json_object_get(args, "type"))
		say(&p, "type", "%s", type);
	say(&p, "other_type", strcmp(type, "A") == 0 ? "AAAA" : "A");
	say(&p, "zone", "%s", zone ? zone + 1 : name);
	say(&p, "own", "%s", "");
	if (server)
		say(&p, "own", "resolve_dns {\"name\":\"%s\",\"type\":\"%s\"}: what this host's own resolver says", name, type);
	return go(c, &p, &probe_resolve_dns, ret_r);
}

bool work_tls_check(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	Params p = { .tool = t, .args = args };

	if (bad_target(&p, "target", ret_r))
		return true;
	if (!args_text(t, args, "server_name"))
		json_object_set(args, "server_name", json_object_get(args, "target"));
	else if (bad_target(&p, "server_name", ret_r))
		return true;
	add_text(&p, "target", args_text(t, args, "target"));
	add_int(&p, "port", "port");
	add_text(&p, "name", args_text(t, args, "server_name"));
	say_authority(&p);
	say_other_port(&p);
	say(&p, "lookup", "%s", "");
	if (!name_fault(args_text(t, args, "server_name")))
		say(&p, "lookup", "resolve_dns {\"name\":\"%s\"}: whether the name leads to this server", args_text(t, args, "server_name"));
	return go(c, &p, &probe_tls_check, ret_r);
}

/* Host and port of a URL that url_fault() found good, for what is said of it. */
static void split_url(json_t *args, const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t n = strcspn(host, "/?");
	int64_t port = url[4] == 's' ? 443 : 80;
	const char *colon = NULL;

	for (size_t i = n; i-- > 0 && host[i] != ']';)
		if (host[i] == ':')
			colon = host + i;
	if (colon) {
		port = atoi(colon + 1);
		n = (size_t)(colon - host);
	}
	if (host[0] == '[') {
		host++;
		n -= 2;
	}
	json_object_set_new(args, "target", json_stringn(host, n));
	json_object_set_new(args, "port", json_integer(port));
}

/* What to ask next of the same server: its root, and its certificate. */
static void say_urls(Params *p, const char *url)
{
	const char *host = args_text(p->tool, p->args, "host"), *path = strstr(url, "://") + 3;
	int root = (int)(path - url + (ptrdiff_t)strcspn(path, "/?"));
	json_t *name = host ? json_sprintf(",\"host\":\"%s\"", host) : json_string("");

	say(p, "root", "%s", "");
	if (strlen(url) > (size_t)root + 1)
		say(p, "root", "http_probe {\"url\":\"%.*s/\"%s}: its root, to compare", root, url, json_string_value(name));
	say(p, "server_name", "%s", host ? host : args_text(p->tool, p->args, "target"));
	json_decref(name);
}

bool work_http_probe(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *url = args_text(t, args, "url"), *why = url_fault(url);
	Params p = { .tool = t, .args = args };

	if (why)
		return args_refuse(t, ret_r, "url %s", why);
	if (args_text(t, args, "host") && bad_target(&p, "host", ret_r))
		return true;
	split_url(args, url);
	say_urls(&p, url);
	say_other_port(&p);
	add_text(&p, "url", url);
	add_text(&p, "method", args_text(t, args, "method"));
	if (args_text(t, args, "host"))
		add_text(&p, "name", args_text(t, args, "host"));
	return go(c, &p, &probe_http_probe, ret_r);
}
