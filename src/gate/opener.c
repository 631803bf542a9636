/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opener.h"

#include "base/exits.h"
#include "gate/netd.h"
#include "gate/opener_state.h"
#include "gate/plan.h"
#include "sys/nft.h"
#include "sys/packet.h"
#include "sys/proc.h"
#include "sys/sandbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOCKETS = 1 + LIMIT_IFACES };

typedef struct Opener {
	int gate_fd;
	int warm; /* keeps stamping on from the first moment */
	Nft *nft;
	OpenerState state;
	Plan plan;
	PlanOpened opened;
	int sockets[SOCKETS];
	uint32_t nsockets;
	int holds[LIMIT_START_PORTS]; /* those that are held, in the plan's order */
	uint32_t nholds;
} Opener;

/* ---- checking the plan ---- */

static bool iface_ok(const Plan *p, const PlanIface *i)
{
	return i->index > 0 && i->ether < PLAN_LINKS && i->promiscuous <= 1 && p->filter[i->ether].n > 0;
}

static bool hold_ok(const PlanHold *h)
{
	bool icmp = h->held.proto == (h->held.addr.v == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	return (h->held.addr.v == 4 || h->held.addr.v == 6) && h->iface >= 0 &&
	       (icmp || ((h->held.proto == IPPROTO_TCP || h->held.proto == IPPROTO_UDP) && h->held.port > 0));
}

static bool plan_ok(const Plan *p)
{
	if (p->magic != PLAN_MAGIC || p->nifaces > LIMIT_IFACES || p->nholds > LIMIT_START_PORTS ||
	    p->rcvbuf > INT32_MAX / 2 || p->sndbuf > INT32_MAX / 2)
		return false;
	for (int i = 0; i < PLAN_LINKS; i++)
		if (p->filter[i].n > PLAN_FILTER)
			return false;
	for (uint32_t i = 0; i < p->nifaces; i++)
		if (!iface_ok(p, &p->iface[i]))
			return false;
	for (uint32_t i = 0; i < p->nholds; i++)
		if (!hold_ok(&p->hold[i]))
			return false;
	return true;
}

/* ---- opening ---- */

static int open_tx(Opener *o)
{
	int fd = packet_open();
	int r = fd < 0 ? fd : packet_tx_setup(fd, (int)o->plan.sndbuf, (int)o->plan.rcvbuf);

	if (fd >= 0)
		o->sockets[o->nsockets++] = fd;
	return r;
}

static int open_rx(Opener *o, const PlanIface *i)
{
	const PlanFilter *f = &o->plan.filter[i->ether];
	PacketRx rx = { .ifindex = i->index,
			.filter = f->code,
			.filter_n = f->n,
			.rcvbuf = (int)o->plan.rcvbuf,
			.promiscuous = i->promiscuous };
	int fd = packet_open();

	if (fd < 0)
		return fd;
	o->sockets[o->nsockets++] = fd;
	return packet_rx_setup(fd, &rx);
}

static int open_sockets(Opener *o)
{
	int r = o->plan.nifaces ? open_tx(o) : 0;

	for (uint32_t i = 0; i < o->plan.nifaces && !r; i++) {
		r = open_rx(o, &o->plan.iface[i]);
		if (r)
			o->opened.iface = o->plan.iface[i].index;
	}
	return r;
}

static void take_holds(Opener *o)
{
	o->opened.nholds = o->plan.nholds;
	for (uint32_t i = 0; i < o->plan.nholds; i++) {
		int fd = hold_take(&o->plan.hold[i].held, o->plan.hold[i].iface);

		o->opened.hold_err[i] = fd < 0 ? -fd : 0;
		if (fd >= 0)
			o->holds[o->nholds++] = fd;
	}
}

/* What was just bound goes into the table before its first packet can leave. */
static int hide_holds(Opener *o)
{
	Held held[PROC_FDS];
	int r = 0;

	for (uint32_t i = 0; i < o->nholds && !r; i += PROC_FDS) {
		size_t n = o->nholds - i < PROC_FDS ? o->nholds - i : PROC_FDS;

		for (size_t k = 0; k < n; k++)
			if (!hold_read(o->holds[i + k], &held[k]))
				return -EINVAL;
		r = nft_own(o->nft, held, n, true);
	}
	return r;
}

static int send_all(Opener *o)
{
	int r = proc_send(o->gate_fd, BYTES(&o->opened, sizeof o->opened), o->opened.err ? NULL : o->sockets,
			  o->opened.err ? 0 : o->nsockets);

	for (uint32_t i = 0; i < o->nholds && !r && !o->opened.err; i += PROC_FDS)
		r = proc_send(o->gate_fd, BYTES("", 1), &o->holds[i],
			      o->nholds - i < PROC_FDS ? o->nholds - i : PROC_FDS);
	return r;
}

static void close_all(Opener *o)
{
	/* the gate has its own now: closing ours costs nothing */
	for (uint32_t i = 0; i < o->nsockets; i++)
		proc_close(&o->sockets[i]);
	for (uint32_t i = 0; i < o->nholds; i++)
		proc_close(&o->holds[i]);
	proc_close(&o->warm);
}

static int open_by_plan(Opener *o)
{
	int r;

	if (!plan_ok(&o->plan))
		return -EBADMSG;
	r = open_sockets(o);
	if (!r)
		take_holds(o);
	if (!r)
		r = hide_holds(o);
	o->opened.err = -r;
	return 0;
}

/* ---- the process ---- */

static bool drop_to(uint64_t caps)
{
	return sandbox_caps_keep(caps) == 0;
}

static int answer_ask(Opener *o, const PlanAsk *ask)
{
	int fd = opener_state_ask(&o->state, ask);
	PlanAskAnswer a = { .err = fd < 0 ? -fd : 0 };
	int r = proc_send(o->gate_fd, BYTES(&a, sizeof a), &fd, fd >= 0);

	proc_close(&fd);
	return r;
}

/* Bytes of the plan, after what is asked for before it. */
static ssize_t take_plan(Opener *o)
{
	for (unsigned asks = 0;; asks++) {
		ssize_t n = proc_recv(o->gate_fd, &o->plan, sizeof o->plan, NULL, 0, NULL);
		PlanAsk ask;

		if (n != sizeof ask || asks == PLAN_ASKS)
			return n;
		memcpy(&ask, &o->plan, sizeof ask);
		if (answer_ask(o, &ask))
			return -EPIPE;
	}
}

static int serve(Opener *o)
{
	ssize_t n = take_plan(o);

	if (n <= 0)
		return SONDE_EXIT_OK; /* the run ended before it needed a socket */
	if (n != sizeof o->plan || opener_state_close(&o->state) || open_by_plan(o) || send_all(o))
		return SONDE_EXIT_ENVIRONMENT;
	close_all(o);
	if (!drop_to(SANDBOX_CAP_NET_ADMIN) || sandbox_filter(SANDBOX_NETD))
		return SONDE_EXIT_ENVIRONMENT;
	return netd_serve(o->gate_fd, o->nft);
}

int opener_main(int gate_fd, uint32_t number)
{
	const uint64_t caps = SANDBOX_CAP_NET_RAW | SANDBOX_CAP_NET_ADMIN | SANDBOX_CAP_NET_BIND_SERVICE;
	Opener *o = calloc(1, sizeof *o);
	const char *who;

	signal(SIGINT, SIG_IGN); /* Ctrl-C is for cmd; the table must outlive it */
	signal(SIGPIPE, SIG_IGN);
	if (!o)
		return SONDE_EXIT_ENVIRONMENT;
	o->gate_fd = gate_fd;
	int told = opener_state_open(&o->state, gate_fd);

	if (told == -EPIPE || told == -ECONNRESET)
		return SONDE_EXIT_OK; /* the run ended before it needed anything */
	if (told || sandbox_leave_root(caps & sandbox_caps(), &who) || !drop_to(caps))
		return SONDE_EXIT_ENVIRONMENT;
	o->warm = packet_warm_up();
	o->nft = nft_open(number);
	proc_seal();
	if (!o->nft || sandbox_filter(SANDBOX_OPENER))
		return SONDE_EXIT_ENVIRONMENT;
	snprintf(o->opened.table, sizeof o->opened.table, "%s", nft_table_name(o->nft));
	return serve(o);
}
