/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a hostile engine: messages of each direction, manifests, declarations.
 * What decodes must encode to the same bytes.
 */
#include "base/limits.h"
#include "deal/launch.h"
#include "deal/manifest_codec.h"
#include "deal/msg.h"
#include "deal/tls.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20], out[1 << 20];

static void same(Bytes a, Bytes b)
{
	if (!bytes_eq(a, b))
		abort();
}

static void messages(Bytes in, char from)
{
	Cursor c = cursor(in);
	Msg m;

	for (size_t at = 0; msg_get(&c, from, &m) == MSG_OK; at = c.off) {
		Writer w = writer(out, sizeof out);

		if (!msg_put(&w, &m)) {
			if (c.off - at <= LIMIT_MSG)
				abort();
			continue;
		}
		same(wr_done(&w), bytes_slice(in, at, c.off));
	}
}

/* What a taken-over front asks of the launcher. */
static void launch(Bytes in)
{
	Writer w = writer(out, sizeof out);
	LaunchAsk a;
	LaunchJob j;

	if (launch_ask_get(in, &a)) {
		launch_ask_put(&a, out);
		same(BYTES(out, LAUNCH_ASK), in);
	}
	if (launch_job_get(in, &j)) {
		if (!launch_job_put(&w, &j))
			abort();
		same(wr_done(&w), in);
	}
}

/* What a taken-over TLS process tells the engine, and a taken-over engine asks it. */
static void tls(Bytes in)
{
	Writer w = writer(out, sizeof out);
	TlsInfo i;
	TlsOpen o;
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	if (tls_info_get(in, &a, &i)) {
		if (!tls_info_put(&w, &i))
			abort();
		same(wr_done(&w), in);
	}
	w = writer(out, sizeof out);
	if (tls_open_get(in, &o)) {
		if (!tls_open_put(&w, &o))
			abort();
		same(wr_done(&w), in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	Manifest m;
	Decls d;
	Writer w = writer(out, sizeof out);

	for (const char *from = "EGOPC"; *from; from++)
		messages(BYTES(data, size), *from);
	tls(BYTES(data, size));
	launch(BYTES(data, size));
	arena_init(&a, memory, sizeof memory, NULL);
	if (!manifest_decode(BYTES(data, size), &a, &m)) {
		if (!manifest_encode(&m, &w))
			abort();
		same(wr_done(&w), BYTES(data, size));
	}
	w = writer(out, sizeof out);
	if (!decls_decode(BYTES(data, size), &a, &d)) {
		if (!decls_encode(&d, &w))
			abort();
		same(wr_done(&w), BYTES(data, size));
	}
	return 0;
}
