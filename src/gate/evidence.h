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
 *
 * The file is a chain: every EVIDENCE_LINK blocks, and at the end, stands a link, a
 * block for local use (readers skip it) with the SHA-256 over the link before and
 * all bytes since.  gate/audit.h checks it; the last link's hash is printed with the
 * run and kept in the log, since whoever can write the file can also link it anew.
 */
#ifndef SONDE_GATE_EVIDENCE_H
#define SONDE_GATE_EVIDENCE_H

#include "base/sha256.h"
#include "base/str.h"

#include <stdbool.h>

enum { EVIDENCE_BUF = 256 * 1024, EVIDENCE_COMMENT = 200, EVIDENCE_HEX = 2048, EVIDENCE_LINK = 64 };

/* A link: block type and length, then numbers in this machine's byte order, the
 * hash, and the length again.  The hash covers all that stands before it. */
enum {
	EVIDENCE_LINK_TYPE = (int)0x80534e43, /* the top bit: for local use */
	EVIDENCE_LINK_MAGIC = 0x6b6e6c73,
	EVIDENCE_LINK_BLOCK = 8 + 24 + SHA256_BYTES + 4,
};
typedef enum EvidenceLink { EVIDENCE_MIDDLE = 0, EVIDENCE_LAST = 1 } EvidenceLink;

typedef struct Evidence {
	int fd; /* -1: none is kept */
	uint8_t *buf;
	size_t n;
	uint32_t ifaces;
	bool failed;
	uint64_t flushed;  /* bytes written before those in buf */
	uint64_t blocks;   /* but links */
	uint64_t links;
	unsigned unlinked; /* blocks since the last link */
	Sha256 since;      /* the link before and all since */
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

/* The last link: what it says; nothing is written behind it. */
Hash evidence_end(Evidence *e);

static inline bool evidence_on(const Evidence *e)
{
	return e->fd >= 0 && !e->failed;
}

#endif
