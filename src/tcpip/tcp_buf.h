/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream of bytes in blocks of a pool: what waits to be sent or acknowledged, and what was
 * received.  It costs nothing while empty.
 *
 * Offsets count from the oldest byte kept.  Sequential access is O(1) from two remembered
 * places (new data and retransmissions go on beside each other); else it walks from the head.
 *
 * Ownership: the blocks are the pool's; chain_clear gives them back.
 */
#ifndef SONDE_TCPIP_TCP_BUF_H
#define SONDE_TCPIP_TCP_BUF_H

#include "base/bytes.h"
#include "tcpip/pool.h"
#include "tcpip/tcp_conn.h"

/* Which of the two places an access remembers. */
typedef enum ChainPlace { CHAIN_FRONT, CHAIN_BACK } ChainPlace;

/* Writes b at off, which may lie behind the end: what is between is reserved and holds whatever it
 * holds.  Returns how many bytes there was memory for. */
size_t chain_write(Pool *p, ByteChain *c, uint32_t off, Bytes b);
/* Copies [off, off + n), all of it stored, to dst and adds it to sum (ip_csum_copy). */
uint64_t chain_copy(ByteChain *c, uint32_t off, uint8_t *dst, size_t n, ChainPlace place, uint64_t sum);
/* How many of b's first bytes are the same as those from off on. */
size_t chain_same(ByteChain *c, uint32_t off, Bytes b);
/* Forgets the first n bytes. */
void chain_drop(Pool *p, ByteChain *c, uint32_t n);
void chain_clear(Pool *p, ByteChain *c);

#endif
