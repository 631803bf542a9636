/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS on a connection: the engine carries bytes between the stack and the TLS process
 * (deal/tls.h), which it asks one thing at a time through the gate.
 *
 * What was decrypted waits in a buffer of its own; while that is full nothing is taken off
 * the stack, whose window then closes: so a fast peer waits, whoever reads slowly.
 */
#include "vm/live_tls.h"

#include "deal/tls.h"

#include <stdio.h>

enum { PLAIN_MOST = 128 * 1024, ERROR_TEXT = 160, DAY_S = 86400 };

struct LiveTls {
	uint32_t session; /* 0: it has been told to forget it */
	TlsState state;
	char error[ERROR_TEXT];
	size_t from, n; /* of `plain` that is unread */
	uint8_t plain[PLAIN_MOST];
};

/* ---- asking ---- */

static void note(LiveTls *t, const Msg *m)
{
	t->state = m->tls_said.state < TLS_STATE_N ? (TlsState)m->tls_said.state : TLS_STATE_FAILED;
	if (t->state == TLS_STATE_NONE)
		t->state = TLS_STATE_FAILED;
	if (m->tls_said.error.n && !t->error[0])
		snprintf(t->error, sizeof t->error, "%.*s", STR_ARG(bytes_str(m->tls_said.error)));
}

static void keep_plain(LiveTls *t, Bytes b)
{
	if (t->from) {
		memmove(t->plain, t->plain + t->from, t->n);
		t->from = 0;
	}
	if (b.n > PLAIN_MOST - t->n) { /* no TLS process of ours says so much */
		t->state = TLS_STATE_FAILED;
		return;
	}
	if (b.n)
		memcpy(t->plain + t->n, b.p, b.n);
	t->n += b.n;
}

static bool room(const Live *l)
{
	return !live_open(l) || tcp_send_room(l->tcp) > 0;
}

/* All of it, or as much as a connection takes that closes meanwhile. */
static bool write_raw(Engine *e, Live *l, Bytes b)
{
	while (b.n && live_open(l) && !l->tcp->closing) {
		size_t took = tcp_send(l->tcp, engine_stack_now(e), b);

		b = bytes_slice(b, took, b.n);
		engine_conn_run(e);
		while (b.n && !room(l))
			if (!engine_step(e, NS_NONE))
				return false;
	}
	return true;
}

/* One request; what it says is in e->tls_info (INFO) or kept, what is to be sent in *ret_out. */
static bool request(Engine *e, Live *l, TlsOp op, Bytes data, Bytes *ret_out)
{
	LiveTls *t = l->tls;
	Msg m = { .type = MSG_TLS_ASK, .tls_ask = { .session = t->session, .op = (uint8_t)op, .data = data } };
	Bytes out;

	if (!engine_ask(e, &m))
		return false;
	note(t, &e->reply);
	if (op == TLS_OP_INFO) {
		e->tls_info = (Bytes){ arena_copy(&e->tls_mem, e->reply.tls_said.plain.p, e->reply.tls_said.plain.n),
				       e->reply.tls_said.plain.n };
	} else {
		keep_plain(t, e->reply.tls_said.plain);
	}
	out = (Bytes){ e->tls_out, e->reply.tls_said.out.n };
	if (out.n > LIMIT_TLS_SAID)
		out.n = 0;
	if (out.n) /* the message's bytes are gone with the next one */
		memcpy(e->tls_out, e->reply.tls_said.out.p, out.n);
	*ret_out = out;
	return true;
}

static bool ask(Engine *e, Live *l, TlsOp op, Bytes data)
{
	Bytes out;

	return request(e, l, op, data, &out) && write_raw(e, l, out);
}

static bool forget(Engine *e, Live *l)
{
	bool ok = !l->tls->session || ask(e, l, TLS_OP_CLOSE, (Bytes){ 0 });

	l->tls->session = 0;
	return ok;
}

/* ---- the stream ---- */

static bool alive(const LiveTls *t)
{
	return t->session && (t->state == TLS_STATE_HANDSHAKE || t->state == TLS_STATE_OPEN);
}

bool live_pump(Engine *e, Live *l)
{
	uint8_t buf[LIMIT_TLS_PIECE];
	size_t n;

	if (!l->tls)
		return true;
	while (alive(l->tls) && l->tcp && PLAIN_MOST - l->tls->n >= LIMIT_TLS_SAID &&
	       (n = tcp_recv(l->tcp, engine_stack_now(e), buf, sizeof buf))) {
		engine_conn_run(e); /* the window may be worth telling */
		if (!ask(e, l, TLS_OP_FEED, BYTES(buf, n)))
			return false;
	}
	return true;
}

bool live_write(Engine *e, Live *l, Bytes b)
{
	if (!l->tls)
		return write_raw(e, l, b);
	while (b.n && live_open(l) && l->tls->session && l->tls->state == TLS_STATE_OPEN) {
		if (!ask(e, l, TLS_OP_WRITE, bytes_slice(b, 0, LIMIT_TLS_PIECE)))
			return false;
		b = bytes_slice(b, LIMIT_TLS_PIECE, b.n);
	}
	return true;
}

bool live_close(Engine *e, Live *l)
{
	return !l->tls || !l->tls->session || (live_pump(e, l) && forget(e, l));
}

size_t live_readable(const Live *l)
{
	if (l->tls)
		return l->tls->n;
	return l->tcp ? tcp_readable(l->tcp) : 0;
}

size_t live_peek(const Live *l, size_t from, uint8_t *buf, size_t n)
{
	const LiveTls *t = l->tls;

	if (!t)
		return l->tcp ? tcp_peek(l->tcp, from, buf, n) : 0;
	if (from >= t->n)
		return 0;
	n = n < t->n - from ? n : t->n - from;
	memcpy(buf, t->plain + t->from + from, n);
	return n;
}

size_t live_take(Engine *e, Live *l, uint8_t *buf, size_t n)
{
	if (!l->tls)
		return l->tcp ? tcp_recv(l->tcp, engine_stack_now(e), buf, n) : 0;
	n = live_peek(l, 0, buf, n);
	l->tls->from += n;
	l->tls->n -= n;
	return n;
}

static bool tcp_over(const Live *l)
{
	return !l->tcp || tcp_eof(l->tcp) || l->tcp->state == TCP_CLOSED;
}

bool live_eof(const Live *l)
{
	bool fin = l->tcp && tcp_eof(l->tcp);

	return l->tls ? (fin || l->tls->state == TLS_STATE_CLOSED) && !l->tls->n : fin;
}

bool live_ended(const Live *l)
{
	return l->tls ? !alive(l->tls) || tcp_over(l) : tcp_over(l);
}

/* ---- the result ---- */

#define TLS_FIELD(name)	    p[A_TLS_##name - A_TLS_ok]
#define CERT_FIELD(name)    p[A_CERT_##name - A_CERT_subject]
#define TIMINGS_FIELD(name) p[A_TIMINGS_##name - A_TIMINGS_dns]

static int64_t at_s(const Engine *e)
{
	return ns_later(e->epoch_ns, e->now_ns) / NS_PER_S;
}

/* What a peer wrote, None where it wrote nothing. */
static Value told(Vm *vm, Str s)
{
	return s.n ? vm_str_peer(vm, s) : val_none();
}

static Value own_word(Vm *vm, Str s)
{
	return s.n ? vm_str(vm, s) : val_none();
}

/* Of a certificate that is valid past the year 2262 there is no such time. */
static Value time_value(int64_t s)
{
	int64_t ns;

	return val_time(__builtin_mul_overflow(s, NS_PER_S, &ns) ? NS_NONE : ns);
}

static Value days_left(const Engine *e, int64_t until_s)
{
	int64_t left = until_s - at_s(e);

	return val_int(left / DAY_S - (left % DAY_S < 0));
}

static Value names_list(Vm *vm, const TlsNames *n)
{
	ObjList *l = vm_list(vm, n->n);

	for (uint32_t i = 0; i < n->n; i++)
		vm_push(vm, l, vm_str_peer(vm, n->p[i]));
	return val_of(l);
}

static Value hex_of(Vm *vm, Bytes b)
{
	char text[65];

	for (size_t i = 0; i < b.n && i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", b.p[i]);
	return vm_str(vm, (Str){ text, 2 * (b.n < 32 ? b.n : 32) });
}

static Value cert_result(Engine *e, Vm *vm, const TlsCert *c)
{
	ObjResult *r = vm_result(vm, OWNER_CERT);
	Value *p = r->p;

	CERT_FIELD(subject) = vm_str_peer(vm, c->subject);
	CERT_FIELD(issuer) = vm_str_peer(vm, c->issuer);
	CERT_FIELD(not_before) = time_value(c->not_before_s);
	CERT_FIELD(not_after) = time_value(c->not_after_s);
	CERT_FIELD(days_left) = days_left(e, c->not_after_s);
	CERT_FIELD(san) = names_list(vm, &c->san);
	CERT_FIELD(key) = vm_str(vm, c->key);
	CERT_FIELD(signature) = vm_str(vm, c->signature);
	CERT_FIELD(serial) = vm_str_peer(vm, c->serial);
	CERT_FIELD(sha256) = hex_of(vm, c->sha256);
	return val_of(r);
}

static Value timings_result(Vm *vm, int64_t connect, int64_t tls, int64_t first_byte, int64_t total)
{
	ObjResult *r = vm_result(vm, OWNER_TIMINGS);
	Value *p = r->p;

	TIMINGS_FIELD(dns) = val_duration(NS_NONE);
	TIMINGS_FIELD(connect) = val_duration(connect);
	TIMINGS_FIELD(tls) = val_duration(tls);
	TIMINGS_FIELD(first_byte) = val_duration(first_byte);
	TIMINGS_FIELD(total) = val_duration(total);
	return val_of(r);
}

/* (connect, tls, first_byte, total) */
bool bi_timings(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	int64_t d[4];

	for (uint32_t i = 0; i < n && i < 4; i++)
		if (!vm_to_duration(vm, args[i], &d[i]))
			return false;
	*ret = timings_result(vm, d[0], d[1], d[2], d[3]);
	return true;
}

static void put_own_cert(Engine *e, Vm *vm, Value *p, const TlsInfo *i)
{
	const TlsCert *c = &i->chain.p[0];

	TLS_FIELD(subject) = told(vm, c->subject);
	TLS_FIELD(issuer) = told(vm, c->issuer);
	TLS_FIELD(san) = names_list(vm, &c->san);
	TLS_FIELD(not_before) = time_value(c->not_before_s);
	TLS_FIELD(not_after) = time_value(c->not_after_s);
	TLS_FIELD(days_left) = days_left(e, c->not_after_s);
	if (i->name != TLS_NAME_NOT_ASKED)
		TLS_FIELD(hostname_ok) = val_bool(i->name == TLS_NAME_OK);
}

/* How long it took; of a connection that never opened nothing did. */
static Value timings_of(Vm *vm, const Live *l, int64_t tls_ns)
{
	int64_t connect = l->tcp && l->tcp->handshake_ns > 0 ? l->tcp->handshake_ns : NS_NONE;
	int64_t total = connect == NS_NONE || tls_ns == NS_NONE ? NS_NONE : connect + tls_ns;

	return timings_result(vm, connect, tls_ns, NS_NONE, total);
}

static Value tls_result(Engine *e, Vm *vm, const Live *l, const TlsInfo *i, int64_t tls_ns, const char *error)
{
	ObjResult *r = vm_result(vm, OWNER_TLS);
	ObjList *chain = vm_list(vm, i->chain.n);
	Value *p = r->p;

	TLS_FIELD(ok) = val_bool(!error);
	TLS_FIELD(version) = own_word(vm, i->version);
	TLS_FIELD(cipher) = own_word(vm, i->cipher);
	TLS_FIELD(alpn) = told(vm, i->alpn);
	TLS_FIELD(trusted) = val_bool(i->trusted);
	TLS_FIELD(reason) = own_word(vm, i->reason);
	TLS_FIELD(san) = val_of(vm_list(vm, 0));
	TLS_FIELD(not_before) = TLS_FIELD(not_after) = val_time(NS_NONE);
	TLS_FIELD(ocsp) = val_bool(i->ocsp);
	TLS_FIELD(error) = error ? vm_str(vm, str_c(error)) : val_none();
	TLS_FIELD(timings) = timings_of(vm, l, error ? NS_NONE : tls_ns);
	if (i->chain.n)
		put_own_cert(e, vm, p, i);
	for (uint32_t k = 0; k < i->chain.n; k++)
		vm_push(vm, chain, cert_result(e, vm, &i->chain.p[k]));
	TLS_FIELD(chain) = val_of(chain);
	return val_of(r);
}

/* ---- start_tls ---- */

typedef struct Wanted {
	Str name;
	Bytes alpn;
	int64_t timeout_ns;
} Wanted;

/* RFC 7301 3.1: each name with its length before it. */
static bool alpn_of(Vm *vm, Value v, Writer *w)
{
	Str s;

	if (val_left_out(v))
		return true;
	const ObjList *l = val_list(v);
	for (int64_t i = 0; i < l->h.n; i++) {
		if (!vm_to_str(vm, l->p[i], &s))
			return false;
		wr_u8(w, (uint8_t)s.n);
		wr_bytes(w, str_bytes(s));
		if (!s.n || s.n > 255 || w->full)
			return vm_fail(vm, "E-VALUE", "an ALPN name has 1..255 bytes, all of them %u at most", LIMIT_TLS_ALPN);
	}
	return true;
}

static bool wanted(Vm *vm, const Value *args, uint8_t *alpn, Wanted *ret)
{
	Writer w = writer(alpn, LIMIT_TLS_ALPN);

	*ret = (Wanted){ 0 };
	if (!vm_to_str(vm, args[0], &ret->name) || !alpn_of(vm, args[1], &w) ||
	    !vm_to_duration(vm, args[2], &ret->timeout_ns))
		return false;
	ret->alpn = wr_done(&w);
	return ret->name.n <= LIMIT_TLS_NAME ||
	       vm_fail(vm, "E-VALUE", "a name has at most %u characters", LIMIT_TLS_NAME);
}

static void begin(Engine *e, Live *l)
{
	if (!e->tls_out) {
		e->tls_out = arena_alloc(e->a, LIMIT_TLS_SAID);
		arena_init(&e->tls_mem, arena_alloc(e->a, 4 * LIMIT_TLS_SAID), 4 * LIMIT_TLS_SAID, e->a->full);
	}
	l->tls = arena_new(e->a, LiveTls);
	l->tls->session = ++e->tls_sessions;
	l->tls->state = TLS_STATE_HANDSHAKE;
}

/* The time starts when the hello is ready: until then the TLS process may have had to load. */
static bool open_session(Engine *e, Live *l, const Wanted *k, int64_t *ret_began_ns)
{
	uint8_t buf[LIMIT_TLS_NAME + LIMIT_TLS_ALPN + 16];
	Writer w = writer(buf, sizeof buf);
	TlsOpen o = { .at_s = at_s(e), .name = k->name, .alpn = k->alpn };
	Bytes hello;

	*ret_began_ns = e->now_ns;
	if (!tls_open_put(&w, &o)) {
		l->tls->state = TLS_STATE_FAILED;
		snprintf(l->tls->error, sizeof l->tls->error, "that is no name of a server");
		l->tls->session = 0;
		return true;
	}
	if (!request(e, l, TLS_OP_OPEN, wr_done(&w), &hello) || !engine_refresh(e))
		return false;
	*ret_began_ns = e->now_ns;
	return write_raw(e, l, hello);
}

/* Until it is open, failed, over, or late. */
static bool handshake(Engine *e, Live *l, int64_t until_ns)
{
	while (l->tls->state == TLS_STATE_HANDSHAKE) {
		if (!live_pump(e, l))
			return false;
		if (l->tls->state != TLS_STATE_HANDSHAKE || tcp_over(l) || e->now_ns >= until_ns)
			return true;
		if (!engine_step(e, until_ns))
			return false;
	}
	return true;
}

/* Why there is no TLS; NULL: there is. */
static const char *fault(const Live *l)
{
	const LiveTls *t = l->tls;

	if (t->state == TLS_STATE_OPEN)
		return NULL;
	if (t->error[0])
		return t->error;
	return tcp_over(l) || !live_open(l)	   ? "the connection ended during the handshake"
	       : t->state == TLS_STATE_HANDSHAKE ? "the handshake did not end in time"
						   : "the peer closed TLS during the handshake";
}

static bool describe(Engine *e, Live *l, TlsInfo *ret)
{
	arena_reset(&e->tls_mem, 0);
	*ret = (TlsInfo){ 0 };
	if (!l->tls->session)
		return true;
	if (!ask(e, l, TLS_OP_INFO, (Bytes){ 0 }))
		return false;
	if (!tls_info_get(e->tls_info, &e->tls_mem, ret))
		*ret = (TlsInfo){ 0 };
	return true;
}

static bool start(Engine *e, Live *l, const Wanted *k, TlsInfo *ret_info, int64_t *ret_ns)
{
	int64_t began;

	begin(e, l);
	if (!engine_refresh(e) || !open_session(e, l, k, &began) ||
	    !handshake(e, l, ns_later(began, k->timeout_ns)))
		return false;
	*ret_ns = e->now_ns - began;
	return describe(e, l, ret_info) && (l->tls->state == TLS_STATE_OPEN || forget(e, l));
}

/* (self, name, alpn, timeout) */
bool m_start_tls(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);
	uint8_t alpn[LIMIT_TLS_ALPN];
	TlsInfo info = { 0 };
	int64_t ns = NS_NONE;
	Wanted k;

	(void)n;
	if (!wanted(vm, args + 1, alpn, &k))
		return false;
	if (!live_open(l) || l->tls) {
		const char *why = l->tls ? "TLS was started on this connection before"
				  : l->why ? l->why
				  : l->tcp && l->tcp->error != TCP_ERR_NONE ? tcp_error_text(l->tcp->error)
									    : "the connection is not open";

		*ret = tls_result(e, vm, l, &info, ns, why);
		return true;
	}
	if (!start(e, l, &k, &info, &ns))
		return engine_halt(e, vm);
	*ret = tls_result(e, vm, l, &info, ns, fault(l));
	return true;
}
