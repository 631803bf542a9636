/* SPDX-License-Identifier: Apache-2.0
 *
 * The last segments and events of a connection, in pages of the pool that come as needed.
 *
 * Lines have different lengths and are only added behind and dropped in front, so pages
 * hold them one behind the other, and a page goes when its last line does.
 */
#include "tcpip/tcp_inside.h"

#include <stdio.h>

typedef struct LogPage LogPage;
struct LogPage {
	LogPage *next;
	uint32_t from, used; /* lines stand in [from, used) */
	uint8_t b[POOL_PAGE_BYTES - 16];
};

struct LogRing {
	LogPage *head, *tail;
	uint64_t gone; /* lines that were dropped, or never kept */
	uint32_t n;    /* lines kept */
};

typedef struct LogLine {
	int64_t ns;
	uint32_t bytes; /* of the packet */
	uint16_t kept;	/* of them here */
	uint8_t flags;
} LogLine;

static uint32_t line_bytes(uint32_t kept)
{
	return (uint32_t)(sizeof(LogLine) + kept + 7) & ~7u;
}

/* ---- the ring ---- */

static LogPage *add_page(Pool *p, LogRing *r)
{
	LogPage *g = pool_take(p, POOL_PAGE);

	if (!g)
		return NULL;
	g->next = NULL;
	g->from = g->used = 0;
	if (r->tail)
		r->tail->next = g;
	else
		r->head = g;
	r->tail = g;
	return g;
}

static void drop_line(Pool *p, LogRing *r, uint32_t bytes)
{
	LogPage *g = r->head;

	r->n--;
	r->gone++;
	g->from += bytes;
	if (g->from < g->used)
		return;
	r->head = g->next;
	if (!r->head)
		r->tail = NULL;
	pool_give(p, POOL_PAGE, g);
}

/* Room for one more line; NULL: no memory, and it counts as gone. */
static void *add_line(Pool *p, LogRing *r, uint32_t bytes)
{
	LogPage *g = r->tail;

	if (!g || g->used + bytes > sizeof g->b)
		g = add_page(p, r);
	if (!g) {
		r->gone++;
		return NULL;
	}
	g->used += bytes;
	r->n++;
	return g->b + g->used - bytes;
}

static LogRing *ring(TcpConn *c, LogRing **at)
{
	if (!*at)
		*at = pool_take(tcp_pool(c), POOL_128);
	return *at;
}

static void clear_ring(Pool *p, LogRing **at)
{
	if (!*at)
		return;
	while ((*at)->head) {
		LogPage *g = (*at)->head;

		(*at)->head = g->next;
		pool_give(p, POOL_PAGE, g);
	}
	pool_give(p, POOL_128, *at);
	*at = NULL;
}

void tcp_log_clear(TcpConn *c)
{
	clear_ring(tcp_pool(c), &c->log);
	clear_ring(tcp_pool(c), &c->events);
}

/* ---- segments ---- */

/* Headers, and TCP_LOG_PAYLOAD of what follows them. */
static uint32_t kept_bytes(Bytes packet)
{
	IpPacket ip;

	if (!ip_packet_read(packet, &ip) || ip.payload.n < TCP_HDR)
		return (uint32_t)(packet.n < TCP_LOG_PAYLOAD ? packet.n : TCP_LOG_PAYLOAD);
	uint32_t keep = ip.hdr_bytes + (uint32_t)(ip.payload.p[12] >> 4) * 4u + TCP_LOG_PAYLOAD;

	return packet.n < keep ? (uint32_t)packet.n : keep;
}

static void drop_seg(Pool *p, LogRing *r)
{
	LogLine head;

	memcpy(&head, r->head->b + r->head->from, sizeof head);
	drop_line(p, r, line_bytes(head.kept));
}

void *tcp_log_seg(TcpConn *c, int64_t now_ns, Bytes packet, unsigned flags)
{
	LogRing *r = c->log_on ? ring(c, &c->log) : NULL;

	if (!r)
		return NULL;
	if (r->n >= TCP_LOG_SEGMENTS)
		drop_seg(tcp_pool(c), r);
	LogLine head = { .ns = now_ns, .bytes = (uint32_t)packet.n, .flags = (uint8_t)flags };

	head.kept = (uint16_t)kept_bytes(packet);
	uint8_t *at = add_line(tcp_pool(c), r, line_bytes(head.kept));

	if (!at)
		return NULL;
	memcpy(at, &head, sizeof head);
	memcpy(at + sizeof head, packet.p, head.kept);
	return at;
}

uint32_t tcp_log_count(const TcpConn *c)
{
	return c->log ? (uint32_t)(c->log->gone + c->log->n) : 0;
}

void tcp_log_stamp(TcpConn *c, const UnsentFrame *f, int64_t tx_ns)
{
	/* The line may have been dropped meanwhile. */
	if (f->log_line && f->log_n > c->log->gone)
		memcpy(f->log_line, &tx_ns, sizeof tx_ns);
}

/* The next line from it on; NULL: there is none. */
static const uint8_t *next_line(const LogRing *r, TcpLogIter *it)
{
	const LogPage *g = it->page;

	if (!r || it->n >= r->n)
		return NULL;
	if (!g) {
		g = r->head;
		it->off = g->from;
	} else if (it->off >= g->used) {
		g = g->next;
		it->off = g->from;
	}
	it->page = g;
	it->n++;
	return g->b + it->off;
}

bool tcp_log_next(const TcpConn *c, TcpLogIter *it, TcpLogged *ret_seg)
{
	const uint8_t *at = next_line(c->log, it);
	LogLine head;

	if (!at)
		return false;
	memcpy(&head, at, sizeof head);
	it->off += line_bytes(head.kept);
	*ret_seg = (TcpLogged){
		.ns = head.ns,
		.out = head.flags & LOG_OUT,
		.crafted = head.flags & LOG_CRAFTED,
		.retransmit = head.flags & LOG_RETRANSMIT,
		.bytes = head.bytes,
		.packet = BYTES(at + sizeof head, head.kept),
	};
	return true;
}

uint64_t tcp_log_left_out(const TcpConn *c)
{
	return c->log ? c->log->gone : 0;
}

/* ---- events ---- */

void tcp_event(TcpConn *c, int64_t now_ns, TcpEventKind k, uint32_t a, uint32_t b)
{
	LogRing *r = c->log_on ? ring(c, &c->events) : NULL;
	TcpEvent e = { .ns = now_ns, .a = a, .b = b, .kind = (uint8_t)k };

	if (!r)
		return;
	if (r->n >= TCP_LOG_EVENTS)
		drop_line(tcp_pool(c), r, sizeof e);
	void *at = add_line(tcp_pool(c), r, sizeof e);

	if (at)
		memcpy(at, &e, sizeof e);
}

bool tcp_event_next(const TcpConn *c, TcpLogIter *it, TcpEvent *ret_event)
{
	const uint8_t *at = next_line(c->events, it);

	if (!at)
		return false;
	memcpy(ret_event, at, sizeof *ret_event);
	it->off += (uint32_t)sizeof *ret_event;
	return true;
}

uint64_t tcp_event_left_out(const TcpConn *c)
{
	return c->events ? c->events->gone : 0;
}
