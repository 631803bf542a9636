/* SPDX-License-Identifier: Apache-2.0
 *
 * Worst cases of loop shapes: what the checker says before the start, against what
 * runs send.
 *
 *   # packets: 12      what the checker must say of the most; none: no bound known
 *   # least: 4         and of the least
 *   # syn: 3           attempts to connect, at most
 *   # reached: 6       the most that any run sends; without this line: `packets`
 *
 * Each program runs on a network that answers everything and on one that answers
 * nothing, with several seeds.  No run may send more than `packets` or less than
 * `least`, and one must reach the most.  Fragments count one by one.
 *
 *   loops_run [-v] FILE|FOLDER...
 */
#include "harness/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_MB = 384, SEEDS = 24, MTU = 1500 };

static const char answering[] = "host 10.0.0.77 udp 9,7 tcp 80\nhost 10.0.0.64 udp 7,9\n"
				"host 10.0.0.65 udp 7,9\nhost 10.0.0.66 udp 7,9\n"
				"host 10.0.0.67 udp 7,9\nhost 10.0.0.68 udp 7,9\n"
				"host 10.0.0.69 udp 7,9\nhost 10.0.0.70 udp 7,9\n"
				"host 10.0.0.71 udp 7,9\n";
/* request k is answered if bit k mod 8 is set: nothing at first, the others at random */
static const char silent[] = "host 10.0.0.77 mask 0\nhost 10.0.0.64 mask 0\n"
			     "host 10.0.0.65 mask 0\nhost 10.0.0.66 mask 0\nhost 10.0.0.67 mask 0\n"
			     "host 10.0.0.68 mask 0\nhost 10.0.0.69 mask 0\nhost 10.0.0.70 mask 0\n"
			     "host 10.0.0.71 mask 0\n";

typedef struct Sent {
	uint64_t packets, syn;
} Sent;

typedef struct Case {
	const char *path;
	Str text;
	Arena a, run;
	bool failed;
} Case;

static bool verbose;

static void complain(Case *c, Str what)
{
	if (!c->failed)
		printf("FAIL %s\n", c->path);
	c->failed = true;
	printf("  %.*s\n", STR_ARG(what));
}

/* RFC 791 3.2: pieces carry a multiple of 8 bytes, but for the last. */
static uint64_t pieces(size_t n)
{
	size_t room = (MTU - 20) & ~7u;

	return n <= MTU ? 1 : (n - 20 + room - 1) / room;
}

static void sent(void *ctx, Ip peer, Bytes packet)
{
	Sent *s = ctx;

	(void)peer;
	if (packet.n >= 40 && packet.p[9] == 6 && packet.p[33] & 4)
		return; /* the resets by which we close flows count nowhere, and no program here sends others
			 */
	s->packets += pieces(packet.n);
	s->syn += packet.n >= 40 && packet.p[9] == 6 && packet.p[33] & 2;
}

/* UINT64_MAX stands for "none". */
static uint64_t told(Case *c, const char *key, uint64_t otherwise)
{
	Str s = files_lines(&c->a, c->text, key);

	return str_is(s, "none\n") ? UINT64_MAX : s.n ? strtoull(s.p, NULL, 10) : otherwise;
}

static void expect(Case *c, const char *what, uint64_t want, uint64_t got)
{
	if (want != got)
		complain(c, str_printf(&c->a, "%s: %" PRId64 ", expected %" PRId64, what, (int64_t)got,
				       (int64_t)want));
}

static Sent run_once(Case *c, const Compiled *p, const char *net, uint64_t seed)
{
	Sent s = { 0 };

	harness_fresh(&c->run);
	HarnessRun r = { .a = &c->run,
			 .program = p->program,
			 .budget = &p->manifest.decls.budget,
			 .net = str_c(net),
			 .seed = seed,
			 .leak = UINT64_MAX,
			 .sent = sent,
			 .sent_ctx = &s,
			 .print = verbose };
	HarnessEnd end = harness_run(&r);
	if (end.exit != 0)
		complain(c, str_printf(&c->a, "exit %d: %.*s", end.exit, STR_ARG(end.error)));
	return s;
}

static void run_all(Case *c, const Compiled *p, uint64_t reached)
{
	const WorstCase *w = &p->manifest.worst;
	uint64_t most = 0;

	for (uint64_t seed = 1; seed <= SEEDS && !c->failed; seed++)
		for (int quiet = 0; quiet < 2; quiet++) {
			Sent s = run_once(c, p, quiet ? silent : answering, seed);

			if (s.packets > w->packets || s.packets < w->least_packets || s.syn > w->syn)
				complain(c, str_printf(&c->a,
						       "a run sends %" PRIu64 " packets, %" PRIu64
						       " of them SYNs",
						       s.packets, s.syn));
			most = s.packets > most ? s.packets : most;
		}
	if (reached != UINT64_MAX)
		expect(c, "the most that a run sends", reached, most);
}

static void run_case(Case *c)
{
	const Compiled *p = harness_compile(&c->a, c->path, c->text);

	if (!p->program) {
		complain(c, harness_rendered(&c->a, p));
		return;
	}
	expect(c, "at most", told(c, "# packets: ", 0), p->manifest.worst.packets);
	expect(c, "at least", told(c, "# least: ", 0), p->manifest.worst.least_packets);
	expect(c, "SYNs", told(c, "# syn: ", 0), p->manifest.worst.syn);
	run_all(c, p, told(c, "# reached: ", told(c, "# packets: ", 0)));
}

static Arena program_memory, run_memory;

static bool one(const char *path)
{
	Case c = { .path = path, .text = files_read(path), .a = program_memory, .run = run_memory };

	arena_reset(&c.a, 0);
	run_case(&c);
	if (verbose && !c.failed)
		printf("ok   %s\n", path);
	program_memory = c.a;
	run_memory = c.run;
	free((char *)(uintptr_t)c.text.p);
	return !c.failed;
}

int main(int argc, char **argv)
{
	int first = 1;

	verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	first += verbose;
	return !harness_arena(&program_memory, MEMORY_MB) || !harness_arena(&run_memory, MEMORY_MB) ||
	       files_each(argv + first, argc - first, one);
}
