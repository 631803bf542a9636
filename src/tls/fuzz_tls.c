/* SPDX-License-Identifier: Apache-2.0
 *
 * A session with a real server in memory; the input says what somebody between does to
 * the server's bytes: cuts them to pieces, changes, drops, repeats them, adds his own.
 * Whatever he does, answers are well-formed, and what is read is what was said.
 */
#include "base/limits.h"
#include "tls/serve.h"
#include "tls/test_peer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SESSION = 1, LINE = 1 << 16 };

typedef struct Fuzz {
	TlsServer *server;
	TestPeer *peer;
	uint8_t line[LINE]; /* what the peer has sent and nobody has delivered */
	size_t n;
	size_t written, read; /* bytes that the program wrote and got back */
} Fuzz;

static uint8_t request[LIMIT_MSG + 8], answer[LIMIT_MSG + 8], memory[1 << 21];

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void to_peer(Fuzz *z, Bytes b)
{
	z->n += test_peer_step(z->peer, b, z->line + z->n, LINE - z->n);
}

/* The peer echoes, and the program only ever writes 'a's. */
static void check_plain(Fuzz *z, Bytes plain)
{
	z->read += plain.n;
	must(z->read <= z->written);
	for (size_t i = 0; i < plain.n; i++)
		must(plain.p[i] == 'a');
}

static void check_info(Bytes b)
{
	TlsInfo info;
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	must(!b.n || tls_info_get(b, &a, &info));
}

static void ask(Fuzz *z, TlsOp op, Bytes data)
{
	Writer w = writer(request, sizeof request), out = writer(answer, sizeof answer);
	Msg m = { .type = MSG_TLS_ASK, .tls_ask = { .id = 7, .session = SESSION, .op = (uint8_t)op, .data = data } };
	Cursor c;

	must(msg_put(&w, &m) && tls_server_answer(z->server, wr_done(&w), &out));
	c = cursor(wr_done(&out));
	must(msg_get(&c, 'G', &m) == MSG_OK && m.tls_said.state < TLS_STATE_N);
	if (op == TLS_OP_INFO)
		check_info(m.tls_said.plain);
	else
		check_plain(z, m.tls_said.plain);
	if (m.tls_said.state != TLS_STATE_NONE)
		to_peer(z, m.tls_said.out);
}

static void take(Fuzz *z, size_t n)
{
	memmove(z->line, z->line + n, z->n - n);
	z->n -= n;
}

static void deliver(Fuzz *z, size_t n, bool again)
{
	uint8_t piece[256];

	n = n < z->n ? n : z->n;
	memcpy(piece, z->line, n);
	if (!again)
		take(z, n);
	ask(z, TLS_OP_FEED, BYTES(piece, n));
}

static void write_plain(Fuzz *z, size_t n)
{
	static const uint8_t text[256] = { [0 ... 255] = 'a' };

	z->written += n;
	ask(z, TLS_OP_WRITE, BYTES(text, n));
}

static void step(Fuzz *z, Cursor *in)
{
	uint8_t op = cur_u8(in) % 9, n = cur_u8(in);

	switch (op) {
	case 0:
	case 1:
	case 2:
		deliver(z, n, op == 2);
		break;
	case 3:
		for (int i = 0; i < 64 && z->n; i++) /* on to where it gets interesting */
			deliver(z, 255, false);
		break;
	case 4:
		if (n < z->n)
			z->line[n] ^= cur_u8(in);
		break;
	case 5:
		take(z, n < z->n ? n : z->n);
		break;
	case 6:
		ask(z, TLS_OP_FEED, cur_bytes(in, n < cur_left(in) ? n : cur_left(in)));
		break;
	case 7:
		write_plain(z, n);
		break;
	case 8:
		ask(z, n % 4 ? TLS_OP_INFO : TLS_OP_CLOSE, (Bytes){ 0 });
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static TlsCore *core;
	static TestPeer peer;
	static Fuzz z;
	Cursor in = cursor(BYTES(data, size));
	uint8_t opening[64];
	Writer w = writer(opening, sizeof opening);
	TlsOpen o = { .at_s = 1700000000, .name = STR("test.peer"), .alpn = BYTES("\x02h2", 3) };

	if (!core) {
		core = tls_core_new();
		test_peer_init(&peer);
	}
	must(tls_open_put(&w, &o));
	z = (Fuzz){ .server = tls_server_new(core), .peer = &peer };
	test_peer_begin(&peer, cur_u8(&in) & 1);
	ask(&z, TLS_OP_OPEN, wr_done(&w));
	while (cur_left(&in) && z.n < LINE / 2)
		step(&z, &in);
	tls_server_free(z.server);
	return 0;
}
