/* SPDX-License-Identifier: Apache-2.0
 *
 * Against `openssl s_server` over loopback, with certificates made by the openssl tool:
 * each with the verdict it deserves; and against a server in memory whose bytes are cut
 * to pieces, changed and repeated.
 */
#include "base/limits.h"
#include "base/rng.h"
#include "tls/serve.h"
#include "tls/test_peer.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- certificates ---- */

static char dir[] = "/tmp/sonde-tls-XXXXXX";

static const char make_certificates[] =
	"exec > make.log 2>&1; set -e\n"
	"key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key; }\n"
	"leaf() { key $1; openssl req -new -key $1.key -subj \"/O=Acme/CN=$1\" -out $1.csr;\n"
	"  printf 'subjectAltName=%s\\n' \"$2\" > $1.ext;\n"
	"  openssl x509 -req -in $1.csr -CA $3.pem -CAkey $3.key -CAcreateserial -days $4 -extfile $1.ext -out $1.pem; }\n"
	"key root; openssl req -x509 -new -key root.key -days 30 -subj '/CN=Test Root' -out root.pem\n"
	"key inter; openssl req -new -key inter.key -subj '/CN=Test Intermediate' -out inter.csr\n"
	"printf 'basicConstraints=critical,CA:true\\n' > inter.ext\n"
	"openssl x509 -req -in inter.csr -CA root.pem -CAkey root.key -CAcreateserial -days 20 -extfile inter.ext -out inter.pem\n"
	"leaf good DNS:www.acme.corp,DNS:*.wild.corp,IP:127.0.0.1,IP:fd00::1,email:a@acme.corp root 10\n"
	"leaf deep DNS:deep.acme.corp inter 10\n"
	"leaf expired DNS:www.acme.corp root -1\n"
	"key self; openssl req -x509 -new -key self.key -days 10 -subj '/CN=www.acme.corp' -addext subjectAltName=DNS:www.acme.corp -out self.pem\n"
	"key hostile; openssl req -x509 -new -key hostile.key -days 10 -utf8 -subj \"$(printf '/CN=\\033[31m| Sonde says: all is well\\n\\001')\" -out hostile.pem\n";

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chdir(dir))
		return -1;
	return system(make_certificates);
}

static int remove_dir(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	return system(cmd);
}

static Bytes file(const char *name)
{
	static uint8_t buf[1 << 16];
	FILE *f = fopen(name, "re");
	size_t n = f ? fread(buf, 1, sizeof buf, f) : 0;

	assert_non_null(f);
	fclose(f);
	return BYTES(buf, n);
}

/* ---- s_server ---- */

typedef struct Server {
	pid_t pid;
	int out; /* what it prints */
	int fd;	 /* connected to it */
} Server;

static int port_of(int out)
{
	char line[256];
	size_t n = 0;
	int port = 0;

	while (!port && n < sizeof line - 1 && read(out, line + n, 1) == 1) {
		line[++n] = 0;
		if (line[n - 1] == '\n' && sscanf(line, "ACCEPT 127.0.0.1:%d", &port) != 1)
			n = 0;
	}
	return port;
}

/* args: of s_server, separated by blanks. It answers each line with the line reversed. */
static Server server(const char *args)
{
	char cmd[512];
	int out[2];
	Server s;

	assert_int_equal(pipe(out), 0);
	snprintf(cmd, sizeof cmd, "exec openssl s_server -accept 127.0.0.1:0 -naccept 1 -rev %s 2>s_server.log", args);
	s.pid = fork();
	if (s.pid == 0) {
		dup2(out[1], 1);
		close(out[0]);
		execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	s.out = out[0];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(out[0])),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_not_equal(to.sin_port, 0);
	s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = 10 };
	setsockopt(s.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	assert_int_equal(connect(s.fd, (struct sockaddr *)&to, sizeof to), 0);
	return s;
}

static void server_end(Server *s)
{
	close(s->fd);
	close(s->out);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
}

static void give(int fd, Bytes b)
{
	if (b.n)
		assert_int_equal(send(fd, b.p, b.n, MSG_NOSIGNAL), b.n);
}

/* Feeds what the server sends, `piece` bytes at a time, until it has said `plain` bytes or
 * the state is no more what it was. */
static size_t pump(TlsSession *s, TlsStep *step, int fd, size_t piece, char *plain, size_t want)
{
	TlsState was = step->state;
	uint8_t buf[4096];
	size_t n = 0;

	while (step->state == was && (want == 0 || n < want)) {
		ssize_t got = recv(fd, buf, piece, 0);

		if (got <= 0)
			break;
		tls_session_feed(s, BYTES(buf, (size_t)got), step);
		give(fd, step->out);
		if (plain && step->plain.n)
			memcpy(plain + n, step->plain.p, step->plain.n);
		n += step->plain.n;
	}
	return n;
}

static uint8_t memory[1 << 20];

typedef struct Meeting {
	TlsCore *core;
	TlsSession *session;
	TlsStep step;
	Server server;
	TlsInfo info;
} Meeting;

static void meet_at(Meeting *m, const char *args, const char *roots, TlsOpen o, size_t piece)
{
	static uint8_t buf[LIMIT_TLS_SAID];
	Writer w = writer(buf, sizeof buf);
	Arena a;

	*m = (Meeting){ .core = tls_core_new(), .server = server(args) };
	assert_non_null(m->core);
	if (roots)
		assert_int_equal(tls_core_roots(m->core, file(roots)), 1);
	m->session = tls_session_new(m->core, &o, &m->step);
	assert_int_equal(m->step.state, TLS_STATE_HANDSHAKE);
	give(m->server.fd, m->step.out);
	pump(m->session, &m->step, m->server.fd, piece, NULL, 0);
	arena_init(&a, memory, sizeof memory, NULL);
	assert_true(tls_session_info(m->session, &w));
	assert_true(tls_info_get(wr_done(&w), &a, &m->info));
}

static void meet(Meeting *m, const char *args, const char *roots, const char *name)
{
	meet_at(m, args, roots, (TlsOpen){ .at_s = time(NULL), .name = str_c(name) }, 4096);
}

static void part(Meeting *m)
{
	server_end(&m->server);
	tls_session_free(m->session);
	tls_core_free(m->core);
}

static void assert_str(Str s, const char *z)
{
	if (!str_is(s, z))
		fail_msg("\"%.*s\" instead of \"%s\"", STR_ARG(s), z);
}

/* ---- what is told of a server ---- */

static void test_good(void **state)
{
	Meeting m;
	int64_t now = time(NULL);

	(void)state;
	meet_at(&m, "-key good.key -cert good.pem -alpn http/1.1", "root.pem",
		(TlsOpen){ .at_s = now, .name = STR("www.acme.corp"), .alpn = BYTES("\x02h2\x08http/1.1", 12) }, 4096);
	assert_int_equal(m.step.state, TLS_STATE_OPEN);
	assert_str(m.info.version, "TLSv1.3");
	assert_str(m.info.cipher, "TLS_AES_256_GCM_SHA384");
	assert_str(m.info.alpn, "http/1.1");
	assert_true(m.info.trusted && m.info.name == TLS_NAME_OK && !m.info.ocsp && !m.info.reason.n);
	assert_int_equal(m.info.chain.n, 1);
	const TlsCert *c = &m.info.chain.p[0];
	assert_str(c->subject, "O=Acme, CN=good");
	assert_str(c->issuer, "CN=Test Root");
	assert_str(c->key, "EC 256");
	assert_str(c->signature, "ecdsa-with-SHA256");
	assert_true(llabs(c->not_before_s - now) < 600);
	assert_int_equal(c->not_after_s - c->not_before_s, 10 * 86400);
	assert_int_equal(c->san.n, 5);
	assert_str(c->san.p[0], "www.acme.corp");
	assert_str(c->san.p[2], "127.0.0.1");
	assert_str(c->san.p[3], "fd00::1");
	assert_str(c->san.p[4], "email:a@acme.corp");
	part(&m);
}

/* The same as openssl's own tool says of the file. */
static void test_fingerprint_is_openssls(void **state)
{
	char hex[128] = "", mine[128] = "";
	Meeting m;

	(void)state;
	assert_int_equal(system("openssl x509 -in good.pem -outform DER | sha256sum > sum"), 0);
	Bytes b = file("sum");
	memcpy(hex, b.p, 64);
	meet(&m, "-key good.key -cert good.pem", "root.pem", "www.acme.corp");
	for (size_t i = 0; i < m.info.chain.p[0].sha256.n; i++)
		snprintf(mine + 2 * i, 3, "%02x", m.info.chain.p[0].sha256.p[i]);
	assert_string_equal(mine, hex);
	part(&m);
}

static void verdict(const char *args, const char *roots, TlsOpen o, TlsNameOk name, const char *reason)
{
	Meeting m;

	meet_at(&m, args, roots, o, 4096);
	assert_int_equal(m.step.state, TLS_STATE_OPEN); /* a bad certificate is told, no reason to hang up */
	assert_int_equal(m.info.name, name);
	assert_int_equal(m.info.trusted, !reason[0]);
	assert_str(m.info.reason, reason);
	part(&m);
}

static void test_verdicts(void **state)
{
	const char *good = "-key good.key -cert good.pem", *root = "root.pem";
	TlsOpen o = { .at_s = time(NULL), .name = STR("www.acme.corp") };

	(void)state;
	verdict("-key expired.key -cert expired.pem", root, o, TLS_NAME_OK, "certificate has expired");
	verdict("-key self.key -cert self.pem", root, o, TLS_NAME_OK, "self-signed certificate");
	verdict(good, NULL, o, TLS_NAME_OK, "this host has no trusted roots");
	verdict(good, "self.pem", o, TLS_NAME_OK, "unable to get local issuer certificate");
	o.name = STR("db.acme.corp");
	verdict(good, root, o, TLS_NAME_WRONG, "");
	o.name = STR("a.wild.corp");
	verdict(good, root, o, TLS_NAME_OK, "");
	o.name = STR("a.b.wild.corp"); /* RFC 6125 6.4.3: one label */
	verdict(good, root, o, TLS_NAME_WRONG, "");
	o.name = STR("127.0.0.1");
	verdict(good, root, o, TLS_NAME_OK, "");
	o.name = STR("127.0.0.2");
	verdict(good, root, o, TLS_NAME_WRONG, "");
	o.name = STR("");
	verdict(good, root, o, TLS_NAME_NOT_ASKED, "");
	o.at_s += 11 * 86400; /* the time asked counts, not ours */
	verdict(good, root, o, TLS_NAME_NOT_ASKED, "certificate has expired");
	o.at_s -= 22 * 86400;
	verdict(good, root, o, TLS_NAME_NOT_ASKED, "certificate is not yet valid");
}

static void test_chain(void **state)
{
	Meeting m;

	(void)state;
	meet(&m, "-key deep.key -cert deep.pem -cert_chain inter.pem", "root.pem", "deep.acme.corp");
	assert_true(m.info.trusted);
	assert_int_equal(m.info.certs, 2);
	assert_str(m.info.chain.p[1].subject, "CN=Test Intermediate");
	part(&m);
	meet(&m, "-key deep.key -cert deep.pem", "root.pem", "deep.acme.corp"); /* the server forgot it */
	assert_false(m.info.trusted);
	assert_str(m.info.reason, "unable to get local issuer certificate");
	part(&m);
}

static void spoken(const char *args, const char *version, const char *cipher)
{
	char all[256];
	Meeting m;

	snprintf(all, sizeof all, "-key good.key -cert good.pem %s", args);
	meet(&m, all, "root.pem", "www.acme.corp");
	assert_int_equal(m.step.state, TLS_STATE_OPEN);
	assert_str(m.info.version, version);
	assert_str(m.info.cipher, cipher);
	assert_true(m.info.trusted);
	part(&m);
}

static void test_versions(void **state)
{
	(void)state;
	spoken("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256");
	spoken("-tls1_1 -cipher DEFAULT:@SECLEVEL=0", "TLSv1.1", "ECDHE-ECDSA-AES256-SHA");
	spoken("-tls1 -cipher DEFAULT:@SECLEVEL=0", "TLSv1", "ECDHE-ECDSA-AES256-SHA");
	spoken("-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256", "TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256");
}

static void test_ocsp_stapled(void **state)
{
	Meeting m;

	(void)state;
	assert_int_equal(system("exec >ocsp.log 2>&1; touch index.txt;"
				"openssl ocsp -issuer root.pem -cert good.pem -reqout req.der -no_nonce &&"
				"openssl ocsp -index index.txt -rsigner root.pem -rkey root.key -CA root.pem -reqin req.der"
				" -respout resp.der -ndays 1"),
			 0);
	meet(&m, "-key good.key -cert good.pem -status_file resp.der", "root.pem", "www.acme.corp");
	assert_true(m.info.ocsp);
	part(&m);
}

/* A server that answers the client hello with an alert. */
static void test_refused(void **state)
{
	Meeting m;

	(void)state;
	meet_at(&m, "-key good.key -cert good.pem -alpn spdy/1", "root.pem",
		(TlsOpen){ .at_s = time(NULL), .name = STR("www.acme.corp"), .alpn = BYTES("\x02h2", 3) }, 4096);
	assert_int_equal(m.step.state, TLS_STATE_FAILED);
	assert_string_equal(m.step.error, "tlsv1 alert no application protocol");
	assert_int_equal(m.info.chain.n, 0);
	assert_str(m.info.reason, "no certificate came");
	part(&m);
}

/* Names stay within their piece of text: what is no printable ASCII is escaped. */
static void test_hostile_subject(void **state)
{
	Meeting m;

	(void)state;
	meet(&m, "-key hostile.key -cert hostile.pem", "root.pem", "");
	Str s = m.info.chain.p[0].subject;
	assert_true(s.n > 10);
	for (size_t i = 0; i < s.n; i++)
		assert_true(s.p[i] >= ' ' && s.p[i] < 127);
	part(&m);
}

/* ---- data ---- */

static void test_data(void **state)
{
	static const size_t pieces[] = { 1, 7, 4096 };
	char plain[4096];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		TlsOpen o = { .at_s = time(NULL), .name = STR("www.acme.corp") };
		Meeting m;

		meet_at(&m, "-key good.key -cert good.pem", "root.pem", o, pieces[i]);
		tls_session_write(m.session, BYTES("abcdefgh\n", 9), &m.step);
		give(m.server.fd, m.step.out);
		assert_int_equal(pump(m.session, &m.step, m.server.fd, pieces[i], plain, 9), 9);
		assert_memory_equal(plain, "hgfedcba\n", 9);
		tls_session_close(m.session, &m.step);
		assert_int_equal(m.step.state, TLS_STATE_CLOSED);
		assert_true(m.step.out.n > 0); /* close_notify */
		part(&m);
	}
}

/* ---- a server in memory, and somebody between ---- */

typedef struct Between {
	uint64_t chance; /* one byte in so many is changed; 0: none */
	size_t most;	 /* pieces of 1..most bytes */
	uint64_t seed, drawn;
} Between;

static uint64_t draw(Between *b, uint64_t below)
{
	return rng_below(rng_draw(b->seed, 1, b->drawn++), below);
}

/* Runs a handshake and one exchange; what was said to the client. */
static size_t talk(TlsCore *k, TestPeer *p, Between *b, char *said, TlsStep *step)
{
	static uint8_t buf[1 << 16];
	TlsOpen o = { .at_s = time(NULL), .name = STR("test.peer") };
	TlsSession *s = tls_session_new(k, &o, step);
	bool written = false;
	size_t got = 0;

	for (int round = 0; round < 20 && step->state < TLS_STATE_CLOSED; round++) {
		size_t n = test_peer_step(p, step->out, buf, sizeof buf);

		step->out.n = 0;
		for (size_t at = 0, len; at < n; at += len) {
			static uint8_t back[1 << 16];
			size_t nback = 0;

			len = 1 + draw(b, b->most);
			len = len > n - at ? n - at : len;
			for (size_t i = 0; b->chance && i < len; i++)
				if (draw(b, b->chance) == 0)
					buf[at + i] ^= (uint8_t)(1u << draw(b, 8));
			tls_session_feed(s, BYTES(buf + at, len), step);
			memcpy(back + nback, step->out.p, step->out.n);
			nback += step->out.n;
			if (step->plain.n)
				memcpy(said + got, step->plain.p, step->plain.n);
			got += step->plain.n;
			if (nback)
				n += test_peer_step(p, BYTES(back, nback), buf + n, sizeof buf - n);
		}
		step->out.n = 0;
		if (step->state == TLS_STATE_OPEN && !written) {
			tls_session_write(s, BYTES("who is there", 12), step);
			written = true;
		}
	}
	tls_session_free(s);
	return got;
}

static void test_any_pieces(void **state)
{
	TlsCore *k = tls_core_new();
	char said[4096];
	TestPeer p;
	TlsStep step;

	(void)state;
	test_peer_init(&p);
	for (size_t most = 1; most < 3000; most = most * 3 + 1) {
		Between b = { .most = most, .seed = most };

		test_peer_begin(&p, most % 2);
		assert_int_equal(talk(k, &p, &b, said, &step), 12);
		assert_memory_equal(said, "who is there", 12);
		assert_int_equal(step.state, TLS_STATE_OPEN);
	}
	test_peer_done(&p);
	tls_core_free(k);
}

/* Nobody between can change what is said: it comes whole, or not at all. */
static void test_changed_bytes(void **state)
{
	TlsCore *k = tls_core_new();
	unsigned failed = 0, whole = 0;
	char said[4096];
	TestPeer p;
	TlsStep step;

	(void)state;
	test_peer_init(&p);
	for (uint64_t i = 0; i < 400; i++) {
		Between b = { .chance = 700, .most = 400, .seed = i };
		size_t n;

		test_peer_begin(&p, i % 2);
		n = talk(k, &p, &b, said, &step);
		assert_true(n == 0 || (n == 12 && memcmp(said, "who is there", 12) == 0));
		if (step.state == TLS_STATE_FAILED)
			assert_true(step.error[0]);
		failed += step.state == TLS_STATE_FAILED;
		whole += n == 12;
	}
	assert_true(failed > 100 && whole > 10);
	test_peer_done(&p);
	tls_core_free(k);
}

static void says(const char *bytes, size_t n, const char *error)
{
	TlsCore *k = tls_core_new();
	TlsOpen o = { .at_s = 1 };
	TlsStep step;
	TlsSession *s = tls_session_new(k, &o, &step);

	tls_session_feed(s, BYTES(bytes, n), &step);
	assert_int_equal(step.state, error[0] ? TLS_STATE_FAILED : TLS_STATE_HANDSHAKE);
	assert_string_equal(step.error, error);
	tls_session_feed(s, BYTES(bytes, n), &step); /* and stays so */
	tls_session_free(s);
	tls_core_free(k);
}

static void test_no_tls_at_all(void **state)
{
	(void)state;
	says("HTTP/1.1 400 Bad Request\r\n\r\n", 28, "wrong version number");
	says("SSH-2.0-OpenSSH_9.2\r\n", 21, "wrong version number");
	says("\x15\x03\x01\x00\x02\x02\x28", 7, "sslv3 alert handshake failure");
	says("\x16\x03\x03\xff\xff", 5, "packet length too long");
	says("\x16\x03\x03\x40\x00", 5, ""); /* the most a record may have: it waits */
}

static void test_random_bytes(void **state)
{
	TlsCore *k = tls_core_new();
	uint8_t buf[512];

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		TlsOpen o = { .at_s = 1 };
		Between r = { .seed = i };
		TlsStep step;
		TlsSession *s = tls_session_new(k, &o, &step);

		for (size_t j = 0; j < sizeof buf; j++)
			buf[j] = (uint8_t)draw(&r, 256);
		if (i % 2)
			memcpy(buf, "\x16\x03\x03\x01", 4); /* a record of 256..511 bytes: deeper in */
		tls_session_feed(s, BYTES(buf, sizeof buf), &step);
		assert_int_not_equal(step.state, TLS_STATE_OPEN);
		assert_int_equal(step.plain.n, 0);
		tls_session_free(s);
	}
	tls_core_free(k);
}

/* ---- requests ---- */

static Msg ask(TlsServer *v, uint32_t session, TlsOp op, Bytes data)
{
	static uint8_t in[LIMIT_MSG + 8], out[LIMIT_MSG + 8];
	Writer w = writer(in, sizeof in), answer = writer(out, sizeof out);
	Msg m = { .type = MSG_TLS_ASK, .tls_ask = { .id = 77, .session = session, .op = (uint8_t)op, .data = data } };

	assert_true(msg_put(&w, &m));
	if (!tls_server_answer(v, wr_done(&w), &answer))
		return (Msg){ 0 };
	Cursor c = cursor(wr_done(&answer));
	assert_int_equal(msg_get(&c, 'G', &m), MSG_OK);
	assert_int_equal(m.tls_said.id, 77);
	return m;
}

static Bytes opening(void)
{
	static uint8_t buf[512];
	Writer w = writer(buf, sizeof buf);
	TlsOpen o = { .at_s = 1, .name = STR("a.b") };

	assert_true(tls_open_put(&w, &o));
	return wr_done(&w);
}

static void test_requests(void **state)
{
	static uint8_t large[LIMIT_TLS_PIECE + 1];
	TlsCore *k = tls_core_new();
	TlsServer *v = tls_server_new(k);

	(void)state;
	Msg m = ask(v, 5, TLS_OP_OPEN, opening());
	assert_int_equal(m.tls_said.state, TLS_STATE_HANDSHAKE);
	assert_true(m.tls_said.out.n > 100);
	assert_int_equal(ask(v, 6, TLS_OP_FEED, BYTES("x", 1)).tls_said.state, TLS_STATE_NONE);
	assert_int_equal(ask(v, 0, TLS_OP_INFO, (Bytes){ 0 }).tls_said.state, TLS_STATE_NONE);
	assert_int_equal(ask(v, 5, TLS_OP_INFO, (Bytes){ 0 }).tls_said.state, TLS_STATE_HANDSHAKE);
	/* what no engine of ours asks */
	assert_int_equal(ask(v, 5, TLS_OP_OPEN, opening()).type, MSG_NONE);
	assert_int_equal(ask(v, 0, TLS_OP_OPEN, opening()).type, MSG_NONE);
	assert_int_equal(ask(v, 6, TLS_OP_OPEN, BYTES("x", 1)).type, MSG_NONE);
	assert_int_equal(ask(v, 5, (TlsOp)0, (Bytes){ 0 }).type, MSG_NONE);
	assert_int_equal(ask(v, 5, (TlsOp)200, (Bytes){ 0 }).type, MSG_NONE);
	assert_int_equal(ask(v, 5, TLS_OP_FEED, BYTES(large, sizeof large)).type, MSG_NONE);
	assert_int_equal(ask(v, 5, TLS_OP_CLOSE, (Bytes){ 0 }).tls_said.state, TLS_STATE_HANDSHAKE);
	assert_int_equal(ask(v, 5, TLS_OP_FEED, BYTES("x", 1)).tls_said.state, TLS_STATE_NONE);
	tls_server_free(v);
	tls_core_free(k);
}

static void test_sessions_are_bounded(void **state)
{
	TlsCore *k = tls_core_new();
	TlsServer *v = tls_server_new(k);

	(void)state;
	for (uint32_t i = 1; i <= LIMIT_TLS_SESSIONS; i++)
		assert_int_equal(ask(v, i, TLS_OP_OPEN, opening()).tls_said.state, TLS_STATE_HANDSHAKE);
	assert_int_equal(ask(v, 9999, TLS_OP_OPEN, opening()).tls_said.state, TLS_STATE_NONE);
	ask(v, 1, TLS_OP_CLOSE, (Bytes){ 0 });
	assert_int_equal(ask(v, 9999, TLS_OP_OPEN, opening()).tls_said.state, TLS_STATE_HANDSHAKE);
	tls_server_free(v);
	tls_core_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	     cmocka_unit_test(test_fingerprint_is_openssls),
		cmocka_unit_test(test_verdicts),     cmocka_unit_test(test_chain),
		cmocka_unit_test(test_versions),     cmocka_unit_test(test_ocsp_stapled),
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_hostile_subject),
		cmocka_unit_test(test_data),	     cmocka_unit_test(test_any_pieces),
		cmocka_unit_test(test_changed_bytes), cmocka_unit_test(test_no_tls_at_all),
		cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_requests),
		cmocka_unit_test(test_sessions_are_bounded),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
