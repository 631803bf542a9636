/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include "lib/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LIBS = 64, PAGE = 4096 };

/* ---- compiling ---- */

Compiled *harness_compile(Arena *a, const char *path, Str text)
{
	LibSource *lib = arena_new_n(a, LibSource, LIBS);
	Compiled *c = arena_new(a, Compiled);

	for (unsigned i = 0; i < lib_count && i < LIBS; i++)
		lib[i] = (LibSource){ lib_files[i].name, lib_files[i].text };
	CompileIn in = { .a = a, .name = str_c(path), .text = text, .lib = lib, .nlib = lib_count };
	compile(&in, c);
	return c;
}

Str harness_rendered(Arena *a, const Compiled *c)
{
	Sb b = sb(a);

	compile_render(c, STR("  "), &b);
	return sb_done(&b);
}

/* ---- memory ---- */

bool harness_arena(Arena *ret, size_t mb)
{
	void *p = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		return false;
	madvise(p, mb << 20, MADV_NOHUGEPAGE);
	arena_init_zeroed(ret, p, mb << 20, NULL);
	return true;
}

void harness_fresh(Arena *a)
{
	static unsigned char resident[((size_t)1 << 30) / PAGE];
	size_t pages = (a->dirty + PAGE - 1) / PAGE;

	if (pages > sizeof resident)
		abort();
	if (mincore(a->base, pages * PAGE, resident))
		memset(resident, 1, pages);
	for (size_t i = 0; i < pages; i++)
		if (resident[i] & 1)
			memset(a->base + i * PAGE, 0, PAGE);
	arena_init_zeroed(a, a->base, a->cap, NULL);
}

/* ---- running ---- */

int64_t harness_bound(const Budget *b, Bound which)
{
	return b->declared >> which & 1 ? b->v[which] : bound_default(which);
}

static void sink(void *ctx, const Msg *m)
{
	const HarnessRun *r = ctx;

	if (r->told)
		r->told(r->told_ctx, m);
	if (r->print && m->type == MSG_TEXT)
		printf("  | %.*s", STR_ARG(bytes_str(m->text.text)));
}

static void execute(const HarnessRun *r, Fake *f, HarnessEnd *end)
{
	EngineConfig config = { .sink = sink, .sink_ctx = (void *)(uintptr_t)r };

	config.rate = harness_bound(r->budget, BOUND_RATE);
	config.byte_rate = harness_bound(r->budget, BOUND_BYTE_RATE);
	config.syn_rate = harness_bound(r->budget, BOUND_SYN_RATE);
	Engine *e = engine_new(r->a, fake_port(f), &config);
	VmHost host;

	if (!engine_start(e)) {
		end->exit = engine_stopped(e);
		return;
	}
	engine_host(e, &host);
	host.fuel = r->fuel;
	host.leak = r->leak;
	Vm *vm = vm_new(r->a, r->program, &host);
	engine_told_before(e, r->program);
	end->exit = vm_run(vm);
	engine_told_after(e, r->program);
	end->leak = vm_leak_used(vm);
	const VmError *err = vm_error(vm);
	if (err->set && err->code && err->code[0])
		engine_told_error(e, r->program, err, end->exit);
	if (err->set)
		end->error = str_printf(r->a, "%s %.*s", err->code, STR_ARG(err->message));
	if (r->print && err->set)
		printf("  exit %d %.*s\n", end->exit, STR_ARG(end->error));
	engine_finish(e, end->exit);
}

HarnessEnd harness_run(const HarnessRun *r)
{
	HarnessEnd end = { .exit = -1 };
	Fake *f = fake_new(r->a, r->seed);
	Str limits = str_printf(r->a, "limit packets %lld time %lldns%s",
				(long long)harness_bound(r->budget, BOUND_PACKETS),
				(long long)harness_bound(r->budget, BOUND_TIME), r->measurements ? " measurements" : "");

	if (!fake_config(f, r->net, &end.error) || !fake_config(f, limits, &end.error))
		return end;
	if (r->sent)
		fake_watch(f, r->sent, r->sent_ctx);
	execute(r, f, &end);
	end.count = fake_count(f);
	return end;
}
