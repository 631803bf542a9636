/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/audit.h"

#include "gate/evidence.h"
#include "gate/log.h"

#include <errno.h>
#include <unistd.h>

/* ---- reading ---- */

typedef struct Reader {
	int fd;
	uint8_t buf[2 * EVIDENCE_BUF];
	const uint8_t *p;  /* what is at hand, in buf */
	size_t n;	   /* bytes at p */
	uint64_t at;	   /* of *p in the file */
	uint64_t blocks;   /* since the last link */
	uint64_t linked;   /* where that link ends */
	Sha256 since;
	bool ended;	   /* the last link was read */
} Reader;

/* True: at least `want` bytes are at hand. */
static bool fill(Reader *r, Audit *a, size_t want)
{
	if (r->n < want && r->p != r->buf) {
		memmove(r->buf, r->p, r->n);
		r->p = r->buf;
	}
	while (r->n < want) {
		ssize_t got = read(r->fd, r->buf + r->n, sizeof r->buf - r->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			a->err = errno;
		if (got <= 0)
			return false;
		r->n += (size_t)got;
	}
	return true;
}

static void drop(Reader *r, size_t n)
{
	r->p += n;
	r->n -= n;
	r->at += n;
}

static bool breach(Audit *a, uint64_t from, uint64_t to, const char *why)
{
	a->intact = false;
	a->from = from;
	a->to = to;
	a->why = why;
	return false;
}

/* ---- evidence ---- */

static uint32_t host32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t host64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The length of the block at hand, or 0 after a breach (or at the end of the file). */
static uint32_t block_length(Reader *r, Audit *a)
{
	uint32_t len;

	if (!fill(r, a, 12)) {
		if (r->n)
			breach(a, r->at, r->at + r->n, "the file ends within a block");
		return 0;
	}
	len = host32(r->p + 4);
	if (len < 12 || len % 4 || len > EVIDENCE_BUF) {
		breach(a, r->at, r->at + 8, "the length of a block is impossible");
		return 0;
	}
	if (!fill(r, a, len)) {
		breach(a, r->at, r->at + r->n, "the file ends within a block");
		return 0;
	}
	if (host32(r->p + len - 4) != len) {
		breach(a, r->at, r->at + len, "a block's two lengths differ");
		return 0;
	}
	return len;
}

static bool link_read(Reader *r, Audit *a, uint32_t len)
{
	const size_t hashed = EVIDENCE_LINK_BLOCK - SHA256_BYTES - 4;
	uint32_t kind = len == EVIDENCE_LINK_BLOCK ? host32(r->p + 12) : 0;
	Hash is, says;

	if (len != EVIDENCE_LINK_BLOCK || host32(r->p + 8) != EVIDENCE_LINK_MAGIC || kind > EVIDENCE_LAST)
		return breach(a, r->at, r->at + len, "a link that is none");
	if (host64(r->p + 16) != a->links || host64(r->p + 24) != r->at)
		return breach(a, r->linked, r->at + len, "blocks were taken out, put in or moved");
	sha256_add(&r->since, BYTES(r->p, hashed));
	is = sha256_done(&r->since);
	memcpy(says.b, r->p + hashed, sizeof says.b);
	if (!hash_eq(is, says))
		return breach(a, r->linked, r->at + len, "what stands here is not what was written");
	a->head = is;
	a->links++;
	a->items += r->blocks;
	r->blocks = 0;
	r->ended = kind == EVIDENCE_LAST;
	r->linked = r->at + len;
	sha256_init(&r->since);
	sha256_add(&r->since, BYTES(is.b, sizeof is.b));
	return true;
}

static bool block_read(Reader *r, Audit *a, uint32_t len)
{
	if (r->ended)
		return breach(a, r->at, r->at + len, "something stands behind the last link");
	if (host32(r->p) == (uint32_t)EVIDENCE_LINK_TYPE)
		return link_read(r, a, len);
	sha256_add(&r->since, BYTES(r->p, len));
	r->blocks++;
	return true;
}

static void verify_evidence(Reader *r, Audit *a)
{
	uint32_t len;

	sha256_init(&r->since);
	while ((len = block_length(r, a)) && block_read(r, a, len))
		drop(r, len);
	if (a->intact && !r->ended)
		breach(a, r->linked, r->at,
		       a->links ? "the last link is missing: the file was cut, or the run was killed"
				: "it has no link: the file was cut, the run was killed, or this is no evidence of Sonde");
}

/* ---- the log ---- */

static void verify_log(Reader *r, Audit *a)
{
	LogChain c = { 0 };

	while (fill(r, a, 1)) {
		const uint8_t *nl = NULL;

		for (size_t want = 1; !nl && want <= LOG_LINE && fill(r, a, want); want = r->n + 1)
			nl = memchr(r->p, '\n', r->n);
		if (!nl) {
			breach(a, r->at, r->at + r->n, "a line without end");
			return;
		}
		Bytes line = BYTES(r->p, (size_t)(nl - r->p));
		const char *why = log_chain_check(&c, line);

		if (why) {
			breach(a, r->at, r->at + line.n + 1, why);
			return;
		}
		a->items++;
		a->links++;
		a->head = c.prev;
		drop(r, line.n + 1);
	}
	if (a->err)
		breach(a, r->at, r->at, "it can't be read");
}

/* ---- both ---- */

Audit audit_verify(int fd)
{
	static Reader r; /* one at a time; too large for a stack */
	static const uint8_t section[4] = { 0x0a, 0x0d, 0x0d, 0x0a };
	Audit a = { .intact = true, .why = "" };

	memset(&r, 0, sizeof r);
	r.fd = fd;
	r.p = r.buf;
	if (fill(&r, &a, 4) && memcmp(r.p, section, 4) == 0) {
		a.kind = AUDIT_EVIDENCE;
		verify_evidence(&r, &a);
	} else if (r.n && r.p[0] == '{') {
		a.kind = AUDIT_LOG;
		verify_log(&r, &a);
	} else {
		breach(&a, 0, r.n, "it is neither evidence nor a log of Sonde");
	}
	return a;
}
