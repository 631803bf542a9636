/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/tls.h"

#include "base/limits.h"
#include "deal/walk.h"

bool tls_alpn_ok(Bytes alpn)
{
	Cursor c = cursor(alpn);

	while (!c.bad && cur_left(&c))
		if (cur_bytes(&c, cur_u8(&c)).n == 0) /* RFC 7301 3.1: opaque ProtocolName<1..2^8-1> */
			return false;
	return !c.bad && alpn.n <= LIMIT_TLS_ALPN;
}

/* ---- both ways, one walk each ---- */

static void x_i64(Walk *k, int64_t *v)
{
	if (k->c)
		*v = (int64_t)cur_be64(k->c);
	else
		wr_be64(k->w, (uint64_t)*v);
}

static void x_bytes(Walk *k, Bytes *b, size_t most)
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

static void x_str(Walk *k, Str *s)
{
	Bytes b = str_bytes(*s);

	x_bytes(k, &b, LIMIT_TLS_TEXT);
	*s = bytes_str(b);
}

static void x_open(Walk *k, TlsOpen *o)
{
	Bytes name = str_bytes(o->name);

	x_i64(k, &o->at_s);
	x_bytes(k, &name, LIMIT_TLS_NAME);
	x_bytes(k, &o->alpn, LIMIT_TLS_ALPN);
	o->name = bytes_str(name);
	k->bad |= !tls_alpn_ok(o->alpn) || (name.n && memchr(name.p, 0, name.n));
}

static void x_names(Walk *k, TlsNames *names, Arena *a)
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

static void x_cert(Walk *k, TlsCert *c, Arena *a)
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

static void x_info(Walk *k, TlsInfo *i, Arena *a)
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
	Walk k = { .w = w };

	x_open(&k, &copy);
	return walk_done(&k);
}

bool tls_open_get(Bytes b, TlsOpen *ret_o)
{
	Cursor c = cursor(b);
	Walk k = { .c = &c };
	TlsOpen o = { 0 };

	x_open(&k, &o);
	if (walk_done(&k))
		*ret_o = o;
	return walk_done(&k);
}

bool tls_info_put(Writer *w, const TlsInfo *i)
{
	TlsInfo copy = *i; /* writing changes nothing behind its pointers */
	Walk k = { .w = w };

	x_info(&k, &copy, NULL);
	return walk_done(&k);
}

bool tls_info_get(Bytes b, Arena *a, TlsInfo *ret_i)
{
	Cursor c = cursor(b);
	Walk k = { .c = &c };
	TlsInfo i = { 0 };

	x_info(&k, &i, a);
	if (walk_done(&k))
		*ret_i = i;
	return walk_done(&k);
}
