/* SPDX-License-Identifier: Apache-2.0 */
#include "packets.h"

#include "stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <poll.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void packets_open(PacketIo *w, const char *iface, const char *mac, uint8_t version, uint32_t mtu)
{
	int big = 64 << 20, on = 1;
	uint8_t *m = w->to.sll_addr;

	w->to.sll_family = AF_PACKET;
	w->to.sll_protocol = htons(version == 4 ? ETH_P_IP : ETH_P_IPV6);
	w->to.sll_ifindex = (int)if_nametoindex(iface);
	w->to.sll_halen = 6;
	if (sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", m, m + 1, m + 2, m + 3, m + 4, m + 5) != 6)
		die(mac);
	w->mtu = mtu;
	w->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (w->fd < 0 || setsockopt(w->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
	    setsockopt(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof big) ||
	    bind(w->fd, (struct sockaddr *)&w->to, sizeof w->to))
		die("AF_PACKET");
}

static void iov_set(PacketIo *w, uint32_t i, uint8_t *p, size_t n)
{
	w->iov[i] = (struct iovec){ p, n };
	w->msg[i].msg_hdr = (struct msghdr){ .msg_iov = &w->iov[i], .msg_iovlen = 1 };
}

bool packets_receive(PacketIo *w, NetStack *s)
{
	static struct iovec iov[PACKETS_BATCH];
	static struct mmsghdr msg[PACKETS_BATCH];
	StackRx rx = { .mtu = w->mtu };

	for (uint32_t i = 0; i < PACKETS_BATCH; i++) {
		iov[i] = (struct iovec){ w->in[i], PACKETS_FRAME };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	int n = recvmmsg(w->fd, msg, PACKETS_BATCH, 0, NULL);
	for (int i = 0; i < n; i++)
		stack_input(s, clock_ns(), BYTES(w->in[i], msg[i].msg_len), &rx);
	return n > 0;
}

static void fill(PacketIo *w, NetStack *s)
{
	StackOut out;

	w->n = w->done = 0;
	while (w->n < PACKETS_BATCH && stack_pull(s, clock_ns(), &out)) {
		if (out.packet.n > w->mtu) {
			stack_notsent(s, out.tag, UNSENT_TOO_LONG);
			continue;
		}
		memcpy(w->out[w->n], out.packet.p, out.packet.n);
		w->tag[w->n] = out.tag;
		iov_set(w, w->n, w->out[w->n], out.packet.n);
		w->msg[w->n].msg_hdr.msg_name = &w->to;
		w->msg[w->n].msg_hdr.msg_namelen = sizeof w->to;
		w->n++;
	}
}

bool packets_send(PacketIo *w, NetStack *s)
{
	if (w->done == w->n)
		fill(w, s);
	if (w->n == 0)
		return false;
	int sent = sendmmsg(w->fd, w->msg + w->done, w->n - w->done, 0);
	int64_t now = clock_ns();

	if (sent < 0 && errno == EAGAIN)
		return false;
	if (sent < 0) { /* a full queue of the device's, as any loss */
		stack_notsent(s, w->tag[w->done++], UNSENT_LOST);
		return true;
	}
	for (int i = 0; i < sent; i++)
		stack_sent(s, w->tag[w->done++], now);
	return true;
}

void packets_wait(PacketIo *w, int64_t until_ns)
{
	int64_t left = until_ns - clock_ns();
	struct timespec t = { left / 1000000000, left % 1000000000 };
	struct pollfd p = { w->fd, (short)(POLLIN | (w->done < w->n ? POLLOUT : 0)), 0 };

	if (left > 0)
		ppoll(&p, 1, &t, NULL);
}
