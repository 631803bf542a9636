/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde approve: a person reads what a run would do, and lets exactly that happen.
 *
 * The request may be anybody's.  Its hash is computed from the bytes whose rendering is
 * shown; the loader makes these bytes itself for each run, so what is shown is what
 * runs (gate/approval.h).
 */
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/ledgers.h"
#include "gate/approval.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct ApproveOptions {
	CmdArgs args;
	bool yes, refuse, program, json;
} ApproveOptions;

static const Opt approve_opts[] = {
	{ "yes", 0, OPT_FLAG, NULL, offsetof(ApproveOptions, yes), "do not ask; for whoever has read it elsewhere" },
	{ "refuse", 0, OPT_FLAG, NULL, offsetof(ApproveOptions, refuse), "take the request away" },
	{ "program", 0, OPT_FLAG, NULL, offsetof(ApproveOptions, program), "print the program's text and approve nothing" },
	{ "json", 0, OPT_FLAG, NULL, offsetof(ApproveOptions, json),
	  "print the requests as one JSON object and approve nothing (doc/approve.schema.json)" },
};

typedef struct Request {
	Approval what;
	char *name; /* in the folder of requests */
} Request;

typedef VEC(Request) Requests;

/* ---- requests ---- */

/* False for what is no request: it is passed over. */
static bool request_read(Arena *a, int folder, const char *name, Request *ret_r)
{
	size_t mark = arena_mark(a);
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= LIMIT_APPROVAL;

	if (ok) {
		uint8_t *buf = arena_alloc(a, (size_t)st.st_size);

		ok = read(fd, buf, (size_t)st.st_size) == st.st_size && approval_read(BYTES(buf, (size_t)st.st_size), &ret_r->what);
	}
	if (fd >= 0)
		close(fd);
	if (ok)
		ret_r->name = arena_copy(a, name, strlen(name));
	else
		arena_reset(a, mark);
	return ok;
}

/* Those that wait, or the one that is meant; false after saying why they can't be read. */
static bool requests_read(Arena *a, const Hash *only, Requests *ret)
{
	int path = state_folder(STATE_REQUESTS);
	int fd = path < 0 ? path : openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (path >= 0)
		close(path);
	if (!d) {
		cmd_fail(0, STATE_FOLDER "/" STATE_REQUESTS ": %s", path == -ENOENT ? "there is none; `sonde ledger init` makes it"
							  : path == -EPERM  ? "is not root's alone, or a link"
									    : strerror(path < 0 ? -path : errno));
		return false;
	}
	while ((e = readdir(d)) && ret->n < LIMIT_REQUESTS_SHOWN) {
		size_t mark = arena_mark(a);
		Request r;

		if (!request_read(a, fd, e->d_name, &r))
			continue;
		if (only && !hash_eq(*only, r.what.hash))
			arena_reset(a, mark);
		else
			vec_push(a, ret, r);
	}
	closedir(d);
	return true;
}

static void request_remove(const char *name)
{
	int folder = state_folder(STATE_REQUESTS);

	if (folder >= 0) {
		unlinkat(folder, name, 0);
		close(folder);
	}
}

/* ---- listing ---- */

static void json_request(Json *j, const Approval *p)
{
	char hex[SHA256_TEXT];

	hash_format(p->hash, hex);
	json_open(j, '{');
	json_kstr(j, "hash", str_c(hex));
	json_key(j, "rendering");
	cmd_json_lines(j, p->text);
	json_close(j, '}');
}

static int list(Arena *a, const Requests *l, bool as_json)
{
	Sb out = sb(a);
	Json j = json(&out);

	if (as_json) {
		json_open(&j, '{');
		json_key(&j, "requests");
		json_open(&j, '[');
	}
	for (uint32_t i = 0; i < l->n; i++) {
		const Approval *p = &l->p[i].what;
		char hex[SHA256_TEXT];

		hash_format(p->hash, hex);
		if (as_json)
			json_request(&j, p);
		else
			sb_printf(&out, "%s\n  %.*s", hex, (int)((const char *)memchr(p->text.p, '\n', p->text.n) - p->text.p) + 1,
				  p->text.p);
	}
	if (as_json) {
		json_close(&j, ']');
		json_close(&j, '}');
		sb_char(&out, '\n');
	} else if (!l->n) {
		sb_cstr(&out, "nothing waits for approval\n");
	}
	return cmd_write(STDOUT_FILENO, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

/* ---- approving ---- */

static int put_file(int folder, const char *name, gid_t gid, Bytes b)
{
	int fd;

	unlinkat(folder, name, 0);
	fd = state_create(folder, name, gid);
	if (fd < 0)
		return fd;
	bool ok = cmd_write(fd, bytes_str(b)) && fsync(fd) == 0;
	int err = ok ? 0 : -EIO;

	close(fd);
	return err;
}

/* First the record, then the runs: a run without its record is none. */
static int write_approval(const Approval *p, const char *hex)
{
	char name[SHA256_TEXT + 16];
	gid_t gid;
	int r = state_make(&gid), folder = r < 0 ? r : state_folder(STATE_APPROVALS);

	r = folder < 0 ? folder : put_file(folder, hex, gid, p->record);
	for (uint32_t i = 0; i < p->runs && r == 0; i++) {
		snprintf(name, sizeof name, "%s-%u", hex, i);
		r = put_file(folder, name, gid, (Bytes){ 0 });
	}
	if (folder >= 0)
		close(folder);
	return r;
}

static void log_fields(LogLine *line, void *ctx)
{
	const Approval *p = ctx;

	log_hash(line, "approval", p->hash);
	log_str(line, "asked_by", bytes_str(bytes_slice(str_bytes(p->session), 0, 64)));
	log_hash(line, "program", sha256(str_bytes(p->program)));
	log_num(line, "runs", p->runs);
}

static const char *log_approval(Arena *a, Approval *p)
{
	Ledger l;
	const char *why = ledgers_open(a, &l);

	if (why)
		return why;
	why = ledger_log(&l, "approved", log_fields, p);
	ledgers_close(&l);
	return why;
}

static bool asked(const Approval *p)
{
	char answer[16];

	printf("approve %u %s of exactly this? yes or no: ", p->runs, p->runs == 1 ? "run" : "runs");
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0;
}

static int approve(Arena *a, Request *q, const ApproveOptions *o)
{
	char hex[SHA256_TEXT];

	hash_format(q->what.hash, hex);
	cmd_write(STDOUT_FILENO, q->what.text);
	if (!o->yes && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return cmd_fail(SONDE_EXIT_POLICY, "there is no terminal to ask at: nothing was approved; --yes does not ask");
	if (!o->yes && !asked(&q->what))
		return cmd_fail(SONDE_EXIT_POLICY, "nothing was approved; --refuse takes the request away");
	const char *why = log_approval(a, &q->what);

	if (why)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "nothing was approved, since the log can't take it: %s", why);
	int r = write_approval(&q->what, hex);

	if (r < 0)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, STATE_FOLDER "/" STATE_APPROVALS ": %s; nothing was approved", strerror(-r));
	request_remove(q->name);
	printf("approved: the next %u %s of exactly this\n", q->what.runs, q->what.runs == 1 ? "run" : "runs");
	return SONDE_EXIT_OK;
}

static int one(Arena *a, const ApproveOptions *o)
{
	Requests l = { 0 };
	Hash h;

	if (!hash_parse(str_bytes(str_c(o->args.v[0])), &h))
		return cmd_fail(SONDE_EXIT_USAGE, "approve: a hash has 64 digits, 0-9 and a-f; `sonde approve` lists what waits");
	if (!requests_read(a, &h, &l))
		return SONDE_EXIT_ENVIRONMENT;
	if (!l.n)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT,
				"no such request waits: run the program again, or see `sonde approve` for those that do");
	if (o->json)
		return list(a, &l, true);
	if (o->program)
		return cmd_write(STDOUT_FILENO, cmd_escaped_lines(a, l.p[0].what.program)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
	if (!o->refuse)
		return approve(a, &l.p[0], o);
	request_remove(l.p[0].name);
	printf("refused: the request is gone\n");
	return SONDE_EXIT_OK;
}

static int run_approve(const Command *c, const void *options)
{
	const ApproveOptions *o = options;
	Arena a = cmd_arena(64 << 20);
	Requests l = { 0 };

	(void)c;
	if (geteuid() != 0)
		return cmd_fail(SONDE_EXIT_POLICY, "approving is for root: whoever asked for a run can't approve it");
	if (o->args.n)
		return one(&a, o);
	return requests_read(&a, NULL, &l) ? list(&a, &l, o->json) : SONDE_EXIT_ENVIRONMENT;
}

const Command cmd_approve = {
	.name = "approve",
	.args = "[HASH]",
	.summary = "read what a run would do, and let exactly that happen",
	.doc = "Where the policy says approve(...), a run that needs a person is refused with exit status 3, what it would do "
	       "and a hash. Root reads the same by `sonde approve HASH`, and says yes or no. Approved are the program's bytes, "
	       "each param's value, whom it may reach and how after all policies, names with their addresses, interfaces, "
	       "bounds, the policies' texts and this build of Sonde: when any of these changes, the approval is void. It is "
	       "good for one run, or for as many as approve(runs=) of the installed policy says.\n\nWithout HASH the requests "
	       "that wait are listed.",
	.opts = approve_opts,
	.nopts = sizeof approve_opts / sizeof approve_opts[0],
	.max_args = 1,
	.size = sizeof(ApproveOptions),
	.run = run_approve,
};
