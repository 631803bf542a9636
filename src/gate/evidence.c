/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/evidence.h"

#include "base/escape.h"
#include "base/limits.h"
#include "sys/io.h"

/* Block types, option codes and link types of pcapng; blocks are written in this
 * machine's byte order, which the section header tells. */
enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_IFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_IF_NAME = 2,
	OPT_IF_TSRESOL = 9,
	OPT_EPB_FLAGS = 2,
	LINK_ETHERNET = 1,
	LINK_RAW = 101,
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,
};

void evidence_flush(Evidence *e)
{
	e->failed = e->failed || io_write(e->fd, BYTES(e->buf, e->n)) < e->n;
	e->flushed += e->n;
	e->n = 0;
}

static void put(Evidence *e, const void *p, size_t n)
{
	if (n)
		memcpy(e->buf + e->n, p, n);
	e->n += n;
}

static void put32(Evidence *e, uint32_t v)
{
	put(e, &v, sizeof v);
}

static void put16(Evidence *e, uint16_t v)
{
	put(e, &v, sizeof v);
}

static void put_pad(Evidence *e)
{
	while (e->n % 4)
		e->buf[e->n++] = 0;
}

static void put_opt(Evidence *e, uint16_t code, const void *p, size_t n)
{
	put16(e, code);
	put16(e, (uint16_t)n);
	put(e, p, n);
	put_pad(e);
}

/* Room for a block of n bytes; its start.  The buffer always starts at a block, so
 * padding by e->n is padding in the file. */
static size_t block_begin(Evidence *e, uint32_t type, size_t n)
{
	size_t at;

	if (e->n + n > EVIDENCE_BUF)
		evidence_flush(e);
	at = e->n;
	put32(e, type);
	put32(e, 0);
	return at;
}

static void put64(Evidence *e, uint64_t v)
{
	put(e, &v, sizeof v);
}

static void length_put(Evidence *e, size_t at)
{
	uint32_t len = (uint32_t)(e->n - at) + 4;

	put32(e, len);
	memcpy(e->buf + at + 4, &len, sizeof len);
}

static Hash put_link(Evidence *e, EvidenceLink kind)
{
	size_t at = block_begin(e, (uint32_t)EVIDENCE_LINK_TYPE, EVIDENCE_LINK_BLOCK);
	uint32_t len = EVIDENCE_LINK_BLOCK;
	Hash h;

	memcpy(e->buf + at + 4, &len, sizeof len);
	put32(e, EVIDENCE_LINK_MAGIC);
	put32(e, kind);
	put64(e, e->links++);
	put64(e, e->flushed + at);
	sha256_add(&e->since, BYTES(e->buf + at, e->n - at));
	h = sha256_done(&e->since);
	put(e, h.b, sizeof h.b);
	length_put(e, at);
	sha256_init(&e->since);
	sha256_add(&e->since, BYTES(h.b, sizeof h.b));
	e->unlinked = 0;
	return h;
}

static void block_end(Evidence *e, size_t at)
{
	length_put(e, at);
	sha256_add(&e->since, BYTES(e->buf + at, e->n - at));
	e->blocks++;
	if (++e->unlinked == EVIDENCE_LINK)
		put_link(e, EVIDENCE_MIDDLE);
}

Hash evidence_end(Evidence *e)
{
	Hash h = { 0 };

	if (evidence_on(e))
		h = put_link(e, EVIDENCE_LAST);
	evidence_flush(e);
	return h;
}

void evidence_init(Evidence *e, int fd, void *buf)
{
	static const char app[] = "sonde";
	size_t at;

	*e = (Evidence){ .fd = fd, .buf = buf };
	sha256_init(&e->since);
	if (fd < 0)
		return;
	at = block_begin(e, BLOCK_SECTION, 64);
	put32(e, BYTE_ORDER_MAGIC);
	put16(e, 1);
	put16(e, 0);
	put32(e, 0xffffffff); /* section length: not told */
	put32(e, 0xffffffff);
	put_opt(e, 4, app, sizeof app - 1); /* shb_userappl */
	put_opt(e, OPT_END, NULL, 0);
	block_end(e, at);
}

uint32_t evidence_iface(Evidence *e, const char *name, bool ether, uint32_t snaplen)
{
	const uint8_t ns = 9; /* 10^-9 s */
	size_t at;

	if (!evidence_on(e))
		return 0;
	at = block_begin(e, BLOCK_IFACE, 64 + strlen(name));
	put16(e, ether ? LINK_ETHERNET : LINK_RAW);
	put16(e, 0);
	put32(e, snaplen);
	put_opt(e, OPT_IF_NAME, name, strlen(name));
	put_opt(e, OPT_IF_TSRESOL, &ns, 1);
	put_opt(e, OPT_END, NULL, 0);
	block_end(e, at);
	return e->ifaces++;
}

static Str escaped(Arena *a, const char *text)
{
	Sb out = sb(a);

	escape_line(&out, bytes_str(bytes_slice(str_bytes(str_c(text)), 0, EVIDENCE_COMMENT)));
	return sb_done(&out);
}

/* An escaped byte is at most four characters; the builder doubles its memory. */
enum { COMMENT_MEMORY = EVIDENCE_COMMENT * 16 };

static void put_comment(Evidence *e, const char *comment)
{
	_Alignas(16) uint8_t mem[COMMENT_MEMORY];
	Arena a;
	Str s;

	arena_init(&a, mem, sizeof mem, NULL);
	s = escaped(&a, comment);
	put_opt(e, OPT_COMMENT, s.p, s.n);
}

static void put_time(Evidence *e, int64_t real_ns)
{
	put32(e, (uint32_t)((uint64_t)real_ns >> 32));
	put32(e, (uint32_t)real_ns);
}

void evidence_refused(Evidence *e, int64_t real_ns, const char *why, Bytes frame)
{
	_Alignas(16) uint8_t mem[COMMENT_MEMORY + EVIDENCE_HEX * 8];
	Arena a;
	Sb text;
	Str s;
	size_t at;

	if (!evidence_on(e))
		return;
	if (!e->ifaces)
		evidence_iface(e, "none", true, 0);
	arena_init(&a, mem, sizeof mem, NULL);
	text = sb(&a);
	sb_str(&text, escaped(&a, why));
	sb_printf(&text, "; %zu bytes: ", frame.n);
	for (size_t i = 0; i < frame.n && i < EVIDENCE_HEX; i++)
		sb_printf(&text, "%02x", frame.p[i]);
	s = sb_done(&text);
	at = block_begin(e, BLOCK_STATISTICS, s.n + 64);
	put32(e, 0);
	put_time(e, real_ns);
	put_opt(e, OPT_COMMENT, s.p, s.n);
	put_opt(e, OPT_END, NULL, 0);
	block_end(e, at);
}

void evidence_frame(Evidence *e, uint32_t iface, int64_t real_ns, Bytes head, Bytes body, uint32_t orig_len,
		    bool outbound, const char *comment)
{
	size_t n = head.n + body.n;
	size_t at;

	if (!evidence_on(e) || n > LIMIT_FRAME + 4)
		return;
	at = block_begin(e, BLOCK_PACKET, n + 64 + EVIDENCE_COMMENT * 5);
	put32(e, iface);
	put_time(e, real_ns);
	put32(e, (uint32_t)n);
	put32(e, orig_len);
	put(e, head.p, head.n);
	put(e, body.p, body.n);
	put_pad(e);
	put_opt(e, OPT_EPB_FLAGS, &(uint32_t){ outbound ? FLAG_OUTBOUND : FLAG_INBOUND }, 4);
	if (comment)
		put_comment(e, comment);
	put_opt(e, OPT_END, NULL, 0);
	block_end(e, at);
}
