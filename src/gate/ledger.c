/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger's file:
 *
 *   0            head: magic, clock, end of the log, check sum
 *   PAGE         index: an entry per row of sessions and destinations
 *   INDEX_END    rows: total, sessions, destinations
 *   PORTS        per protocol and port: whose, until when
 *
 * The index tells whose a row is without reading it; the least recently used
 * destination gives its row to a new one, a session's row is free a day after its
 * last use.  All numbers are big-endian.
 */
#include "gate/ledger.h"

#include "sys/clock.h"
#include "sys/proc.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SESSIONS = LIMIT_LEDGER_SESSIONS,
	PEERS = LIMIT_LEDGER_PEERS,
	ENTRIES = SESSIONS + PEERS,
	PAGE = 4096,
	TAG = 16,
	ENTRY = TAG + 8 + 8,
	INDEX_END = PAGE + (ENTRIES * ENTRY + PAGE - 1) / PAGE * PAGE,
	PORT = 8,
	PORTS = INDEX_END + (1 + ENTRIES) * LEDGER_ROW,
	SIZE = PORTS + 2 * 65536 * PORT,
	HEAD = 8 + 4 + 8 + 16 + 8 + 8 + 8 + 8 + 32 + 8,
	LOCK_TRIES = 500, /* ms */
};

#define DAY_S 86400
#define DAMAGED                                                                                            \
	"the ledger " LEDGER_PATH " is damaged: nothing is sent; as root, `sonde ledger init --replace` starts a " \
	"new one, in which what was counted is lost"
#define UNREADABLE "the ledger " LEDGER_PATH " can't be read or written: nothing is sent; look at its disk"

static const char magic[8] = { 'S', 'D', 'L', 'E', 'D', 'G', 'E', '1' };

typedef struct Head {
	int64_t now;
	LedgerClock clock;
	uint64_t log_size;
	LogChain log;
} Head;

/* ---- bytes ---- */

static const char *read_at(const Ledger *l, void *buf, size_t n, int64_t off)
{
	ssize_t got = pread(l->fd, buf, n, off);

	return got == (ssize_t)n ? NULL : got < 0 ? UNREADABLE : DAMAGED;
}

static const char *write_at(const Ledger *l, const void *buf, size_t n, int64_t off)
{
	return pwrite(l->fd, buf, n, off) == (ssize_t)n ? NULL : UNREADABLE;
}

static void head_encode(const Head *h, uint8_t out[HEAD])
{
	Writer w = writer(out, HEAD);

	wr_bytes(&w, BYTES(magic, sizeof magic));
	wr_be32(&w, SIZE);
	wr_be64(&w, (uint64_t)h->now);
	wr_bytes(&w, BYTES(h->clock.boot, sizeof h->clock.boot));
	wr_be64(&w, (uint64_t)h->clock.boot_s);
	wr_be64(&w, (uint64_t)h->clock.real_s);
	wr_be64(&w, h->log_size);
	wr_be64(&w, h->log.seq);
	wr_bytes(&w, BYTES(h->log.prev.b, SHA256_BYTES));
	wr_be64(&w, bytes_hash(wr_done(&w)));
}

static bool head_decode(const uint8_t in[HEAD], Head *h)
{
	Cursor c = cursor(BYTES(in, HEAD));
	bool ours = bytes_eq(cur_bytes(&c, sizeof magic), BYTES(magic, sizeof magic)) && cur_be32(&c) == SIZE;

	h->now = (int64_t)cur_be64(&c);
	memcpy(h->clock.boot, cur_bytes(&c, 16).p, 16);
	h->clock.boot_s = (int64_t)cur_be64(&c);
	h->clock.real_s = (int64_t)cur_be64(&c);
	h->log_size = cur_be64(&c);
	h->log.seq = cur_be64(&c);
	memcpy(h->log.prev.b, cur_bytes(&c, SHA256_BYTES).p, SHA256_BYTES);
	uint64_t sum = bytes_hash(BYTES(in, c.off));

	return ours && cur_be64(&c) == sum && h->now >= 0 && h->now < LEDGER_TIME_MOST;
}

/* ---- lock and head ---- */

static const char *lock_take(const Ledger *l)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(l->fd, LOCK_EX | LOCK_NB) == 0)
			return NULL;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return UNREADABLE;
		proc_readable(-1, 1);
	}
	return "another process keeps the ledger " LEDGER_PATH " locked: nothing is sent; look for a stopped sonde";
}

/* Locked, with its head read and its time moved on; unlocked again on a fault. */
static const char *enter(Ledger *l, Head *h)
{
	const char *why = lock_take(l);
	uint8_t buf[HEAD];
	LedgerClock is = l->clock;

	if (why)
		return why;
	why = read_at(l, buf, sizeof buf, 0);
	if (!why && !head_decode(buf, h))
		why = DAMAGED;
	if (why) {
		flock(l->fd, LOCK_UN);
		return why;
	}
	is.boot_s = clock_boot_ns() / 1000000000;
	is.real_s = clock_real_ns() / 1000000000;
	l->now = h->now = ledger_time(h->now, &h->clock, &is);
	h->clock = is;
	return NULL;
}

static const char *leave(const Ledger *l, const Head *h, const char *why)
{
	uint8_t buf[HEAD];

	head_encode(h, buf);
	if (!why)
		why = write_at(l, buf, sizeof buf, 0);
	flock(l->fd, LOCK_UN);
	return why;
}

/* ---- index ---- */

typedef struct Entry {
	uint8_t tag[TAG]; /* all zero: empty */
	int64_t last;
} Entry;

static void tag_of(const char *name, uint8_t tag[TAG])
{
	Hash h = sha256(BYTES(name, strlen(name)));

	memcpy(tag, h.b, TAG);
}

static void entry_encode(const Entry *e, uint8_t out[ENTRY])
{
	Writer w = writer(out, ENTRY);

	wr_bytes(&w, BYTES(e->tag, TAG));
	wr_be64(&w, (uint64_t)e->last);
	wr_be64(&w, bytes_hash(wr_done(&w)));
}

static bool entry_decode(const uint8_t in[ENTRY], Entry *e)
{
	static const uint8_t none[ENTRY];
	Cursor c = cursor(BYTES(in, ENTRY));

	*e = (Entry){ 0 };
	if (memcmp(in, none, ENTRY) == 0)
		return true;
	memcpy(e->tag, cur_bytes(&c, TAG).p, TAG);
	e->last = (int64_t)cur_be64(&c);
	return cur_be64(&c) == bytes_hash(BYTES(in, TAG + 8)) && e->last >= 0 && e->last < LEDGER_TIME_MOST;
}

typedef struct Index {
	uint32_t from, n; /* entries of one table */
	uint8_t b[PEERS * ENTRY];
} Index;

static const char *index_read(const Ledger *l, Index *x, uint32_t from, uint32_t n)
{
	x->from = from;
	x->n = n;
	return read_at(l, x->b, (size_t)n * ENTRY, PAGE + (int64_t)from * ENTRY);
}

/* The row of `name`, or the best one for it: empty, else the least recently used.
 * *ret_last is when that was used, -1 if it is empty. */
static const char *index_find(const Index *x, const char *name, uint32_t *ret_row, bool *ret_found, int64_t *ret_last)
{
	static const uint8_t none[TAG];
	uint8_t tag[TAG];

	tag_of(name, tag);
	*ret_found = false;
	*ret_last = INT64_MAX;
	for (uint32_t i = 0; i < x->n; i++) {
		Entry e;

		if (!entry_decode(x->b + (size_t)i * ENTRY, &e))
			return DAMAGED;
		int64_t last = memcmp(e.tag, none, TAG) == 0 ? -1 : e.last;

		if (memcmp(e.tag, tag, TAG) == 0) {
			*ret_row = x->from + i;
			*ret_found = true;
			return NULL;
		}
		if (last < *ret_last) {
			*ret_last = last;
			*ret_row = x->from + i;
		}
	}
	return NULL;
}

static void index_set(Index *x, uint32_t row, const char *name, int64_t now)
{
	Entry e = { .last = now };

	tag_of(name, e.tag);
	entry_encode(&e, x->b + (size_t)(row - x->from) * ENTRY);
}

static const char *index_write(const Ledger *l, const Index *x, uint32_t row, uint32_t n)
{
	return write_at(l, x->b + (size_t)(row - x->from) * ENTRY, (size_t)n * ENTRY, PAGE + (int64_t)row * ENTRY);
}

/* ---- rows ---- */

/* Row 0 of the file is the total. */
static int64_t row_at(int64_t row)
{
	return INDEX_END + (1 + row) * LEDGER_ROW;
}

enum { TOTAL = -1 };

static const char *row_read(const Ledger *l, int64_t row, LedgerRow *r)
{
	uint8_t buf[LEDGER_ROW];
	const char *why = read_at(l, buf, sizeof buf, row_at(row));

	return why ? why : ledger_row_decode(buf, r) ? NULL : DAMAGED;
}

static const char *row_write(const Ledger *l, int64_t row, const LedgerRow *r)
{
	uint8_t buf[LEDGER_ROW];

	ledger_row_encode(r, buf);
	return write_at(l, buf, sizeof buf, row_at(row));
}

static void row_name(LedgerRow *r, const char *name)
{
	*r = (LedgerRow){ 0 };
	snprintf(r->name, sizeof r->name, "%s", name);
}

/* The session's row, found or made. */
static const char *session_row(Ledger *l, LedgerRow *r)
{
	static Index x; /* too large for a stack */
	bool found;
	int64_t last;
	const char *why;

	if (l->row_known) {
		why = row_read(l, l->row, r);
		if (why || strcmp(r->name, l->session) == 0)
			return why;
	}
	why = index_read(l, &x, 0, SESSIONS);
	if (!why)
		why = index_find(&x, l->session, &l->row, &found, &last);
	if (why)
		return why;
	if (!found && last >= 0 && l->now - last <= DAY_S)
		return "the ledger " LEDGER_PATH " has no room for one more session today: nothing is sent";
	if (found)
		why = row_read(l, l->row, r);
	else
		row_name(r, l->session);
	if (!why && strcmp(r->name, l->session) != 0)
		why = DAMAGED;
	l->row_known = !why;
	index_set(&x, l->row, l->session, l->now);
	return why ? why : index_write(l, &x, l->row, 1);
}

/* ---- taking and settling ---- */

/* Changes session and total alike, the session's row last read into `session`. */
static const char *both(Ledger *l, LedgerRow *session, void (*change)(LedgerRow *r, const void *ctx, int64_t now),
			const void *ctx)
{
	LedgerRow total;
	const char *why = row_read(l, TOTAL, &total);

	if (why)
		return why;
	if (!total.name[0])
		row_name(&total, "total");
	change(session, ctx, l->now);
	change(&total, ctx, l->now);
	why = row_write(l, l->row, session);
	return why ? why : row_write(l, TOTAL, &total);
}

static void change_add(LedgerRow *r, const void *ctx, int64_t now)
{
	ledger_row_add(r, ctx, now);
}

static void change_settle(LedgerRow *r, const void *ctx, int64_t now)
{
	const LedgerBill *b = ctx;

	ledger_row_give_back(r, &b->back, b->taken_at, now);
	ledger_row_add(r, &b->more, now);
}

const char *ledger_take(Ledger *l, const LedgerCount *want, const LedgerCount *hour, LedgerCount *ret_got)
{
	Head h;
	LedgerRow session;
	const char *why = enter(l, &h);

	if (why)
		return why;
	why = session_row(l, &session);
	if (!why) {
		LedgerCount used = ledger_row_sum(&session, LEDGER_HOUR, l->now);

		for (unsigned k = 0; k < LEDGER_N; k++) {
			uint64_t left = hour->v[k] > used.v[k] ? hour->v[k] - used.v[k] : 0;

			ret_got->v[k] = want->v[k] < left ? want->v[k] : left;
		}
		why = both(l, &session, change_add, ret_got);
	}
	return leave(l, &h, why);
}

static const char *peer_settle(Ledger *l, Index *x, const LedgerPeer *p)
{
	char name[IP_TEXT];
	LedgerRow r;
	uint32_t row;
	bool found;
	int64_t last;

	ip_format(p->ip, name);
	const char *why = index_find(x, name, &row, &found, &last);

	if (why)
		return why;
	if (found)
		why = row_read(l, row, &r);
	else
		row_name(&r, name);
	if (why)
		return why;
	ledger_row_add(&r, &p->count, l->now);
	index_set(x, row, name, l->now);
	return row_write(l, row, &r);
}

static const char *peers_settle(Ledger *l, const LedgerBill *b)
{
	static Index x;
	const char *why = b->npeers ? index_read(l, &x, SESSIONS, PEERS) : NULL;

	for (uint32_t i = 0; i < b->npeers && !why; i++)
		why = peer_settle(l, &x, &b->peer[i]);
	return why || !b->npeers ? why : index_write(l, &x, SESSIONS, PEERS);
}

/* ---- ports ---- */

static int64_t port_at(LedgerPort p)
{
	return PORTS + ((p.proto == IPPROTO_UDP ? 65536 : 0) + (int64_t)p.port) * PORT;
}

static uint32_t session_short(const Ledger *l)
{
	uint8_t tag[TAG];

	tag_of(l->session, tag);
	return get_be32(tag) | 1;
}

static int64_t port_left(const Ledger *l, const uint8_t row[PORT])
{
	uint32_t who = get_be32(row), until = get_be32(row + 4);

	return who == 0 || who == session_short(l) || until <= l->now ? 0 : until - l->now;
}

static const char *ports_settle(Ledger *l, const LedgerBill *b)
{
	const char *why = NULL;
	uint8_t row[PORT];

	put_be32(row, session_short(l));
	put_be32(row + 4, (uint32_t)(l->now + b->hold_s));
	for (uint32_t i = 0; i < b->nports && !why; i++)
		why = write_at(l, row, sizeof row, port_at(b->port[i]));
	return why;
}

const char *ledger_port_wait(Ledger *l, LedgerPort p, int64_t *ret_s)
{
	Head h;
	uint8_t row[PORT];
	const char *why = enter(l, &h);

	if (why)
		return why;
	why = read_at(l, row, sizeof row, port_at(p));
	*ret_s = why ? 0 : port_left(l, row);
	return leave(l, &h, why);
}

const char *ledger_ports_held(Ledger *l, uint8_t proto, uint16_t lo, uint16_t hi, uint8_t *ret_bits)
{
	static uint8_t rows[65536 * PORT];
	size_t n = (size_t)(hi - lo) + 1;
	Head h;
	const char *why = enter(l, &h);

	if (why)
		return why;
	why = read_at(l, rows, n * PORT, port_at((LedgerPort){ proto, lo }));
	for (size_t i = 0; i < n && !why; i++)
		if (port_left(l, rows + i * PORT))
			ret_bits[i / 8] |= (uint8_t)(1u << i % 8);
	return leave(l, &h, why);
}

const char *ledger_settle(Ledger *l, const LedgerBill *b)
{
	Head h;
	LedgerRow session;
	const char *why = enter(l, &h);

	if (why)
		return why;
	why = session_row(l, &session);
	if (!why)
		why = both(l, &session, change_settle, b);
	if (!why)
		why = peers_settle(l, b);
	if (!why)
		why = ports_settle(l, b);
	return leave(l, &h, why);
}

/* ---- the log ---- */

/* Lines that were appended by somebody who died before he could say so here. */
static const char *log_catch_up(const Ledger *l, Head *h, uint64_t size)
{
	static uint8_t tail[4 * LOG_LINE];
	uint64_t n = size - h->log_size;
	LogChain c = h->log;

	if (n > sizeof tail || pread(l->log_fd, tail, n, (off_t)h->log_size) != (ssize_t)n)
		return "is longer than the ledger knows";
	for (Bytes rest = BYTES(tail, n); rest.n;) {
		const uint8_t *nl = memchr(rest.p, '\n', rest.n);

		if (!nl || log_chain_check(&c, bytes_slice(rest, 0, (size_t)(nl - rest.p))))
			return "ends in what is no line of it";
		rest = bytes_slice(rest, (size_t)(nl - rest.p) + 1, rest.n);
	}
	h->log = c;
	h->log_size = size;
	return NULL;
}

#define LOG_PATH STATE_FOLDER "/" LEDGER_LOG

/* The log ends where the ledger says. */
static const char *log_ready(const Ledger *l, Head *h)
{
	static char why[320];
	struct stat st;
	const char *fault = NULL;

	if (fstat(l->log_fd, &st))
		return "the log " LOG_PATH " can't be read: nothing is sent";
	if ((uint64_t)st.st_size < h->log_size)
		fault = "is shorter than the ledger knows";
	else if ((uint64_t)st.st_size > h->log_size)
		fault = log_catch_up(l, h, (uint64_t)st.st_size);
	if (!fault)
		return NULL;
	snprintf(why, sizeof why,
		 "the log " LOG_PATH " %s: somebody changed it, nothing is sent; look at it with `sonde audit verify`, "
		 "then, as root, `sonde ledger rotate` begins a new one",
		 fault);
	return why;
}

/* What a full disk left of a line: nobody was told that it was written.  Done on opening: a gate
 * can only append. */
static void log_mend(const Ledger *l, const Head *h)
{
	static uint8_t tail[4 * LOG_LINE];
	struct stat st;
	size_t n = 0;

	if (fstat(l->log_fd, &st) == 0 && (uint64_t)st.st_size > h->log_size && (uint64_t)st.st_size - h->log_size <= sizeof tail)
		n = (size_t)((uint64_t)st.st_size - h->log_size);
	if (!n || pread(l->log_fd, tail, n, (off_t)h->log_size) != (ssize_t)n)
		return;
	while (n && tail[n - 1] != '\n')
		n--;
	(void)!ftruncate(l->log_fd, (off_t)(h->log_size + n));
}

static const char *log_append(const Ledger *l, Head *h, const LogLine *line)
{
	if (h->log_size + line->n > LIMIT_LOG)
		return "the log " LOG_PATH " is full: nothing is sent; as root, `sonde ledger rotate` begins a new one";
	if (write(l->log_fd, line->text, line->n) != (ssize_t)line->n)
		return "the log " LOG_PATH " can't be written: nothing is sent; look at its disk";
	h->log_size += line->n;
	return NULL;
}

const char *ledger_log(Ledger *l, const char *event, void (*write)(LogLine *line, void *ctx), void *ctx)
{
	static LogLine line;
	Head h;
	const char *why = enter(l, &h);

	if (why)
		return why;
	why = log_ready(l, &h);
	if (why)
		return leave(l, &h, why);
	LogChain after = h.log;

	log_begin(&line, &after, h.clock.real_s, event);
	log_str(&line, "session", str_c(l->session));
	write(&line, ctx);
	why = log_end(&line, &after) ? log_append(l, &h, &line) : "a line for the log is too long: nothing is sent";
	if (!why) {
		h.log = after;
		l->log_seq = after.seq;
	}
	return leave(l, &h, why);
}

const char *ledger_new_log(Ledger *l, int fd)
{
	Head h;
	const char *why = enter(l, &h);

	if (why)
		return why;
	l->log_fd = fd;
	h.log_size = 0;
	return leave(l, &h, NULL);
}

/* ---- opening, making, reading ---- */

const char *ledger_open(Ledger *l, int fd, int log_fd, const char *session)
{
	struct stat st;
	Head h;
	const char *why;

	*l = (Ledger){ .fd = fd, .log_fd = log_fd };
	snprintf(l->session, sizeof l->session, "%s", session);
	if (!clock_boot_id(l->clock.boot))
		return "the kernel does not tell its boot id (/proc/sys/kernel/random/boot_id): the ledger's time is not known";
	if (fstat(fd, &st))
		return UNREADABLE;
	if (st.st_size != SIZE)
		return DAMAGED;
	why = enter(l, &h);
	if (why)
		return why;
	log_mend(l, &h);
	return leave(l, &h, NULL);
}

const char *ledger_format(int fd)
{
	Ledger l = { .fd = fd };
	Head h = { .clock = { .boot_s = clock_boot_ns() / 1000000000,
			      .real_s = clock_real_ns() / 1000000000 } };

	if (!clock_boot_id(h.clock.boot) || ftruncate(fd, SIZE))
		return UNREADABLE;
	return leave(&l, &h, NULL);
}

const char *ledger_each(Ledger *l, LedgerRowFn *row, void *ctx)
{
	Head h;
	const char *why = enter(l, &h);

	if (why)
		return why;
	for (int64_t i = TOTAL; i < ENTRIES && !why; i++) {
		LedgerRow r;

		why = row_read(l, i, &r);
		if (!why && r.name[0])
			row(ctx, i == TOTAL ? 't' : i < SESSIONS ? 's' : 'd', &r, l->now);
	}
	return leave(l, &h, why);
}
