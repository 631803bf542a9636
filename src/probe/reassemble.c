/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/reassemble.h"

#include "base/units.h"

/* Answers to probes come from whom we asked, often one peer: it may use all places. */
enum { PACKETS = 16 };
#define EXPIRE_NS (30 * NS_PER_S)

struct Reassembler {
	Reasm reasm;
	Arena *a;
	Warnings *ws;
};

static const WarnId warn_of[REASM_EVENT_N] = {
	[REASM_COPY] = WARN_DUPLICATE,
	[REASM_OVERLAP] = WARN_FRAG_OVERLAP,
	[REASM_INCONSISTENT] = WARN_FRAG_INCONSISTENT,
	[REASM_SIZE] = WARN_FRAG_SIZE,
	[REASM_ECN] = WARN_FRAG_INCONSISTENT,
	[REASM_LOST] = WARN_FRAG_LOST,
	[REASM_NO_MEMORY] = WARN_FRAG_LOST,
};

static void warn(void *ctx, ReasmEvent e, const ReasmNote *n)
{
	Reassembler *r = ctx;
	WarnId w = warn_of[e];
	char src[IP_TEXT];

	ip_format(n->src, src);
	if (w == WARN_DUPLICATE)
		warn_add(r->ws, w, n->src, 1, "a fragment at byte %u", n->off);
	else if (w == WARN_FRAG_LOST)
		warn_add(r->ws, w, n->src, 1, "from %s, id %u: %u of %s%u bytes came", src, n->id, n->have,
			 n->total ? "" : "more than ", n->total ? n->total : n->have);
	else
		warn_add(r->ws, w, n->src, 1, "from %s, id %u, at byte %u", src, n->id, n->off);
}

static void *take(void *ctx, size_t bytes)
{
	return arena_alloc(((Reassembler *)ctx)->a, bytes);
}

Reassembler *reassembler_new(Arena *a, Warnings *ws)
{
	Reassembler *r = arena_new(a, Reassembler);

	r->a = a;
	r->ws = ws;
	reasm_init(&r->reasm,
		   &(ReasmConfig){ .packets = PACKETS,
				   .per_source = PACKETS,
				   .expire_ns = EXPIRE_NS,
				   .keep_pieces = true,
				   .take = take,
				   .report = warn,
				   .ctx = r });
	return r;
}

bool reassemble(Reassembler *r, const PacketId *id, int64_t rx_ns, Reassembled *ret_packet)
{
	ReasmPiece p = { .src = id->src,
			 .dst = id->dst,
			 .proto = id->proto,
			 .ecn = id->tos & 3,
			 .more = id->more,
			 .id = id->ip_id,
			 .off = id->frag_off,
			 .packet = id->packet,
			 .body = id->piece };

	return reasm_add(&r->reasm, &p, rx_ns, ret_packet);
}

void reassemble_expire(Reassembler *r, int64_t now_ns, bool all)
{
	reasm_expire(&r->reasm, now_ns, all);
}
