/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts of TCP on virtual time (README.md tells their words).
 *
 *     run.c      files, cases, the verdict
 *     world.c    one stack, its clock, the peer that the script plays
 *     seg.c      segments: from words to bytes, and bytes held against words
 *     cmds.c     one function a word of the second column
 *     fields.c   the names behind `is`
 *
 * A failure leaves the case by longjmp with a text that names file and line.
 */
#ifndef TESTS_TCP_SCRIPT_H
#define TESTS_TCP_SCRIPT_H

#include "tcpip/tcp_inside.h"

#include <setjmp.h>

enum { MAX_WORDS = 48, MAX_QUEUE = 4096 };
#define WORLD_EPOCH (100 * SEC_NS) /* when a case begins: 0 stands for "never" in TcpTimes */

typedef struct Words {
	char *w[MAX_WORDS];
	int n, at;
} Words;

/* A segment that the stack sent. */
typedef struct Left {
	int64_t ns;
	uint64_t tag;
	StackPurpose purpose;
	uint32_t n;
	uint8_t *b;
} Left;

typedef struct World {
	const char *file;
	int line;
	jmp_buf fail;
	char why[512];

	uint8_t *memory; /* the arena's, reused by each case */
	Arena arena;
	NetStack *s;
	int64_t now_ns;
	TcpConn *c;	 /* NULL: none yet, or given back */
	bool gone;	 /* c was released and may be freed at any time */
	TcpListener *l;
	TcpOpen open;

	Ip ours, peer;
	uint16_t our_port, peer_port;
	uint32_t our_isn, peer_isn;
	bool our_isn_known, ts, raw_seq;
	uint32_t last_tsval, first_tsval; /* of all, and of the first with payload */
	uint64_t tx_off;   /* payload bytes given to send */
	uint64_t received; /* payload bytes read: checked against the pattern */
	StackVerdict verdict;

	bool hold;	   /* frames wait for a `sent` */
	int unsent_next;   /* -1, or the reason for which the next frame does not leave */
	uint64_t held[64];
	uint32_t n_held;

	Left queue[MAX_QUEUE];
	uint32_t q_from, q_n;
	uint64_t checks;   /* of invariants */
} World;

_Noreturn void fail(World *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- words ---- */
const char *word(World *w, Words *ws, const char *what); /* the next; fails if there is none */
const char *peek_word(const Words *ws);			  /* or NULL */
bool eat(Words *ws, const char *s);			  /* if it is the next */
int64_t number(World *w, const char *s);		  /* with a unit: ns us ms s K M */
int64_t next_number(World *w, Words *ws, const char *what);

/* ---- world ---- */
void world_begin(World *w);
void world_until(World *w, int64_t ns); /* timers and frames up to then */
void world_pull(World *w);
void world_check(World *w);
Left *world_left(World *w);		/* the oldest segment not yet looked at, or NULL */
void world_input(World *w, Bytes packet, bool csum_good);
uint8_t pattern(uint64_t off, unsigned salt);

/* ---- segments ---- */
void seg_in(World *w, Words *ws);
void seg_out(World *w, Words *ws);
void seg_text(const World *w, const Left *l, char *buf, size_t cap);
uint16_t seg_flags(World *w, const char *s);

/* ---- the rest ---- */
void run_command(World *w, Words *ws);
void cmd_is(World *w, Words *ws);

#endif
