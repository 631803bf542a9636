/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SCM_TS_OPT_ID
#define SCM_TS_OPT_ID 81 /* Linux 6.13, asm-generic/socket.h */
#endif

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof value) ? -errno : 0;
}

/* As large as asked with CAP_NET_ADMIN, else as the system allows. */
static void set_buffer(int fd, int force, int plain, int bytes)
{
	if (set(fd, SOL_SOCKET, force, bytes))
		set(fd, SOL_SOCKET, plain, bytes);
}

int packet_warm_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = set(fd, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE);
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

int packet_open(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

int packet_tx_setup(int fd, int sndbuf, int rcvbuf)
{
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, sndbuf);
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, rcvbuf); /* the error queue counts here */
	return set(fd, SOL_SOCKET, SO_TIMESTAMPING,
		   SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE |
			   SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY);
}

static int rx_filter(int fd, const PacketRx *rx)
{
	struct sock_fprog prog = { .len = (unsigned short)rx->filter_n,
				   .filter = (struct sock_filter *)(uintptr_t)rx->filter };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog))
		return -errno;
	return set(fd, SOL_SOCKET, SO_LOCK_FILTER, 1);
}

static int rx_promiscuous(int fd, int ifindex)
{
	struct packet_mreq m = { .mr_ifindex = ifindex, .mr_type = PACKET_MR_PROMISC };

	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof m) ? -errno : 0;
}

int packet_rx_setup(int fd, const PacketRx *rx)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = rx->ifindex };
	int r = rx_filter(fd, rx);

	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, rx->rcvbuf);
	if (!r)
		r = set(fd, SOL_PACKET, PACKET_AUXDATA, 1);
	if (!r)
		r = set(fd, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE);
	if (!r && bind(fd, (struct sockaddr *)&ll, sizeof ll))
		r = -errno;
	if (!r && rx->promiscuous)
		r = rx_promiscuous(fd, rx->ifindex);
	return r;
}

int packet_drops(int fd, uint64_t *ret_drops)
{
	struct tpacket_stats st = { 0 };
	socklen_t len = sizeof st;

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
		return -errno;
	*ret_drops = st.tp_drops;
	return 0;
}

/* ---- control messages ---- */

static int64_t ts_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static const void *cmsg_find(struct msghdr *m, int level, int type, size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == level && c->cmsg_type == type && c->cmsg_len >= CMSG_LEN(len))
			return CMSG_DATA(c);
	return NULL;
}

static int64_t stamp_of(struct msghdr *m)
{
	struct scm_timestamping ts;
	const void *p = cmsg_find(m, SOL_SOCKET, SCM_TIMESTAMPING, sizeof ts);

	if (!p)
		return 0;
	memcpy(&ts, p, sizeof ts);
	return ts_ns(&ts.ts[0]);
}

/* ---- receiving ---- */

enum { RX_CTL = 256 };

static uint8_t *slot(PacketInbox *box, unsigned i)
{
	return box->mem + (size_t)i * PACKET_SLOT;
}

/* Puts the tag that the kernel took off back behind the two addresses. */
static void vlan_rebuild(PacketIn *in, uint8_t *at, const struct tpacket_auxdata *aux)
{
	uint16_t tpid = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid : ETH_P_8021Q;

	if (in->frame.n < ETH_HLEN)
		return;
	memmove(at - 4, at, 2 * ETH_ALEN);
	put_be16(at + 8, tpid);
	put_be16(at + 10, aux->tp_vlan_tci);
	in->frame = BYTES(at - 4, in->frame.n + 4);
	in->orig_len += 4;
	in->vlan = true;
}

static void rx_take(PacketInbox *box, unsigned i, struct mmsghdr *mm, bool ether)
{
	PacketIn *in = &box->in[i];
	struct sockaddr_ll ll;
	struct tpacket_auxdata aux = { 0 };
	const void *p = cmsg_find(&mm->msg_hdr, SOL_PACKET, PACKET_AUXDATA, sizeof aux);
	uint8_t *at = slot(box, i) + PACKET_ROOM;

	memcpy(&ll, mm->msg_hdr.msg_name, sizeof ll);
	if (p)
		memcpy(&aux, p, sizeof aux);
	*in = (PacketIn){
		.frame = BYTES(at, mm->msg_len),
		.orig_len = p ? aux.tp_len : mm->msg_len,
		.stamp = stamp_of(&mm->msg_hdr),
		.ifindex = ll.sll_ifindex,
		.outgoing = ll.sll_pkttype == PACKET_OUTGOING,
		.to_us = ll.sll_pkttype == PACKET_HOST,
		.csum = aux.tp_status & TP_STATUS_CSUMNOTREADY ? PACKET_CSUM_NOT_COMPUTED
			: aux.tp_status & TP_STATUS_CSUM_VALID ? PACKET_CSUM_GOOD
							       : PACKET_CSUM_UNKNOWN,
	};
	if (ether && aux.tp_status & TP_STATUS_VLAN_VALID)
		vlan_rebuild(in, at, &aux);
}

int packet_recv(int fd, bool ether, int64_t ready, PacketInbox *box)
{
	struct mmsghdr mm[PACKET_RX_BATCH];
	struct iovec iov[PACKET_RX_BATCH];
	struct sockaddr_ll ll[PACKET_RX_BATCH];
	_Alignas(struct cmsghdr) uint8_t ctl[PACKET_RX_BATCH][RX_CTL];
	int n;

	for (unsigned i = 0; i < PACKET_RX_BATCH; i++) {
		iov[i] = (struct iovec){ slot(box, i) + PACKET_ROOM, PACKET_SLOT - PACKET_ROOM };
		mm[i].msg_hdr = (struct msghdr){ .msg_name = &ll[i],
						 .msg_namelen = sizeof ll[i],
						 .msg_iov = &iov[i],
						 .msg_iovlen = 1,
						 .msg_control = ctl[i],
						 .msg_controllen = RX_CTL };
	}
	n = recvmmsg(fd, mm, PACKET_RX_BATCH, MSG_DONTWAIT, NULL);
	box->n = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR || errno == ENETDOWN ? 0 : -errno;
	for (unsigned i = 0; i < (unsigned)n; i++)
		rx_take(box, i, &mm[i], ether);
	if (n > 0 && ready && box->in[0].stamp > ready)
		for (unsigned i = 0; i < (unsigned)n; i++)
			box->in[i].stamp = 0;
	box->n = (unsigned)n;
	return n;
}

/* ---- sending ---- */

enum { TX_CTL = CMSG_SPACE(sizeof(uint32_t)) };

typedef struct TxSlot {
	struct iovec iov[2];
	struct sockaddr_ll ll;
	_Alignas(struct cmsghdr) uint8_t ctl[TX_CTL];
} TxSlot;

static void put_id(struct msghdr *h, uint8_t *ctl, uint32_t id)
{
	h->msg_control = ctl;
	h->msg_controllen = TX_CTL;
	struct cmsghdr *c = CMSG_FIRSTHDR(h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_TS_OPT_ID;
	c->cmsg_len = CMSG_LEN(sizeof id);
	memcpy(CMSG_DATA(c), &id, sizeof id);
}

static void tx_fill(struct mmsghdr *mm, TxSlot *s, const PacketOut *out, bool own_ids)
{
	s->iov[0] = (struct iovec){ (void *)(uintptr_t)out->head.p, out->head.n };
	s->iov[1] = (struct iovec){ (void *)(uintptr_t)out->body.p, out->body.n };
	s->ll = (struct sockaddr_ll){ .sll_family = AF_PACKET,
				      .sll_protocol = htons(out->ethertype),
				      .sll_ifindex = out->ifindex };
	mm->msg_hdr = (struct msghdr){
		.msg_name = &s->ll, .msg_namelen = sizeof s->ll, .msg_iov = s->iov, .msg_iovlen = 2
	};
	if (own_ids)
		put_id(&mm->msg_hdr, s->ctl, out->id);
}

static int tx_try(PacketTx *tx, const PacketOut *out, unsigned n)
{
	struct mmsghdr mm[PACKET_TX_BATCH];
	TxSlot slots[PACKET_TX_BATCH];
	int r;

	for (unsigned i = 0; i < n; i++)
		tx_fill(&mm[i], &slots[i], &out[i], tx->own_ids);
	do {
		r = sendmmsg(tx->fd, mm, n, MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

int packet_send(PacketTx *tx, PacketOut *out, unsigned n)
{
	int r;

	if (n > PACKET_TX_BATCH)
		n = PACKET_TX_BATCH;
	r = tx_try(tx, out, n);
	if (r == -EINVAL && tx->own_ids) { /* before 6.13 the control message is unknown */
		tx->own_ids = false;
		r = tx_try(tx, out, n);
	}
	for (int i = 0; i < r && !tx->own_ids; i++)
		out[i].id = tx->next_id++;
	return r;
}

static bool stamp_take(struct msghdr *m, PacketStamp *ret)
{
	struct sock_extended_err ee;
	const void *p = cmsg_find(m, SOL_PACKET, PACKET_TX_TIMESTAMP, sizeof ee);

	if (!p)
		return false;
	memcpy(&ee, p, sizeof ee);
	if (ee.ee_origin != SO_EE_ORIGIN_TIMESTAMPING)
		return false;
	if (ee.ee_info != SCM_TSTAMP_SND && ee.ee_info != SCM_TSTAMP_SCHED)
		return false;
	*ret = (PacketStamp){ .id = ee.ee_data,
			      .kind = ee.ee_info == SCM_TSTAMP_SND ? PACKET_STAMP_SENT : PACKET_STAMP_QUEUED,
			      .stamp = stamp_of(m) };
	return ret->stamp != 0;
}

int packet_stamps(int fd, PacketStamp *ret, unsigned cap)
{
	enum { BATCH = 64, CTL = 192 };
	struct mmsghdr mm[BATCH];
	_Alignas(struct cmsghdr) uint8_t ctl[BATCH][CTL];
	unsigned want = cap < BATCH ? cap : BATCH, got = 0;
	int n;

	for (unsigned i = 0; i < want; i++)
		mm[i].msg_hdr = (struct msghdr){ .msg_control = ctl[i], .msg_controllen = CTL };
	n = recvmmsg(fd, mm, want, MSG_DONTWAIT | MSG_ERRQUEUE, NULL);
	for (int i = 0; i < n; i++)
		got += stamp_take(&mm[i].msg_hdr, &ret[got]);
	return (int)got;
}

int packet_unsent(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) ? -errno : n;
}
