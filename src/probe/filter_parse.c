/* SPDX-License-Identifier: Apache-2.0
 *
 * Text -> tree.  pcap-filter(7): `not` binds tightest; `and` and `or` have EQUAL
 * precedence and associate to the left; an address or number without qualifiers
 * takes those of the test before it ("port 80 or 443").
 */
#include "probe/filter_ast.h"

#include <ctype.h>

typedef struct Token {
	Str text; /* empty: the end */
	uint32_t from;
} Token;

typedef struct Parser {
	Arena *a;
	Str text;
	uint32_t at; /* behind `tok` */
	Token tok;
	unsigned nesting;
	uint8_t vlans;	 /* `vlan` tests so far */
	FilterTest last; /* qualifiers for an id without any */
	bool last_set;
	FilterError *err;
	bool failed;
} Parser;

static const char hint_rest[] = "filters know host, net, port, portrange, proto, vlan with src and dst, and "
				"ip ip6 arp tcp udp icmp icmp6; "
				"select by anything else in the program: [p for p in sniff(..) if ..]";

static FilterNode *fail(Parser *p, Token t, const char *hint, const char *message)
{
	if (p->failed)
		return NULL;
	p->failed = true;
	p->err->from = t.from;
	p->err->to = t.from + (uint32_t)t.text.n;
	p->err->message = str_printf(p->a, message, STR_ARG(t.text));
	p->err->hint = str_c(hint);
	return NULL;
}

/* ---- tokens ---- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr(".:/-_\\", c));
}

static void advance(Parser *p)
{
	const char *s = p->text.p;
	uint32_t i = p->at, n = (uint32_t)p->text.n;

	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	uint32_t from = i;
	if (i < n && is_word_char(s[i]))
		while (i < n && is_word_char(s[i]))
			i++;
	else if (i + 1 < n && (s[i] == '&' || s[i] == '|') && s[i + 1] == s[i])
		i += 2;
	else if (i < n)
		i++;
	p->tok = (Token){ { s + from, i - from }, from };
	p->at = i;
}

static bool tok_is(const Parser *p, const char *z)
{
	return str_is(p->tok.text, z);
}

static bool tok_end(const Parser *p)
{
	return p->tok.text.n == 0;
}

static bool take(Parser *p, const char *z)
{
	if (tok_end(p) || !tok_is(p, z))
		return false;
	advance(p);
	return true;
}

/* ---- nodes ---- */

static FilterNode *node(Parser *p, NodeKind kind, FilterNode *left, FilterNode *right)
{
	FilterNode *n = arena_new(p->a, FilterNode);

	*n = (FilterNode){ .kind = kind, .left = left, .right = right };
	return n;
}

static FilterNode *test_node(Parser *p, FilterTest t)
{
	FilterNode *n = node(p, NODE_TEST, NULL, NULL);

	n->test = t;
	n->test.depth = p->vlans;
	return n;
}

/* ---- ids ---- */

static bool parse_port(Str s, uint16_t *ret_port)
{
	uint64_t v;

	if (!str_to_u64(s, 65535, &v))
		return false;
	*ret_port = (uint16_t)v;
	return true;
}

static bool id_ports(Parser *p, FilterTest *t, bool range)
{
	Str s = p->tok.text;
	const char *dash = range ? memchr(s.p, '-', s.n) : NULL;
	Str lo = { s.p, dash ? (size_t)(dash - s.p) : s.n };
	Str hi = dash ? (Str){ dash + 1, s.n - lo.n - 1 } : lo;

	if (!parse_port(lo, &t->lo) || !parse_port(hi, &t->hi) || t->lo > t->hi) {
		fail(p, p->tok, range ? "portrange 8000-8100" : "port 53",
		     range ? "'%.*s' is no range of ports" : "'%.*s' is no port number");
		return false;
	}
	return true;
}

static bool id_net(Parser *p, FilterTest *t, bool host)
{
	bool slash = memchr(p->tok.text.p, '/', p->tok.text.n) != NULL;

	if ((host && slash) || !net_parse(p->tok.text, &t->net)) {
		fail(p, p->tok, host ? "host 10.0.0.1" : "net 10.0.0.0/24",
		     host ? "'%.*s' is no numeric address"
			  : "'%.*s' is no network (its host bits must be zero)");
		return false;
	}
	uint8_t fits = t->net.ip.v == 4 ? OVER_IP4 | OVER_ARP : OVER_IP6;
	if (t->bare)
		t->over = fits & (OVER_IP4 | OVER_IP6);
	else if (!(t->over & fits)) {
		fail(p, p->tok, "ip and arp take IPv4 addresses, ip6 takes IPv6 addresses",
		     "'%.*s' is of the other IP version");
		return false;
	}
	return true;
}

static bool id_proto(Parser *p, FilterTest *t)
{
	static const struct {
		const char *name;
		uint8_t number;
	} names[] = { { "icmp", 1 }, { "tcp", 6 }, { "udp", 17 }, { "icmp6", 58 } };
	Str s = p->tok.text;
	uint64_t v;

	if (s.n && s.p[0] == '\\')
		s = (Str){ s.p + 1, s.n - 1 };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_is(s, names[i].name)) {
			t->proto = names[i].number;
			return true;
		}
	if (!str_to_u64(s, 255, &v)) {
		fail(p, p->tok, "proto 47", "'%.*s' is no IP protocol number");
		return false;
	}
	t->proto = (uint8_t)v;
	return true;
}

/* What kind of id the qualifiers ask for. */
typedef enum IdKind { ID_HOST, ID_NET, ID_PORT, ID_RANGE, ID_PROTO } IdKind;

static FilterNode *parse_or_chain(Parser *p);

/* The id behind qualifiers, or ids in parentheses: port (80 or 443). */
static FilterNode *id_node(Parser *p, FilterTest t, IdKind kind)
{
	bool ok = false;

	t.lo = (uint16_t)kind; /* an id without qualifiers asks for this kind */
	p->last = t;
	p->last_set = true;
	if (tok_is(p, "(") && p->nesting < LIMIT_NESTING) {
		advance(p);
		p->nesting++;
		FilterNode *n = parse_or_chain(p);
		p->nesting--;
		if (!p->failed && !take(p, ")"))
			return fail(p, p->tok, "", "a ')' is missing");
		return n;
	}
	if (tok_end(p))
		return fail(p, p->tok, hint_rest, "the filter ends where an address or number is due%.*s");
	switch (kind) {
	case ID_HOST:
	case ID_NET:
		ok = id_net(p, &t, kind == ID_HOST);
		break;
	case ID_PORT:
	case ID_RANGE:
		ok = id_ports(p, &t, kind == ID_RANGE);
		break;
	case ID_PROTO:
		ok = id_proto(p, &t);
		break;
	}
	if (!ok)
		return NULL;
	advance(p);
	return test_node(p, t);
}

/* ---- qualifiers ---- */

typedef struct ProtoWord {
	const char *name;
	uint8_t over, ports, number;
	TestKind alone;
} ProtoWord;

static const ProtoWord proto_words[] = {
	{ "ip", OVER_IP4, 0, 0, TEST_LINK },
	{ "ip6", OVER_IP6, 0, 0, TEST_LINK },
	{ "arp", OVER_ARP, 0, 0, TEST_LINK },
	{ "tcp", OVER_IP4 | OVER_IP6, PORT_TCP, 6, TEST_PROTO },
	{ "udp", OVER_IP4 | OVER_IP6, PORT_UDP, 17, TEST_PROTO },
	{ "icmp", OVER_IP4, 0, 1, TEST_PROTO },
	{ "icmp6", OVER_IP6, 0, 58, TEST_PROTO },
};

static const ProtoWord *proto_word(const Parser *p)
{
	for (size_t i = 0; i < sizeof proto_words / sizeof *proto_words; i++)
		if (tok_is(p, proto_words[i].name))
			return &proto_words[i];
	return NULL;
}

/* src, dst, src or dst, src and dst; false: no direction stands here. */
static bool take_dir(Parser *p, TestDir *ret_dir)
{
	bool src = tok_is(p, "src");

	if (!src && !tok_is(p, "dst"))
		return false;
	advance(p);
	*ret_dir = src ? DIR_SRC : DIR_DST;
	Parser before = *p;
	bool both = tok_is(p, "and") || tok_is(p, "&&");
	if (!both && !tok_is(p, "or") && !tok_is(p, "||"))
		return true;
	advance(p);
	if (take(p, src ? "dst" : "src") && !tok_is(p, "src") && !tok_is(p, "dst")) {
		/* "src port 1 and dst port 2" never gets here: an id stands between */
		*ret_dir = both ? DIR_BOTH : DIR_EITHER;
		return true;
	}
	*p = before;
	return true;
}

static bool take_type(Parser *p, IdKind *ret_kind)
{
	static const struct {
		const char *name;
		IdKind kind;
	} types[] = {
		{ "host", ID_HOST },	   { "net", ID_NET },	  { "port", ID_PORT },
		{ "portrange", ID_RANGE }, { "proto", ID_PROTO },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (take(p, types[i].name)) {
			*ret_kind = types[i].kind;
			return true;
		}
	return false;
}

static FilterNode *qualified(Parser *p, const ProtoWord *w, TestDir dir, IdKind kind, Token at)
{
	FilterTest t = { .dir = dir };
	bool network = w && w->alone == TEST_LINK;

	if (kind == ID_HOST || kind == ID_NET) {
		if (w && !network)
			return fail(p, at, "join them by and: udp and host 10.0.0.1",
				    "'%.*s' has no addresses of its own");
		t.kind = TEST_NET;
		t.bare = !w;
		t.over = w ? w->over : 0;
	} else if (kind == ID_PROTO) {
		if ((w && (!network || w->over == OVER_ARP)) || dir != DIR_EITHER)
			return fail(p, at, "ip proto 47", "'%.*s' does not go with proto");
		t.kind = TEST_NUMBER;
		t.over = w ? w->over : OVER_IP4 | OVER_IP6;
	} else {
		if (w && !w->ports)
			return fail(p, at, "join them by and: ip and port 53",
				    "'%.*s' has no ports of its own");
		t.kind = TEST_PORT;
		t.over = OVER_IP4 | OVER_IP6;
		t.ports = w ? w->ports : PORT_TCP | PORT_UDP;
	}
	return id_node(p, t, kind);
}

static FilterNode *vlan(Parser *p)
{
	FilterTest t = { .kind = TEST_VLAN, .any_vlan = true };
	uint64_t id;

	if (str_to_u64(p->tok.text, 4094, &id)) {
		t.any_vlan = false;
		t.lo = (uint16_t)id;
		advance(p);
	}
	FilterNode *n = test_node(p, t);
	if (p->vlans == 2)
		return fail(p, p->tok, "", "more than two vlan tests in one filter");
	p->vlans++;
	p->last_set = false;
	return n;
}

/* An address or number that takes the qualifiers of the test before it. */
static FilterNode *bare_id(Parser *p)
{
	Token t = p->tok;
	bool number = t.text.n && isdigit((unsigned char)t.text.p[0]);
	bool addr = t.text.n && memchr(t.text.p, ':', t.text.n);

	if (!tok_end(p) && (number || addr) && p->last_set)
		return id_node(p, p->last, (IdKind)p->last.lo);
	if (number || addr)
		return fail(p, t, "host 10.0.0.1, net 10.0.0.0/8, port 53", "'%.*s' needs a word before it");
	return fail(p, t, hint_rest,
		    tok_end(p) ? "the filter ends where a test is due%.*s" : "'%.*s' is no test");
}

static FilterNode *primary(Parser *p)
{
	TestDir dir = DIR_EITHER;
	IdKind kind = ID_HOST;
	Token at = p->tok;

	if (take(p, "vlan"))
		return vlan(p);
	const ProtoWord *w = proto_word(p);
	if (w)
		advance(p);
	bool has_dir = take_dir(p, &dir);
	bool has_type = take_type(p, &kind);
	if (!w && !has_dir && !has_type)
		return bare_id(p);
	if (w && !has_dir && !has_type) {
		p->last_set = false;
		return test_node(p, (FilterTest){ .kind = w->alone, .over = w->over, .proto = w->number });
	}
	return qualified(p, w, dir, kind, at);
}

static FilterNode *parse_not(Parser *p)
{
	FilterNode *n;

	if (p->failed)
		return NULL;
	if (p->nesting >= LIMIT_NESTING)
		return fail(p, p->tok, "", "the filter is nested too deeply at '%.*s'");
	p->nesting++;
	if (take(p, "not") || take(p, "!")) {
		n = parse_not(p);
		n = n ? node(p, NODE_NOT, n, NULL) : NULL;
	} else if (take(p, "(")) {
		n = parse_or_chain(p);
		if (n && !take(p, ")"))
			n = fail(p, p->tok, "",
				 tok_end(p) ? "a ')' is missing%.*s" : "'%.*s' stands where ')' is due");
	} else {
		n = primary(p);
	}
	p->nesting--;
	return n;
}

/* and, or: one level, to the left. */
static FilterNode *parse_or_chain(Parser *p)
{
	FilterNode *left = parse_not(p);

	while (left && !p->failed) {
		NodeKind kind;

		if (take(p, "and") || take(p, "&&"))
			kind = NODE_AND;
		else if (take(p, "or") || take(p, "||"))
			kind = NODE_OR;
		else
			break;
		FilterNode *right = parse_not(p);
		left = right ? node(p, kind, left, right) : NULL;
	}
	return p->failed ? NULL : left;
}

/* ---- the rule about arp ---- */

typedef enum ArpContext { ARP_NO, ARP_MAYBE, ARP_ONLY } ArpContext;

/* Does what stands beside a test say that the packet is, or may be, ARP? */
static ArpContext arp_context(const FilterNode *n)
{
	StackSet s;
	uint32_t arp = 0;

	filter_node_stacks(n, false, &s);
	for (uint32_t i = 0; i < s.n; i++)
		arp += (s.alt[i].must & WIRE_BIT(WIRE_ARP)) != 0;
	return arp == 0 ? ARP_NO : arp == s.n ? ARP_ONLY : ARP_MAYBE;
}

static ArpContext context_max(ArpContext a, ArpContext b)
{
	return a > b ? a : b;
}

static void resolve_bare(FilterNode *n, ArpContext ctx)
{
	if (n->kind == NODE_TEST) {
		FilterTest *t = &n->test;

		if (t->bare && t->net.ip.v == 4 && ctx != ARP_NO)
			t->over = ctx == ARP_ONLY ? OVER_ARP : OVER_IP4 | OVER_ARP;
	} else if (n->kind == NODE_AND) {
		ArpContext left = arp_context(n->left), right = arp_context(n->right);

		resolve_bare(n->left, context_max(ctx, right));
		resolve_bare(n->right, context_max(ctx, left));
	} else {
		resolve_bare(n->left, ctx);
		if (n->right)
			resolve_bare(n->right, ctx);
	}
}

const Filter *filter_parse(Str text, Arena *a, FilterError *ret_error)
{
	Parser p = { .a = a, .text = text, .err = ret_error };
	Filter *f = arena_new(a, Filter);

	*ret_error = (FilterError){ 0 };
	if (text.n > LIMIT_FILTER_TEXT) {
		fail(&p, (Token){ { text.p, 0 }, 0 }, "", "a filter is at most 1,024 bytes long%.*s");
		return NULL;
	}
	advance(&p);
	if (tok_end(&p)) {
		f->stacks = (StackSet){ .n = 1 };
		return f;
	}
	FilterNode *root = parse_or_chain(&p);
	if (root && !tok_end(&p))
		fail(&p, p.tok, hint_rest, "'%.*s' stands where 'and', 'or' or the end is due");
	if (p.failed)
		return NULL;
	resolve_bare(root, ARP_NO);
	f->root = root;
	filter_node_stacks(root, false, &f->stacks);
	return f;
}
