/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS over TCP: a stream in pieces, as a connection brings it, and the messages in it.
 * However it is cut, the same messages come out, and each holds what must hold for one.
 */
#include "wire/fuzz_check.h"

enum { STREAM_MOST = 1 << 17, MESSAGES_MOST = 64 };

typedef struct Stream {
	uint8_t p[STREAM_MOST];
	size_t n;
	uint64_t hash; /* of the messages so far */
	unsigned messages;
} Stream;

static void message(Stream *s, Bytes b)
{
	Arena a;
	WirePacket p;

	s->hash = s->hash * 31 + bytes_hash(b);
	if (s->messages++ >= MESSAGES_MOST)
		return;
	arena_init(&a, memory, sizeof memory, NULL);
	wire_parse(b, WIRE_DNS, &a, &p);
	check_accounts(&p, b);
	check_reads(&p, &a);
	check_again(&p, b, &a);
}

static void arrive(Stream *s, Bytes b)
{
	size_t n;

	memcpy(s->p + s->n, b.p, b.n);
	s->n += b.n;
	while ((n = dns_stream_size(BYTES(s->p, s->n))) && n <= s->n) {
		message(s, BYTES(s->p + DNS_STREAM_HEAD, n - DNS_STREAM_HEAD));
		memmove(s->p, s->p + n, s->n - n);
		s->n -= n;
	}
}

static void read_all(Stream *s, Bytes in, size_t piece)
{
	s->n = s->messages = 0;
	s->hash = 0;
	for (size_t at = 0; at < in.n; at += piece)
		arrive(s, bytes_slice(in, at, at + piece));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Stream whole, cut;

	if (size < 2 || size > STREAM_MOST)
		return 0;
	Bytes in = BYTES(data + 1, size - 1);
	read_all(&whole, in, in.n);
	read_all(&cut, in, 1 + data[0]);
	must(whole.hash == cut.hash && whole.messages == cut.messages && whole.n == cut.n);
	return 0;
}
