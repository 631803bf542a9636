/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs attacks on the labels of output (guardrails.md 7): programs that try to have
 * what one peer sent printed as if nobody, or another one, had sent it.  One peer of
 * the simulated network is the secret; its behaviour is a function of a byte.  Each
 * program is run for all 256 values, and what comes out without a label of content
 * that names this peer is compared: texts, results, warnings, the error; in order.
 *
 *   # net: host 10.0.0.66 ...    as in attacks_run.c; without any the DEFAULT_NET
 *   # measured                   the byte is whether or when it answers: only `clean` must not tell it
 *   # early                      the run ends where the byte says: a beginning may come out
 *   # same                       nothing that comes out tells the byte
 *   # fuel: 100000               instead of the language's
 *
 * What must hold:
 *   1. it is an attack: all that comes out, labels aside, tells the byte (`same`: it does not);
 *   2. what has no such label does not, but for where it ends, if `early`;
 *   3. each run says that content of this peer was shown, before it shows anything that tells the byte;
 *   4. under output("measurements") 1 does not hold, but for where it ends, if `early`.
 *
 *   output_run [-few] [-v] FILE|FOLDER...
 */
#include "harness/harness.h"

#include "deal/whence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NET                                                                                          \
	"host 10.0.0.66 udp 7 tcp 80 say {x} ttl {s+1}\n"                                                    \
	"host 10.0.0.77 udp 7 tcp 80 say 78\n"

enum { SECRETS = 256, PROGRAM_MB = 256, RUN_MB = 384, FEW_STEP = 51 };

/* What one run showed: without a label that names the secret, and all of it. */
typedef struct Seen {
	Sb open, all;
	bool told, told_late; /* that content of it is shown; after something else came out */
} Seen;

typedef struct Attack {
	const char *path;
	Str text;
	Arena a;   /* the compiled program, and what was seen */
	Arena run; /* one run */
	Ip secret;
	bool measured, early, same, failed;
	Str open[SECRETS], all[SECRETS];
} Attack;

static bool verbose;
static unsigned step = 1; /* between the values that are tried */

static void complain(Attack *k, const char *what, Str detail)
{
	if (!k->failed)
		printf("FAIL %s\n", k->path);
	k->failed = true;
	printf("  %s\n  %.*s\n", what, STR_ARG(detail));
}

/* ---- one run ---- */

typedef struct Watch {
	Attack *k;
	Seen seen;
	bool measurements;
} Watch;

static bool names(Bytes origin, Ip secret)
{
	Cursor c = cursor(origin);
	Whence x;
	bool bad, any = false;

	while (whence_next(&c, &x, &bad))
		any |= x.kind == WHENCE_ANY || (x.lo.v == secret.v && ip_cmp(secret, x.lo) >= 0 && ip_cmp(secret, x.hi) <= 0);
	return any;
}

static void add(Watch *w, uint8_t label, Bytes origin, Bytes text)
{
	bool his = names(origin, w->k->secret) && label >= (w->k->measured ? TOLD_MEASURED : TOLD_CONTENT);

	w->seen.told |= his && label == TOLD_CONTENT;
	w->seen.told_late |= text.n && !w->seen.told;
	sb_str(&w->seen.all, bytes_str(text));
	if (!his)
		sb_str(&w->seen.open, bytes_str(text));
}

/* cmd shows a warning's evidence as content of its peer; its code counts there as well. */
static void add_warning(Watch *w, const Msg *m)
{
	uint8_t buf[64];
	Writer origin = writer(buf, sizeof buf);

	whence_put(&origin, &(Whence){ .kind = m->warn.peer.v ? WHENCE_ADDRS : WHENCE_ANY, .lo = m->warn.peer, .hi = m->warn.peer });
	add(w, TOLD_CONTENT, wr_done(&origin), m->warn.code);
	add(w, TOLD_CONTENT, wr_done(&origin), m->warn.evidence);
}

/* Statistics are measured of everybody; what is more must have been said. */
static void add_stat(Watch *w, const Msg *m)
{
	const uint8_t any = WHENCE_ANY;

	add(w, w->seen.told ? TOLD_CONTENT : TOLD_MEASURED, BYTES(&any, 1), m->stat.json);
}

static void told(void *ctx, const Msg *m)
{
	Watch *w = ctx;

	if (m->type == MSG_TEXT)
		add(w, m->text.label, m->text.origin, m->text.text);
	else if (m->type == MSG_RESULT)
		add(w, m->result.label, m->result.origin, m->result.json);
	else if (m->type == MSG_WARN)
		add_warning(w, m);
	else if (m->type == MSG_STAT && !w->k->early && !w->measurements)
		add_stat(w, m);
	else if (m->type == MSG_FAIL && !(w->measurements && w->k->early))
		add(w, m->fail.label, m->fail.origin, m->fail.message);
}

static bool run_with(Attack *k, const Compiled *c, unsigned s, bool measurements, Seen *ret)
{
	harness_fresh(&k->run);
	Watch w = { .k = k, .measurements = measurements, .seen = { .open = sb(&k->a), .all = sb(&k->run) } };
	Str own = files_lines(&k->run, k->text, "# net: ");
	HarnessRun r = { .a = &k->run,
			 .program = c->program,
			 .budget = &c->manifest.decls.budget,
			 .net = files_with_secret(&k->run, own.n ? own : STR(DEFAULT_NET), s),
			 .seed = 1,
			 .fuel = files_number(&k->run, k->text, "# fuel: ", 0),
			 .leak = (uint64_t)harness_bound(&c->manifest.decls.budget, BOUND_LEAK),
			 .told = told,
			 .told_ctx = &w,
			 .measurements = measurements,
			 .print = verbose };
	HarnessEnd end = harness_run(&r);

	if (end.exit < 0)
		complain(k, "no line of a network:", end.error);
	*ret = w.seen;
	return end.exit >= 0;
}

/* ---- judging ---- */

/* Whether one is the other, or a beginning of it where that is allowed. */
static bool alike(Str a, Str b, bool early)
{
	size_t n = a.n < b.n ? a.n : b.n;

	return (early || a.n == b.n) && memcmp(a.p, b.p, n) == 0;
}

static Str kept(Attack *k, Sb *b)
{
	Str s = sb_done(b);

	return (Str){ arena_copy(&k->a, s.p, s.n), s.n };
}

/* False: it does not run.  Whether texts differ over the values, but for where they end. */
static bool run_all(Attack *k, const Compiled *c, bool measurements)
{
	for (unsigned s = 0; s < SECRETS; s += step) {
		Seen seen;

		if (!run_with(k, c, s, measurements, &seen))
			return false;
		k->open[s] = kept(k, &seen.open);
		k->all[s] = kept(k, &seen.all);
		if (!measurements && !k->measured && !k->same && (!seen.told || (seen.told_late && k->early)))
			complain(k, "it does not say that content is shown:", k->all[s]);
		if (k->failed)
			return false;
	}
	return true;
}

/* The first value whose text is not that of 0; SECRETS: none. */
static unsigned differs(const Str *text, bool early)
{
	for (unsigned s = step; s < SECRETS; s += step)
		if (!alike(text[0], text[s], early))
			return s;
	return SECRETS;
}

static void judge(Attack *k, const Compiled *c)
{
	if (!run_all(k, c, false))
		return;
	unsigned at = differs(k->all, false);

	if ((at == SECRETS) != k->same)
		complain(k, k->same ? "it tells the byte" : "it tells nothing", k->all[k->same ? at : 0]);
	at = differs(k->open, k->early);
	if (at < SECRETS)
		complain(k, "told without a label:", str_printf(&k->a, "%.*s\n  and:\n  %.*s", STR_ARG(k->open[0]), STR_ARG(k->open[at])));
	if (k->measured || k->failed || !run_all(k, c, true))
		return;
	at = differs(k->all, k->early);
	if (at < SECRETS)
		complain(k, "told although content is kept back:",
			 str_printf(&k->a, "%.*s\n  and:\n  %.*s", STR_ARG(k->all[0]), STR_ARG(k->all[at])));
}

/* ---- all of them ---- */

static Arena program_memory, run_memory;

static bool has(Attack *k, const char *line)
{
	return files_lines(&k->a, k->text, line).n != 0;
}

static bool one(const char *path)
{
	static Attack k;

	k = (Attack){ .path = path, .text = files_read(path), .a = program_memory, .run = run_memory };
	arena_reset(&k.a, 0);
	k.run.cap = (size_t)RUN_MB << 20;
	ip_parse(STR("10.0.0.66"), &k.secret);
	k.measured = has(&k, "# measured");
	k.early = has(&k, "# early");
	k.same = has(&k, "# same");
	const Compiled *c = harness_compile(&k.a, path, k.text);

	if (c->program)
		judge(&k, c);
	else
		complain(&k, "it does not compile:", harness_rendered(&k.a, c));
	if (verbose && !k.failed)
		printf("ok   %s\n", path);
	program_memory = k.a;
	run_memory.used = k.run.used;
	run_memory.dirty = k.run.dirty;
	free((char *)(uintptr_t)k.text.p);
	return !k.failed;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		verbose |= strcmp(argv[i], "-v") == 0;
		step = strcmp(argv[i], "-few") == 0 ? FEW_STEP : step;
	}
	return !harness_arena(&program_memory, PROGRAM_MB) || !harness_arena(&run_memory, RUN_MB) || files_each(argv + i, argc - i, one);
}
