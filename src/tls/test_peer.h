/* SPDX-License-Identifier: Apache-2.0
 *
 * A TLS server in memory, with a certificate made on the spot: the other end for tests
 * that cut, change and repeat its bytes.
 */
#ifndef SONDE_TLS_TEST_PEER_H
#define SONDE_TLS_TEST_PEER_H

#include "base/bytes.h"

#include <openssl/ssl.h>

typedef struct TestPeer {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out;
} TestPeer;

/* Its certificate is CN=test.peer, signed by itself.  tls12: no TLS 1.3. */
void test_peer_init(TestPeer *p);
/* A new connection. */
void test_peer_begin(TestPeer *p, bool tls12);
void test_peer_done(TestPeer *p);

/* Takes the client's bytes, does what is due, echoes what is said; its own bytes. */
size_t test_peer_step(TestPeer *p, Bytes from_client, uint8_t *to, size_t cap);

#endif
