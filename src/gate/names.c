/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/names.h"

/* ---- resolv.conf ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of *line, which loses it. */
static Str next_word(Str *line)
{
	size_t from = 0, to;

	while (from < line->n && is_blank(line->p[from]))
		from++;
	for (to = from; to < line->n && !is_blank(line->p[to]); to++)
		;
	Str word = { line->p + from, to - from };

	*line = (Str){ line->p + to, line->n - to };
	return word;
}

static Str next_line(Str *text)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
	size_t n = end ? (size_t)(end - text->p) : text->n;
	Str line = { text->p, n };

	*text = (Str){ text->p + n + (end != NULL), text->n - n - (end != NULL) };
	return line;
}

void resolv_conf_parse(Str text, Resolvers *ret_r)
{
	Resolvers r = { 0 };
	uint32_t local = 0;

	while (text.n && r.n < RESOLVERS_MAX) {
		Str line = next_line(&text);
		Ip ip;

		if (!str_is(next_word(&line), "nameserver") || !ip_parse(next_word(&line), &ip))
			continue;
		local += ip_class(ip) == IP_CLASS_LOOPBACK;
		r.addr[r.n++] = ip;
	}
	r.stub = r.n && local == r.n;
	*ret_r = r;
}

/* ---- RFC 6724 ---- */

typedef struct PolicyRow {
	const char *net;
	uint8_t precedence, label;
} PolicyRow;

/* RFC 6724 2.1 */
static const PolicyRow policy_rows[] = {
	{ "::1/128", 50, 0 },  { "::ffff:0:0/96", 35, 4 }, { "2001::/32", 5, 5 }, { "2002::/16", 30, 2 },
	{ "fc00::/7", 3, 13 }, { "::/96", 1, 3 },	   { "fec0::/10", 1, 11 }, { "3ffe::/16", 1, 12 },
	{ "::/0", 40, 1 },
};

/* IPv4 addresses are looked up as v4-mapped, RFC 6724 3.2. */
static Ip as_v6(Ip ip)
{
	Ip m = { .v = 6, .b = { [10] = 0xff, [11] = 0xff } };

	if (ip.v != 4)
		return ip;
	memcpy(m.b + 12, ip.b, 4);
	return m;
}

static const PolicyRow *row_of(Ip ip)
{
	const PolicyRow *best = NULL;
	int best_bits = -1;

	for (size_t i = 0; i < sizeof policy_rows / sizeof policy_rows[0]; i++) {
		Net n;

		if (net_parse(str_c(policy_rows[i].net), &n) && net_has(n, as_v6(ip)) && n.bits > best_bits) {
			best = &policy_rows[i];
			best_bits = n.bits;
		}
	}
	return best;
}

/* RFC 6724 3.1: multicast by its own scope; link-local and loopback 2, site-local 5,
 * others global; IPv4 3.2. */
static int scope_of(Ip ip)
{
	IpClass c = ip_class(ip);

	if (ip.v == 6 && c == IP_CLASS_MULTICAST)
		return ip.b[1] & 15;
	if (c == IP_CLASS_LINK_LOCAL || c == IP_CLASS_LOOPBACK)
		return 2;
	if (ip.v == 6 && ip.b[0] == 0xfe && (ip.b[1] & 0xc0) == 0xc0)
		return 5;
	return 14;
}

static int common_bits(Ip a, Ip b)
{
	int n = 0;

	while (n < (int)ip_len(a) * 8 && bits_get(a.b, (size_t)n, 1) == bits_get(b.b, (size_t)n, 1))
		n++;
	/* RFC 6724 2.2: the interface identifier does not count. */
	return a.v == 6 && n > 64 ? 64 : n;
}

/* RFC 6724 6: < 0 if a goes first.  Rules 3, 4 and 7 (deprecated, home and
 * encapsulated addresses) need what a route does not tell; they count as ties. */
static int prefer(const Candidate *a, const Candidate *b)
{
	bool a_use = a->src.v, b_use = b->src.v;

	if (a_use != b_use) /* rule 1 */
		return a_use ? -1 : 1;
	bool a_scope = a_use && scope_of(a->addr) == scope_of(a->src);
	bool b_scope = b_use && scope_of(b->addr) == scope_of(b->src);

	if (a_scope != b_scope) /* rule 2 */
		return a_scope ? -1 : 1;
	bool a_label = a_use && row_of(a->addr)->label == row_of(a->src)->label;
	bool b_label = b_use && row_of(b->addr)->label == row_of(b->src)->label;

	if (a_label != b_label) /* rule 5 */
		return a_label ? -1 : 1;
	int by_precedence = row_of(b->addr)->precedence - row_of(a->addr)->precedence;

	if (by_precedence) /* rule 6 */
		return by_precedence;
	int by_scope = scope_of(a->addr) - scope_of(b->addr);

	if (by_scope) /* rule 8 */
		return by_scope;
	if (a->addr.v == b->addr.v && a_use && a->addr.v == a->src.v && b->addr.v == b->src.v) /* rule 9 */
		return common_bits(b->addr, b->src) - common_bits(a->addr, a->src);
	return 0; /* rule 10: as they came */
}

void names_order(Candidate *c, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && prefer(&c[j], &c[j - 1]) < 0; j--) {
			Candidate t = c[j];

			c[j] = c[j - 1];
			c[j - 1] = t;
		}
}
