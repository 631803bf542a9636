/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture file of a stranger: all its frames are told, as messages that the engine
 * accepts, or it is refused.
 */
#include "port/pcap.h"

#include "deal/msg.h"
#include "sys/pcap_lib.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The engine's side: what it asks for, all at once. */
static void ask(int fd)
{
	uint8_t buf[256];
	Writer w = writer(buf, sizeof buf);

	msg_put(&w, &(Msg){ .type = MSG_MANIFEST });
	msg_put(&w, &(Msg){ .type = MSG_NOW, .now = { .id = 1 } });
	msg_put(&w, &(Msg){ .type = MSG_WAIT, .wait = { .id = 2, .wake_at = INT64_MAX } });
	if (write(fd, w.p, w.n) < 0)
		abort();
}

static void listen_to(int fd)
{
	static uint8_t buf[256 * 1024];
	int64_t at = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof buf)) > 0) {
		Cursor c = cursor(BYTES(buf, (size_t)n));
		MsgRead got;
		Msg m;

		while ((got = msg_get(&c, 'G', &m)) == MSG_OK) {
			if (m.type != MSG_FRAME)
				continue;
			if (m.frame.rx_ns < at) /* a run does not go back in time */
				abort();
			at = m.frame.rx_ns;
		}
		if (got == MSG_BAD)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : NULL;
	int pair[2];

	if (!f)
		return 0;
	if (!pcap_lib_load() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
		abort();
	ask(pair[1]);
	pcap_port_file(pair[0], f, "fuzz");
	close(pair[0]);
	listen_to(pair[1]);
	close(pair[1]);
	return 0;
}
