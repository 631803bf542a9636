/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs programs with their verbs on the simulated network (port/fake.h), on
 * virtual time.  A file says in comments what there is and what it expects:
 *
 *   # net: host 10.0.0.2 delay 1ms      a line of the network's text
 *   # seed: 7
 *   # expect: text                      each line that it prints, in order
 *   # warns: code                       each warning at the end, and no other
 *   # stat: icmp {"sent":5, ...}        this line is among the statistics
 *   # exit: 4                           default 0
 *
 *   net_run [-v] FILE|FOLDER...         -v prints all that the engine says
 *
 * Each program runs twice; both runs must exchange the same messages, bit for bit.
 */
#include "harness/harness.h"
#include "lib/lib.h"
#include "vm/verify.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 384 << 20 };

typedef struct Run {
	Arena a;
	Sb out, warns, stats;
	Str warned; /* the last code */
	uint64_t hash;
	FakeCount count;
	int exit;
	Str error;
} Run;

static bool verbose;

static void sink(void *ctx, const Msg *m)
{
	Run *r = ctx;

	if (m->type == MSG_TEXT)
		sb_str(&r->out, bytes_str(m->text.text));
	if (m->type == MSG_WARN && !str_eq(r->warned, bytes_str(m->warn.code))) {
		/* told peer by peer, a code's one behind the other */
		r->warned = str_printf(&r->a, "%.*s", STR_ARG(bytes_str(m->warn.code)));
		sb_printf(&r->warns, "%.*s\n", STR_ARG(r->warned));
	}
	if (m->type == MSG_STAT)
		sb_printf(&r->stats, "%.*s %.*s\n", STR_ARG(bytes_str(m->stat.group)),
			  STR_ARG(bytes_str(m->stat.json)));
	if (verbose && m->type == MSG_WARN)
		printf("  warning %.*s x%u: %.*s\n", STR_ARG(bytes_str(m->warn.code)), m->warn.count,
		       STR_ARG(bytes_str(m->warn.evidence)));
}

static bool compiled(Run *r, const char *path, const Compiled *c)
{
	Sb b = sb(&r->a);

	if (c->program && !c->diags.errors && !c->lib_diags.errors)
		return true;
	compile_render(c, str_c(path), &b);
	for (uint32_t i = 0; i < c->lib_diags.v.n; i++)
		for (uint32_t f = 1; f < c->ast.files.n; f++)
			if (c->lib_diags.v.p[i].span.to < c->ast.files.p[f].text.n) {
				LineCol lc = line_col(c->ast.files.p[f].text, c->lib_diags.v.p[i].span.from);

				sb_printf(&b, "    (%.*s:%u %.*s)\n", STR_ARG(lib_files[f - 1].name), lc.line,
					  STR_ARG(lc.text));
			}
	r->error = sb_done(&b);
	return false;
}

static int64_t bound(const Budget *b, Bound which)
{
	return b->declared >> which & 1 ? b->v[which] : bound_default(which);
}

static void execute(Run *r, const Program *p, const Budget *b, Fake *f)
{
	EngineConfig config = { .sink = sink, .sink_ctx = r };

	config.rate = bound(b, BOUND_RATE);
	config.byte_rate = bound(b, BOUND_BYTE_RATE);
	config.syn_rate = bound(b, BOUND_SYN_RATE);
	Engine *e = engine_new(&r->a, fake_port(f), &config);
	VmHost host;

	if (!engine_start(e)) {
		r->exit = engine_stopped(e);
		return;
	}
	engine_host(e, &host);
	Vm *vm = vm_new(&r->a, p, &host);
	r->exit = vm_run(vm);
	const VmError *err = vm_error(vm);
	if (err->set && err->code && err->code[0])
		r->error = str_printf(&r->a, "%s: %.*s\n", err->code, STR_ARG(err->message));
	engine_leak_used(e, vm_leak_used(vm));
	engine_finish(e, r->exit);
}

static bool run_once(Run *r, void *memory, const char *path, Str text)
{
	Str bad;

	arena_init(&r->a, memory, MEMORY, NULL);
	r->out = r->warns = r->stats = sb(&r->a);
	Fake *f = fake_new(&r->a, files_number(&r->a, text, "# seed: ", 1));
	if (!fake_config(f, files_lines(&r->a, text, "# net: "), &bad)) {
		r->error = str_printf(&r->a, "no line of a network: %.*s\n", STR_ARG(bad));
		return false;
	}
	Compiled *c = harness_compile(&r->a, path, text);
	if (!compiled(r, path, c))
		return false;
	const char *why = verify_program(c->program);
	if (why) {
		r->error = str_printf(&r->a, "the verifier refuses the bytecode: %s\n", why);
		return false;
	}
	execute(r, c->program, &c->manifest.decls.budget, f);
	r->hash = fake_hash(f);
	r->count = fake_count(f);
	return true;
}

/* ---- judging ---- */

static bool same(const char *what, Str want, Str got)
{
	if (str_eq(want, got))
		return true;
	printf("  %s, expected:\n%.*s  got:\n%.*s", what, STR_ARG(want), STR_ARG(got));
	return false;
}

/* In any order. */
static bool same_lines(const char *what, Str want, Str got)
{
	bool all = want.n == got.n;

	for (size_t i = 0, end; all && i < want.n; i = end + 1) {
		for (end = i; want.p[end] != '\n'; end++)
			;
		Str line = { want.p + i, end - i + 1 };
		const char *at = memmem(got.p, got.n, line.p, line.n);

		all = at && (at == got.p || at[-1] == '\n');
	}
	return all || same(what, want, got);
}

static bool stats_there(Run *r, Str want)
{
	for (size_t i = 0, end; i < want.n; i = end + 1) {
		for (end = i; want.p[end] != '\n'; end++)
			;
		Str line = { want.p + i, end - i + 1 };
		Str all = sb_done(&r->stats);

		if (!memmem(all.p, all.n, line.p, line.n)) {
			printf("  statistics lack %.*s  of:\n%.*s", STR_ARG(line), STR_ARG(all));
			return false;
		}
	}
	return true;
}

static bool judge(Run *r, Str text)
{
	Str exit = files_lines(&r->a, text, "# exit: ");
	int want = exit.n ? atoi(exit.p) : 0;
	bool ok = same("it prints", files_lines(&r->a, text, "# expect: "), sb_done(&r->out));

	ok &= same_lines("it warns", files_lines(&r->a, text, "# warns: "), sb_done(&r->warns));
	ok &= stats_there(r, files_lines(&r->a, text, "# stat: "));
	if (r->exit != want || (r->error.n && !want)) {
		printf("  exit %d: %.*s\n", r->exit, STR_ARG(r->error));
		ok = false;
	}
	if (r->count.half_open) {
		printf("  %u handshakes stay half open\n", r->count.half_open);
		ok = false;
	}
	return ok;
}

static bool run_case(const char *path)
{
	static void *memory[2];
	static Run run[2];
	Str text = files_read(path);
	bool ok = true;

	for (int i = 0; i < 2 && ok; i++) {
		if (!memory[i])
			memory[i] = malloc(MEMORY);
		run[i] = (Run){ 0 };
		ok = memory[i] && run_once(&run[i], memory[i], path, text);
	}
	if (!ok) {
		printf("FAIL %s\n%.*s", path, STR_ARG(run[0].error));
	} else {
		ok = run[0].hash == run[1].hash;
		if (!ok)
			printf("  two runs differ\n");
		ok &= judge(&run[0], text);
		printf("%s %s\n", ok ? "ok  " : "FAIL", path);
	}
	if (verbose)
		printf("%.*s%.*s  emitted %u frames, in flight %u\n", STR_ARG(sb_done(&run[0].out)),
		       STR_ARG(sb_done(&run[0].stats)), run[0].count.emitted, run[0].count.in_flight_most);
	free((char *)(uintptr_t)text.p);
	return ok;
}

int main(int argc, char **argv)
{
	int first = 1;

	verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	first += verbose;
	return files_each(argv + first, argc - first, run_case);
}
