/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/engine.h"

#include "base/exits.h"
#include "base/limits.h"
#include "deal/manifest_codec.h"
#include "deal/msg.h"
#include "lang/compile.h"
#include "lang/decl.h"
#include "lib/lib.h"
#include "port/gate.h"
#include "port/replay.h"
#include "vm/engine.h"
#include "vm/verify.h"

#include <unistd.h>

enum { TEXT_PIECE = 32 * 1024 }; /* bytes of output in one message */


typedef struct Process {
	const EngineJob *job;
	Arena arena;
	int out_fd;
	uint8_t *buf; /* one message */
	MsgType unsaid; /* of a message that was too large; NONE */
	GatePort gate;
	ReplayPort replay; /* in the gate's place, if the job has a record */
} Process;

/* One whole message a write: that is what cmd reads. */
static void say(Process *p, const Msg *m)
{
	Writer w = writer(p->buf, LIMIT_MSG + 8);

	if (p->job->told)
		p->job->told(p->job->told_ctx, m);
	else if (!msg_put(&w, m))
		p->unsaid = m->type;
	else if (write(p->out_fd, w.p, w.n) < 0)
		_exit(SONDE_EXIT_ENVIRONMENT); /* nobody listens any more */
}

/* Long output and long results go in pieces: a message has a bound. */
static void sink(void *ctx, const Msg *m)
{
	Process *p = ctx;
	Msg piece = *m;
	Bytes *part = m->type == MSG_TEXT ? &piece.text.text : m->type == MSG_RESULT ? &piece.result.json : NULL;

	if (!part || part->n <= TEXT_PIECE) {
		say(p, m);
		return;
	}
	for (Bytes rest = *part; rest.n; rest = bytes_slice(rest, TEXT_PIECE, rest.n)) {
		*part = bytes_slice(rest, 0, TEXT_PIECE);
		if (m->type == MSG_RESULT)
			piece.result.more = rest.n > TEXT_PIECE;
		say(p, &piece);
	}
}

static void say_diag(Process *p, const Diag *d)
{
	say(p, &(Msg){ .type = MSG_DIAG,
		       .diag = { .code = str_bytes(str_c(d->code)),
				 .from = d->span.from,
				 .to = d->span.to,
				 .message = str_bytes(d->message),
				 .fix = d->fix.set,
				 .fix_from = d->fix.span.from,
				 .fix_to = d->fix.span.to,
				 .fix_text = str_bytes(d->fix.text),
				 .widening = d->fix.widening,
				 .hint = str_bytes(d->hint),
				 .path = p->job->explain ? str_bytes(d->path) : (Bytes){ 0 } } });
}

static int fail(Process *p, int exit, const char *code, Str message, Span span)
{
	say(p, &(Msg){ .type = MSG_FAIL,
		       .fail = { .exit = (uint8_t)exit,
				 .from = span.from,
				 .to = span.to,
				 .code = str_bytes(str_c(code)),
				 .message = str_bytes(message) } });
	return exit;
}

/* A fault in lib is ours, and told as such. */
static int lib_fault(Process *p, const Compiled *c)
{
	const Diag *d = &c->lib_diags.v.p[0];

	return fail(p, SONDE_EXIT_RUNTIME, "E-INTERNAL",
		    str_printf(&p->arena, "a verb of lib does not check: %s %.*s", d->code, STR_ARG(d->message)),
		    (Span){ 0, 0 });
}

/* What the policies call relays.  Whether they are policies at all the loader judges; one
 * that is none ends the run there. */
static void read_relays(Process *p, CompileIn *in)
{
	VEC(Target) all = { 0 };

	for (uint32_t i = 0; i < p->job->npolicy; i++) {
		DiagList diags = { .a = &p->arena };
		Decls d = { 0 };

		decl_policy(p->job->policy[i].text, &p->arena, &diags, &d);
		for (uint32_t k = 0; k < d.relay.n; k++)
			vec_push(&p->arena, &all, d.relay.p[k]);
	}
	in->relay = all.p;
	in->nrelay = all.n;
}

static CompileIn lib_in(Arena *a)
{
	LibSource *lib = arena_new_n(a, LibSource, lib_count);

	for (unsigned i = 0; i < lib_count; i++)
		lib[i] = (LibSource){ lib_files[i].name, lib_files[i].text };
	return (CompileIn){ .a = a, .lib = lib, .nlib = lib_count };
}

bool engine_lib(Arena *a, CompileLib *ret_lib)
{
	jmp_buf full;

	a->full = &full;
	if (setjmp(full))
		return false;
	CompileIn in = lib_in(a);

	compile_lib(&in, ret_lib);
	a->full = NULL;
	return ret_lib->sound && !ret_lib->diags.errors;
}

static bool compile_job(Process *p, Compiled *c)
{
	CompileIn in = p->job->ahead ? (CompileIn){ .a = &p->arena } : lib_in(&p->arena);

	in.name = p->job->name;
	in.text = p->job->text;
	in.param = p->job->param;
	in.nparam = p->job->nparam;
	in.ahead = p->job->ahead;

	read_relays(p, &in);
	bool ok = compile(&in, c);

	for (uint32_t i = 0; i < c->diags.v.n; i++)
		say_diag(p, &c->diags.v.p[i]);
	return ok;
}

/* The manifest as bytes; empty if it is larger than a message may be. */
static Bytes encode(Process *p, const Manifest *m)
{
	Writer w = writer(arena_alloc(&p->arena, LIMIT_MSG), LIMIT_MSG - 64);

	return manifest_encode(m, &w) ? wr_done(&w) : (Bytes){ 0 };
}

static EngineConfig config(Process *p, const Budget *b)
{
	EngineConfig c = { .sink = sink, .sink_ctx = p, .output_limit = p->job->output_limit };
	bool rate = b->declared >> BOUND_RATE & 1;

	c.rate = rate ? b->v[BOUND_RATE] : bound_default(BOUND_RATE);
	c.syn_rate = b->declared >> BOUND_SYN_RATE & 1 ? b->v[BOUND_SYN_RATE] : bound_default(BOUND_SYN_RATE);
	c.byte_rate = bound_default(BOUND_BYTE_RATE);
	if (b->declared >> BOUND_BYTE_RATE & 1)
		c.byte_rate = b->v[BOUND_BYTE_RATE];
	else if (rate && c.rate > c.byte_rate / 1514) /* language.md 4: a declared rate brings its bytes along */
		c.byte_rate = c.rate * 1514;
	return c;
}

static int run_program(Process *p, Engine *e, const Program *program)
{
	VmHost host = { 0 };

	engine_host(e, &host);
	Vm *vm = vm_new(&p->arena, program, &host);

	engine_told_before(e, program);
	int exit = vm_run(vm);
	const VmError *err = vm_error(vm);

	engine_told_after(e, program);
	engine_leak_used(e, vm_leak_used(vm));
	if (vm_output_cut(vm))
		say(p, &(Msg){ .type = MSG_STAT,
			       .stat = { .group = str_bytes(STR("output")),
					 .json = str_bytes(str_printf(&p->arena, "{\"cut\":%llu}", (unsigned long long)vm_output_cut(vm))) } });
	if (err->set && err->code && err->code[0])
		engine_told_error(e, program, err, exit);
	return exit;
}

/* Stopped before GO.  The gate tells its reasons to cmd; a capture file has us. */
static int not_started(Process *p, const Engine *e)
{
	int exit = engine_stopped(e) ? engine_stopped(e) : SONDE_EXIT_ENVIRONMENT;
	const char *why = engine_stop_why(e), *code = exit == SONDE_EXIT_POLICY ? "E-POLICY" : "E-ENVIRONMENT";

	return why[0] ? fail(p, exit, code, str_c(why), (Span){ 0, 0 }) : exit;
}

_Static_assert(REPLAY_PORT_MEMORY <= GATE_PORT_MEMORY, "one piece of memory serves either port");

/* The same memory either way: what is left of it must end at the same place. */
static void port_init(Process *p, int gate_fd)
{
	void *mem = arena_alloc(&p->arena, GATE_PORT_MEMORY);

	if (p->job->record)
		replay_port_init(&p->replay, p->job->record, mem);
	else
		gate_port_init(&p->gate, gate_fd, mem);
}

static int run_behind(Process *p, const Compiled *c, Bytes manifest)
{
	Port *port = p->job->record ? &p->replay.port : &p->gate.port;
	EngineConfig conf = config(p, &c->manifest.decls.budget);
	int exit;

	port->emit(port, &(Msg){ .type = MSG_MANIFEST, .manifest = { .data = manifest } });
	gate_port_flush(&p->gate);
	Engine *e = engine_new(&p->arena, port, &conf);
	if (engine_start(e))
		exit = run_program(p, e, c->program);
	else
		exit = not_started(p, e);
	engine_finish(e, exit);
	gate_port_flush(&p->gate);
	return exit;
}

static int compile_and_run(Process *p)
{
	Compiled *c = arena_new(&p->arena, Compiled);

	if (!compile_job(p, c))
		return c->lib_diags.errors ? lib_fault(p, c) : SONDE_EXIT_CHECK;
	Bytes manifest = encode(p, &c->manifest);
	if (!manifest.n)
		return fail(p, SONDE_EXIT_CHECK, "E-COMPLEX", STR("the manifest of this program is too long to approve"),
			    (Span){ 0, 0 });
	say(p, &(Msg){ .type = MSG_CHECKED, .checked = { .manifest = manifest } });
	if (p->job->check)
		return SONDE_EXIT_OK;
	const char *unsound = verify_program(c->program);
	if (unsound)
		return fail(p, SONDE_EXIT_RUNTIME, "E-INTERNAL", str_c(unsound), (Span){ 0, 0 });
	return run_behind(p, c, manifest);
}

/* Memory that ends while compiling is the compiler's error; here it is what is
 * left: manifest, engine, VM. */
static int within_memory(Process *p)
{
	jmp_buf full;

	p->arena.full = &full;
	if (setjmp(full) == 0)
		return compile_and_run(p);
	return -1;
}

static int faults(Process *p, int exit)
{
	const char *differs = p->job->record ? replay_port_end(&p->replay) : "";

	if (exit < 0)
		exit = fail(p, SONDE_EXIT_RUNTIME, "E-MEMORY", STR("the engine's memory is spent"), (Span){ 0, 0 });
	if (differs[0])
		exit = fail(p, SONDE_EXIT_ENVIRONMENT, "E-REPLAY", str_c(differs), (Span){ 0, 0 });
	if (p->unsaid)
		exit = fail(p, SONDE_EXIT_RUNTIME, "E-INTERNAL",
			    str_printf(&p->arena, "a message %s of the engine was too large to be told", msg_name(p->unsaid)),
			    (Span){ 0, 0 });
	return exit;
}

int engine_process(void *ctx, int gate_fd, int out_fd, void *mem, size_t size)
{
	Process p = { .job = ctx, .out_fd = out_fd };
	int exit;

	arena_init_zeroed(&p.arena, mem, size, NULL);
	p.buf = arena_alloc(&p.arena, LIMIT_MSG + 8);
	port_init(&p, gate_fd);
	exit = faults(&p, within_memory(&p));
	say(&p, &(Msg){ .type = MSG_DONE, .done = { .exit = (uint8_t)exit } });
	return exit;
}
