/* SPDX-License-Identifier: Apache-2.0 */
#include "port/pcap.h"

#include "base/exits.h"
#include "base/units.h"
#include "deal/manifest.h"
#include "deal/msg.h"
#include "port/gate.h"
#include "sys/pcap_lib.h"
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASK_BUF = PORT_BATCH, LEAVES_MS = 2000, WAITS = 64, SLICE = 512, AHEAD = 2 * PORT_BATCH };

/* The link types that frames can be told of, and what they start with. */
typedef struct LinkRow {
	int dlt;
	uint8_t skip;  /* bytes before the packet */
	bool ether;
} LinkRow;

static const LinkRow links[] = {
	{ DLT_EN10MB, 0, true }, { DLT_RAW, 0, false },	      { DLT_IPV4, 0, false },	{ DLT_IPV6, 0, false },
	{ DLT_NULL, 4, false },	 { DLT_LINUX_SLL, 16, false }, { DLT_LINUX_SLL2, 20, false },
};

typedef struct Wait {
	uint32_t id;
	int64_t at;
} Wait;

typedef struct Reader {
	int fd;
	pcap_t *pcap;
	const LinkRow *link;
	int64_t epoch; /* the first frame's time, ns since 1970 */
	int64_t now;   /* on the run's line */
	struct pcap_pkthdr *head;
	const u_char *data;
	bool have;     /* a frame was read and not told yet */
	bool ended, broken; /* no more frames; since the file is cut or damaged */
	uint8_t *mem;
	Writer out;
	Wait wait[WAITS]; /* what the engine waits for: frames are told up to the earliest */
	unsigned waits;
	bool gone;
} Reader;

/* ---- telling ---- */

static void flush(Reader *r)
{
	ssize_t n;

	if (!r->out.n || r->gone)
		return;
	do {
		n = write(r->fd, r->out.p, r->out.n);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		r->gone = true;
	r->out.n = 0;
}

static void tell(Reader *r, const Msg *m)
{
	if (msg_put(&r->out, m))
		return;
	flush(r);
	if (!msg_put(&r->out, m))
		r->gone = true;
}

/* ---- the file ---- */

/* ns since 1970, where libpcap counts ns in tv_usec.  A file may claim any second; one
 * beyond 73 years either way is that of its end, so that what is added to it fits. */
static int64_t claimed_time(struct timeval t)
{
	const int64_t far = INT64_MAX / 4;

	if (t.tv_sec > far / NS_PER_S - 1)
		return far;
	if (t.tv_sec < 1 - far / NS_PER_S)
		return -far;
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_usec;
}

/* The next frame, if there is one; its time. */
static bool peek(Reader *r, int64_t *ret_at)
{
	if (!r->have && !r->ended) {
		int got = pcap_lib_next(r->pcap, &r->head, &r->data);

		r->have = got == 1;
		r->ended = got != 1;
		r->broken = got == PCAP_ERROR;
	}
	if (!r->have)
		return false;
	*ret_at = claimed_time(r->head->ts) - r->epoch;
	if (*ret_at < r->now) /* a file may go back in time, a run does not */
		*ret_at = r->now;
	return true;
}

static uint8_t first_header(const Reader *r, Bytes frame)
{
	if (r->link->ether)
		return WIRE_ETHER;
	return frame.n && frame.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP;
}

static void tell_frame(Reader *r, int64_t at)
{
	Bytes frame = bytes_slice(BYTES(r->data, r->head->caplen), r->link->skip, LIMIT_FRAME);
	uint32_t skip = r->link->skip;

	r->have = false;
	r->now = at;
	tell(r, &(Msg){ .type = MSG_FRAME,
			.frame = { .rx_ns = at,
				   .source = STAMP_FILE,
				   .csum = RX_CSUM_UNKNOWN,
				   .iface = 1,
				   .flags = FRAME_THIRD_PARTY,
				   .first = first_header(r, frame),
				   .orig_len = r->head->len > skip ? r->head->len - skip : 0,
				   .data = frame } });
}

/* Some frames up to the first time that is waited for; the TICK when there is no more.
 * In slices, so that what the engine asks meanwhile is answered in its place: a program
 * that takes a file piece by piece must not be told all of it at once. */
static void play(Reader *r)
{
	unsigned first = 0;
	int64_t at = 0;

	for (unsigned i = 1; i < r->waits; i++)
		if (r->wait[i].at < r->wait[first].at)
			first = i;
	Wait w = r->wait[first];

	for (int n = 0; n < SLICE && !r->gone; n++) {
		if (peek(r, &at) && at <= w.at) {
			tell_frame(r, at);
			continue;
		}
		if (w.at > r->now && w.at != INT64_MAX)
			r->now = w.at;
		tell(r, &(Msg){ .type = MSG_TICK, .tick = { w.id, r->now } });
		r->wait[first] = r->wait[--r->waits];
		break;
	}
	flush(r);
}

/* ---- answering ---- */

static void on_wait(Reader *r, const Msg *m)
{
	if (r->waits == WAITS)
		r->gone = true; /* more than any engine of ours asks for */
	else
		r->wait[r->waits++] = (Wait){ m->wait.id, m->wait.wake_at };
}

static void on_now(Reader *r, const Msg *m)
{
	tell(r, &(Msg){ .type = MSG_TICK, .tick = { m->now.id, r->now } });
}

/* guardrails.md 7: without a gate a send is an error, and so is what leads to one. */
static void on_send(Reader *r, const Msg *m)
{
	(void)m;
	tell(r, &(Msg){ .type = MSG_STOP,
			.stop = { STOP_POLICY, str_bytes(STR("a capture file is read (--read): without a gate nothing can be sent")) } });
}

/* After the manifest: the file is one interface, and its first frame is time 0. */
static void on_manifest(Reader *r, const Msg *m)
{
	int64_t at;

	(void)m;
	if (peek(r, &at)) {
		r->epoch = at;
		r->now = 0;
	}
	tell(r, &(Msg){ .type = MSG_IFACE,
			.iface = { .index = 1, .name = str_bytes(STR("file")), .mtu = 65535, .ether = r->link->ether } });
	tell(r, &(Msg){ .type = MSG_GO, .go = { .epoch = r->epoch, .leak = (uint64_t)bound_default(BOUND_LEAK) } });
}

typedef void Handler(Reader *r, const Msg *m);

static Handler *const handlers[MSG_N] = {
	[MSG_MANIFEST] = on_manifest, [MSG_EMIT] = on_send, [MSG_ROUTE] = on_send,
	[MSG_CLAIM] = on_send,	      [MSG_WAIT] = on_wait, [MSG_NOW] = on_now,
};

static int serve(Reader *r)
{
	uint8_t *buf = r->mem + PORT_BATCH;

	while (!r->gone) {
		if (r->waits && !proc_readable(r->fd, 0)) {
			play(r);
			continue;
		}
		ssize_t n = read(r->fd, buf, ASK_BUF);
		Cursor c = cursor(BYTES(buf, n > 0 ? (size_t)n : 0));
		Msg m;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return SONDE_EXIT_OK;
		while (msg_get(&c, 'E', &m) == MSG_OK) {
			if (m.type == MSG_END)
				return r->broken ? SONDE_EXIT_ENVIRONMENT : SONDE_EXIT_OK;
			if (handlers[m.type])
				handlers[m.type](r, &m);
		}
		flush(r);
	}
	return SONDE_EXIT_OK;
}

/* ---- the process ---- */

/* The engine's manifest is read first: a socket that is closed with something unread
 * makes the other side forget what it was sent. */
static int refuse(Reader *r, const char *why)
{
	uint8_t *buf = r->mem + PORT_BATCH;

	if (read(r->fd, buf, ASK_BUF) <= 0)
		return SONDE_EXIT_ENVIRONMENT;
	tell(r, &(Msg){ .type = MSG_STOP, .stop = { STOP_ENVIRONMENT, str_bytes(str_c(why)) } });
	flush(r);
	while (proc_readable(r->fd, LEAVES_MS) && read(r->fd, buf, ASK_BUF) > 0)
		;
	return SONDE_EXIT_ENVIRONMENT;
}

static const LinkRow *link_row(int dlt)
{
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (links[i].dlt == dlt)
			return &links[i];
	return NULL;
}

int pcap_port_file(int engine_fd, FILE *f, const char *name)
{
	Reader r = { .fd = engine_fd, .mem = malloc(PORT_BATCH + ASK_BUF) };
	const char *fault;
	char why[PCAP_ERRBUF_SIZE + 512];
	int exit;

	if (!r.mem)
		return SONDE_EXIT_ENVIRONMENT;
	r.out = writer(r.mem, PORT_BATCH);
	r.pcap = pcap_lib_open(f, &fault);
	r.link = r.pcap ? link_row(pcap_lib_link(r.pcap)) : NULL;
	if (!r.pcap) {
		fclose(f);
		snprintf(why, sizeof why, "%.400s is no capture file: %s", name, fault);
	} else if (!r.link) {
		snprintf(why, sizeof why, "%.400s: a capture of link type %s, which is not known here", name,
			 pcap_lib_link_name(pcap_lib_link(r.pcap)));
	}
	exit = r.link ? serve(&r) : refuse(&r, why);
	if (r.pcap)
		pcap_lib_close(r.pcap);
	free(r.mem);
	return exit;
}

int pcap_port_serve(int engine_fd, int file_fd, const char *name)
{
	FILE *f = fdopen(file_fd, "rb");

	proc_channel_limit(engine_fd, AHEAD); /* a file is faster than any engine: what is under way has to wait there */
	pcap_lib_load(); /* before the filter: loading needs more calls than reading */
	if (!f || sandbox_caps_keep(0) || sandbox_filter(SANDBOX_READER))
		return SONDE_EXIT_ENVIRONMENT;
	return pcap_port_file(engine_fd, f, name);
}
