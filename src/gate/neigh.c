/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/neigh.h"

#include "base/rng.h"
#include "base/units.h"
#include "wire/wire.h"

#include <netinet/in.h>

#define PROBE_GAP NS_PER_S
#define KERNEL_AGAIN NS_PER_S
#define OURS_HOLDS (30 * NS_PER_S)
#define SILENT_HOLDS NS_PER_S

enum { ETHER = 14, ARP_FRAME = ETHER + 28, NS_FRAME = ETHER + 40 + 32, PROBE_LOOK = 8 };

void neighs_init(Neighs *n, Arena *a, Rtnl *rtnl)
{
	*n = (Neighs){ .rtnl = rtnl, .row = arena_new_n(a, NeighRow, NEIGHS_MAX), .due = INT64_MAX };
}

/* ---- rows ---- */

static uint64_t row_hash(const GateIface *i, Ip ip)
{
	uint64_t w[2];

	memcpy(w, ip.b, sizeof w);
	return rng_mix(rng_mix(w[0] ^ (uint64_t)i->link.index) ^ w[1]);
}

/* A row that nobody waits for may go when its place is needed. */
static NeighRow *row_place(Neighs *n, const GateIface *i, Ip ip)
{
	uint64_t h = row_hash(i, ip);
	NeighRow *spare = NULL;

	for (unsigned k = 0; k < PROBE_LOOK; k++) {
		NeighRow *r = &n->row[(h + k) % NEIGHS_MAX];

		if (r->used && r->iface == i && ip_eq(r->ip, ip))
			return r;
		if (!spare && (!r->used || r->first == NEIGH_NOBODY))
			spare = r;
	}
	if (spare)
		*spare = (NeighRow){ .first = NEIGH_NOBODY, .last = NEIGH_NOBODY };
	return spare;
}

static void row_known(NeighRow *r, Mac mac, int64_t until)
{
	r->say = NEIGH_KNOWN;
	r->mac = mac;
	r->probing = false;
	r->tries = 0;
	r->next = until;
}

/* What the kernel believes.  A stale entry serves, but is asked for: nobody else
 * would notice that its owner has gone (RFC 4861 7.3.3 does so after DELAY). */
static void row_ask(Neighs *n, NeighRow *r, int64_t now)
{
	Neigh k;
	bool there = rtnl_neigh(n->rtnl, r->iface->link.index, r->ip, &k) == 0;

	if (there && k.state == NEIGH_REACHABLE) {
		row_known(r, k.mac, now + KERNEL_AGAIN);
		return;
	}
	if (there && k.state == NEIGH_STALE) {
		r->say = NEIGH_KNOWN;
		r->mac = k.mac;
	} else {
		r->say = NEIGH_WAIT;
	}
	r->probing = true;
	r->tries = 0;
	r->next = now;
	n->due = now;
}

NeighRow *neighs_find(Neighs *n, GateIface *i, Ip ip, int64_t now)
{
	NeighRow *r = row_place(n, i, ip);

	if (!r)
		return NULL;
	if (!r->used) {
		r->used = true;
		r->iface = i;
		r->ip = ip;
		row_ask(n, r, now);
	} else if (!r->probing && r->next <= now) {
		row_ask(n, r, now);
	}
	return r;
}

/* ---- answers ---- */

static NeighRow *learn(Neighs *n, const GateIface *i, Ip ip, Mac mac, int64_t now)
{
	NeighRow *r = row_place(n, i, ip);

	/* only what we asked for: nobody fills our table unasked */
	if (!r || !r->used || !r->probing || mac.b[0] & 1)
		return NULL;
	row_known(r, mac, now + OURS_HOLDS);
	return r;
}

/* RFC 826: who answers is the sender, whatever the opcode. */
static NeighRow *learn_arp(Neighs *n, const GateIface *i, Bytes arp, int64_t now)
{
	static const uint8_t ether_ip4[] = { 0, 1, 8, 0, 6, 4 };
	Mac mac;

	if (arp.n < 28 || !bytes_eq(bytes_slice(arp, 0, 6), BYTES(ether_ip4, 6)))
		return NULL;
	memcpy(mac.b, arp.p + 8, 6);
	return learn(n, i, ip_from(4, arp.p + 14), mac, now);
}

/* RFC 4861 4.4: a neighbour advertisement with its target link-layer address; hop
 * limit 255 says that it comes from the link. */
static NeighRow *learn_na(Neighs *n, const GateIface *i, Bytes ip6, int64_t now)
{
	Cursor c = cursor(bytes_slice(ip6, 40 + 24, ip6.n));
	Mac mac;

	if (ip6.n < 40 + 24 || ip6.p[6] != IPPROTO_ICMPV6 || ip6.p[7] != 255 || ip6.p[40] != 136)
		return NULL;
	while (cur_left(&c) >= 8) {
		uint8_t type = cur_u8(&c);
		uint8_t units = cur_u8(&c);
		Bytes data = cur_bytes(&c, (size_t)units * 8 - 2);

		if (!units || c.bad)
			return NULL;
		if (type == 2 && data.n >= 6) {
			memcpy(mac.b, data.p, 6);
			return learn(n, i, ip_from(6, ip6.p + 40 + 8), mac, now);
		}
	}
	return NULL;
}

NeighRow *neighs_learn(Neighs *n, const GateIface *i, Bytes frame, int64_t now)
{
	Bytes l3 = bytes_slice(frame, ETHER, frame.n);

	if (!i->gl.ether || frame.n < ETHER)
		return NULL;
	switch (get_be16(frame.p + 12)) {
	case 0x0806:
		return learn_arp(n, i, l3, now);
	case 0x86dd:
		return learn_na(n, i, l3, now);
	default:
		return NULL;
	}
}

/* ---- probes ---- */

static void put_ether(Writer *w, Mac dst, Mac src, uint16_t type)
{
	wr_bytes(w, BYTES(dst.b, 6));
	wr_bytes(w, BYTES(src.b, 6));
	wr_be16(w, type);
}

/* RFC 826; to all, since nobody's MAC is known. */
static void put_arp(Writer *w, const GateIface *i, Ip src, Ip target)
{
	const Mac all = { { 255, 255, 255, 255, 255, 255 } };

	put_ether(w, all, i->link.mac, 0x0806);
	wr_be16(w, 1);
	wr_be16(w, 0x0800);
	wr_u8(w, 6);
	wr_u8(w, 4);
	wr_be16(w, 1);
	wr_bytes(w, BYTES(i->link.mac.b, 6));
	wr_bytes(w, BYTES(src.b, 4));
	wr_zeros(w, 6);
	wr_bytes(w, BYTES(target.b, 4));
}

static uint16_t icmp6_csum(const uint8_t *ip6, Bytes icmp)
{
	uint8_t tail[8] = { 0 };
	uint32_t sum = wire_csum(0, BYTES(ip6 + 8, 32));

	/* RFC 8200 8.1: the pseudo-header */
	put_be32(tail, (uint32_t)icmp.n);
	tail[7] = IPPROTO_ICMPV6;
	sum = wire_csum(sum, BYTES(tail, sizeof tail));
	return wire_csum_fold(wire_csum(sum, icmp));
}

/* RFC 4861 4.3, to the solicited-node address (RFC 4291 2.7.1). */
static void put_ns(Writer *w, const GateIface *i, Ip src, Ip target)
{
	uint8_t group[16] = { 0xff, 2, [11] = 1, [12] = 0xff, target.b[13], target.b[14], target.b[15] };
	Mac dst = { { 0x33, 0x33, 0xff, target.b[13], target.b[14], target.b[15] } };
	uint8_t *ip6 = w->p + ETHER;

	put_ether(w, dst, i->link.mac, 0x86dd);
	wr_be32(w, 0x60000000);
	wr_be16(w, 32);
	wr_u8(w, IPPROTO_ICMPV6);
	wr_u8(w, 255);
	wr_bytes(w, BYTES(src.b, 16));
	wr_bytes(w, BYTES(group, 16));
	wr_u8(w, 135);
	wr_zeros(w, 7);
	wr_bytes(w, BYTES(target.b, 16));
	wr_u8(w, 1); /* source link-layer address */
	wr_u8(w, 1);
	wr_bytes(w, BYTES(i->link.mac.b, 6));
	put_be16(ip6 + 42, icmp6_csum(ip6, BYTES(ip6 + 40, 32)));
}

static Bytes probe(const NeighRow *r, uint8_t buf[NEIGH_FRAME])
{
	Writer w = writer(buf, NEIGH_FRAME);
	Ip src = links_source(r->iface, r->ip);

	if (!src.v)
		return (Bytes){ 0 };
	if (r->ip.v == 4)
		put_arp(&w, r->iface, src, r->ip);
	else
		put_ns(&w, r->iface, src, r->ip);
	return wr_done(&w);
}

NeighRow *neighs_due(Neighs *n, int64_t now, uint8_t buf[NEIGH_FRAME], Bytes *ret_frame)
{
	int64_t due = INT64_MAX;

	if (now < n->due)
		return NULL;
	for (unsigned k = 0; k < NEIGHS_MAX; k++) {
		NeighRow *r = &n->row[k];

		if (!r->used || !r->probing)
			continue;
		if (r->next > now) {
			due = r->next < due ? r->next : due;
			continue;
		}
		*ret_frame = r->tries < LIMIT_NEIGH_TRIES ? probe(r, buf) : (Bytes){ 0 };
		r->next = now + PROBE_GAP;
		if (ret_frame->n) {
			r->tries++;
			n->probes++;
		} else {
			r->say = NEIGH_SILENT;
			r->probing = false;
			r->next = now + SILENT_HOLDS;
		}
		return r;
	}
	n->due = due;
	return NULL;
}
