/* SPDX-License-Identifier: Apache-2.0
 *
 * libmicrohttpd reads and writes; a thread each connection, so whoever is slow waits
 * alone.  Its threads do what is here up to the handler's start and what is written;
 * the handler has a thread of its own (http_exchange.c), since the connection's has to
 * notice meanwhile that the client went away.
 */
#include "mcp/http.h"

#include "base/exits.h"
#include "base/limits.h"
#include "base/units.h"
#include "mcp/auth.h"
#include "mcp/http_exchange.h"
#include "mcp/http_listen.h"
#include "sys/clock.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TICK_MS = 1000,
	STACK = 512 * 1024,
	READER_BLOCK = 32 * 1024,
	END_WAIT_MS = 2000,
};

/* One TCP connection.  Until `deadline` a whole request must be here: the library sees
 * to silence, not to a byte now and then. */
typedef struct Conn {
	struct Conn *next, **prev;
	int fd;
	int64_t deadline; /* ms; 0: none, it is our turn */
} Conn;

typedef struct Server {
	Mcp *mcp;
	const ServerOptions *o;
	HttpWhere where;
	HttpRules rules;
	Auth *auth;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* of the list and of what is in it */
	Conn *conns;
	char *cert, *key; /* PEM; NULL: no TLS */
} Server;

static int64_t now_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

/* ---- connections ---- */

static void deadline_set(Server *s, Conn *c, int64_t ms)
{
	if (!c)
		return;
	pthread_mutex_lock(&s->lock);
	c->deadline = ms ? now_ms() + ms : 0;
	pthread_mutex_unlock(&s->lock);
}

static void on_connection(void *ctx, struct MHD_Connection *mc, void **socket_ctx, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD);
	Server *s = ctx;
	Conn *c = *socket_ctx;

	pthread_mutex_lock(&s->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED && (c = calloc(1, sizeof *c))) {
		*c = (Conn){ .next = s->conns, .prev = &s->conns, .fd = info->connect_fd, .deadline = now_ms() + LIMIT_MCP_HEAD_MS };
		if (c->next)
			c->next->prev = &c->next;
		s->conns = c;
		*socket_ctx = c;
	} else if (code == MHD_CONNECTION_NOTIFY_CLOSED && c) {
		*c->prev = c->next;
		if (c->next)
			c->next->prev = c->prev;
		free(c);
		*socket_ctx = NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

/* The descriptor is theirs until they are off the list, so it is no other's. */
static void close_late(Server *s)
{
	int64_t now = now_ms();

	pthread_mutex_lock(&s->lock);
	for (Conn *c = s->conns; c; c = c->next)
		if (c->deadline && c->deadline < now)
			shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

static Conn *conn_of(struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static int socket_of(struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* ---- answers ---- */

static enum MHD_Result give(struct MHD_Connection *mc, int status, struct MHD_Response *r)
{
	enum MHD_Result ok = r ? MHD_queue_response(mc, (unsigned)status, r) : MHD_NO;

	if (r)
		MHD_destroy_response(r);
	return ok;
}

static struct MHD_Response *text_response(char *text_malloced, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text_malloced), text_malloced, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(text_malloced);
		return NULL;
	}
	if (type)
		MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	return r;
}

/* A page of an allowed origin may read what we say. */
static void tell_origin(struct MHD_Response *r, const HttpHead *h)
{
	char origin[256];

	if (!r || !h->foreign_origin || h->field[HTTP_ORIGIN].n >= sizeof origin)
		return;
	snprintf(origin, sizeof origin, "%.*s", STR_ARG(h->field[HTTP_ORIGIN]));
	MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
	MHD_add_response_header(r, "Vary", "Origin");
	MHD_add_response_header(r, "Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
}

/* Its body is not read, so the connection ends with it. */
static enum MHD_Result refuse(Server *s, struct MHD_Connection *mc, const HttpHead *h, int status, AuthSaid said, const char *why)
{
	json_t *error = json_pack("{s:s, s:{s:i, s:s}}", "jsonrpc", "2.0", "error", "code", -32600, "message", why);
	char *text = json_dumps(error, JSON_COMPACT), challenge[AUTH_CHALLENGE];
	struct MHD_Response *r = text ? text_response(text, "application/json") : NULL;

	json_decref(error);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Connection", "close");
	if (status == 405)
		MHD_add_response_header(r, "Allow", h->place == HTTP_ABOUT ? "GET" : "POST, GET, DELETE");
	if (said != AUTH_OK) {
		auth_challenge(s->auth, said, challenge);
		MHD_add_response_header(r, "WWW-Authenticate", challenge);
	}
	tell_origin(r, h);
	return give(mc, status, r);
}

static enum MHD_Result preflight(struct MHD_Connection *mc, const HttpHead *h)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

	tell_origin(r, h);
	if (r) {
		MHD_add_response_header(r, "Access-Control-Allow-Methods", "POST, GET, DELETE");
		MHD_add_response_header(r, "Access-Control-Allow-Headers",
					"Authorization, X-Api-Key, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, "
					"Mcp-Method, Mcp-Name, Last-Event-ID");
	}
	return give(mc, 204, r);
}

static enum MHD_Result about(Server *s, struct MHD_Connection *mc, const HttpHead *h)
{
	char *text = auth_metadata(s->auth);
	struct MHD_Response *r;

	if (!text)
		return refuse(s, mc, h, 404, AUTH_OK, "no authorization server is set (sonde mcp --issuer)");
	r = text_response(text, "application/json");
	tell_origin(r, h);
	return give(mc, 200, r);
}

typedef struct Reader {
	Exchange *x;
	int sock;
} Reader;

static ssize_t read_stream(void *ctx, uint64_t pos, char *buf, size_t max)
{
	Reader *d = ctx;
	ssize_t n = exchange_read(d->x, d->sock, buf, max);

	(void)pos;
	if (n > 0)
		return n;
	return n ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_reader(void *ctx)
{
	Reader *d = ctx;

	exchange_gone(d->x);
	exchange_put(d->x);
	free(d);
}

static enum MHD_Result answer_stream(struct MHD_Connection *mc, Exchange *x)
{
	Reader *d = malloc(sizeof *d);
	struct MHD_Response *r;

	if (!d)
		return MHD_NO;
	*d = (Reader){ .x = x, .sock = socket_of(mc) };
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, READER_BLOCK, read_stream, d, free_reader);
	if (!r) {
		free(d);
		return MHD_NO;
	}
	exchange_get(x);
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	tell_origin(r, &x->head);
	return give(mc, 200, r);
}

static enum MHD_Result answer_once(struct MHD_Connection *mc, Exchange *x)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(x->queue_n, x->queue, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	if (x->queue_n)
		MHD_add_response_header(r, "Content-Type", "application/json");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (x->session_id[0])
		MHD_add_response_header(r, "Mcp-Session-Id", x->session_id);
	if (x->status == 405)
		MHD_add_response_header(r, "Allow", "POST");
	tell_origin(r, &x->head);
	return give(mc, x->status, r);
}

/* ---- requests ---- */

typedef struct Pairs {
	HttpPair pair[HTTP_HEADERS + 1];
	size_t n;
} Pairs;

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_n, const char *value, size_t value_n)
{
	Pairs *p = ctx;

	(void)kind;
	p->pair[p->n++] = (HttpPair){ .name = { name, name_n }, .value = { value ? value : "", value_n } };
	return p->n <= HTTP_HEADERS ? MHD_YES : MHD_NO;
}

static size_t head_size(struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info ? info->header_size : 0;
}

/* Its head is here, not a byte of its body was read. */
static enum MHD_Result on_head(Server *s, struct MHD_Connection *mc, HttpHead *h, Exchange **ret_x)
{
	static const char *const whys[] = {
		[AUTH_NONE] = "no key: send one as x-api-key or Authorization: Bearer (sonde mcp key add NAME makes it)",
		[AUTH_BAD] = "this key or token is not known here, or is over (sonde mcp key list)",
		[AUTH_SCOPE] = "this token lacks a scope that is needed here",
	};
	const char *why = NULL;
	Caller who;
	AuthSaid said;
	int status = http_head_check(h, &s->rules, &why);

	if (status)
		return refuse(s, mc, h, status, AUTH_OK, why);
	if (server_stops(s->mcp))
		return refuse(s, mc, h, 503, AUTH_OK, "this server shuts down");
	if (h->verb_id == HTTP_PREFLIGHT)
		return preflight(mc, h);
	if (h->place == HTTP_ABOUT)
		return about(s, mc, h);
	said = auth_caller(s->auth, h->field[HTTP_AUTHORIZATION], h->field[HTTP_API_KEY], &who);
	if (said != AUTH_OK)
		return refuse(s, mc, h, said == AUTH_SCOPE ? 403 : 401, said, whys[said]);
	status = http_body_check(h, &s->rules, &why);
	if (status)
		return refuse(s, mc, h, status, AUTH_OK, why);
	*ret_x = exchange_new(s->mcp, h, &who);
	if (!*ret_x)
		return refuse(s, mc, h, 503, AUTH_OK, "no room");
	deadline_set(s, conn_of(mc), LIMIT_MCP_BODY_MS);
	return MHD_YES;
}

static enum MHD_Result on_whole(Server *s, struct MHD_Connection *mc, Exchange *x)
{
	deadline_set(s, conn_of(mc), 0);
	exchange_start(x);
	switch (exchange_wait(x, socket_of(mc))) {
	case EXCHANGE_ANSWER:
		return answer_once(mc, x);
	case EXCHANGE_STREAM:
		return answer_stream(mc, x);
	default:
		return MHD_NO;
	}
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mc, const char *url, const char *verb, const char *version,
				  const char *data, size_t *data_n, void **req_ctx)
{
	Server *s = ctx;
	Exchange *x = *req_ctx;

	if (!x) {
		Pairs p = { .n = 0 };
		HttpHead h = { .verb = str_c(verb), .path = str_c(url), .version = str_c(version), .pair = p.pair };
		enum MHD_Result ok;

		MHD_get_connection_values_n(mc, MHD_HEADER_KIND, on_header, &p);
		h.pairs = p.n;
		h.bytes = head_size(mc);
		ok = on_head(s, mc, &h, &x);
		*req_ctx = x;
		return ok;
	}
	if (*data_n) {
		if (*data_n > x->head.length - x->have)
			return MHD_NO;
		memcpy(x->body + x->have, data, *data_n);
		x->have += *data_n;
		*data_n = 0;
		return MHD_YES;
	}
	return x->have == x->head.length ? on_whole(s, mc, x) : MHD_NO;
}

static void on_completed(void *ctx, struct MHD_Connection *mc, void **req_ctx, enum MHD_RequestTerminationCode code)
{
	Server *s = ctx;
	Exchange *x = *req_ctx;

	(void)code;
	*req_ctx = NULL;
	deadline_set(s, conn_of(mc), LIMIT_MCP_IDLE_MS);
	if (!x)
		return;
	exchange_gone(x);
	exchange_put(x);
}

/* ---- the server ---- */

static void no_log(void *ctx, const char *fmt, va_list ap)
{
	(void)ctx;
	(void)fmt;
	(void)ap;
}

/* A path is what is written there, so that whoever stands between us reads the same. */
static size_t not_unescaped(void *ctx, struct MHD_Connection *mc, char *text)
{
	(void)ctx;
	(void)mc;
	return strlen(text);
}

static bool start(Server *s, int listen_fd)
{
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, s->key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305" },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	s->daemon = MHD_start_daemon(flags | (s->cert ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, s,
		MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)LIMIT_MCP_CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->where.loopback ? 0u : (unsigned)LIMIT_MCP_CONNECTIONS_PEER,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(LIMIT_MCP_IDLE_MS / 1000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIMIT_MCP_HEAD,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, not_unescaped, NULL,
		MHD_OPTION_ARRAY, s->cert ? tls : none,
		MHD_OPTION_END);
	return s->daemon != NULL;
}

static bool still_good(void *ctx, const Caller *who)
{
	return auth_still(((Server *)ctx)->auth, who);
}

/* Until a signal or the launcher's end. */
static void watch(Server *s, int signal_fd)
{
	uint64_t seen = auth_version(s->auth), now;

	for (;;) {
		struct pollfd p[2] = { { .fd = signal_fd, .events = POLLIN }, { .fd = s->mcp->launcher_fd, .events = 0 } };
		int n = poll(p, 2, TICK_MS);

		if (n > 0 && (p[0].revents || p[1].revents))
			return;
		close_late(s);
		now = auth_version(s->auth);
		if (now != seen)
			exchange_check(still_good, s);
		seen = now;
	}
}

/* A connection needs a socket and two more, and a run some. */
static void raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max < LIMIT_MCP_FILES ? l.rlim_max : LIMIT_MCP_FILES;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int fail(const char *why)
{
	fprintf(stderr, "sonde mcp: %s\n", why);
	return SONDE_EXIT_ENVIRONMENT;
}

static int serve(Server *s, int signal_fd)
{
	const ServerOptions *o = s->o;
	char why[256] = "", url[128];
	int listen_fd;

	if (!http_tls_files(o, &s->cert, &s->key, why))
		return fail(why);
	listen_fd = http_listen(o, &s->where, why);
	if (listen_fd < 0)
		return fail(why);
	snprintf(url, sizeof url, "http%s://%s" HTTP_PATH, s->cert ? "s" : "", s->where.text);
	s->auth = auth_new(o, url, why);
	if (!s->auth)
		return fail(why);
	if (!s->where.loopback && (auth_is_open(s->auth) || !s->cert))
		return fail("an address that others reach needs keys (--keys, --jwks) and TLS (--tls-cert, --tls-key)");
	s->rules = (HttpRules){ .host = s->where.host, .origin = o->origin, .most_body = LIMIT_MCP_MESSAGE };
	if (!server_close_in(o->keys, o->jwks))
		return SONDE_EXIT_ENVIRONMENT;
	if (!start(s, listen_fd))
		return fail(s->cert ? "the HTTP server did not start: are certificate and key PEM, and of each other?" :
				      "the HTTP server did not start");
	fprintf(stderr, "sonde mcp: listening on %s\n", url);
	watch(s, signal_fd);
	server_stop(s->mcp);
	exchange_drain(END_WAIT_MS);
	MHD_stop_daemon(s->daemon);
	return SONDE_EXIT_OK;
}

int http_serve(Mcp *m, const ServerOptions *o, int signal_fd)
{
	Server s = { .mcp = m, .o = o };
	int code;

	raise_files();
	pthread_mutex_init(&s.lock, NULL);
	code = serve(&s, signal_fd);
	if (!exchange_drain(END_WAIT_MS))
		_exit(code); /* a handler still uses what would be freed */
	if (s.auth)
		auth_free(s.auth);
	free(s.cert);
	free(s.key);
	return code;
}
