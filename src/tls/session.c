/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/inside.h"

#include "base/addr.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- core ---- */

/* The chain is judged afterwards, by facts.c and at the time asked. */
static int judged_later(X509_STORE_CTX *store, void *arg)
{
	(void)store;
	(void)arg;
	return 1;
}

static bool configure(SSL_CTX *ctx)
{
	/* whatever a server still speaks is worth a report; level 0 because TLS 1.0 and 1.1
	 * sign with SHA-1, and because a weak key is a finding */
	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_LEGACY_SERVER_CONNECT);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_cert_verify_callback(ctx, judged_later, NULL);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION) == 1;
}

TlsCore *tls_core_new(void)
{
	TlsCore *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
	k->ctx = SSL_CTX_new(TLS_client_method());
	k->roots = X509_STORE_new();
	if (k->ctx && k->roots && configure(k->ctx))
		return k;
	tls_core_free(k);
	return NULL;
}

void tls_core_free(TlsCore *k)
{
	SSL_CTX_free(k->ctx);
	X509_STORE_free(k->roots);
	free(k);
}

size_t tls_core_roots(TlsCore *k, Bytes pem)
{
	BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
	size_t before = k->nroots;
	X509 *c;

	while (b && (c = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
		k->nroots += X509_STORE_add_cert(k->roots, c) == 1;
		X509_free(c);
	}
	BIO_free(b);
	ERR_clear_error(); /* the end of the text is one */
	return k->nroots - before;
}

/* ---- steps ---- */

/* The first word of OpenSSL's, which is the cause; later ones only follow from it. */
static void fail(TlsSession *s, const char *otherwise)
{
	unsigned long e = ERR_peek_error();
	const char *reason = e ? ERR_reason_error_string(e) : NULL;

	if (!s->error[0])
		snprintf(s->error, sizeof s->error, "%s", reason ? reason : otherwise);
	s->state = TLS_STATE_FAILED;
}

/* What a call that did not go through means; true: nothing but that more is needed. */
static bool wants_more(TlsSession *s, int result)
{
	switch (SSL_get_error(s->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return true;
	case SSL_ERROR_ZERO_RETURN: /* RFC 8446 6.1: close_notify */
		s->state = TLS_STATE_CLOSED;
		return false;
	default:
		fail(s, "a protocol error");
		return false;
	}
}

static void handshake(TlsSession *s)
{
	int r = SSL_do_handshake(s->ssl);

	if (r == 1)
		s->state = TLS_STATE_OPEN;
	else
		wants_more(s, r);
}

/* All that the peer has said so far. */
static size_t read_plain(TlsSession *s, uint8_t *to, size_t cap)
{
	size_t n = 0, got = 0;

	while (s->state == TLS_STATE_OPEN && n < cap) {
		int r = SSL_read_ex(s->ssl, to + n, cap - n, &got);

		if (r == 1)
			n += got;
		else if (wants_more(s, r))
			break;
	}
	return n;
}

/* Ends a step: what is to leave, which after a failure is the alert. */
static void finish(TlsSession *s, size_t nplain, TlsStep *ret_step)
{
	TlsCore *k = s->core;
	size_t n = 0;

	if (BIO_ctrl_pending(s->out) > sizeof k->out - nplain) {
		fail(s, "the peer asks for more than it sends");
	} else if (BIO_ctrl_pending(s->out)) {
		BIO_read_ex(s->out, k->out, sizeof k->out, &n);
	}
	ERR_clear_error();
	memcpy(k->error, s->error, sizeof k->error); /* outlives the session */
	*ret_step = (TlsStep){ s->state, BYTES(k->plain, nplain), BYTES(k->out, n), k->error };
}

void tls_session_feed(TlsSession *s, Bytes b, TlsStep *ret_step)
{
	size_t n = 0, taken = 0;

	ERR_clear_error();
	if (s->state == TLS_STATE_HANDSHAKE || s->state == TLS_STATE_OPEN) {
		if (b.n && BIO_write_ex(s->in, b.p, b.n, &taken) != 1)
			fail(s, "no memory");
		if (s->state == TLS_STATE_HANDSHAKE)
			handshake(s);
		n = read_plain(s, s->core->plain, sizeof s->core->plain);
	}
	finish(s, n, ret_step);
}

void tls_session_write(TlsSession *s, Bytes b, TlsStep *ret_step)
{
	size_t taken = 0;

	ERR_clear_error();
	if (s->state == TLS_STATE_OPEN && b.n) {
		int r = SSL_write_ex(s->ssl, b.p, b.n, &taken);

		if (r != 1 && !wants_more(s, r) && s->state == TLS_STATE_OPEN)
			fail(s, "it could not be written");
	}
	finish(s, 0, ret_step);
}

void tls_session_close(TlsSession *s, TlsStep *ret_step)
{
	ERR_clear_error();
	if (s->state == TLS_STATE_OPEN || s->state == TLS_STATE_CLOSED) {
		SSL_shutdown(s->ssl);
		s->state = TLS_STATE_CLOSED;
	}
	finish(s, 0, ret_step);
}

/* ---- sessions ---- */

/* RFC 6066 3: no address is sent as a server's name. */
static bool set_name(TlsSession *s, Str name)
{
	Ip ip;

	if (!name.n)
		return true;
	memcpy(s->name, name.p, name.n); /* a TlsOpen's is short enough */
	s->name_is_address = ip_parse(name, &ip);
	return s->name_is_address || SSL_set_tlsext_host_name(s->ssl, s->name) == 1;
}

static bool set_up(TlsSession *s, const TlsOpen *o)
{
	s->ssl = SSL_new(s->core->ctx);
	s->in = BIO_new(BIO_s_mem());
	s->out = BIO_new(BIO_s_mem());
	if (!s->ssl || !s->in || !s->out) {
		BIO_free(s->in);
		BIO_free(s->out);
		return false;
	}
	SSL_set_bio(s->ssl, s->in, s->out);
	SSL_set_connect_state(s->ssl);
	SSL_set_tlsext_status_type(s->ssl, TLSEXT_STATUSTYPE_ocsp);
	return set_name(s, o->name) && (!o->alpn.n || SSL_set_alpn_protos(s->ssl, o->alpn.p, (unsigned)o->alpn.n) == 0);
}

TlsSession *tls_session_new(TlsCore *k, const TlsOpen *o, TlsStep *ret_step)
{
	TlsSession *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (TlsSession){ .core = k, .state = TLS_STATE_HANDSHAKE, .at_s = o->at_s };
	if (!set_up(s, o)) {
		tls_session_free(s);
		return NULL;
	}
	ERR_clear_error();
	handshake(s);
	finish(s, 0, ret_step);
	return s;
}

void tls_session_free(TlsSession *s)
{
	SSL_free(s->ssl);
	free(s);
}
