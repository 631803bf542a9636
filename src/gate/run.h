/* SPDX-License-Identifier: Apache-2.0
 *
 * One run, from fork to proof: makes the processes, gives each its channels and
 * nothing else, waits, and says how it ended.
 *
 *   cmd  ---- forks ---->  opener, then netd     the only one with capabilities
 *   cmd drops its own capabilities and, as root, its uid
 *   cmd  ---- forks ---->  engine                sandboxed before its first line runs
 *   cmd  ---- forks ---->  loader, then gate     capability sets empty from the start
 *   cmd  ---- starts --->  sonde-tls             if the manifest has TLS, when the loader says so
 *
 * The caller opens what it needs with its own rights before (policies' texts,
 * --write, --read): gate_run() takes these rights away for good.
 *
 * Everybody ends when his peer's end of a channel closes; what could ignore that
 * (the engine) is killed by its pidfd, and by the kernel if cmd dies first.
 */
#ifndef SONDE_GATE_RUN_H
#define SONDE_GATE_RUN_H

#include "deal/msg.h"
#include "gate/policy.h"

typedef enum RunMode {
	RUN_GATE,  /* engine behind opener, netd, loader and gate */
	RUN_PEER,  /* engine behind one child of the caller's: a capture file, a record */
	RUN_ALONE, /* the engine alone: `check` */
} RunMode;

/* The system's or the built-in one first; their texts stay, for messages. */
typedef VEC(Policy) PolicyList;

/* What runs in the engine's process, when the sandbox is closed: talks by
 * port/gate over gate_fd (-1 in RUN_ALONE), writes 'O' messages to out_fd, one or
 * more whole ones per write.  Its value is the exit code. */
typedef int EngineMain(void *ctx, int gate_fd, int out_fd, void *mem, size_t mem_size);

typedef struct RunOptions {
	RunMode mode;

	EngineMain *engine_main;
	void *engine_ctx;
	size_t engine_memory; /* bytes mapped for it, zeroed; touched pages only cost */

	/* RUN_PEER: the other side of gate_fd; its value is the exit code of that child. */
	int (*peer_main)(void *ctx, int engine_fd);
	void *peer_ctx;
	const char *peer_fault; /* a sentence: what it means that this value is not 0 */
	int peer_file; /* kept open for it, or -1 */

	/* Runs in the loader: all policies in force, as declarations; their files
	 * were read before.  False, with one sentence, if one of them is no policy. */
	bool (*policies)(void *ctx, Arena *a, PolicyList *ret_list, Str *ret_why);
	void *policies_ctx;

	/* Runs in the caller for each 'O' and 'P' message; the bytes live until it
	 * returns.  All of an 'O' message is foreign text. */
	void (*event)(void *ctx, const Msg *m);
	/* Runs in the caller about every `tick_ns` (0: never), for a progress line. */
	void (*tick)(void *ctx);
	int64_t tick_ns;
	void *event_ctx;

	/* Runs in the caller when its capabilities are gone and before the first process is
	 * made that sees the program: for a caller whose program is foreign, and who sets
	 * what depends on it only here (or NULL).  False: nothing runs. */
	bool (*bare)(void *ctx);
	/* A socket (0: none) that stops the run: by the message RUN_STOP_SOFT as Ctrl-C does, with
	 * what is known so far; by its end within a second, since nobody waits for it. */
	int control_fd;

	Str program_name, program; /* for messages that name a line of it */
	bool zones_none;   /* where no policy says zone(): nothing may be looked up (mcp) */
	int write_fd;      /* pcapng goes here, or -1 */
	int record_fd;     /* the stream of messages goes here (gate/recorder.h), or -1 */
	Str params;	   /* their values: "name=value" lines, sorted */
	const char *build; /* which Sonde this is */
	uint64_t seed;
	const char *session; /* who pays: "uid 1000" */
	const char *approve_hash; /* what a person has approved just now, by a form (64 digits), or NULL */
	const char *iface; /* --iface: the only interface to use, or NULL */
	int session_fd; /* what this agent's session was shown and had (gate/compartments.h): a file of memory of
			   the caller's, one a session, which loader and cmd read and add to; 0: none */
	bool insecure_dev; /* the root-owned policy allows it and the user asked: a
			      sandbox layer that is missing is a warning, not the end */
} RunOptions;

enum { RUN_WHY = 512, RUN_STOP_SOFT = 's' };

/* Runs it all.  Returns the exit code of `sonde` (base/exits.h); for one that is
 * not 0 and that nobody told by an event, ret_why has a sentence, else "". */
int gate_run(const RunOptions *o, char ret_why[RUN_WHY]);

/* What is missing for RUN_GATE here, as sentences with what to do; "" if nothing.
 * `exe` is the binary's path for the setcap line. */
void gate_run_missing(char ret_why[RUN_WHY]);

#endif
