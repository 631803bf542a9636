/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reasm.h"

#include "wire/wire.h"

enum {
	BODY_MOST = 65535,
	RAW_MOST = 80 * 1024,
	HEADER_MOST = 256,
	NH_FRAGMENT = 44,
	FRAGMENT_HDR = 8,
	ECN_NOT = 0,
	ECN_CE = 3,
};

typedef struct Piece {
	uint32_t off, len;	   /* in body */
	uint32_t raw_off, raw_len; /* in raw */
} Piece;

struct ReasmSlot {
	bool used, spoilt;
	uint8_t proto;
	uint8_t ecn; /* bit i: a piece came with ECN field i */
	Ip src, dst;
	uint32_t id;
	int64_t since_ns;
	uint32_t total; /* bytes of the body; 0: the last piece is not there yet */
	uint32_t have;	/* bytes of the body */
	uint32_t n, raw_n;
	uint32_t header_n; /* of the first piece's headers before the fragment header */
	Piece piece[REASM_PIECES];
	uint8_t header[HEADER_MOST];
	uint8_t *body; /* [HEADER_MOST + BODY_MOST], the body behind HEADER_MOST */
	uint8_t *raw;
};

const char *reasm_event_text(ReasmEvent e)
{
#define REASM_TEXT_(id, text) text,
	static const char *const texts[] = { REASM_EVENTS(REASM_TEXT_) };

	return texts[e];
}

void reasm_init(Reasm *r, const ReasmConfig *c)
{
	*r = (Reasm){ .c = *c };
}

static void report(Reasm *r, const ReasmSlot *s, uint32_t off, ReasmEvent e)
{
	ReasmNote note = { s->src, s->dst, s->id, off, s->have, s->total };

	r->count[e]++;
	if (r->c.report)
		r->c.report(r->c.ctx, e, &note);
}

static bool spoil(Reasm *r, ReasmSlot *s, uint32_t off, ReasmEvent why)
{
	if (!s->spoilt)
		report(r, s, off, why);
	s->spoilt = true;
	return false;
}

static void slot_free(Reasm *r, ReasmSlot *s)
{
	if (s->used && !s->spoilt)
		report(r, s, 0, REASM_LOST);
	s->used = false;
}

/* ---- which packet a piece belongs to ---- */

static bool belongs(const Reasm *r, const ReasmSlot *s, const ReasmPiece *p, int64_t now_ns)
{
	return s->used && s->id == p->id && ip_eq(s->src, p->src) && ip_eq(s->dst, p->dst) &&
	       (p->src.v == 6 || s->proto == p->proto) && now_ns - s->since_ns < r->c.expire_ns;
}

/* A free place, else the oldest of the source's if it has its share, else the oldest. */
static ReasmSlot *place(Reasm *r, Ip src)
{
	ReasmSlot *any = &r->slot[0], *own = NULL;
	uint32_t owned = 0;

	for (uint32_t i = 0; i < r->c.packets; i++) {
		ReasmSlot *s = &r->slot[i];

		if (any->used && (!s->used || s->since_ns < any->since_ns))
			any = s;
		if (!s->used || !ip_eq(s->src, src))
			continue;
		owned++;
		if (!own || s->since_ns < own->since_ns)
			own = s;
	}
	return owned >= r->c.per_source ? own : any;
}

static bool slot_memory(const Reasm *r, ReasmSlot *s)
{
	size_t body = HEADER_MOST + BODY_MOST, raw = r->c.keep_pieces ? RAW_MOST : 0;

	if (s->body)
		return true;
	s->body = r->c.take(r->c.ctx, body + raw);
	s->raw = s->body && raw ? s->body + body : NULL;
	return s->body;
}

static ReasmSlot *no_memory(Reasm *r, const ReasmPiece *p)
{
	ReasmSlot none = { .src = p->src, .dst = p->dst, .id = p->id };

	report(r, &none, p->off, REASM_NO_MEMORY);
	return NULL;
}

static ReasmSlot *slot_of(Reasm *r, const ReasmPiece *p, int64_t now_ns)
{
	if (!r->slot)
		r->slot = r->c.take(r->c.ctx, r->c.packets * sizeof(ReasmSlot));
	if (!r->slot)
		return no_memory(r, p);
	for (uint32_t i = 0; i < r->c.packets; i++)
		if (belongs(r, &r->slot[i], p, now_ns))
			return &r->slot[i];

	ReasmSlot *s = place(r, p->src);

	slot_free(r, s);
	uint8_t *body = s->body, *raw = s->raw;
	*s = (ReasmSlot){ .proto = p->proto,
			  .src = p->src,
			  .dst = p->dst,
			  .id = p->id,
			  .since_ns = now_ns,
			  .body = body,
			  .raw = raw };
	s->used = slot_memory(r, s);
	return s->used ? s : no_memory(r, p);
}

/* ---- taking a piece ---- */

/* What another piece holds already: a copy, or the end of the packet (RFC 5722 4). */
static bool collides(Reasm *r, ReasmSlot *s, const ReasmPiece *p)
{
	uint32_t len = (uint32_t)p->body.n;

	for (uint32_t i = 0; i < s->n; i++) {
		const Piece *had = &s->piece[i];
		bool same = had->off == p->off && had->len == len;

		if (p->off + len <= had->off || had->off + had->len <= p->off)
			continue;
		if (same && memcmp(s->body + HEADER_MOST + p->off, p->body.p, len) == 0)
			report(r, s, p->off, REASM_COPY);
		else
			spoil(r, s, p->off, same ? REASM_INCONSISTENT : REASM_OVERLAP);
		return true;
	}
	return false;
}

/* All but the last piece are multiples of 8 bytes (RFC 791 3.2, RFC 8200 4.5); none
 * reaches beyond the last, of which there is one. */
static bool size_fits(const ReasmSlot *s, const ReasmPiece *p)
{
	uint32_t len = (uint32_t)p->body.n, end = p->off + len;

	if (len == 0 || end > BODY_MOST || (p->more && len % 8))
		return false;
	if (s->total && (end > s->total || (!p->more && end != s->total)))
		return false;
	for (uint32_t i = 0; !p->more && i < s->n; i++)
		if (s->piece[i].off + s->piece[i].len > end)
			return false;
	return true;
}

/* The headers that stand before the first piece of the body; of IPv6 without the
 * fragment header, whose 8 bytes stand right before it. */
static bool keep_header(ReasmSlot *s, const ReasmPiece *p)
{
	size_t n = p->packet.n - p->body.n;

	if (p->src.v == 6)
		n -= FRAGMENT_HDR;
	if (n > HEADER_MOST)
		return false;
	memcpy(s->header, p->packet.p, n);
	s->header_n = (uint32_t)n;
	if (p->src.v == 4)
		return true;
	/* what pointed at the fragment header points behind it now: RFC 8200 4.5 */
	size_t at = 6, next = 40;
	while (s->header[at] != NH_FRAGMENT && next + 8 <= n) {
		at = next;
		next += 8 + (size_t)s->header[next + 1] * 8;
	}
	if (s->header[at] != NH_FRAGMENT)
		return false;
	s->header[at] = p->packet.p[n];
	return true;
}

static void keep_piece(ReasmSlot *s, const ReasmPiece *p)
{
	uint32_t len = (uint32_t)p->body.n, raw_len = s->raw ? (uint32_t)p->packet.n : 0;

	memcpy(s->body + HEADER_MOST + p->off, p->body.p, len);
	if (s->raw)
		memcpy(s->raw + s->raw_n, p->packet.p, raw_len);
	s->piece[s->n++] = (Piece){ p->off, len, s->raw_n, raw_len };
	s->raw_n += raw_len;
	s->have += len;
	s->ecn |= (uint8_t)(1u << (p->ecn & 3));
	if (!p->more)
		s->total = p->off + len;
}

/* ---- the whole ---- */

/* RFC 3168 5.3: one CE makes the whole CE; not together with Not-ECT. */
static bool ecn_fits(const ReasmSlot *s)
{
	return !(s->ecn & 1u << ECN_CE && s->ecn & 1u << ECN_NOT);
}

static void put_lengths(uint8_t *p, uint32_t header_n, uint32_t n, bool ce)
{
	if (p[0] >> 4 == 4) {
		p[1] |= ce ? ECN_CE : 0;
		put_be16(p + 2, (uint16_t)n);
		put_be16(p + 6, 0);
		put_be16(p + 10, 0);
		put_be16(p + 10, wire_csum_fold(wire_csum(0, BYTES(p, header_n))));
	} else {
		p[1] |= ce ? ECN_CE << 4 : 0;
		put_be16(p + 4, (uint16_t)(n - 40));
	}
}

static void finish(ReasmSlot *s, Reassembled *ret_packet)
{
	uint8_t *p = s->body + HEADER_MOST - s->header_n;
	uint32_t n = s->header_n + s->total;

	memcpy(p, s->header, s->header_n);
	put_lengths(p, s->header_n, n, s->ecn >> ECN_CE & 1);
	ret_packet->packet = BYTES(p, n);
	ret_packet->n = s->n;
	for (uint32_t i = 0; i < s->n; i++)
		ret_packet->piece[i] = BYTES(s->raw ? s->raw + s->piece[i].raw_off : NULL, s->piece[i].raw_len);
	s->used = false;
}

bool reasm_add(Reasm *r, const ReasmPiece *p, int64_t now_ns, Reassembled *ret_packet)
{
	ReasmSlot *s = slot_of(r, p, now_ns);

	if (!s || s->spoilt)
		return false;
	if (collides(r, s, p))
		return false;
	if (s->n == REASM_PIECES || (s->raw && s->raw_n + p->packet.n > RAW_MOST) || !size_fits(s, p))
		return spoil(r, s, p->off, REASM_SIZE);
	keep_piece(s, p);
	if (p->off == 0 && !keep_header(s, p))
		return spoil(r, s, p->off, REASM_SIZE);
	if (!s->total || s->have != s->total || !s->header_n)
		return false;
	if (s->header_n + s->total > BODY_MOST + (s->src.v == 6 ? 40u : 0u))
		return spoil(r, s, p->off, REASM_SIZE);
	if (!ecn_fits(s))
		return spoil(r, s, p->off, REASM_ECN);
	finish(s, ret_packet);
	return true;
}

int64_t reasm_wake_ns(const Reasm *r)
{
	int64_t wake = INT64_MAX;

	for (uint32_t i = 0; r->slot && i < r->c.packets; i++)
		if (r->slot[i].used && r->slot[i].since_ns + r->c.expire_ns < wake)
			wake = r->slot[i].since_ns + r->c.expire_ns;
	return wake;
}

void reasm_expire(Reasm *r, int64_t now_ns, bool all)
{
	for (uint32_t i = 0; r->slot && i < r->c.packets; i++)
		if (r->slot[i].used && (all || now_ns - r->slot[i].since_ns >= r->c.expire_ns))
			slot_free(r, &r->slot[i]);
}
