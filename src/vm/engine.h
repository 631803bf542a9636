/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine: what runs a program's network built-ins over a Port.
 *
 * It has no clock: its time is the newest stamp among the messages that it read,
 * and it reads them one by one, so a run depends on their order only.  It paces
 * what it sends, matches what comes, keeps what sniff may ask for, closes the
 * flows that raw SYNs opened, and says at the end what it saw.
 *
 *     Engine *e = engine_new(arena, port, &config);
 *     if (engine_start(e)) {
 *             VmHost host = { 0 };
 *             engine_host(e, &host);
 *             exit = vm_run(vm_new(arena, program, &host));
 *     }
 *     engine_finish(e, exit);
 *
 * Ownership: everything lives in the arena given; port and sink outlive it.
 */
#ifndef SONDE_VM_ENGINE_H
#define SONDE_VM_ENGINE_H

#include "deal/port.h"
#include "vm/vm.h"

typedef struct Engine Engine;

typedef struct EngineConfig {
	/* Takes messages of direction 'O': TEXT, RESULT, WARN, STAT. */
	void (*sink)(void *ctx, const Msg *m);
	void *sink_ctx;
	/* What paces (budget's rate, byte_rate, syn_rate), a second; 0: nothing does. */
	int64_t rate, byte_rate, syn_rate;
	uint64_t output_limit; /* bytes of program output kept; 0: the default */
} EngineConfig;

Engine *engine_new(Arena *a, Port *port, const EngineConfig *config);

/* Reads what holds for the run, up to GO.  False: the gate stopped us or is gone. */
bool engine_start(Engine *e);

/* For the statistics: bits of leak that the run used. */
void engine_leak_used(Engine *e, uint64_t bits);

/* After engine_start: sinks, seed, hooks and the network rows. */
void engine_host(Engine *e, VmHost *ret_host);

/* Before the run, what it tells by what is not printed, by how much it sends and by where it
 * ends; behind it, that something was kept back. */
void engine_told_before(Engine *e, const Program *p);
void engine_told_after(Engine *e, const Program *p);
/* To the sink, why it ended: the message may hold what was received. */
void engine_told_error(Engine *e, const Program *p, const VmError *err, int exit);

/* Resets what is half open, writes warnings and statistics to the sink, says END. */
void engine_finish(Engine *e, int exit);

/* The exit code of the reason for which the gate stopped the run; 0: it did not. */
uint8_t engine_stopped(const Engine *e);
/* The gate's sentence for it; "" if there is none. */
const char *engine_stop_why(const Engine *e);

/* The addresses that a name was pinned to before the start: the first, or v 0. */
Ip engine_pin(const Engine *e, Str name);

#endif
