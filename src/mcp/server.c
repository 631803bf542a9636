/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/server.h"

#include "base/exits.h"
#include "base/str.h"
#include "mcp/aside.h"
#include "mcp/handles.h"
#include "mcp/http.h"
#include "mcp/rpc_inside.h"
#include "mcp/serve_stdio.h"
#include "sys/proc.h"
#include "sys/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { SERVER_PATH = 4096 };

bool server_init(Mcp *m)
{
	if (getrandom(m->secret, sizeof m->secret, 0) != (ssize_t)sizeof m->secret)
		return false;
	json_object_seed(0); /* before there are threads */
	m->sessions = sessions_new();
	m->handles = handles_new();
	m->stop_fd = eventfd(0, EFD_CLOEXEC);
	return m->sessions && m->handles && m->stop_fd >= 0;
}

void server_free(Mcp *m)
{
	sessions_free(m->sessions);
	handles_free(m->handles);
	m->sessions = NULL;
	m->handles = NULL;
	proc_close(&m->stop_fd);
}

void server_stop(Mcp *m)
{
	aside_raise(m->stop_fd);
}

bool server_stops(const Mcp *m)
{
	return proc_readable(m->stop_fd, 0);
}

/* Readable at SIGTERM and SIGINT, which no thread to come hears. */
static int stop_signals(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	return signalfd(-1, &stop, SFD_CLOEXEC);
}

static int usage(const char *what)
{
	fprintf(stderr, "sonde-mcp: %s: it is started by `sonde mcp`\n", what);
	return SONDE_EXIT_USAGE;
}

/* One option and its value; false: there is no such, or the value is none. */
static bool option(ServerOptions *o, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **text;
	} texts[] = {
		{ "http", &o->http },	  { "keys", &o->keys },	    { "tls-cert", &o->tls_cert }, { "tls-key", &o->tls_key },
		{ "jwks", &o->jwks },	  { "issuer", &o->issuer }, { "audience", &o->audience }, { "resource", &o->resource },
		{ "scope", &o->scope },
	};
	const struct {
		const char *name;
		const char **list;
	} lists[] = { { "origin", o->origin }, { "host", o->host } };

	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(name, texts[i].name) == 0) {
			*texts[i].text = value;
			return true;
		}
	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
		for (unsigned k = 0; strcmp(name, lists[i].name) == 0 && k < SERVER_NAMES; k++)
			if (!lists[i].list[k]) {
				lists[i].list[k] = value;
				return true;
			}
	return false;
}

static const char *folder_of(const char *path, char buf[SERVER_PATH])
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;

	if (n >= SERVER_PATH)
		return NULL;
	memcpy(buf, slash ? path : ".", slash ? n : 1);
	buf[slash ? n : 1] = 0;
	return path ? buf : NULL;
}

bool server_close_in(const char *one, const char *two)
{
	const char *folders[3] = { 0 };
	char a[SERVER_PATH], b[SERVER_PATH];
	unsigned n = 0;
	int r;

	if (folder_of(one, a))
		folders[n++] = a;
	if (folder_of(two, b))
		folders[n++] = b;
	r = sandbox_front(folders);
	if (r)
		fprintf(stderr, "sonde mcp: it can't be closed in: %s\n", strerror(-r));
	return r == 0;
}

int server_main(Mcp *m, int argc, char **argv)
{
	Caller who = { .name = "", .session = "stdio" }; /* the launcher knows whose standard input it is */
	ServerOptions o = { 0 };
	int code = SONDE_EXIT_OK, signal_fd;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < argc; i += 2)
		if (strncmp(argv[i], "--", 2) != 0 || i + 1 == argc || !option(&o, argv[i] + 2, argv[i + 1]))
			return usage(argv[i]);
	signal_fd = stop_signals();
	if (signal_fd < 0 || !server_init(m))
		return SONDE_EXIT_ENVIRONMENT;
	if (o.http)
		code = http_serve(m, &o, signal_fd);
	else if (!server_close_in(NULL, NULL))
		code = SONDE_EXIT_ENVIRONMENT;
	else if (!stdio_serve(m, &who, STDIN_FILENO, STDOUT_FILENO, signal_fd))
		_exit(SONDE_EXIT_ENVIRONMENT); /* a thread may still use what would be freed */
	server_free(m);
	return code;
}
