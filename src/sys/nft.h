/* SPDX-License-Identifier: Apache-2.0
 *
 * The owner table: packets to what we own never reach the kernel's own TCP, UDP
 * and ICMP, which would answer them with resets and port-unreachables, or learn
 * path MTUs and redirects from errors that are about our packets.
 *
 * Promises relied on: a table with NFT_TABLE_F_OWNER (Linux 5.12) can be changed
 * by its netlink socket only and vanishes when that socket is closed, however its
 * process ended; a packet socket sees a frame before the prerouting hook, so a
 * drop there does not hide it from us; priority -300 is before conntrack.
 *
 * Table `sonde-<number>` of family inet: sets own4, own6 (address . protocol .
 * port) and echo4, echo6 (address . ICMP id); one chain whose rules drop and count
 *   - TCP and UDP to an own port,
 *   - ICMP errors that quote a packet from an own port or with an own id.
 *
 * Functions return 0 or -errno.
 */
#ifndef SONDE_SYS_NFT_H
#define SONDE_SYS_NFT_H

#include "sys/hold.h"

typedef struct Nft Nft;

enum { NFT_NAME = 32 };

/* Opens the socket (CLOEXEC; it must never be inherited) and makes nothing. */
Nft *nft_open(uint32_t number);

const char *nft_table_name(const Nft *n);

/* Adds or takes away; makes the table with the first. */
int nft_own(Nft *n, const Held *h, size_t count, bool add);

/* Packets that the rules dropped so far. */
int nft_dropped(Nft *n, uint64_t *ret_packets);

/* Deletes the table, then asks for it: 0 only if the kernel says that it is gone. */
int nft_remove(Nft *n);

/* Closing removes the table too, after some ms. */
void nft_close(Nft *n);

#endif
