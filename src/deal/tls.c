/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/tls.h"

#include "base/limits.h"

bool tls_alpn_ok(Bytes alpn)
{
	Cursor c = cursor(alpn);

	while (!c.bad && cur_left(&c))
		if (cur_bytes(&c, cur_u8(&c)).n == 0) /* RFC 7301 3.1: opaque ProtocolName<1..2^8-1> */
			return false;
	return !c.bad && alpn.n <= LIMIT_TLS_ALPN;
}

/* ---- both ways, one walk each: reading where c is set, else writing ---- */

typedef struct TlsWalk {
	Cursor *c;
	Writer *w;
	bool bad;
} TlsWalk;

static void x_u8(TlsWalk *k, uint8_t *v)
{
	if (k->c)
		*v = cur_u8(k->c);
	else
		wr_u8(k->w, *v);
}

static void x_u32(TlsWalk *k, uint32_t *v)
{
	if (k->c)
		*v = cur_be32(k->c);
	else
		wr_be32(k->w, *v);
}

static void x_i64(TlsWalk *k, int64_t *v)
{
	if (k->c)
		*v = (int64_t)cur_be64(k->c);
	else
		wr_be64(k->w, (uint64_t)*v);
}

/* An enum or a bool, below n. */
static void x_enum(TlsWalk *k, uint8_t *v, uint8_t n)
{
	x_u8(k, v);
	k->bad |= *v >= n;
}

static void x_bool(TlsWalk *k, bool *v)
{
	uint8_t b = *v;

	x_enum(k, &b, 2);
	*v = b;
}

static void x_bytes(TlsWalk *k, Bytes *b, size_t most)
{
	k->bad |= !k->c && b->n > most;
	if (k->c) {
		*b = cur_bytes(k->c, cur_be16(k->c));
		k->bad |= b->n > most;
		return;
	}
	wr_be16(k->w, (uint16_t)b->n);
	wr_bytes(k->w, *b);
}

static void x_str(TlsWalk *k, Str *s)
{
	Bytes b = str_bytes(*s);

	x_bytes(k, &b, LIMIT_TLS_TEXT);
	*s = bytes_str(b);
}

/* True: all was well, and nothing is left. */
static bool done(const TlsWalk *k)
{
	return !k->bad && (k->c ? !k->c->bad && cur_left(k->c) == 0 : !k->w->full);
}

static void x_open(TlsWalk *k, TlsOpen *o)
{
	Bytes name = str_bytes(o->name);

	x_i64(k, &o->at_s);
	x_bytes(k, &name, LIMIT_TLS_NAME);
	x_bytes(k, &o->alpn, LIMIT_TLS_ALPN);
	o->name = bytes_str(name);
	k->bad |= !tls_alpn_ok(o->alpn) || (name.n && memchr(name.p, 0, name.n));
}

static void x_names(TlsWalk *k, TlsNames *names, Arena *a)
{
	uint32_t n = names->n;

	x_u32(k, &n);
	k->bad |= n > LIMIT_TLS_NAMES;
	for (uint32_t i = 0; i < n && !k->bad && !(k->c && k->c->bad); i++) {
		if (k->c)
			vec_push(a, names, (Str){ 0 });
		x_str(k, &names->p[i]);
	}
}

static void x_cert(TlsWalk *k, TlsCert *c, Arena *a)
{
	x_str(k, &c->subject);
	x_str(k, &c->issuer);
	x_str(k, &c->serial);
	x_str(k, &c->key);
	x_str(k, &c->signature);
	x_bytes(k, &c->sha256, 32);
	x_i64(k, &c->not_before_s);
	x_i64(k, &c->not_after_s);
	x_names(k, &c->san, a);
}

static void x_info(TlsWalk *k, TlsInfo *i, Arena *a)
{
	uint32_t n = i->chain.n;

	x_str(k, &i->version);
	x_str(k, &i->cipher);
	x_str(k, &i->alpn);
	x_bool(k, &i->ocsp);
	x_enum(k, &i->name, TLS_NAME_N);
	x_bool(k, &i->trusted);
	x_str(k, &i->reason);
	x_u32(k, &i->certs);
	x_u32(k, &n);
	k->bad |= n > LIMIT_TLS_CHAIN;
	for (uint32_t j = 0; j < n && !k->bad && !(k->c && k->c->bad); j++) {
		if (k->c)
			vec_push(a, &i->chain, (TlsCert){ 0 });
		x_cert(k, &i->chain.p[j], a);
	}
}

bool tls_open_put(Writer *w, const TlsOpen *o)
{
	TlsOpen copy = *o;
	TlsWalk k = { .w = w };

	x_open(&k, &copy);
	return done(&k);
}

bool tls_open_get(Bytes b, TlsOpen *ret_o)
{
	Cursor c = cursor(b);
	TlsWalk k = { .c = &c };
	TlsOpen o = { 0 };

	x_open(&k, &o);
	if (done(&k))
		*ret_o = o;
	return done(&k);
}

bool tls_info_put(Writer *w, const TlsInfo *i)
{
	TlsInfo copy = *i; /* writing changes nothing behind its pointers */
	TlsWalk k = { .w = w };

	x_info(&k, &copy, NULL);
	return done(&k);
}

bool tls_info_get(Bytes b, Arena *a, TlsInfo *ret_i)
{
	Cursor c = cursor(b);
	TlsWalk k = { .c = &c };
	TlsInfo i = { 0 };

	x_info(&k, &i, a);
	if (done(&k))
		*ret_i = i;
	return done(&k);
}
