/* SPDX-License-Identifier: Apache-2.0
 *
 * IP packets in and out by an AF_PACKET socket, many with one system call.
 *
 * The lab's kernel keeps the address and answers for the neighbour, but drops what comes to
 * it, so that nothing of the kernel's is seen by the peer.
 */
#ifndef SONDE_TESTS_PEERS_PACKETS_H
#define SONDE_TESTS_PEERS_PACKETS_H

#include "base/bytes.h"
#include "tcpip/stack.h"

#include <netpacket/packet.h>
#include <sys/socket.h>

enum { PACKETS_BATCH = 64, PACKETS_FRAME = 9216 };

typedef struct PacketIo {
	int fd;
	struct sockaddr_ll to;
	uint32_t mtu;
	uint32_t n, done; /* packets that wait for the kernel, and that it took */
	uint64_t tag[PACKETS_BATCH];
	struct iovec iov[PACKETS_BATCH];
	struct mmsghdr msg[PACKETS_BATCH];
	uint8_t out[PACKETS_BATCH][PACKETS_FRAME], in[PACKETS_BATCH][PACKETS_FRAME];
} PacketIo;

void packets_open(PacketIo *w, const char *iface, const char *mac, uint8_t version, uint32_t mtu);
/* Hands all that came to the stack; false: nothing came. */
bool packets_receive(PacketIo *w, NetStack *s);
/* Pulls and sends as much as the kernel takes now; false: nothing left. */
bool packets_send(PacketIo *w, NetStack *s);
/* Until something comes, or there is room again, or the time. */
void packets_wait(PacketIo *w, int64_t until_ns);

#endif
