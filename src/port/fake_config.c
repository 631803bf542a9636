/* SPDX-License-Identifier: Apache-2.0
 *
 * The network's text: words in a table, each with a reader for what follows it.
 */
#include "port/fake_inside.h"

typedef struct Words {
	Fake *f;
	Cursor c;
	bool bad;
} Words;

/* ---- reading ---- */

static Str word(Words *w)
{
	const char *p = (const char *)w->c.p;
	size_t n = w->c.n, i = w->c.off;

	while (i < n && (p[i] == ' ' || p[i] == '\t'))
		i++;
	size_t from = i;
	while (i < n && p[i] != ' ' && p[i] != '\t')
		i++;
	w->c.off = i;
	return (Str){ p + from, i - from };
}

static double number(Words *w, Str s)
{
	double v = 0, scale = 1;
	bool point = false;

	w->bad |= s.n == 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' && !point) {
			point = true;
		} else if (s.p[i] >= '0' && s.p[i] <= '9') {
			v = v * 10 + (s.p[i] - '0');
			scale *= point ? 10 : 1;
		} else {
			w->bad = true;
		}
	}
	return v / scale;
}

static int64_t read_duration(Words *w)
{
	Str s = word(w);
	size_t n = s.n;

	while (n && s.p[n - 1] >= 'a')
		n--;
	const UnitRow *u = unit_find((Str){ s.p + n, s.n - n });
	w->bad |= !u || !u->is_time;
	return u ? (int64_t)(number(w, (Str){ s.p, n }) * (double)u->factor) : 0;
}

static double read_number(Words *w)
{
	return number(w, word(w));
}

static uint32_t read_uint(Words *w)
{
	return (uint32_t)read_number(w);
}

static Ip read_ip(Words *w)
{
	Ip ip = { 0 };

	w->bad |= !ip_parse(word(w), &ip);
	return ip;
}

static Mac read_mac(Words *w)
{
	Mac m = { { 0 } };

	w->bad |= !mac_parse(word(w), &m);
	return m;
}

static void read_ports(Words *w, FakePorts *ports)
{
	Str s = word(w);
	size_t from = 0;

	for (size_t i = 0; i <= s.n; i++)
		if (i == s.n || s.p[i] == ',') {
			uint16_t port = (uint16_t)number(w, (Str){ s.p + from, i - from });

			if (ports->n < FAKE_PORTS)
				ports->p[ports->n++] = port;
			else
				w->bad = true;
			from = i + 1;
		}
}

static Str keep(Words *w, Str s)
{
	return (Str){ arena_copy(w->f->a, s.p, s.n), s.n };
}

/* "0a1b": bytes; nothing else. */
static Bytes read_hex(Words *w)
{
	Str s = word(w);
	uint8_t *b = arena_alloc(w->f->a, s.n / 2);

	w->bad |= s.n % 2 != 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		unsigned digit = c >= 'a' && c <= 'f'	? (unsigned)(c - 'a') + 10
				 : c >= '0' && c <= '9' ? (unsigned)(c - '0')
							: 16;

		w->bad |= digit > 15;
		if (!w->bad)
			b[i / 2] = (uint8_t)((unsigned)b[i / 2] << 4 | digit);
	}
	return BYTES(b, s.n / 2);
}

/* ---- links ---- */

typedef struct LinkWord {
	const char *name;
	size_t at;
	char kind; /* d: duration, p: probability, n: number */
} LinkWord;

static const LinkWord link_words[] = {
	{ "delay", offsetof(FakeLink, delay), 'd' },
	{ "jitter", offsetof(FakeLink, jitter), 'd' },
	{ "backdelay", offsetof(FakeLink, backdelay), 'd' },
	{ "loss", offsetof(FakeLink, loss), 'p' },
	{ "backloss", offsetof(FakeLink, backloss), 'p' },
	{ "dup", offsetof(FakeLink, dup), 'p' },
	{ "reorder", offsetof(FakeLink, reorder), 'p' },
	{ "corrupt", offsetof(FakeLink, corrupt), 'p' },
	{ "mtu", offsetof(FakeLink, mtu), 'n' },
	{ "backmtu", offsetof(FakeLink, backmtu), 'n' },
};

static bool link_word(Words *w, FakeLink *l, Str s)
{
	for (size_t i = 0; i < sizeof link_words / sizeof *link_words; i++) {
		const LinkWord *row = &link_words[i];
		void *at = (char *)l + row->at;

		if (!str_is(s, row->name))
			continue;
		if (row->kind == 'd')
			*(int64_t *)at = read_duration(w);
		else if (row->kind == 'p')
			*(double *)at = read_number(w);
		else
			*(uint32_t *)at = read_uint(w);
		return true;
	}
	return false;
}

/* ---- hops ---- */

static FakeHop *hop_of(Fake *f, Ip ip)
{
	for (uint32_t i = 0; i < f->hop.n; i++)
		if (ip_eq(f->hop.p[i]->ip, ip))
			return f->hop.p[i];
	FakeHop *h = arena_new(f->a, FakeHop);
	h->ip = ip;
	h->quote = 8;
	h->tos = -1;
	return *vec_push(f->a, &f->hop, h);
}

static bool hop_word(Words *w, FakeHop *h, Str s)
{
	if (str_is(s, "silent"))
		h->silent = true;
	else if (str_is(s, "blackhole"))
		h->blackhole = true;
	else if (str_is(s, "icmprate"))
		h->tokens = h->icmprate = read_uint(w);
	else if (str_is(s, "quote"))
		h->quote = read_uint(w);
	else if (str_is(s, "nat"))
		h->nat = read_ip(w);
	else if (str_is(s, "tos"))
		h->tos = (int)read_uint(w);
	else if (str_is(s, "strip"))
		h->strip = (uint8_t)read_uint(w);
	else if (str_is(s, "mss"))
		h->mss = read_uint(w);
	else if (str_is(s, "ecmp"))
		h->ecmp = read_ip(w);
	else
		return link_word(w, &h->link, s);
	return true;
}

static void line_hop(Words *w)
{
	FakeHop *h = hop_of(w->f, read_ip(w));

	for (Str s = word(w); s.n && !w->bad; s = word(w))
		w->bad |= !hop_word(w, h, s);
}

/* ---- hosts ---- */

FakeHost *fake_host(Fake *f, Ip ip)
{
	for (uint32_t i = 0; i < f->host.n; i++)
		if (ip_eq(f->host.p[i]->ip, ip))
			return f->host.p[i];
	return NULL;
}

static void host_dns(Words *w, FakeHost *h, bool txt)
{
	Str s = word(w);
	const char *eq = memchr(s.p, '=', s.n);
	Str value = eq ? (Str){ eq + 1, s.n - (size_t)(eq + 1 - s.p) } : (Str){ 0 };
	FakeName n = { .txt = txt ? keep(w, value) : (Str){ 0 } };

	if (!eq || (!txt && !ip_parse(value, &n.ip))) {
		w->bad = true;
		return;
	}
	n.name = keep(w, (Str){ s.p, (size_t)(eq - s.p) });
	vec_push(w->f->a, &h->dns, n);
}

static const struct {
	const char *name;
	size_t at;
} manner_words[] = {
	{ "ttl", offsetof(FakeManner, ttl) },	{ "tos", offsetof(FakeManner, tos) },
	{ "id", offsetof(FakeManner, id) },	{ "window", offsetof(FakeManner, window) },
	{ "code", offsetof(FakeManner, code) }, { "copies", offsetof(FakeManner, copies) },
	{ "mask", offsetof(FakeManner, mask) }, { "late", offsetof(FakeManner, late) },
};

static bool manner_word(Words *w, FakeManner *m, Str s)
{
	for (size_t i = 0; i < sizeof manner_words / sizeof *manner_words; i++)
		if (str_is(s, manner_words[i].name)) {
			*(uint32_t *)(void *)((char *)m + manner_words[i].at) = read_uint(w);
			m->has_mask |= str_is(s, "mask");
			return true;
		}
	if (!str_is(s, "say"))
		return false;
	m->say = read_hex(w);
	m->has_say = true;
	return true;
}

/* "via A B C": hops until a word that is no address. */
static void host_via(Words *w, FakeHost *h)
{
	for (;;) {
		size_t before = w->c.off;
		Ip ip;

		if (!ip_parse(word(w), &ip)) {
			w->c.off = before;
			return;
		}
		if (h->npath < FAKE_PATH)
			h->path[h->npath++] = hop_of(w->f, ip);
		else
			w->bad = true;
	}
}

static const struct {
	const char *word;
	FakeApp app;
} app_words[] = {
	{ "echo", FAKE_ECHO }, { "sink", FAKE_SINK },	{ "greet", FAKE_GREET }, { "hangup", FAKE_HANGUP },
	{ "rude", FAKE_RUDE }, { "stuck", FAKE_STUCK }, { "tcpdns", FAKE_DNS },
};

/* "echo 7", "calls 8080 at 1s": ports with a stack behind them. */
static bool app_word(Words *w, FakeHost *h, Str s)
{
	for (size_t i = 0; i < sizeof app_words / sizeof *app_words; i++)
		if (str_is(s, app_words[i].word)) {
			read_ports(w, &h->serve[app_words[i].app]);
			return true;
		}
	if (!str_is(s, "calls"))
		return false;
	uint32_t port = read_uint(w);

	fake_call(w->f, h, (uint16_t)port, read_duration(w));
	return true;
}

/* When all is said of the host, since services take its manner on. */
static void serve(Fake *f, FakeHost *h)
{
	for (unsigned app = 0; app <= FAKE_DNS; app++)
		for (uint32_t i = 0; i < h->serve[app].n; i++)
			fake_serve(f, h, h->serve[app].p[i], (FakeApp)app);
}

static bool host_word(Words *w, FakeHost *h, Str s)
{
	if (str_is(s, "via"))
		host_via(w, h);
	else if (str_is(s, "mac"))
		h->mac = read_mac(w), h->has_mac = true;
	else if (str_is(s, "mac2"))
		h->mac2 = read_mac(w), h->has_mac2 = true;
	else if (str_is(s, "tcp"))
		read_ports(w, &h->tcp);
	else if (str_is(s, "udp"))
		read_ports(w, &h->udp);
	else if (str_is(s, "discard"))
		read_ports(w, &h->discard);
	else if (str_is(s, "filtered"))
		read_ports(w, &h->filtered);
	else if (str_is(s, "dns"))
		host_dns(w, h, false);
	else if (str_is(s, "txt"))
		host_dns(w, h, true);
	else if (str_is(s, "noecho"))
		h->noecho = true;
	else if (str_is(s, "returns"))
		h->returns = true;
	else if (str_is(s, "broadcast"))
		h->broadcast = true;
	else if (str_is(s, "nostamps"))
		h->nostamps = true;
	else if (str_is(s, "dies"))
		h->dies = read_duration(w);
	else if (str_is(s, "reboots"))
		h->reboots = read_duration(w);
	else if (str_is(s, "mss"))
		h->mss = read_uint(w);
	else
		return manner_word(w, &h->manner, s) || app_word(w, h, s) || link_word(w, &h->link, s);
	return true;
}

static void line_host(Words *w)
{
	FakeHost *h = arena_new(w->f->a, FakeHost);

	h->ip = read_ip(w);
	vec_push(w->f->a, &w->f->host, h);
	for (Str s = word(w); s.n && !w->bad; s = word(w))
		w->bad |= !host_word(w, h, s);
	serve(w->f, h);
}

/* ---- the rest ---- */

static void read_prefix(Words *w, Ip *ip, Net *net)
{
	Str s = word(w);
	const char *slash = memchr(s.p, '/', s.n);
	uint8_t zero[16] = { 0 };

	if (!slash || !ip_parse((Str){ s.p, (size_t)(slash - s.p) }, ip)) {
		w->bad = true;
		return;
	}
	net->bits = (uint8_t)number(w, (Str){ slash + 1, s.n - (size_t)(slash + 1 - s.p) });
	net->ip = *ip;
	for (unsigned bit = net->bits; bit < 8 * ip_len(*ip); bit++)
		bits_put(net->ip.b, bit, 1, bits_get(zero, bit, 1));
}

static void line_iface(Words *w)
{
	Fake *f = w->f;

	f->iface = keep(w, word(w));
	for (Str s = word(w); s.n && !w->bad; s = word(w)) {
		if (str_is(s, "mac")) {
			f->mac = read_mac(w);
		} else if (str_is(s, "mtu")) {
			f->mtu = read_uint(w);
		} else {
			Ip ip = { 0 };
			Net net = { 0 };

			w->c.off -= s.n;
			read_prefix(w, &ip, &net);
			if (ip.v == 6) {
				f->ip6 = ip;
				f->net6 = net;
			} else {
				f->ip = ip;
				f->net = net;
			}
		}
	}
}

static void line_pin(Words *w)
{
	FakeName n = { .name = keep(w, word(w)) };

	n.ip = read_ip(w);
	vec_push(w->f->a, &w->f->pin, n);
}

static void line_limit(Words *w)
{
	for (Str s = word(w); s.n && !w->bad; s = word(w)) {
		if (str_is(s, "packets"))
			w->f->limit_packets = read_uint(w);
		else if (str_is(s, "time"))
			w->f->limit_time = read_duration(w);
		else if (str_is(s, "leak"))
			w->f->leak = read_uint(w);
		else if (str_is(s, "measurements"))
			w->f->measurements = true;
		else
			w->bad = true;
	}
}

static void line_local(Words *w)
{
	for (Str s = word(w); s.n && !w->bad; s = word(w)) {
		if (str_is(s, "queue"))
			w->f->local_queue = read_duration(w);
		else if (str_is(s, "drops"))
			w->f->drops = read_uint(w);
		else if (str_is(s, "backlog"))
			w->f->backlog = read_uint(w);
		else if (str_is(s, "step"))
			w->f->step = read_duration(w);
		else if (str_is(s, "early"))
			w->f->early = read_duration(w);
		else if (str_is(s, "unstamped"))
			w->f->unstamped = true;
		else
			w->bad = true;
	}
}

static void line(Words *w)
{
	Str s = word(w);

	if (!s.n || s.p[0] == '#')
		return;
	if (str_is(s, "iface"))
		line_iface(w);
	else if (str_is(s, "gateway"))
		w->f->gateway = read_ip(w);
	else if (str_is(s, "pin"))
		line_pin(w);
	else if (str_is(s, "resolver"))
		vec_push(w->f->a, &w->f->resolver, read_ip(w));
	else if (str_is(s, "ports"))
		w->f->ports = read_uint(w);
	else if (str_is(s, "limit"))
		line_limit(w);
	else if (str_is(s, "local"))
		line_local(w);
	else if (str_is(s, "hop"))
		line_hop(w);
	else if (str_is(s, "host"))
		line_host(w);
	else
		w->bad = true;
}

bool fake_config(Fake *f, Str text, Str *ret_error)
{
	size_t from = 0;

	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && text.p[i] != '\n')
			continue;
		Words w = { .f = f, .c = cursor(BYTES(text.p + from, i - from)) };

		line(&w);
		if (w.bad) {
			*ret_error = (Str){ text.p + from, i - from };
			return false;
		}
		from = i + 1;
	}
	return true;
}
