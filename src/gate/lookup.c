/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/lookup.h"

#include "base/units.h"
#include "sys/clock.h"
#include "sys/proc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILE_MOST = 64 * 1024, MESSAGE = 1232, TRIES = 2, PATIENCE_MS = 1500, TYPE_A = 1, TYPE_AAAA = 28, CLASS_IN = 1,
       DNS_PORT = 53, POINTER = 0xc0 };

/* ---- files ---- */

static Str file_text(Arena *a, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *p;
	ssize_t n;

	if (fd < 0)
		return (Str){ 0 };
	p = arena_alloc(a, FILE_MOST);
	n = read(fd, p, FILE_MOST);
	close(fd);
	return (Str){ p, n > 0 ? (size_t)n : 0 };
}

void lookups_init(Lookups *l, Arena *a, Links *links, const Ip *policy, uint32_t npolicy)
{
	*l = (Lookups){ .a = a, .links = links };
	for (uint32_t i = 0; i < npolicy && l->servers.n < RESOLVERS_MAX; i++)
		l->servers.addr[l->servers.n++] = policy[i];
	if (l->servers.n)
		return;
	resolv_conf_parse(file_text(a, "/etc/resolv.conf"), &l->servers);
	if (l->servers.stub) {
		Resolvers upstream = { 0 };

		resolv_conf_parse(file_text(a, RESOLV_UPSTREAM_PATH), &upstream);
		if (upstream.n)
			l->servers = upstream;
	}
}

/* The next word of a line; empty at its end. */
static Str word(Str *line)
{
	size_t i = 0, n;
	Str w;

	while (i < line->n && isspace((unsigned char)line->p[i]))
		i++;
	for (n = i; n < line->n && !isspace((unsigned char)line->p[n]) && line->p[n] != '#'; n++)
		;
	w = (Str){ line->p + i, n - i };
	*line = (Str){ line->p + n, line->n > n && line->p[n] != '#' ? line->n - n : 0 };
	return w;
}

static void add(Lookup *r, Ip ip)
{
	if (r->n < LOOKUP_ADDRS)
		r->addr[r->n++].addr = ip;
}

static void hosts_line(Str line, Str name, Lookup *ret)
{
	Ip ip;
	Str w;

	if (!ip_parse(word(&line), &ip))
		return;
	while ((w = word(&line)).n)
		if (str_same(w, name)) {
			add(ret, ip);
			return;
		}
}

static void from_hosts(Lookups *l, Str name, Lookup *ret)
{
	Str text = file_text(l->a, "/etc/hosts");

	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;

		hosts_line((Str){ text.p, n }, name, ret);
		text = (Str){ text.p + n, text.n - n };
		if (text.n)
			text = (Str){ text.p + 1, text.n - 1 };
	}
	if (ret->n)
		snprintf(ret->from, sizeof ret->from, "/etc/hosts");
}

/* ---- messages, RFC 1035 4 ---- */

static bool query_put(Writer *w, uint16_t id, Str name, uint16_t type)
{
	wr_be16(w, id);
	wr_be16(w, 0x0100); /* RD */
	wr_be16(w, 1);
	wr_zeros(w, 6);
	while (name.n) {
		const char *dot = memchr(name.p, '.', name.n);
		size_t n = dot ? (size_t)(dot - name.p) : name.n;

		if (n == 0 || n > 63)
			return false;
		wr_u8(w, (uint8_t)n);
		wr_bytes(w, BYTES(name.p, n));
		n += dot ? 1 : 0;
		name = (Str){ name.p + n, name.n - n };
	}
	wr_u8(w, 0);
	wr_be16(w, type);
	wr_be16(w, CLASS_IN);
	return !w->full;
}

static void name_skip(Cursor *c)
{
	for (;;) {
		uint8_t n = cur_u8(c);

		if (c->bad || n == 0)
			return;
		if ((n & POINTER) == POINTER) {
			cur_u8(c);
			return;
		}
		cur_skip(c, n);
	}
}

static void answer_take(Cursor *c, Lookup *ret)
{
	uint16_t type, class, len;
	Bytes data;

	name_skip(c);
	type = cur_be16(c);
	class = cur_be16(c);
	cur_be32(c);
	len = cur_be16(c);
	data = cur_bytes(c, len);
	if (c->bad || class != CLASS_IN)
		return;
	if (type == TYPE_A && len == 4)
		add(ret, ip_from(4, data.p));
	if (type == TYPE_AAAA && len == 16)
		add(ret, ip_from(6, data.p));
}

/* True: it answers our query (header and question echoed), whatever it says. */
static bool answer_read(Bytes msg, Bytes query, Lookup *ret)
{
	Cursor c = cursor(msg);
	uint16_t id = cur_be16(&c), flags = cur_be16(&c), questions = cur_be16(&c), answers = cur_be16(&c);
	Bytes question;

	cur_be32(&c);
	question = cur_bytes(&c, query.n - 12);
	if (c.bad || id != get_be16(query.p) || !(flags & 0x8000) || questions != 1 ||
	    !bytes_eq(question, bytes_slice(query, 12, query.n)))
		return false;
	if ((flags & 15) != 0)
		return true;
	for (uint16_t i = 0; i < answers && !c.bad; i++)
		answer_take(&c, ret);
	return true;
}

/* ---- asking ---- */

static int server_connect(Ip ip)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(DNS_PORT) };
	int fd = socket(ip.v == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	memcpy(&a4.sin_addr, ip.b, 4);
	memcpy(&a6.sin6_addr, ip.b, 16);
	r = ip.v == 4 ? connect(fd, (struct sockaddr *)&a4, sizeof a4) : connect(fd, (struct sockaddr *)&a6, sizeof a6);
	if (r) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

typedef struct Query {
	uint8_t mem[320];
	Bytes msg;
	bool answered;
} Query;

static void query_send(Lookups *l, int fd, Query *q)
{
	if (send(fd, q->msg.p, q->msg.n, MSG_NOSIGNAL) == (ssize_t)q->msg.n) {
		l->queries++;
		l->bytes += q->msg.n;
	}
}

/* Both questions at once, until both are answered. */
static bool server_ask(Lookups *l, int fd, Query q[2], Lookup *ret)
{
	int64_t until = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;
	uint8_t buf[MESSAGE];

	for (int i = 0; i < 2; i++)
		if (!q[i].answered)
			query_send(l, fd, &q[i]);
	while (!(q[0].answered && q[1].answered)) {
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS;
		ssize_t n;

		if (left <= 0 || !proc_readable(fd, (int)left))
			return false;
		n = recv(fd, buf, sizeof buf, 0);
		if (n < 0)
			return false; /* refused: the next server */
		for (int i = 0; i < 2; i++)
			if (!q[i].answered)
				q[i].answered = answer_read(BYTES(buf, (size_t)n), q[i].msg, ret);
	}
	return true;
}

static bool queries_make(Query q[2], Str name)
{
	static const uint16_t types[2] = { TYPE_A, TYPE_AAAA };

	for (int i = 0; i < 2; i++) {
		Writer w = writer(q[i].mem, sizeof q[i].mem);
		uint16_t id = 0;

		if (getrandom(&id, sizeof id, 0) != sizeof id || !query_put(&w, id, name, types[i]))
			return false;
		q[i].msg = wr_done(&w);
	}
	return true;
}

static void from_servers(Lookups *l, Str name, Lookup *ret)
{
	Query q[2] = { 0 };

	snprintf(ret->from, sizeof ret->from, l->servers.n ? "no resolver answers" : "no resolver is known");
	if (!queries_make(q, name))
		return;
	for (unsigned k = 0; k < TRIES * l->servers.n; k++) {
		Ip server = l->servers.addr[k % l->servers.n];
		int fd = server_connect(server);
		char ip[IP_TEXT];
		bool done;

		if (fd < 0)
			continue;
		done = server_ask(l, fd, q, ret);
		close(fd);
		ip_format(server, ip);
		if (done || ret->n) {
			snprintf(ret->from, sizeof ret->from, "%s%s", ret->n ? "" : "no address, says ", ip);
			return;
		}
	}
}

void lookup(Lookups *l, Str name, Lookup *ret)
{
	*ret = (Lookup){ 0 };
	from_hosts(l, name, ret);
	if (!ret->n)
		from_servers(l, name, ret);
	for (uint32_t i = 0; i < ret->n; i++)
		ret->addr[i].src = links_hop(l->links, ret->addr[i].addr, 0, 0)->src;
	names_order(ret->addr, ret->n);
}
