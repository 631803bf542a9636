/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools of the fixed probes: arguments to parameters of their programs.
 */
#include "mcp/tool_args.h"
#include "mcp/tool_probe.h"
#include "mcp/tools_inside.h"

#include <inttypes.h>
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
	return go(c, &p, &probe_traceroute_host, ret_r);
}

/* The first server of a resolv.conf that is no stub on this host itself. */
static bool server_in(const char *path, char out[64])
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, " nameserver %63s", out) == 1 && !address_fault(out) && strncmp(out, "127.", 4) != 0 &&
			strcmp(out, "::1") != 0;
	fclose(f);
	return found;
}

bool work_resolve_dns(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *name = args_text(t, args, "name"), *server = args_text(t, args, "server"), *why = name_fault(name);
	Params p = { .tool = t, .args = args };
	char own[64];

	if (why)
		return args_refuse(t, ret_r, "name %s", why);
	if (server && (why = address_fault(server)))
		return args_refuse(t, ret_r, "server %s", why);
	if (!server) {
		if (!server_in("/etc/resolv.conf", own) && !server_in("/run/systemd/resolve/resolv.conf", own))
			return args_refuse(t, ret_r, "this host names no resolver of its own: server is needed");
		json_object_set_new(args, "server", json_string(own));
	}
	json_object_set(args, "target", json_object_get(args, "name"));
	add_text(&p, "name", name);
	add_text(&p, "type", args_text(t, args, "type"));
	add_text(&p, "server", args_text(t, args, "server"));
	add_bool(&p, "tcp");
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

bool work_http_probe(Call *c, const Tool *t, json_t *args, ToolResult *ret_r)
{
	const char *url = args_text(t, args, "url"), *why = url_fault(url);
	Params p = { .tool = t, .args = args };

	if (why)
		return args_refuse(t, ret_r, "url %s", why);
	if (args_text(t, args, "host") && bad_target(&p, "host", ret_r))
		return true;
	split_url(args, url);
	add_text(&p, "url", url);
	add_text(&p, "method", args_text(t, args, "method"));
	if (args_text(t, args, "host"))
		add_text(&p, "name", args_text(t, args, "host"));
	return go(c, &p, &probe_http_probe, ret_r);
}
