/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/links.h"

#include "base/rng.h"
#include "base/units.h"

#include <errno.h>

/* ARPHRD_*, linux/if_arp.h (which can't stand beside libc's net headers) */
enum { HW_ETHER = 1, HW_NONE = 0xfffe, HW_LOOPBACK = 772, HW_RAWIP = 519, HW_PPP = 512, HW_TUNNEL = 768,
       HW_TUNNEL6 = 769, HW_SIT = 776, HW_IPGRE = 778 };

bool link_is_ether(const Link *l)
{
	return l->type == HW_ETHER || l->type == HW_LOOPBACK;
}

bool link_is_usable(const Link *l)
{
	static const uint16_t bare[] = { HW_NONE, HW_RAWIP, HW_PPP, HW_TUNNEL, HW_TUNNEL6, HW_SIT, HW_IPGRE };

	if (link_is_ether(l))
		return true;
	for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
		if (l->type == bare[i])
			return true;
	return false;
}

static void iface_init(Links *l, GateIface *i, const Link *link, unsigned *own)
{
	unsigned first = *own;

	for (unsigned k = 0; k < l->naddr; k++)
		if (l->addr[k].index == link->index)
			l->own[(*own)++] = (OwnAddr){ l->addr[k].ip, l->addr[k].bits };
	*i = (GateIface){ .link = *link, .rx_fd = -1 };
	i->gl = (GateLink){ .index = (uint16_t)link->index,
			    .mtu = link->mtu > 65535 ? 65535 : link->mtu,
			    .ether = link_is_ether(link),
			    .mac = link->mac,
			    .own = l->own + first,
			    .nown = *own - first };
}

int links_init(Links *l, Arena *a, const char *only)
{
	Link link[LINKS_MAX];
	unsigned own = 0;
	int n, addrs;

	*l = (Links){ .rtnl = rtnl_open(), .only = only };
	if (!l->rtnl)
		return -errno;
	l->hops = arena_new_n(a, Hop, HOPS_CACHED);
	n = rtnl_links(l->rtnl, link, LINKS_MAX);
	addrs = rtnl_addrs(l->rtnl, l->addr, LINK_ADDRS);
	if (n < 0 || addrs < 0)
		return n < 0 ? n : addrs;
	l->naddr = (unsigned)addrs;
	for (int k = 0; k < n; k++)
		iface_init(l, &l->iface[l->n++], &link[k], &own);
	return 0;
}

GateIface *links_find(Links *l, int index)
{
	for (unsigned k = 0; k < l->n; k++)
		if (l->iface[k].link.index == index)
			return &l->iface[k];
	return NULL;
}

GateIface *links_by_name(Links *l, Str name)
{
	for (unsigned k = 0; k < l->n; k++)
		if (str_is(name, l->iface[k].link.name))
			return &l->iface[k];
	return NULL;
}

static NotSent route_reason(int err)
{
	return err == -ENETDOWN || err == -ENODEV ? NOTSENT_LINK_DOWN : NOTSENT_NO_ROUTE;
}

/* Multicast and broadcast are routed too; only their next hop is no neighbour. */
static void hop_ask(Links *l, Hop *h)
{
	Route r;
	int want = h->asked;
	int err;

	if (!want && l->only) {
		GateIface *only = links_by_name(l, str_c(l->only));

		want = only ? only->link.index : 0;
	}
	err = rtnl_route(l->rtnl, h->dst, want, (Ip){ 0 }, &r);
	h->iface = links_find(l, err ? want : r.index);
	h->reason = err ? route_reason(err) : NOTSENT_NONE;
	if (h->iface && !(h->iface->link.up = rtnl_is_up(l->rtnl, h->iface->link.name)))
		h->reason = NOTSENT_LINK_DOWN;
	if (err || !h->iface)
		return;
	h->gateway = r.gw.v != 0;
	h->next = h->gateway ? r.gw : h->dst;
	h->src = r.src;
	h->mtu = r.mtu && r.mtu < h->iface->gl.mtu ? r.mtu : h->iface->gl.mtu;
}

static Hop *hop_cell(Links *l, Ip dst, uint16_t iface)
{
	uint64_t w[2];

	memcpy(w, dst.b, sizeof w);
	return &l->hops[rng_mix(rng_mix(w[0] ^ iface) ^ w[1]) % HOPS_CACHED];
}

const Hop *links_hop(Links *l, Ip dst, uint16_t iface, int64_t now)
{
	Hop *h = hop_cell(l, dst, iface);

	if (h->until > now && h->asked == iface && ip_eq(h->dst, dst))
		return h;
	*h = (Hop){ .dst = dst, .asked = iface, .until = now + NS_PER_S, .reason = NOTSENT_NO_ROUTE };
	hop_ask(l, h);
	return h;
}

void links_forget(Links *l)
{
	for (unsigned i = 0; i < HOPS_CACHED; i++)
		l->hops[i].until = INT64_MIN;
}

Ip links_source(const GateIface *i, Ip to)
{
	Ip any = { 0 };

	for (unsigned k = 0; k < i->gl.nown; k++) {
		const OwnAddr *o = &i->gl.own[k];
		Ip lo, hi;

		if (o->ip.v != to.v)
			continue;
		net_range((Net){ o->ip, o->bits }, &lo, &hi);
		if (ip_cmp(lo, to) <= 0 && ip_cmp(to, hi) <= 0)
			return o->ip;
		if (!any.v)
			any = o->ip;
	}
	return any;
}
