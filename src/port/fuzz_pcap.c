/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture file of a stranger: all its frames are told, as messages that the engine
 * accepts, or it is refused.
 */
#include "port/pcap.h"

#include "deal/msg.h"
#include "sys/pcap_lib.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The engine's side, a thread of its own: asks for all that the file has, checks what
 * it is told, and leaves when there is no more. */
static void *engine(void *arg)
{
	static uint8_t buf[256 * 1024];
	int fd = *(int *)arg;
	Writer w = writer(buf, sizeof buf);
	int64_t at = 0;
	bool more;
	ssize_t n;

	msg_put(&w, &(Msg){ .type = MSG_MANIFEST });
	msg_put(&w, &(Msg){ .type = MSG_WAIT, .wait = { .id = 2, .wake_at = INT64_MAX } });
	more = send(fd, w.p, w.n, MSG_NOSIGNAL) > 0; /* a file that is no capture is refused before we ask */
	while (more && (n = read(fd, buf, sizeof buf)) > 0) {
		Cursor c = cursor(BYTES(buf, (size_t)n));
		MsgRead got;
		Msg m;

		while ((got = msg_get(&c, 'G', &m)) == MSG_OK) {
			if (m.type == MSG_FRAME && m.frame.rx_ns < at) /* a run does not go back in time */
				abort();
			at = m.type == MSG_FRAME ? m.frame.rx_ns : at;
			more = more && m.type != MSG_STOP && m.type != MSG_TICK;
		}
		if (got == MSG_BAD)
			abort();
	}
	close(fd);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : NULL;
	pthread_t thread;
	int pair[2];

	if (!f)
		return 0;
	if (!pcap_lib_load() || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
	    pthread_create(&thread, NULL, engine, &pair[1]))
		abort();
	pcap_port_file(pair[0], f, "fuzz");
	close(pair[0]);
	pthread_join(thread, NULL);
	return 0;
}
