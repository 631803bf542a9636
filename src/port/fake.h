/* SPDX-License-Identifier: Apache-2.0
 *
 * A port over a small simulated network on virtual time: for tests.
 *
 * It plays the gate's part in the messages (rows before GO, SENT, NOTSENT, FRAME,
 * TICK, STOP) and the network's behind it.  Time is the time of the next event, so
 * an hour takes a millisecond; chance is a function of the seed and of the number
 * of the packet, so a run is the same bit for bit.
 *
 * The network is a text, a line an item:
 *
 *   iface eth0 10.0.0.1/24 mac 02:00:00:00:00:01 mtu 1500
 *   gateway 10.0.0.254                    the default route; a hop of that address must exist
 *   pin www.acme.corp 10.0.0.80           a name that the loader has looked up
 *   resolver 10.0.0.53
 *   ports 64                              own UDP and TCP ports handed out, from 61000 up
 *   limit packets 100 time 60s leak 1024 measurements   what the budget allows; and no content is printed
 *   local queue 20ms drops 3              frames wait that long in our own queue; frames that our capture loses
 *   local backlog 3 step 5s early 1ms unstamped   frames that the gate loses; a step of the clock in place of a
 *                                         frame; receive stamps that come before their time; no stamps at all
 *   hop 10.1.0.1 delay 2ms loss 0.1 ...   a router and the link before it
 *   host 10.20.3.4 via 10.0.0.254 10.1.0.1 delay 1ms tcp 80 udp 7 ...
 *
 * Words of hop and host (those of the link before it, in both directions unless said):
 *   delay D, jitter D, loss P, dup P, reorder P (10 ms late), backloss P, backdelay D,
 *   corrupt P (returning packets, a byte of the payload), mtu N, backmtu N (cuts answers)
 * Words of a hop:
 *   silent, icmprate N (errors a second), quote N (bytes behind the IP header; default 8),
 *   blackhole (says nothing about a small MTU), nat ADDR, tos N (rewrites), strip KIND (a TCP
 *   option becomes NOPs), mss N (clamps), ecmp ADDR (half of the flows see this address)
 * Words of a host:
 *   mac M, mac2 M (answers ARP and neighbour solicitations twice), tcp P,P.. udp P,P.. (open ports; UDP ones echo), discard P,P..,
 *   filtered P,P.. (silent), dns NAME=ADDR (repeatable: an answer on UDP 53), noecho, returns (sends
 *   every packet back as it is), broadcast (answers what is sent to everybody), mss N; and what a peer can
 *   tell by: ttl N, tos N, id N, window N (of its answers), say HEX (payload of UDP answers in place of the
 *   echo), code N (of its port unreachables), txt NAME=TEXT, copies N (more of each answer), mask N (answers
 *   request k if bit k mod 8 is set), late N (answers request k 20 ms late if bit k mod 8 is set)
 *
 *   and with a TCP stack of its own behind ports: echo P,P.. (says `say` first), sink P,P.., greet P,P..
 *   (says `say` or "hello" and reads), hangup P,P.. (closes at once), rude P,P.. (resets), stuck P,P.. (never
 *   reads), tcpdns P,P.. (answers as `dns` and `txt` say), calls P T (connects to our port P at T, echoes), nostamps (no TCP timestamps),
 *   dies T (hears nothing from then on), reboots T (knows nothing of earlier connections)
 *
 * Ownership: everything lives in the arena given.
 */
#ifndef SONDE_PORT_FAKE_H
#define SONDE_PORT_FAKE_H

#include "base/str.h"
#include "deal/port.h"

typedef struct Fake Fake;

Fake *fake_new(Arena *a, uint64_t seed);

/* Adds what the text describes; false with the line that is wrong. */
bool fake_config(Fake *f, Str text, Str *ret_error);

Port *fake_port(Fake *f);

/* Calls `watch` for each frame that leaves, in that order: its peer (of ARP the
 * target) and its bytes from the IP or ARP header on, valid during the call. */
typedef void FakeSentFn(void *ctx, Ip peer, Bytes packet);
void fake_watch(Fake *f, FakeSentFn *watch, void *ctx);

/* What happened, for assertions. */
typedef struct FakeCount {
	uint32_t emitted, probes, cleanups, notsent, frames;
	uint32_t rst_seen;	 /* resets that reached a host */
	uint32_t half_open;	 /* handshakes that nobody finished or reset */
	uint32_t in_flight_most; /* most frames between EMIT and SENT */
	int64_t last_tx_ns;
} FakeCount;

FakeCount fake_count(const Fake *f);

/* A hash over all messages in both directions: equal runs have equal hashes. */
uint64_t fake_hash(const Fake *f);

#endif
