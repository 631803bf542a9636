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
 *   # outcome: paid <= 8         runs; no run pays more bits of leak; refused under leak=0
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
 *   attacks_run [-genuine] [-known FILE] [-v] FILE|FOLDER...
 *
 * -genuine: only 2.
 *
 * KNOWN names files whose failure is known: they are run, told, and not counted as
 * failed; one of them that passes is.
 */
#include "base/rng.h"
#include "lang/compile.h"
#include "lib/lib.h"
#include "port/fake.h"
#include "vm/engine.h"
#include "vm/verify.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define DEFAULT_NET                                                                                          \
	"host 10.0.0.66 udp 7 tcp 80 say {x} ttl {s+1}\n"                                                    \
	"host 10.0.0.77 udp 7,9 tcp 80\n"                                                                    \
	"host 10.0.0.78 udp 7,9 tcp 80\n"

enum { FILES = 1024, LIBS = 64, SECRETS = 256, PEERS = 8, PROGRAM_MB = 256, RUN_MB = 384 };

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

/* ---- texts ---- */

static Str read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *buf = malloc(1 << 20);
	size_t n = f && buf ? fread(buf, 1, 1 << 20, f) : 0;

	if (f)
		fclose(f);
	return (Str){ buf, n };
}

/* The rest of each line that starts with `key`, a line each. */
static Str lines(Arena *a, Str text, const char *key)
{
	Sb b = sb(a);
	size_t n = strlen(key);

	for (size_t i = 0, end; i < text.n; i = end + 1) {
		for (end = i; end < text.n && text.p[end] != '\n'; end++)
			;
		if (end - i >= n && memcmp(text.p + i, key, n) == 0) {
			sb_str(&b, (Str){ text.p + i + n, end - i - n });
			sb_char(&b, '\n');
		}
	}
	return sb_done(&b);
}

/* The network's text for a value of the secret. */
static Str net_text(Arena *a, Str pattern, unsigned s)
{
	Sb b = sb(a);

	for (size_t i = 0; i < pattern.n; i++) {
		const char *p = pattern.p + i;

		if (*p != '{') {
			sb_char(&b, *p);
			continue;
		}
		if (p[1] == 'x')
			sb_printf(&b, "%02x", s);
		else
			sb_printf(&b, "%u", s + (p[2] == '+' ? (unsigned)atoi(p + 3) : 0));
		while (i < pattern.n && pattern.p[i] != '}')
			i++;
	}
	return sb_done(&b);
}

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

static Compiled *compile_it(Attack *k, Str text)
{
	LibSource *lib = arena_new_n(&k->a, LibSource, LIBS);
	Compiled *c = arena_new(&k->a, Compiled);

	for (unsigned i = 0; i < lib_count && i < LIBS; i++)
		lib[i] = (LibSource){ lib_files[i].name, lib_files[i].text };
	CompileIn in = { .a = &k->a, .name = str_c(k->path), .text = text, .lib = lib, .nlib = lib_count };
	compile(&in, c);
	return c;
}

static bool only_labels(const Compiled *c)
{
	if (c->lib_diags.errors)
		return false;
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		if (c->diags.v.p[i].sev == SEV_ERROR && !str_is(str_c(c->diags.v.p[i].code), "E-REFLECT"))
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

static Str rendered(Attack *k, const Compiled *c)
{
	Sb b = sb(&k->a);

	compile_render(c, str_c("  "), &b);
	return sb_done(&b);
}

static bool refused_with(const Compiled *c, Str code)
{
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		if (c->diags.v.p[i].sev == SEV_ERROR && str_eq(str_c(c->diags.v.p[i].code), code))
			return only_labels(c) || !str_is(code, "E-REFLECT");
	return false;
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

static void sink(void *ctx, const Msg *m)
{
	(void)ctx;
	if (verbose && m->type == MSG_TEXT)
		printf("  | %.*s", STR_ARG(bytes_str(m->text.text)));
}

static int64_t bound(const Budget *b, Bound which)
{
	return b->declared >> which & 1 ? b->v[which] : bound_default(which);
}

static Str network(Attack *k, const Budget *b, unsigned s)
{
	Str own = lines(&k->run, k->text, "# net: ");

	return str_printf(&k->run, "%.*s\nlimit packets %lld time %lldns\n",
			  STR_ARG(net_text(&k->run, own.n ? own : STR(DEFAULT_NET), s)),
			  (long long)bound(b, BOUND_PACKETS), (long long)bound(b, BOUND_TIME));
}

static uint64_t number(Attack *k, const char *key, uint64_t otherwise)
{
	Str s = lines(&k->a, k->text, key);

	return s.n ? strtoull(s.p, NULL, 10) : otherwise;
}

static void execute(Attack *k, const Program *p, const Budget *b, Fake *f, Seen *seen)
{
	EngineConfig config = { .sink = sink, .sink_ctx = k };

	config.rate = bound(b, BOUND_RATE);
	config.byte_rate = bound(b, BOUND_BYTE_RATE);
	config.syn_rate = bound(b, BOUND_SYN_RATE);
	Engine *e = engine_new(&k->run, fake_port(f), &config);
	VmHost host;

	if (!engine_start(e))
		return;
	engine_host(e, &host);
	host.fuel = number(k, "# fuel: ", 0);
	Vm *vm = vm_new(&k->run, p, &host);
	seen->exit = vm_run(vm);
	seen->paid = 0;
	const VmError *err = vm_error(vm);
	if (verbose && err->set)
		printf("  exit %d %s %.*s\n", seen->exit, err->code, STR_ARG(err->message));
	engine_finish(e, seen->exit);
}

enum { PAGE = 4096 };

/* Makes the memory zero again, writing only the pages that were touched: the big
 * tables of an engine hardly are, and page faults would cost more than the run. */
static void fresh(Arena *a)
{
	static unsigned char resident[((size_t)RUN_MB << 20) / PAGE];
	size_t pages = (a->dirty + PAGE - 1) / PAGE;

	if (mincore(a->base, pages * PAGE, resident))
		memset(resident, 1, pages);
	for (size_t i = 0; i < pages; i++)
		if (resident[i] & 1)
			memset(a->base + i * PAGE, 0, PAGE);
	arena_init_zeroed(a, a->base, a->cap, NULL);
}

/* One run with the secret s; false: the network's text is wrong. */
static bool run_with(Attack *k, const Program *p, const Budget *b, unsigned s)
{
	Seen *seen = &k->seen[s];
	Watch w = { k, seen };
	Str bad;

	fresh(&k->run);
	*seen = (Seen){ .hash = 1 };
	Fake *f = fake_new(&k->run, 1);
	if (!fake_config(f, network(k, b, s), &bad)) {
		complain(k, "no line of a network:", str_printf(&k->a, "%.*s", STR_ARG(bad)));
		return false;
	}
	fake_watch(f, sent, &w);
	execute(k, p, b, f, seen);
	return true;
}

static bool run_all(Attack *k, const Program *p, const Budget *b)
{
	for (unsigned s = 0; s < SECRETS; s++)
		if (!run_with(k, p, b, s))
			return false;
	return true;
}

/* Whether any two values make others see two things; a few of them mostly do. */
static bool run_differs(Attack *k, const Program *p, const Budget *b)
{
	for (unsigned i = 0; i < SECRETS; i++) {
		unsigned s = i * 97 % SECRETS;

		if (!run_with(k, p, b, s))
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

	for (unsigned i = 0; i < SECRETS; i++) {
		bool first = k->seen[i].paid <= paid;

		for (unsigned j = 0; j < i && first; j++)
			first = k->seen[j].paid > paid || k->seen[j].hash != k->seen[i].hash;
		n += first;
	}
	return n;
}

static int64_t most_paid(const Attack *k)
{
	int64_t most = 0;

	for (unsigned i = 0; i < SECRETS; i++)
		most = k->seen[i].paid > most ? k->seen[i].paid : most;
	return most;
}

static void judge_genuine(Attack *k, const Compiled *c, const Program *p, bool leaks)
{
	if (run_differs(k, p, &c->manifest.decls.budget) != leaks)
		complain(k, leaks ? "others see the same whatever the secret" : "others see a difference",
			 STR(""));
}

/* P2: among the runs that paid at most n bits at most 2^n things are seen, for every
 * n, since such runs are what a program with leak=n could have done. */
static void judge_leak(Attack *k)
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

static void expect_refused(Attack *k, const Compiled *c, Str code, const char *what)
{
	if (!refused_with(c, code))
		complain(k, what, rendered(k, c));
}

static void run_and_judge(Attack *k, const Compiled *c, const char *what)
{
	if (!c->program)
		complain(k, what, rendered(k, c));
	else if (run_all(k, c->program, &c->manifest.decls.budget))
		judge_leak(k);
}

static void judge_outcome(Attack *k, const Compiled *c)
{
	Str outcome = lines(&k->a, k->text, "# outcome: "), declare = lines(&k->a, k->text, "# declare: ");
	long long most = 0;
	Compiled *strict = compile_it(k, without_leak(k));

	if (str_is(outcome, "E-REFLECT\n")) {
		expect_refused(k, c, STR("E-REFLECT"), "it is not refused:");
		if (declare.n)
			run_and_judge(k, compile_it(k, with_lines(k, declare)), "declared, it does not run:");
		return;
	}
	run_and_judge(k, c, "it does not run:");
	if (str_is(outcome, "free\n")) {
		judge_paid(k, 0);
		if (!strict->program)
			complain(k, "leak=0 refuses it:", rendered(k, strict));
	} else if (sscanf(outcome.p, "paid <= %lld", &most) == 1) {
		judge_paid(k, most);
		expect_refused(k, strict, STR("E-REFLECT"), "leak=0 does not refuse it:");
	} else {
		complain(k, "no outcome:", outcome);
	}
}

static void run_case(Attack *k)
{
	bool leaks = !lines(&k->a, k->text, "# same").n && !lines(&k->a, k->text, "# outcome: free").n;
	Compiled *c = compile_it(k, k->text);
	const Program *p = without_labels(k, c);

	if (!p) {
		complain(k, "it does not compile:", rendered(k, c));
		return;
	}
	judge_genuine(k, c, p, leaks);
	if (!genuine_only)
		judge_outcome(k, c);
}

static void secrets(Attack *k)
{
	Str s = lines(&k->a, k->text, "# secret: ");

	if (!s.n)
		s = STR("10.0.0.66\n");
	for (size_t from = 0, i = 0; i < s.n && k->nsecret < PEERS; i++)
		if (s.p[i] == ' ' || s.p[i] == '\n') {
			k->nsecret += ip_parse((Str){ s.p + from, i - from }, &k->secret[k->nsecret]);
			from = i + 1;
		}
}

static void *map_memory(size_t mb)
{
	void *p = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, mb << 20, MADV_NOHUGEPAGE);
	return p;
}

/* ---- all of them ---- */

static Arena program_memory, run_memory;

static bool one(const char *path)
{
	static Attack k;

	k = (Attack){ .path = path, .text = read_text(path), .a = program_memory, .run = run_memory };
	arena_reset(&k.a, 0);
	k.run.cap = number(&k, "# memory: ", RUN_MB) << 20;
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

static bool is_known(Str known, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return memmem(known.p, known.n, name, strlen(name)) != NULL;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static unsigned list(const char *path, char **ret, unsigned n)
{
	struct stat st;
	size_t len = strlen(path);

	if (stat(path, &st) != 0)
		return n;
	if (!S_ISDIR(st.st_mode)) {
		if (n < FILES && len > 6 && strcmp(path + len - 6, ".sonde") == 0)
			ret[n++] = strdup(path);
		return n;
	}
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		char sub[4096];

		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof sub, "%s/%s", path, e->d_name);
		n = list(sub, ret, n);
	}
	if (d)
		closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	static char *paths[FILES];
	unsigned n = 0, passed = 0, failed = 0;
	Str known = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0)
			verbose = true;
		else if (strcmp(argv[i], "-genuine") == 0)
			genuine_only = true;
		else if (strcmp(argv[i], "-known") == 0 && i + 1 < argc)
			known = read_text(argv[++i]);
		else
			n = list(argv[i], paths, n);
	}
	arena_init_zeroed(&program_memory, map_memory(PROGRAM_MB), PROGRAM_MB << 20, NULL);
	arena_init_zeroed(&run_memory, map_memory(RUN_MB), RUN_MB << 20, NULL);
	qsort(paths, n, sizeof paths[0], by_name);
	for (unsigned i = 0; i < n && program_memory.base && run_memory.base; i++) {
		bool ok = one(paths[i]), is = is_known(known, paths[i]);

		if (ok == is)
			printf(is ? "  it is known to fail, but passes\n" : "");
		ok != is ? passed++ : failed++;
		free(paths[i]);
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
