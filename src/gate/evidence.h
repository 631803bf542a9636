/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of a run: a pcapng file (draft-ietf-opsawg-pcapng) of all that was
 * sent, received or refused, for --write.
 *
 * Sent frames carry `tx_id` as a comment.  Refused ones never were on a wire, so
 * they are no packets of the file: each is the comment of a statistics block, with
 * the reason and its bytes in hex.  (libpcap reads files of one link type only, and
 * skips these blocks.)  The file was opened by cmd with the caller's rights; a write
 * that fails ends emission.
 */
#ifndef SONDE_GATE_EVIDENCE_H
#define SONDE_GATE_EVIDENCE_H

#include "base/str.h"

#include <stdbool.h>

enum { EVIDENCE_BUF = 256 * 1024, EVIDENCE_COMMENT = 200, EVIDENCE_HEX = 2048 };

typedef struct Evidence {
	int fd; /* -1: none is kept */
	uint8_t *buf;
	size_t n;
	uint32_t ifaces;
	bool failed;
} Evidence;

/* `buf`: EVIDENCE_BUF bytes. */
void evidence_init(Evidence *e, int fd, void *buf);

/* A link that frames are on; its number for evidence_frame(). */
uint32_t evidence_iface(Evidence *e, const char *name, bool ether, uint32_t snaplen);

/* head and body are one frame; `real_ns`: ns since the epoch.  `comment` may be
 * NULL; it is escaped here. */
void evidence_frame(Evidence *e, uint32_t iface, int64_t real_ns, Bytes head, Bytes body, uint32_t orig_len,
		    bool outbound, const char *comment);

/* A frame that was refused; of one longer than EVIDENCE_HEX its beginning. */
void evidence_refused(Evidence *e, int64_t real_ns, const char *why, Bytes frame);

void evidence_flush(Evidence *e);

static inline bool evidence_on(const Evidence *e)
{
	return e->fd >= 0 && !e->failed;
}

#endif
