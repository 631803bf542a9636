/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs attacks: programs that try to carry to one peer what another one sent or
 * did (guardrails.md 1, P2).  One peer of the simulated network is the secret: its
 * behaviour is a function of a byte.  Each program is run for all 256 values of
 * it, and what leaves towards all other peers is compared: bytes, peers and order,
 * not times.
 *
 *   # secret: 10.0.0.66          whose packets are not looked at (this is the default)
 *   # net: host 10.0.0.66 ...    a line of the network's text (port/fake.h), in which {s} is the
 *                                byte, {s+N} N more, {x} two hex digits; without any the DEFAULT_NET
 *   # outcome: E-REFLECT         refused, with this code
 *   # outcome: paid <= 8         runs; no run pays more bits of leak; refused (E-LEAK) under leak=0
 *   # outcome: E-REFLECT or paid <= 8    guardrails.md leaves both open
 *   # leak=0: open               and need not be refused under leak=0
 *   # outcome: free              runs, also under leak=0, pays nothing; others cannot tell the bytes apart
 *   # declare: reflect(...)      put in front of what is refused, so that it runs
 *   # same                       refused or paid, although others cannot tell the bytes apart
 *   # fuel: 100000               instead of the language's
 *   # memory: 24                 MB of the engine
 *
 * What must hold:
 *   1. the outcome;
 *   2. it is an attack: without its labels it makes others see more than one thing
 *      (`free` and `same`: one);
 *   3. P2, for each number n of bits: the runs that pay at most n show others at
 *      most 2^n different things.
 *
 *   attacks_run [-genuine] [-few] [-v] FILE|FOLDER...
 *
 * -genuine: only 2.  -few: with every 51st value, for slow builds that look for other faults.
 */
#include "harness/harness.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NET                                                                                          \
	"host 10.0.0.66 udp 7 tcp 80 say {x} ttl {s+1}\n"                                                    \
	"host 10.0.0.77 udp 7,9 tcp 80\n"                                                                    \
	"host 10.0.0.78 udp 7,9 tcp 80\n"

enum { SECRETS = 256, PEERS = 8, PROGRAM_MB = 256, RUN_MB = 384, FEW_STEP = 51 };

/* What one run showed to all but the secret. */
typedef struct Seen {
	uint64_t hash;
	uint32_t packets;
	int64_t paid; /* bits of leak */
	int exit;
} Seen;

typedef struct Attack {
	const char *path;
	Str text;
	Arena a;   /* the compiled program */
	Arena run; /* one run */
	Ip secret[PEERS];
	uint32_t nsecret;
	Seen seen[SECRETS];
	bool failed;
} Attack;

static bool verbose, genuine_only;
static unsigned step = 1; /* between the values that are tried */

/* ---- texts ---- */

static void complain(Attack *k, const char *what, Str detail)
{
	if (!k->failed)
		printf("FAIL %s\n", k->path);
	k->failed = true;
	printf("  %s\n%.*s", what, STR_ARG(detail));
	if (detail.n && detail.p[detail.n - 1] != '\n')
		putchar('\n');
}

/* ---- compiling ---- */

static bool of_labels(const Diag *d)
{
	return str_is(str_c(d->code), "E-REFLECT") || str_is(str_c(d->code), "E-LEAK");
}

static bool only_labels(const Compiled *c)
{
	if (c->lib_diags.errors)
		return false;
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		if (c->diags.v.p[i].sev == SEV_ERROR && !of_labels(&c->diags.v.p[i]))
			return false;
	return true;
}

/* The bytecode of a program even if labels alone refuse it: is it an attack at all? */
static const Program *without_labels(Attack *k, Compiled *c)
{
	DiagList diags = { .a = &k->a };
	LowerIn lower = { .a = &k->a, .ast = &c->ast, .scopes = &c->scopes, .diags = &diags };

	if (c->program || !only_labels(c))
		return c->program;
	return lower_run(&lower);
}

/* Refused by labels, with this code among others, and by nothing else. */
static bool refused_with(const Compiled *c, const char *code)
{
	bool found = false;

	for (uint32_t i = 0; i < c->diags.v.n; i++)
		found |= c->diags.v.p[i].sev == SEV_ERROR && str_is(str_c(c->diags.v.p[i].code), code);
	return found && only_labels(c);
}

/* ---- running ---- */

typedef struct Watch {
	const Attack *k;
	Seen *seen;
} Watch;

static void sent(void *ctx, Ip peer, Bytes packet)
{
	Watch *w = ctx;

	for (uint32_t i = 0; i < w->k->nsecret; i++)
		if (ip_eq(w->k->secret[i], peer))
			return;
	w->seen->packets++;
	w->seen->hash = rng_mix(w->seen->hash ^ bytes_hash(packet));
}

/* One run with the secret s; false: the network's text is wrong. */
static bool run_with(Attack *k, const Program *p, const Budget *b, uint64_t leak, unsigned s)
{
	Seen *seen = &k->seen[s];
	Watch w = { k, seen };

	harness_fresh(&k->run);
	*seen = (Seen){ .hash = 1 };
	Str own = files_lines(&k->run, k->text, "# net: ");
	HarnessRun r = { .a = &k->run,
			 .program = p,
			 .budget = b,
			 .net = files_with_secret(&k->run, own.n ? own : STR(DEFAULT_NET), s),
			 .seed = 1,
			 .fuel = files_number(&k->run, k->text, "# fuel: ", 0),
			 .leak = leak,
			 .sent = sent,
			 .sent_ctx = &w,
			 .print = verbose };
	HarnessEnd end = harness_run(&r);
	seen->exit = end.exit;
	seen->paid = (int64_t)end.leak;
	if (end.exit < 0)
		complain(k, "no line of a network:", str_printf(&k->a, "%.*s", STR_ARG(end.error)));
	return end.exit >= 0;
}

static bool run_all(Attack *k, const Program *p, const Budget *b, uint64_t leak)
{
	for (unsigned s = 0; s < SECRETS; s += step)
		if (!run_with(k, p, b, leak, s))
			return false;
	return true;
}

/* Whether any two values make others see two things; a few of them mostly do. */
static bool run_differs(Attack *k, const Program *p, const Budget *b)
{
	for (unsigned i = 0; i < SECRETS; i++) {
		unsigned s = i * 97 % SECRETS;

		if (!run_with(k, p, b, UINT64_MAX, s))
			return false;
		if (k->seen[s].hash != k->seen[0].hash)
			return true;
	}
	return false;
}

/* ---- judging ---- */

/* How many different things the runs that paid at most `paid` bits showed. */
static unsigned distinct(const Attack *k, int64_t paid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SECRETS; i += step) {
		bool first = k->seen[i].paid <= paid;

		for (unsigned j = 0; j < i && first; j += step)
			first = k->seen[j].paid > paid || k->seen[j].hash != k->seen[i].hash;
		n += first;
	}
	return n;
}

static int64_t most_paid(const Attack *k)
{
	int64_t most = 0;

	for (unsigned i = 0; i < SECRETS; i += step)
		most = k->seen[i].paid > most ? k->seen[i].paid : most;
	return most;
}

static void judge_genuine(Attack *k, const Compiled *c, const Program *p, bool leaks)
{
	if (run_differs(k, p, &c->manifest.decls.budget) != leaks)
		complain(k, leaks ? "others see the same whatever the secret" : "others see a difference",
			 STR(""));
}

/* P2 by what was paid: the runs that pay at most n bits show at most 2^n things, for
 * every n. */
static void judge_paid_for(Attack *k)
{
	for (int64_t bits = 0; bits <= 8; bits++) {
		unsigned n = distinct(k, bits);

		if (n > 1u << bits) {
			complain(k, "more is seen than was paid for:",
				 str_printf(&k->a,
					    "  %u different things among runs that pay at most %lld bits", n,
					    (long long)bits));
			return;
		}
	}
}

/* P2 itself: a bound of n bits is kept, whatever the program would do beyond it.  (None
 * would not do: leak=0 refuses the program before it runs.) */
static void judge_bound(Attack *k, const Compiled *c)
{
	for (unsigned bits = 1; bits < 8 && !k->failed; bits *= 2) {
		if (!run_all(k, c->program, &c->manifest.decls.budget, bits))
			return;
		unsigned n = distinct(k, INT64_MAX);

		if (n > 1u << bits)
			complain(k, "the bound does not hold:",
				 str_printf(&k->a, "  %u different things under leak=%u", n, bits));
	}
}

static void judge_paid(Attack *k, int64_t most)
{
	int64_t paid = most_paid(k);

	if (paid > most)
		complain(k, "it pays more than it should:",
			 str_printf(&k->a, "  %lld bits, expected at most %lld", (long long)paid,
				    (long long)most));
}

/* The program with lines of declarations in front. */
static Str with_lines(Attack *k, Str declarations)
{
	return str_printf(&k->a, "%.*s%.*s", STR_ARG(declarations), STR_ARG(k->text));
}

/* leak=0 in the program's own budget, or in one put in front. */
static Str without_leak(Attack *k)
{
	static const char own[] = "\nbudget(";
	const char *at = memmem(k->text.p, k->text.n, own, sizeof own - 1);

	if (!at)
		return with_lines(k, STR("budget(leak=0)\n"));
	size_t head = (size_t)(at - k->text.p) + sizeof own - 1;
	return str_printf(&k->a, "%.*sleak=0, %.*s", (int)head, k->text.p, (int)(k->text.n - head),
			  k->text.p + head);
}

static void expect_refused(Attack *k, const Compiled *c, const char *code, const char *what)
{
	if (!refused_with(c, code))
		complain(k, what, harness_rendered(&k->a, c));
}

static void run_and_judge(Attack *k, const Compiled *c, int64_t most, const char *what)
{
	const Budget *b = &c->manifest.decls.budget;

	if (!c->program) {
		complain(k, what, harness_rendered(&k->a, c));
	} else if (run_all(k, c->program, b, (uint64_t)harness_bound(b, BOUND_LEAK))) {
		judge_paid_for(k);
		judge_paid(k, most);
		judge_bound(k, c);
	}
}

static void judge_refused(Attack *k, const Compiled *c)
{
	Str declare = files_lines(&k->a, k->text, "# declare: ");

	expect_refused(k, c, "E-REFLECT", "it is not refused:");
	if (declare.n)
		run_and_judge(k, harness_compile(&k->a, k->path, with_lines(k, declare)), INT64_MAX,
			      "declared, it does not run:");
}

static void judge_running(Attack *k, const Compiled *c, int64_t most)
{
	Compiled *strict = harness_compile(&k->a, k->path, without_leak(k));

	run_and_judge(k, c, most, "it does not run:");
	if (most && !files_lines(&k->a, k->text, "# leak=0: open").n)
		expect_refused(k, strict, "E-LEAK", "leak=0 does not refuse it:");
	else if (!most && !strict->program)
		complain(k, "leak=0 refuses it:", harness_rendered(&k->a, strict));
}

/* "E-REFLECT", "paid <= N", either joined by "or", "free". */
static void judge_outcome(Attack *k, const Compiled *c)
{
	Str outcome = files_lines(&k->a, k->text, "# outcome: ");
	const char *paid = memmem(outcome.p, outcome.n, "paid <= ", 8);
	bool refuse = str_starts(outcome, STR("E-REFLECT"));

	if (refuse && (!paid || refused_with(c, "E-REFLECT")))
		judge_refused(k, c);
	else if (paid)
		judge_running(k, c, atoll(paid + 8));
	else if (str_is(outcome, "free\n"))
		judge_running(k, c, 0);
	else
		complain(k, "no outcome:", outcome);
}

static void run_case(Attack *k)
{
	bool leaks = !files_lines(&k->a, k->text, "# same").n &&
		     !files_lines(&k->a, k->text, "# outcome: free").n;
	Compiled *c = harness_compile(&k->a, k->path, k->text);
	const Program *p = without_labels(k, c);

	if (!p) {
		complain(k, "it does not compile:", harness_rendered(&k->a, c));
		return;
	}
	judge_genuine(k, c, p, leaks);
	if (!genuine_only)
		judge_outcome(k, c);
}

static void secrets(Attack *k)
{
	Str s = files_lines(&k->a, k->text, "# secret: ");

	if (!s.n)
		s = STR("10.0.0.66\n");
	for (size_t from = 0, i = 0; i < s.n && k->nsecret < PEERS; i++)
		if (s.p[i] == ' ' || s.p[i] == '\n') {
			k->nsecret += ip_parse((Str){ s.p + from, i - from }, &k->secret[k->nsecret]);
			from = i + 1;
		}
}

/* ---- all of them ---- */

static Arena program_memory, run_memory;

static bool one(const char *path)
{
	static Attack k;

	k = (Attack){ .path = path, .text = files_read(path), .a = program_memory, .run = run_memory };
	arena_reset(&k.a, 0);
	k.run.cap = files_number(&k.a, k.text, "# memory: ", RUN_MB) << 20;
	secrets(&k);
	run_case(&k);
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
		genuine_only |= strcmp(argv[i], "-genuine") == 0;
		step = strcmp(argv[i], "-few") == 0 ? FEW_STEP : step;
	}
	return !harness_arena(&program_memory, PROGRAM_MB) || !harness_arena(&run_memory, RUN_MB) || files_each(argv + i, argc - i, one);
}
