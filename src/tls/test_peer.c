/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/test_peer.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

static X509 *certificate(EVP_PKEY *key)
{
	X509 *c = X509_new();
	X509_NAME *name = X509_get_subject_name(c);

	X509_set_version(c, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(c), 1);
	X509_gmtime_adj(X509_getm_notBefore(c), -3600);
	X509_gmtime_adj(X509_getm_notAfter(c), 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test.peer", -1, -1, 0);
	X509_set_issuer_name(c, name);
	X509_set_pubkey(c, key);
	X509_sign(c, key, EVP_sha256());
	return c;
}

void test_peer_init(TestPeer *p)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *c = certificate(key);

	*p = (TestPeer){ .ctx = SSL_CTX_new(TLS_server_method()) };
	SSL_CTX_use_certificate(p->ctx, c);
	SSL_CTX_use_PrivateKey(p->ctx, key);
	X509_free(c);
	EVP_PKEY_free(key);
}

void test_peer_begin(TestPeer *p, bool tls12)
{
	SSL_free(p->ssl);
	p->ssl = SSL_new(p->ctx);
	p->in = BIO_new(BIO_s_mem());
	p->out = BIO_new(BIO_s_mem());
	SSL_set_bio(p->ssl, p->in, p->out);
	SSL_set_accept_state(p->ssl);
	if (tls12)
		SSL_set_max_proto_version(p->ssl, TLS1_2_VERSION);
}

void test_peer_done(TestPeer *p)
{
	SSL_free(p->ssl);
	SSL_CTX_free(p->ctx);
}

static void echo(TestPeer *p)
{
	uint8_t buf[4096];
	size_t n = 0, sent = 0;

	while (SSL_read_ex(p->ssl, buf, sizeof buf, &n) == 1)
		SSL_write_ex(p->ssl, buf, n, &sent);
}

size_t test_peer_step(TestPeer *p, Bytes from_client, uint8_t *to, size_t cap)
{
	size_t n = 0;

	if (from_client.n)
		BIO_write_ex(p->in, from_client.p, from_client.n, &n);
	if (SSL_do_handshake(p->ssl) == 1)
		echo(p);
	ERR_clear_error();
	n = 0;
	if (BIO_ctrl_pending(p->out))
		BIO_read_ex(p->out, to, cap, &n);
	return n;
}
