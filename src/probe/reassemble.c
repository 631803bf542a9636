/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/reassemble.h"

#include "base/units.h"
#include "wire/wire.h"

enum { BODY_MOST = 65535, RAW_MOST = 80 * 1024, HEADER_MOST = 256 };
#define EXPIRE_NS (30 * NS_PER_S)

typedef struct Piece {
	uint32_t off, len;	   /* in body */
	uint32_t raw_off, raw_len; /* in raw */
} Piece;

typedef struct Slot {
	bool used, spoilt;
	uint8_t v, proto;
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
} Slot;

struct Reassembler {
	Arena *a;
	Warnings *ws;
	Slot slot[REASM_PACKETS];
};

Reassembler *reassembler_new(Arena *a, Warnings *ws)
{
	Reassembler *r = arena_new(a, Reassembler);

	r->a = a;
	r->ws = ws;
	return r;
}

static void spoil(Reassembler *r, Slot *s, WarnId why, const PacketId *id)
{
	char src[IP_TEXT];

	ip_format(id->src, src);
	if (!s->spoilt)
		warn_add(r->ws, why, id->src, 1, "from %s, id %u, at byte %u", src, id->ip_id, id->frag_off);
	s->spoilt = true;
}

static void slot_free(Reassembler *r, Slot *s)
{
	char src[IP_TEXT];

	if (s->used && !s->spoilt) {
		ip_format(s->src, src);
		warn_add(r->ws, WARN_FRAG_LOST, s->src, 1, "from %s, id %u: %u of %s%u bytes came", src, s->id,
			 s->have, s->total ? "" : "more than ", s->total ? s->total : s->have);
	}
	s->used = false;
}

static Slot *slot_of(Reassembler *r, const PacketId *id, int64_t rx_ns)
{
	Slot *oldest = &r->slot[0];

	for (int i = 0; i < REASM_PACKETS; i++) {
		Slot *s = &r->slot[i];

		if (s->used && s->v == id->v && s->id == id->ip_id && ip_eq(s->src, id->src) &&
		    ip_eq(s->dst, id->dst) && (id->v == 6 || s->proto == id->proto) &&
		    rx_ns - s->since_ns < EXPIRE_NS)
			return s;
		if (oldest->used && (!s->used || s->since_ns < oldest->since_ns))
			oldest = s;
	}
	slot_free(r, oldest);
	uint8_t *body = oldest->body ? oldest->body : arena_alloc(r->a, HEADER_MOST + BODY_MOST);
	uint8_t *raw = oldest->raw ? oldest->raw : arena_alloc(r->a, RAW_MOST);
	*oldest = (Slot){ .used = true,
			  .v = id->v,
			  .proto = id->proto,
			  .src = id->src,
			  .dst = id->dst,
			  .id = id->ip_id,
			  .since_ns = rx_ns,
			  .body = body,
			  .raw = raw };
	return oldest;
}

/* False: the piece adds nothing. */
static bool piece_fits(Reassembler *r, Slot *s, const PacketId *id, uint32_t off, uint32_t len)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const Piece *p = &s->piece[i];

		if (off + len <= p->off || p->off + p->len <= off)
			continue;
		bool same = p->off == off && p->len == len;
		if (same && memcmp(s->body + HEADER_MOST + off, id->piece.p, len) == 0) {
			warn_add(r->ws, WARN_DUPLICATE, id->src, 1, "a fragment at byte %u", off);
			return false;
		}
		spoil(r, s, same ? WARN_FRAG_INCONSISTENT : WARN_FRAG_OVERLAP, id);
		return false;
	}
	uint32_t end = off + len;
	bool size_known = s->total != 0;
	if ((size_known && (end > s->total || (!id->more && end != s->total))) || end > BODY_MOST ||
	    (id->more && len % 8)) {
		spoil(r, s, WARN_FRAG_SIZE, id);
		return false;
	}
	for (uint32_t i = 0; !id->more && i < s->n; i++)
		if (s->piece[i].off + s->piece[i].len > end) {
			spoil(r, s, WARN_FRAG_SIZE, id);
			return false;
		}
	return true;
}

/* The headers that stand before the first piece of the body; of IPv6 without the
 * fragment header, whose 8 bytes stand right before it. */
static bool keep_header(Slot *s, const PacketId *id)
{
	size_t n = id->packet.n - id->piece.n;

	if (id->v == 6)
		n -= 8;
	if (n > HEADER_MOST)
		return false;
	memcpy(s->header, id->packet.p, n);
	s->header_n = (uint32_t)n;
	if (id->v == 4)
		return true;
	/* what pointed at the fragment header (44) points behind it now: RFC 8200 4.5 */
	size_t at = 6, next = 40;
	while (s->header[at] != 44 && next + 8 <= n) {
		at = next;
		next += 8 + (size_t)s->header[next + 1] * 8;
	}
	if (s->header[at] != 44)
		return false;
	s->header[at] = id->packet.p[n];
	return true;
}

static void finish(Slot *s, Reassembled *ret_packet)
{
	uint8_t *p = s->body + HEADER_MOST - s->header_n;
	uint32_t n = s->header_n + s->total;

	memcpy(p, s->header, s->header_n);
	if (s->v == 4) {
		put_be16(p + 2, (uint16_t)n);
		put_be16(p + 6, 0);
		put_be16(p + 10, 0);
		put_be16(p + 10, wire_csum_fold(wire_csum(0, BYTES(p, s->header_n))));
	} else {
		put_be16(p + 4, (uint16_t)(n - 40));
	}
	ret_packet->packet = BYTES(p, n);
	ret_packet->n = s->n;
	for (uint32_t i = 0; i < s->n; i++)
		ret_packet->piece[i] = BYTES(s->raw + s->piece[i].raw_off, s->piece[i].raw_len);
	s->used = false;
}

bool reassemble(Reassembler *r, const PacketId *id, int64_t rx_ns, Reassembled *ret_packet)
{
	Slot *s = slot_of(r, id, rx_ns);
	uint32_t off = id->frag_off, len = (uint32_t)id->piece.n;

	if (s->spoilt)
		return false;
	if (s->n == REASM_PIECES || len == 0 || s->raw_n + id->packet.n > RAW_MOST) {
		spoil(r, s, WARN_FRAG_SIZE, id);
		return false;
	}
	if (!piece_fits(r, s, id, off, len))
		return false;
	memcpy(s->body + HEADER_MOST + off, id->piece.p, len);
	memcpy(s->raw + s->raw_n, id->packet.p, id->packet.n);
	s->piece[s->n++] = (Piece){ off, len, s->raw_n, (uint32_t)id->packet.n };
	s->raw_n += (uint32_t)id->packet.n;
	s->have += len;
	if (!id->more)
		s->total = off + len;
	if (off == 0 && !keep_header(s, id)) {
		spoil(r, s, WARN_FRAG_SIZE, id);
		return false;
	}
	if (!s->total || s->have != s->total || !s->header_n)
		return false;
	if (s->header_n + s->total > BODY_MOST) {
		spoil(r, s, WARN_FRAG_SIZE, id);
		return false;
	}
	finish(s, ret_packet);
	return true;
}

void reassemble_expire(Reassembler *r, int64_t now_ns, bool all)
{
	for (int i = 0; i < REASM_PACKETS; i++)
		if (r->slot[i].used && (all || now_ns - r->slot[i].since_ns >= EXPIRE_NS))
			slot_free(r, &r->slot[i]);
}
