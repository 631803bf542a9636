/* SPDX-License-Identifier: Apache-2.0
 *
 * What a parsed filter means: on a frame, for the checker, and as text.
 *
 * Each test reads exactly the bytes that libpcap's generated code reads; offsets
 * are those of pcap-filter's link, network and transport headers.
 */
#include "probe/filter_ast.h"

enum { ETH_TYPE_AT = 12, ETH_IP4 = 0x0800, ETH_ARP = 0x0806, ETH_IP6 = 0x86dd, IP6_FRAGMENT = 44 };

/* ---- on a frame ---- */

typedef struct Eval {
	Bytes frame;
	WireId first;
	bool short_read; /* BPF: a load behind the end rejects the packet */
} Eval;

static uint32_t load(Eval *e, size_t at, size_t width)
{
	uint32_t v = 0;

	if (at + width > e->frame.n) {
		e->short_read = true;
		return 0;
	}
	for (size_t i = 0; i < width; i++)
		v = v << 8 | e->frame.p[at + i];
	return v;
}

/* Where the network header starts. */
static size_t net_at(const Eval *e, unsigned depth)
{
	return e->first == WIRE_ETHER ? (size_t)ETH_TYPE_AT + 2 + 4 * depth : 0;
}

/* The network protocol as an OVER_ bit; 0: another one. */
static uint8_t net_proto(Eval *e, unsigned depth)
{
	if (e->first != WIRE_ETHER) {
		uint32_t version = depth ? 0 : load(e, 0, 1) >> 4;

		return version == 4 ? OVER_IP4 : version == 6 ? OVER_IP6 : 0;
	}
	switch (load(e, ETH_TYPE_AT + 4 * depth, 2)) {
	case ETH_IP4:
		return OVER_IP4;
	case ETH_IP6:
		return OVER_IP6;
	case ETH_ARP:
		return OVER_ARP;
	default:
		return 0;
	}
}

static bool number_match(Eval *e, const FilterTest *t, uint8_t over, size_t at)
{
	if (over == OVER_IP4)
		return load(e, at + 9, 1) == t->proto;
	if (over != OVER_IP6)
		return false;
	uint32_t next = load(e, at + 6, 1);
	if (e->short_read)
		return false;
	return next == t->proto || (next == IP6_FRAGMENT && load(e, at + 40, 1) == t->proto);
}

static bool by_dir(Eval *e, const FilterTest *t, size_t src_at, size_t dst_at,
		   bool (*same)(Eval *e, const FilterTest *t, size_t at))
{
	switch (t->dir) {
	case DIR_SRC:
		return same(e, t, src_at);
	case DIR_DST:
		return same(e, t, dst_at);
	case DIR_BOTH:
		return same(e, t, src_at) && same(e, t, dst_at);
	case DIR_EITHER:
		break;
	}
	return same(e, t, src_at) || (!e->short_read && same(e, t, dst_at));
}

static bool addr_same(Eval *e, const FilterTest *t, size_t at)
{
	size_t n = ip_len(t->net.ip);

	if (at + n > e->frame.n) {
		e->short_read = true;
		return false;
	}
	return net_has(t->net, ip_from(t->net.ip.v, e->frame.p + at));
}

static bool net_match(Eval *e, const FilterTest *t, uint8_t over, size_t at)
{
	if ((over == OVER_IP6) != (t->net.ip.v == 6))
		return false;
	if (over == OVER_IP4)
		return by_dir(e, t, at + 12, at + 16, addr_same);
	if (over == OVER_ARP)
		return by_dir(e, t, at + 14, at + 24, addr_same);
	return by_dir(e, t, at + 8, at + 24, addr_same);
}

static bool port_same(Eval *e, const FilterTest *t, size_t at)
{
	uint32_t port = load(e, at, 2);

	return !e->short_read && port >= t->lo && port <= t->hi;
}

static bool port_match(Eval *e, const FilterTest *t, uint8_t over, size_t at)
{
	uint32_t proto = load(e, at + (over == OVER_IP4 ? 9 : 6), 1);
	size_t transport = at + 40;

	if (e->short_read || !((proto == 6 && t->ports & PORT_TCP) || (proto == 17 && t->ports & PORT_UDP)))
		return false;
	if (over == OVER_IP4) {
		if (load(e, at + 6, 2) & 0x1fff)
			return false;
		transport = at + 4 * (load(e, at, 1) & 15);
	}
	return !e->short_read && by_dir(e, t, transport, transport + 2, port_same);
}

static bool vlan_match(Eval *e, const FilterTest *t)
{
	if (e->first != WIRE_ETHER)
		return false;
	size_t at = ETH_TYPE_AT + 4 * (size_t)t->depth;
	uint32_t type = load(e, at, 2);
	if (type != 0x8100 && type != 0x88a8 && type != 0x9100)
		return false;
	return t->any_vlan || (load(e, at + 2, 2) & 0xfff) == t->lo;
}

static bool test_match(Eval *e, const FilterTest *t)
{
	if (t->kind == TEST_VLAN)
		return vlan_match(e, t);
	uint8_t over = net_proto(e, t->depth) & t->over;
	size_t at = net_at(e, t->depth);
	if (!over || e->short_read)
		return false;
	switch (t->kind) {
	case TEST_NET:
		return net_match(e, t, over, at);
	case TEST_PORT:
		return port_match(e, t, over, at);
	case TEST_PROTO:
	case TEST_NUMBER:
		return number_match(e, t, over, at);
	case TEST_LINK:
	case TEST_VLAN:
		break;
	}
	return true;
}

static bool node_match(Eval *e, const FilterNode *n)
{
	bool left;

	switch (n->kind) {
	case NODE_TEST:
		return test_match(e, &n->test);
	case NODE_NOT:
		return !node_match(e, n->left);
	case NODE_AND:
		left = node_match(e, n->left);
		return left && !e->short_read && node_match(e, n->right);
	case NODE_OR:
		break;
	}
	left = node_match(e, n->left);
	return left || (!e->short_read && node_match(e, n->right));
}

bool filter_match(const Filter *f, Bytes frame, WireId first)
{
	Eval e = { .frame = frame, .first = first };

	return !f->root || (node_match(&e, f->root) && !e.short_read);
}

/* ---- stacks ---- */

#define NETS	   (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_IP) | WIRE_BIT(WIRE_IPV6))
#define TRANSPORTS (WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6) | WIRE_BIT(WIRE_UDP) | WIRE_BIT(WIRE_TCP))

/* Inside these, no network layer is decoded. */
#define CARRIES_NONE (WIRE_BIT(WIRE_ARP) | WIRE_BIT(WIRE_ICMP) | WIRE_BIT(WIRE_ICMPV6) | WIRE_BIT(WIRE_TCP))

static bool more_than_one(uint64_t of)
{
	return of & (of - 1);
}

/* Tests speak of the outermost headers, of which there is one each. */
static bool contradicts(uint64_t must)
{
	return more_than_one(must & NETS) || more_than_one(must & TRANSPORTS) ||
	       ((must & WIRE_BIT(WIRE_ARP)) && (must & TRANSPORTS)) ||
	       ((must & WIRE_BIT(WIRE_IP)) && (must & WIRE_BIT(WIRE_ICMPV6))) ||
	       ((must & WIRE_BIT(WIRE_IPV6)) && (must & WIRE_BIT(WIRE_ICMP)));
}

/* What having some layers rules out: the outermost network and transport
 * protocol are one each, and ICMP goes with one version of IP. */
static uint64_t excluded(uint64_t must)
{
	uint64_t no = 0;

	/* What may be a tunnel may have any layer inside. */
	if (!(must & CARRIES_NONE))
		return 0;
	if (must & NETS)
		no |= NETS & ~must;
	if (must & TRANSPORTS)
		no |= TRANSPORTS & ~must;
	if (must & WIRE_BIT(WIRE_ARP))
		no |= TRANSPORTS;
	if (must & WIRE_BIT(WIRE_IP))
		no |= WIRE_BIT(WIRE_ICMPV6);
	if (must & WIRE_BIT(WIRE_IPV6))
		no |= WIRE_BIT(WIRE_ICMP);
	return no;
}

static void alt_hull(StackAlt *into, StackAlt x)
{
	into->must &= x.must;
	into->mustnot &= x.mustnot;
}

static void stacks_add(StackSet *s, uint64_t must, uint64_t mustnot)
{
	StackAlt x = { must, mustnot | excluded(must) };

	if (x.must & x.mustnot || contradicts(must))
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		StackAlt *y = &s->alt[i];

		if (!(y->must & ~x.must) && !(y->mustnot & ~x.mustnot))
			return; /* y says less and so allows x */
	}
	if (s->n < LIMIT_STACKS)
		s->alt[s->n++] = x;
	else
		alt_hull(&s->alt[LIMIT_STACKS - 1], x);
}

static void test_stacks_over(const FilterTest *t, uint64_t net, uint64_t icmp, StackSet *s)
{
	uint64_t must = net;

	if (t->kind == TEST_PORT) {
		if (t->ports & PORT_TCP)
			stacks_add(s, net | WIRE_BIT(WIRE_TCP), 0);
		if (t->ports & PORT_UDP)
			stacks_add(s, net | WIRE_BIT(WIRE_UDP), 0);
		return;
	}
	if (t->kind == TEST_PROTO)
		must |= t->proto == 6 ? WIRE_BIT(WIRE_TCP) : t->proto == 17 ? WIRE_BIT(WIRE_UDP) : icmp;
	stacks_add(s, must, 0);
}

static void test_stacks(const FilterTest *t, bool negated, StackSet *s)
{
	if (t->kind == TEST_VLAN) {
		stacks_add(s, negated ? 0 : WIRE_BIT(WIRE_ETHER) | WIRE_BIT(WIRE_DOT1Q), 0);
		return;
	}
	if (negated) { /* a tunnel may have inside what is not outermost */
		stacks_add(s, 0, 0);
		return;
	}
	if (t->over & OVER_IP4)
		test_stacks_over(t, WIRE_BIT(WIRE_IP), WIRE_BIT(WIRE_ICMP), s);
	if (t->over & OVER_IP6)
		test_stacks_over(t, WIRE_BIT(WIRE_IPV6), WIRE_BIT(WIRE_ICMPV6), s);
	if (t->over & OVER_ARP)
		stacks_add(s, WIRE_BIT(WIRE_ETHER) | WIRE_BIT(WIRE_ARP), 0);
}

/* De Morgan on the way down: `negated` turns and into or. */
void filter_node_stacks(const FilterNode *n, bool negated, StackSet *ret_set)
{
	StackSet left, right;

	*ret_set = (StackSet){ 0 };
	if (n->kind == NODE_TEST) {
		test_stacks(&n->test, negated, ret_set);
		return;
	}
	if (n->kind == NODE_NOT) {
		filter_node_stacks(n->left, !negated, ret_set);
		return;
	}
	filter_node_stacks(n->left, negated, &left);
	filter_node_stacks(n->right, negated, &right);
	if ((n->kind == NODE_OR) != negated) {
		*ret_set = left;
		for (uint32_t i = 0; i < right.n; i++)
			stacks_add(ret_set, right.alt[i].must, right.alt[i].mustnot);
		return;
	}
	for (uint32_t i = 0; i < left.n; i++)
		for (uint32_t k = 0; k < right.n; k++)
			stacks_add(ret_set, left.alt[i].must | right.alt[k].must,
				   left.alt[i].mustnot | right.alt[k].mustnot);
}

void filter_stacks(const Filter *f, StackSet *ret_set)
{
	*ret_set = f->stacks;
}

bool stacks_fit(const StackSet *s, uint64_t layers)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!(s->alt[i].must & ~layers) && !(s->alt[i].mustnot & layers))
			return true;
	return false;
}

/* ---- text ---- */

static const char *dir_text(TestDir dir)
{
	static const char *const texts[] = {
		[DIR_EITHER] = "", [DIR_SRC] = "src ", [DIR_DST] = "dst ", [DIR_BOTH] = "src and dst "
	};

	return texts[dir];
}

static void net_text(const FilterTest *t, uint8_t over, Sb *out)
{
	char net[NET_TEXT];
	bool host = t->net.bits == 8 * ip_len(t->net.ip);

	if (host)
		ip_format(t->net.ip, net);
	else
		net_format(t->net, net);
	sb_printf(out, "%s %s%s %s",
		  over == OVER_IP4   ? "ip"
		  : over == OVER_IP6 ? "ip6"
				     : "arp",
		  dir_text(t->dir), host ? "host" : "net", net);
}

static void port_text(const FilterTest *t, uint8_t transport, Sb *out)
{
	sb_printf(out, "%s %s", transport == PORT_TCP ? "tcp" : "udp", dir_text(t->dir));
	if (t->lo == t->hi)
		sb_printf(out, "port %u", t->lo);
	else
		sb_printf(out, "portrange %u-%u", t->lo, t->hi);
}

static void number_text(const FilterTest *t, uint8_t over, Sb *out)
{
	sb_printf(out, "%s proto %u", over == OVER_IP4 ? "ip" : "ip6", t->proto);
}

/* Each bit of `set` by `one`, joined by or. */
static void bits_text(const FilterTest *t, uint8_t set, void (*one)(const FilterTest *, uint8_t, Sb *),
		      Sb *out)
{
	bool several = (set & (set - 1)) != 0;
	const char *join = "";

	if (several)
		sb_char(out, '(');
	for (uint8_t bit = 1; bit <= OVER_ARP; bit = (uint8_t)(bit << 1))
		if (set & bit) {
			sb_cstr(out, join);
			one(t, bit, out);
			join = " or ";
		}
	if (several)
		sb_char(out, ')');
}

static void test_text(const FilterTest *t, Sb *out)
{
	switch (t->kind) {
	case TEST_NET:
		bits_text(t, t->over, net_text, out);
		return;
	case TEST_PORT:
		bits_text(t, t->ports, port_text, out);
		return;
	case TEST_NUMBER:
		bits_text(t, t->over, number_text, out);
		return;
	case TEST_VLAN:
		sb_cstr(out, "vlan");
		if (!t->any_vlan)
			sb_printf(out, " %u", t->lo);
		return;
	case TEST_LINK:
		sb_cstr(out, t->over == OVER_IP4 ? "ip" : t->over == OVER_IP6 ? "ip6" : "arp");
		return;
	case TEST_PROTO:
		sb_cstr(out, t->proto == 6    ? "tcp"
			     : t->proto == 17 ? "udp"
			     : t->proto == 1  ? "icmp"
					      : "icmp6");
	}
}

static void node_text(const FilterNode *n, NodeKind outer, Sb *out)
{
	if (n->kind == NODE_TEST) {
		test_text(&n->test, out);
		return;
	}
	if (n->kind == NODE_NOT) {
		sb_cstr(out, "not ");
		node_text(n->left, NODE_NOT, out);
		return;
	}
	bool parens = n->kind != outer;
	if (parens)
		sb_char(out, '(');
	node_text(n->left, n->kind, out);
	sb_cstr(out, n->kind == NODE_AND ? " and " : " or ");
	/* the right side keeps its parentheses: the order of `vlan` must not change */
	node_text(n->right, NODE_TEST, out);
	if (parens)
		sb_char(out, ')');
}

Str filter_text(const Filter *f, Arena *a)
{
	Sb out = sb(a);

	if (f->root)
		node_text(f->root, f->root->kind, &out);
	return sb_done(&out);
}
