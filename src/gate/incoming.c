/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a received frame: is it one of ours that went out (recapture), an
 * answer to a neighbour probe, an own flow or captured traffic?  What comes up is
 * told after all that was sent before it.
 */
#include "gate/gate.h"

#include "wire/wire.h"

/* What flows.c keeps with a later fragment that came before its first. */
typedef struct FrameMeta {
	int64_t stamp;
	int32_t ifindex;
	uint32_t orig_len;
	uint8_t csum, vlan;
} FrameMeta;

static uint8_t csum_state(PacketCsum c)
{
	static const uint8_t states[] = {
		[PACKET_CSUM_UNKNOWN] = RX_CSUM_UNKNOWN,
		[PACKET_CSUM_GOOD] = RX_CSUM_GOOD,
		[PACKET_CSUM_NOT_COMPUTED] = RX_CSUM_NOT_COMPUTED,
	};

	return states[c];
}

static uint8_t first_header(Bytes frame, bool ether)
{
	if (ether)
		return WIRE_ETHER;
	return frame.n && frame.p[0] >> 4 == 6 ? WIRE_IPV6 : WIRE_IP;
}

static void tell(Gate *g, const GateIface *i, Bytes frame, const FrameMeta *meta, uint8_t flags)
{
	StampSource source = meta->stamp ? STAMP_SOFTWARE : STAMP_NONE;
	int64_t at = meta->stamp ? timeline_of(&g->time, meta->stamp) : gate_now(g);
	Msg m = { .type = MSG_FRAME,
		  .frame = { .rx_ns = at,
			     .source = (uint8_t)source,
			     .csum = meta->csum,
			     .iface = i->gl.index,
			     .flags = (uint8_t)(flags | (meta->vlan ? FRAME_VLAN_REBUILT : 0)),
			     .first = first_header(frame, i->gl.ether),
			     .orig_len = meta->orig_len,
			     .data = frame } };

	g->stamps.rx_by_source[source]++;
	outbox_put(&g->outbox, &m);
	evidence_frame(&g->evidence, i->evidence_id, g->time.epoch + at, (Bytes){ 0 }, frame, meta->orig_len, false,
		       flags & FRAME_OURS_LOOPED ? "looped: one of ours coming back" : NULL);
}

/* The later fragments that waited for what has just come. */
static void tell_released(Gate *g)
{
	Bytes frame, kept;
	FrameMeta meta;
	bool ether;

	while (flows_released(&g->flows, &frame, &ether, &kept)) {
		if (kept.n < sizeof meta)
			continue;
		memcpy(&meta, kept.p, sizeof meta);
		GateIface *i = links_find(&g->links, meta.ifindex);
		if (i)
			tell(g, i, frame, &meta, 0);
	}
}

static void take(Gate *g, GateIface *i, const PacketIn *in, int64_t now)
{
	FrameMeta meta = { .stamp = in->stamp,
			   .ifindex = in->ifindex,
			   .orig_len = in->orig_len,
			   .csum = csum_state(in->csum),
			   .vlan = in->vlan };
	NeighRow *r = in->vlan ? NULL : neighs_learn(&g->neighs, i, in->frame, now);

	if (r)
		outgoing_wake(g, r);
	switch (flows_received(&g->flows, in->frame, i->gl.ether, BYTES(&meta, sizeof meta))) {
	case FLOW_OWN:
		ending_answered(g, in->frame, i->gl.ether);
		tell(g, i, in->frame, &meta, 0);
		tell_released(g);
		break;
	case FLOW_LOOPED:
		if (!i->link.loopback) /* there each frame of ours comes back by nature */
			tell(g, i, in->frame, &meta, FRAME_OURS_LOOPED);
		break;
	case FLOW_OTHER:
		if (filter_admits(&g->capture, in->frame, in->orig_len, i->gl.ether))
			tell(g, i, in->frame, &meta, FRAME_THIRD_PARTY);
		break;
	case FLOW_KERNEL:
	case FLOW_HOLD:
		break;
	}
}

void incoming_read(Gate *g, GateIface *i, int64_t ready)
{
	PacketInbox *box = &g->inbox;

	for (;;) {
		int n = packet_recv(i->rx_fd, i->gl.ether, ready, box);
		int64_t now = gate_now(g);

		if (n <= 0)
			return;
		/* what left before these frames came has its stamp by now */
		stamps_drain(g);
		for (unsigned k = 0; k < box->n; k++) {
			if (box->in[k].outgoing) {
				stamps_recaptured(g, &box->in[k]);
				continue;
			}
			stamps_settle(g);
			take(g, i, &box->in[k], now);
		}
		ready = 0;
		if (n < PACKET_RX_BATCH)
			return;
	}
}

void gate_receive_all(Gate *g)
{
	stamps_drain(g);
	for (unsigned k = 0; k < g->links.n; k++)
		if (g->links.iface[k].rx_fd >= 0)
			incoming_read(g, &g->links.iface[k], 0);
}
