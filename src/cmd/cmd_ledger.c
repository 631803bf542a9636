/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde ledger: what all runs used, and the folder that keeps it.
 */
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/ledgers.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

typedef struct LedgerOptions {
	CmdArgs args;
	bool json, replace;
} LedgerOptions;

static const Opt ledger_opts[] = {
	{ "json", 0, OPT_FLAG, NULL, offsetof(LedgerOptions, json), "show: print one JSON object (doc/ledger.schema.json)" },
	{ "replace", 0, OPT_FLAG, NULL, offsetof(LedgerOptions, replace),
	  "init: begin anew where there is a ledger; what was counted is lost, the log is put aside" },
};

/* ---- show ---- */

typedef struct Show {
	Sb *out;
	Json *json;	  /* NULL: text */
	const char *only; /* whose rows; NULL: all */
	unsigned rows;
} Show;

static void count_json(Json *j, const LedgerCount *c)
{
	json_open(j, '{');
	for (unsigned k = 0; k < LEDGER_N; k++) {
		json_key(j, ledger_kind_name((LedgerKind)k));
		json_uint(j, c->v[k]);
	}
	json_close(j, '}');
}

static void count_text(Sb *out, const LedgerCount *c)
{
	for (unsigned k = 0; k < LEDGER_N; k++)
		sb_printf(out, " %12llu", (unsigned long long)c->v[k]);
	sb_char(out, '\n');
}

static void show_row(void *ctx, char kind, const LedgerRow *r, int64_t now)
{
	Show *s = ctx;

	/* the destinations of others are not for everybody */
	if (s->only && (kind == 'd' || (kind == 's' && strcmp(s->only, r->name) != 0)))
		return;
	s->rows++;
	if (s->json) {
		json_open(s->json, '{');
		json_kstr(s->json, "kind", str_c(kind == 't' ? "total" : kind == 's' ? "session" : "destination"));
		json_kstr(s->json, "name", str_c(r->name));
	} else {
		sb_printf(s->out, "%s\n", r->name);
	}
	for (LedgerSpan w = 0; w < LEDGER_SPANS; w++) {
		LedgerCount c = ledger_row_sum(r, w, now);

		if (s->json) {
			json_key(s->json, ledger_span_name(w));
			count_json(s->json, &c);
		} else {
			sb_printf(s->out, "  %-7s", ledger_span_name(w));
			count_text(s->out, &c);
		}
	}
	if (s->json)
		json_close(s->json, '}');
}

static void head_text(Sb *out)
{
	sb_cstr(out, "         ");
	for (unsigned k = 0; k < LEDGER_N; k++)
		sb_printf(out, " %12s", ledger_kind_name((LedgerKind)k));
	sb_char(out, '\n');
}

static int show(Arena *a, const LedgerOptions *o)
{
	Ledger l;
	Sb out = sb(a);
	Json j = json(&out);
	Show s = { .out = &out, .json = o->json ? &j : NULL, .only = getuid() ? ledgers_session(a) : NULL };
	const char *why = ledgers_open(a, &l);

	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	if (o->json) {
		json_open(&j, '{');
		json_key(&j, "rows");
		json_open(&j, '[');
	} else {
		head_text(&out);
	}
	why = ledger_each(&l, show_row, &s);
	ledgers_close(&l);
	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	if (o->json) {
		json_close(&j, ']');
		json_close(&j, '}');
		sb_char(&out, '\n');
	} else if (!s.rows) {
		sb_cstr(&out, "nothing was counted yet\n");
	}
	return cmd_write(STDOUT_FILENO, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

/* ---- init, rotate ---- */

static int state_fail(int err, const char *what)
{
	if (err == -ESRCH)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT,
				"there is no group " STATE_GROUP ": make user and group first: useradd --system --user-group "
				"--no-create-home --shell /usr/sbin/nologin " STATE_GROUP);
	return cmd_fail(SONDE_EXIT_ENVIRONMENT, STATE_FOLDER "%s%s: %s", what[0] ? "/" : "", what,
			err == -EPERM ? "is not root's alone, or a link" : strerror(-err));
}

static bool is_root(void)
{
	if (geteuid() == 0)
		return true;
	cmd_fail(0, "the ledger is root's: run this as root");
	return false;
}

/* Moves a log aside under a name that tells when; 0 or -errno. */
static int log_aside(int folder, char name[64])
{
	snprintf(name, 64, LEDGER_LOG ".%lld", (long long)(clock_real_ns() / 1000000));
	if (renameat(folder, LEDGER_LOG, folder, name))
		return errno == ENOENT ? 0 : -errno;
	return 1;
}

static int make_files(int folder, gid_t gid)
{
	int fd = state_create(folder, LEDGER_FILE, gid), log;

	if (fd < 0)
		return state_fail(fd, LEDGER_FILE);
	const char *why = ledger_format(fd);

	close(fd);
	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	log = state_create(folder, LEDGER_LOG, gid);
	if (log < 0)
		return state_fail(log, LEDGER_LOG);
	close(log);
	printf("made " STATE_FOLDER " with ledger and log\n");
	return SONDE_EXIT_OK;
}

int ledgers_init(bool replace)
{
	gid_t gid;
	char aside[64];
	int r = state_make(&gid), folder, code;

	if (r < 0)
		return state_fail(r, "");
	folder = state_folder(NULL);
	if (folder < 0)
		return state_fail(folder, "");
	if (!replace && faccessat(folder, LEDGER_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		close(folder);
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, LEDGER_PATH " exists; --replace begins anew, and forgets what was counted");
	}
	unlinkat(folder, LEDGER_FILE, 0);
	r = log_aside(folder, aside);
	if (r > 0)
		printf("the old log is now " STATE_FOLDER "/%s\n", aside);
	code = r < 0 ? state_fail(r, LEDGER_LOG) : make_files(folder, gid);
	close(folder);
	return code;
}

static int init(Arena *a, const LedgerOptions *o)
{
	(void)a;
	return is_root() ? ledgers_init(o->replace) : SONDE_EXIT_ENVIRONMENT;
}

static int rotate(Arena *a, const LedgerOptions *o)
{
	Ledger l;
	gid_t gid;
	char aside[64];
	int folder, fd, r;

	(void)o;
	if (!is_root())
		return SONDE_EXIT_ENVIRONMENT;
	const char *why = ledgers_open(a, &l);
	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	r = state_make(&gid);
	folder = state_folder(NULL);
	if (r < 0 || folder < 0)
		return state_fail(r < 0 ? r : folder, "");
	r = log_aside(folder, aside);
	fd = r < 0 ? r : state_create(folder, LEDGER_LOG, gid);
	if (fd < 0)
		return state_fail(fd, LEDGER_LOG);
	why = ledger_new_log(&l, fd);
	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s", why);
	printf("the old log is now " STATE_FOLDER "/%s; the new one goes on from its last hash\n", aside);
	close(folder);
	return SONDE_EXIT_OK;
}

static int run_ledger(const Command *c, const void *options)
{
	static const struct {
		const char *name;
		int (*run)(Arena *a, const LedgerOptions *o);
	} verbs[] = { { "show", show }, { "init", init }, { "rotate", rotate } };
	const LedgerOptions *o = options;
	const char *verb = o->args.n ? o->args.v[0] : "show";
	Arena a = cmd_arena(8 << 20);

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (strcmp(verb, verbs[i].name) == 0)
			return verbs[i].run(&a, o);
	return cmd_fail(SONDE_EXIT_USAGE, "ledger %s: one of show, init, rotate; see: sonde %s --help", verb, c->name);
}

const Command cmd_ledger = {
	.name = "ledger",
	.args = "[show | init | rotate]",
	.summary = "show what all runs used; make the folder that counts it",
	.doc = "The ledger counts packets, bytes, SYNs, refusals and runs over a minute, an hour and a day: per session (on the "
	       "command line: per user), per destination and in total, shared by all runs. Bounds per hour of a policy are "
	       "held by it; a policy that has some needs it, and where there is one that can't be used, nothing is sent. A "
	       "run that dies has paid for what it had reserved.\n\nshow prints it: root sees all, others themselves. init, "
	       "as root, makes " STATE_FOLDER " of root and the group " STATE_GROUP ". rotate, as root, puts the log of all "
	       "runs aside and begins a new one.",
	.opts = ledger_opts,
	.nopts = sizeof ledger_opts / sizeof ledger_opts[0],
	.max_args = 1,
	.size = sizeof(LedgerOptions),
	.run = run_ledger,
};
