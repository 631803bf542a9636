/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RTNL_BUF = 32 * 1024 };

struct Rtnl {
	struct mnl_socket *nl;
	int ioctl_fd;
	uint32_t seq;
	_Alignas(struct nlmsghdr) char buf[RTNL_BUF];
};

Rtnl *rtnl_open(void)
{
	Rtnl *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (r->nl && mnl_socket_bind(r->nl, 0, MNL_SOCKET_AUTOPID) == 0)
		return r;
	rtnl_close(r);
	return NULL;
}

void rtnl_close(Rtnl *r)
{
	if (!r)
		return;
	if (r->nl)
		mnl_socket_close(r->nl);
	if (r->ioctl_fd >= 0)
		close(r->ioctl_fd);
	free(r);
}

/* ---- asking ---- */

/* One answer of the kernel; what `take` makes of it goes to `out`. */
typedef void RtnlTake(const struct nlmsghdr *nlh, void *out);

typedef struct Asking {
	RtnlTake *take;
	void *out;
} Asking;

static int ask_cb(const struct nlmsghdr *nlh, void *arg)
{
	Asking *a = arg;

	a->take(nlh, a->out);
	return MNL_CB_OK;
}

static struct nlmsghdr *ask_new(Rtnl *r, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(r->buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++r->seq;
	return nlh;
}

static int ask(Rtnl *r, struct nlmsghdr *nlh, RtnlTake *take, void *out)
{
	Asking a = { take, out };
	bool dump = nlh->nlmsg_flags & NLM_F_DUMP;
	unsigned port = mnl_socket_get_portid(r->nl);
	int run;

	if (mnl_socket_sendto(r->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t n = mnl_socket_recvfrom(r->nl, r->buf, RTNL_BUF);

		if (n < 0)
			return -errno;
		run = mnl_cb_run(r->buf, (size_t)n, r->seq, port, ask_cb, &a);
		if (run < 0)
			return -errno;
	} while (run > 0 && dump);
	return 0;
}

/* The attributes of a message or of a nested one, by their number. */
typedef struct Attrs {
	const struct nlattr **tb;
	uint16_t max;
} Attrs;

static int attrs_cb(const struct nlattr *a, void *arg)
{
	Attrs *as = arg;

	if (mnl_attr_get_type(a) <= as->max)
		as->tb[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

#define ATTRS(nlh, family_struct, tb, max) \
	mnl_attr_parse(nlh, sizeof(family_struct), attrs_cb, &(Attrs){ tb, max })

static Ip attr_ip(const struct nlattr *a)
{
	uint16_t n = a ? mnl_attr_get_payload_len(a) : 0;

	if (n != 4 && n != 16)
		return (Ip){ 0 };
	return ip_from(n == 4 ? 4 : 6, mnl_attr_get_payload(a));
}

static uint32_t attr_u32(const struct nlattr *a)
{
	return a && mnl_attr_get_payload_len(a) >= 4 ? mnl_attr_get_u32(a) : 0;
}

static void put_ip(struct nlmsghdr *nlh, uint16_t type, Ip ip)
{
	mnl_attr_put(nlh, type, ip_len(ip), ip.b);
}

static uint8_t family(Ip ip)
{
	return ip.v == 4 ? AF_INET : AF_INET6;
}

/* A list that grows by each answer, up to its room. */
typedef struct List {
	void *p;
	unsigned n, cap;
} List;

/* ---- links ---- */

static bool link_read(const struct nlmsghdr *nlh, Link *l)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[IFLA_MTU + 1] = { 0 };

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return false;
	ATTRS(nlh, struct ifinfomsg, tb, IFLA_MTU);
	*l = (Link){ .index = ifi->ifi_index,
		     .type = ifi->ifi_type,
		     .mtu = attr_u32(tb[IFLA_MTU]),
		     .up = (ifi->ifi_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING),
		     .loopback = ifi->ifi_flags & IFF_LOOPBACK };
	if (tb[IFLA_IFNAME])
		strncpy(l->name, mnl_attr_get_str(tb[IFLA_IFNAME]), LINK_NAME - 1);
	if (tb[IFLA_ADDRESS] && mnl_attr_get_payload_len(tb[IFLA_ADDRESS]) == sizeof l->mac.b)
		memcpy(l->mac.b, mnl_attr_get_payload(tb[IFLA_ADDRESS]), sizeof l->mac.b);
	return true;
}

static void links_take(const struct nlmsghdr *nlh, void *out)
{
	List *list = out;

	if (list->n < list->cap && link_read(nlh, (Link *)list->p + list->n))
		list->n++;
}

static struct nlmsghdr *link_ask(Rtnl *r, uint16_t flags, int index)
{
	struct nlmsghdr *nlh = ask_new(r, RTM_GETLINK, flags);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);

	ifi->ifi_index = index;
	/* no counters: they are most of a link's message */
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return nlh;
}

int rtnl_links(Rtnl *r, Link *ret, unsigned cap)
{
	List list = { ret, 0, cap };
	int err = ask(r, link_ask(r, NLM_F_DUMP, 0), links_take, &list);

	return err ? err : (int)list.n;
}

int rtnl_link(Rtnl *r, int index, Link *ret)
{
	List list = { ret, 0, 1 };
	int err = ask(r, link_ask(r, 0, index), links_take, &list);

	return err ? err : list.n ? 0 : -ENODEV;
}

bool rtnl_is_up(Rtnl *r, const char *name)
{
	struct ifreq q = { 0 };

	strncpy(q.ifr_name, name, sizeof q.ifr_name - 1);
	return ioctl(r->ioctl_fd, SIOCGIFFLAGS, &q) == 0 &&
	       (q.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

/* ---- addresses ---- */

static void addrs_take(const struct nlmsghdr *nlh, void *out)
{
	List *list = out;
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[IFA_FLAGS + 1] = { 0 };
	uint32_t state;
	Ip ip;

	if (nlh->nlmsg_type != RTM_NEWADDR || list->n == list->cap)
		return;
	ATTRS(nlh, struct ifaddrmsg, tb, IFA_FLAGS);
	state = tb[IFA_FLAGS] ? attr_u32(tb[IFA_FLAGS]) : ifa->ifa_flags;
	/* IFA_LOCAL is ours where IFA_ADDRESS is a point-to-point peer's */
	ip = attr_ip(tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS]);
	if (!ip.v || state & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
		return;
	((LinkAddr *)list->p)[list->n++] = (LinkAddr){ (int)ifa->ifa_index, ip, ifa->ifa_prefixlen };
}

int rtnl_addrs(Rtnl *r, LinkAddr *ret, unsigned cap)
{
	List list = { ret, 0, cap };
	struct nlmsghdr *nlh = ask_new(r, RTM_GETADDR, NLM_F_DUMP);
	int err;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifaddrmsg));
	err = ask(r, nlh, addrs_take, &list);
	return err ? err : (int)list.n;
}

/* ---- routes ---- */

static RouteKind route_kind(uint8_t rtm_type)
{
	static const struct {
		uint8_t type;
		RouteKind kind;
	} kinds[] = {
		{ RTN_UNICAST, ROUTE_UNICAST },	  { RTN_LOCAL, ROUTE_LOCAL },	      { RTN_ANYCAST, ROUTE_LOCAL },
		{ RTN_BROADCAST, ROUTE_BROADCAST }, { RTN_MULTICAST, ROUTE_MULTICAST },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].type == rtm_type)
			return kinds[i].kind;
	return ROUTE_NONE;
}

static uint32_t metrics_mtu(const struct nlattr *metrics)
{
	const struct nlattr *tb[RTAX_MTU + 1] = { 0 };

	if (metrics)
		mnl_attr_parse_nested(metrics, attrs_cb, &(Attrs){ tb, RTAX_MTU });
	return attr_u32(tb[RTAX_MTU]);
}

/* RTA_VIA: a next hop of the other family (RFC 5549). */
static Ip attr_gateway(const struct nlattr *gw, const struct nlattr *via)
{
	if (gw || !via || mnl_attr_get_payload_len(via) != 2 + 16)
		return attr_ip(gw);
	return ip_from(6, (const uint8_t *)mnl_attr_get_payload(via) + 2);
}

static void route_take(const struct nlmsghdr *nlh, void *out)
{
	Route *route = out;
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[RTA_VIA + 1] = { 0 };

	if (nlh->nlmsg_type != RTM_NEWROUTE)
		return;
	ATTRS(nlh, struct rtmsg, tb, RTA_VIA);
	*route = (Route){ .kind = route_kind(rtm->rtm_type),
			  .index = (int)attr_u32(tb[RTA_OIF]),
			  .src = attr_ip(tb[RTA_PREFSRC]),
			  .gw = attr_gateway(tb[RTA_GATEWAY], tb[RTA_VIA]),
			  .mtu = metrics_mtu(tb[RTA_METRICS]) };
}

int rtnl_route(Rtnl *r, Ip dst, int iface, Ip src, Route *ret)
{
	struct nlmsghdr *nlh = ask_new(r, RTM_GETROUTE, 0);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof *rtm);
	Route route = { .kind = ROUTE_NONE };
	int err;

	rtm->rtm_family = family(dst);
	rtm->rtm_dst_len = (uint8_t)(ip_len(dst) * 8);
	put_ip(nlh, RTA_DST, dst);
	if (src.v) {
		rtm->rtm_src_len = (uint8_t)(ip_len(src) * 8);
		put_ip(nlh, RTA_SRC, src);
	}
	if (iface)
		mnl_attr_put_u32(nlh, RTA_OIF, (uint32_t)iface);
	err = ask(r, nlh, route_take, &route);
	if (err)
		return err;
	if (route.kind == ROUTE_NONE)
		return -ENETUNREACH;
	*ret = route;
	return 0;
}

static void routes_take(const struct nlmsghdr *nlh, void *out)
{
	List *list = out;
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[RTA_TABLE + 1] = { 0 };
	RouteRow row;

	if (nlh->nlmsg_type != RTM_NEWROUTE || list->n == list->cap || rtm->rtm_type != RTN_UNICAST)
		return;
	ATTRS(nlh, struct rtmsg, tb, RTA_TABLE);
	if ((tb[RTA_TABLE] ? attr_u32(tb[RTA_TABLE]) : rtm->rtm_table) != RT_TABLE_MAIN)
		return;
	row = (RouteRow){ .net = { attr_ip(tb[RTA_DST]), rtm->rtm_dst_len },
			  .gw = attr_gateway(tb[RTA_GATEWAY], NULL),
			  .src = attr_ip(tb[RTA_PREFSRC]),
			  .index = (int)attr_u32(tb[RTA_OIF]),
			  .metric = attr_u32(tb[RTA_PRIORITY]) };
	if (!row.net.ip.v) /* the default route has no RTA_DST */
		row.net.ip.v = rtm->rtm_family == AF_INET ? 4 : 6;
	((RouteRow *)list->p)[list->n++] = row;
}

int rtnl_routes(Rtnl *r, RouteRow *ret, unsigned cap)
{
	List list = { ret, 0, cap };
	struct nlmsghdr *nlh = ask_new(r, RTM_GETROUTE, NLM_F_DUMP);
	int err;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtmsg));
	err = ask(r, nlh, routes_take, &list);
	return err ? err : (int)list.n;
}

/* ---- neighbours ---- */

static NeighState neigh_state(uint16_t nud)
{
	if (nud & (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP | NUD_DELAY | NUD_PROBE))
		return NEIGH_REACHABLE;
	if (nud & NUD_STALE)
		return NEIGH_STALE;
	return nud & NUD_FAILED ? NEIGH_FAILED : NEIGH_NONE;
}

static void neighs_take(const struct nlmsghdr *nlh, void *out)
{
	List *list = out;
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[NDA_LLADDR + 1] = { 0 };
	Neigh n;

	/* where nobody is asked (loopback, multicast), a list has no neighbours */
	if (nlh->nlmsg_type != RTM_NEWNEIGH || list->n == list->cap || (nlh->nlmsg_flags & NLM_F_MULTI && ndm->ndm_state & NUD_NOARP))
		return;
	ATTRS(nlh, struct ndmsg, tb, NDA_LLADDR);
	n = (Neigh){ .index = ndm->ndm_ifindex, .ip = attr_ip(tb[NDA_DST]), .state = neigh_state(ndm->ndm_state) };
	if (tb[NDA_LLADDR] && mnl_attr_get_payload_len(tb[NDA_LLADDR]) == sizeof n.mac.b)
		memcpy(n.mac.b, mnl_attr_get_payload(tb[NDA_LLADDR]), sizeof n.mac.b);
	else if (n.state != NEIGH_FAILED)
		n.state = NEIGH_NONE;
	((Neigh *)list->p)[list->n++] = n;
}

int rtnl_neigh(Rtnl *r, int iface, Ip ip, Neigh *ret)
{
	List list = { ret, 0, 1 };
	struct nlmsghdr *nlh = ask_new(r, RTM_GETNEIGH, 0);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof *ndm);
	int err;

	ndm->ndm_family = family(ip);
	ndm->ndm_ifindex = iface;
	put_ip(nlh, NDA_DST, ip);
	err = ask(r, nlh, neighs_take, &list);
	return err ? err : list.n ? 0 : -ENOENT;
}

int rtnl_neighs(Rtnl *r, Neigh *ret, unsigned cap)
{
	List list = { ret, 0, cap };
	struct nlmsghdr *nlh = ask_new(r, RTM_GETNEIGH, NLM_F_DUMP);
	int err;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ndmsg));
	err = ask(r, nlh, neighs_take, &list);
	return err ? err : (int)list.n;
}

const char *neigh_state_text(NeighState s)
{
	static const char *const texts[] = { "none", "reachable", "stale", "failed" };

	return texts[s];
}
