/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde audit: was evidence or the log changed since it was written, and where first?
 */
#include "base/json.h"
#include "cmd/cmd.h"
#include "gate/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef struct AuditOptions {
	CmdArgs args;
	const char *head;
	bool json;
} AuditOptions;

static const Opt audit_opts[] = {
	{ "head", 0, OPT_STR, "HASH", offsetof(AuditOptions, head),
	  "the last hash that the run printed: a file written anew has another" },
	{ "json", 0, OPT_FLAG, NULL, offsetof(AuditOptions, json), "print one JSON object (doc/audit.schema.json)" },
};

static const char *kind_text(AuditKind k)
{
	return k == AUDIT_LOG ? "log" : k == AUDIT_EVIDENCE ? "evidence" : "unknown";
}

/* With --head, a chain that is whole and ends elsewhere is not the one that was made. */
static void compare_head(Audit *a, const Hash *head)
{
	if (!a->intact || hash_eq(a->head, *head))
		return;
	a->intact = false;
	a->why = "the chain is whole but ends in another hash: the file was written anew, or is not the one that was meant";
	a->from = 0;
}

static void audit_text(const char *path, const Audit *a, Sb *out)
{
	char head[SHA256_TEXT];

	hash_format(a->head, head);
	sb_cstr(out, path);
	if (a->intact)
		sb_printf(out, ": intact: %llu %s in %llu links; head %s\n", (unsigned long long)a->items,
			  a->kind == AUDIT_LOG ? "lines" : "blocks", (unsigned long long)a->links, head);
	else
		sb_printf(out, ": BREACH in bytes %llu to %llu: %s; before it %llu links are intact\n",
			  (unsigned long long)a->from, (unsigned long long)a->to, a->why, (unsigned long long)a->links);
}

static void audit_json(const char *path, const Audit *a, Json *j)
{
	char head[SHA256_TEXT];

	hash_format(a->head, head);
	json_open(j, '{');
	json_kstr(j, "file", str_c(path));
	json_kstr(j, "kind", str_c(kind_text(a->kind)));
	json_kbool(j, "intact", a->intact);
	json_kint(j, "links", (int64_t)a->links);
	json_kint(j, "items", (int64_t)a->items);
	json_kstr(j, "head", str_c(head));
	if (!a->intact) {
		json_key(j, "breach");
		json_open(j, '{');
		json_kint(j, "from", (int64_t)a->from);
		json_kint(j, "to", (int64_t)a->to);
		json_kstr(j, "why", str_c(a->why));
		json_close(j, '}');
	}
	json_close(j, '}');
}

/* False after saying why it can't be read. */
static bool audit_one(const char *path, const Hash *head, Audit *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0) {
		*ret = audit_verify(fd);
		close(fd);
	}
	if (fd < 0 || ret->err) {
		cmd_fail(0, "%s: %s", path, strerror(fd < 0 ? errno : ret->err));
		return false;
	}
	if (head)
		compare_head(ret, head);
	return true;
}

static int verify(const AuditOptions *o)
{
	Arena a = cmd_arena(1 << 20);
	Sb out = sb(&a);
	Json j = json(&out);
	Hash head;
	int code = SONDE_EXIT_OK;

	if (o->head && (!hash_parse(str_bytes(str_c(o->head)), &head) || o->args.n != 2))
		return cmd_fail(SONDE_EXIT_USAGE, "--head takes the 64 digits of one file's last hash");
	if (o->json) {
		json_open(&j, '{');
		json_key(&j, "files");
		json_open(&j, '[');
	}
	for (unsigned i = 1; i < o->args.n; i++) {
		Audit got = { 0 };

		if (!audit_one(o->args.v[i], o->head ? &head : NULL, &got)) {
			code = SONDE_EXIT_ENVIRONMENT;
			continue;
		}
		if (!got.intact && !code)
			code = SONDE_EXIT_RUNTIME;
		if (o->json)
			audit_json(o->args.v[i], &got, &j);
		else
			audit_text(o->args.v[i], &got, &out);
	}
	if (o->json) {
		json_close(&j, ']');
		json_kint(&j, "exit", code);
		json_close(&j, '}');
		sb_char(&out, '\n');
	}
	return cmd_write(STDOUT_FILENO, sb_done(&out)) ? code : SONDE_EXIT_ENVIRONMENT;
}

static int run_audit(const Command *c, const void *options)
{
	const AuditOptions *o = options;

	if (strcmp(o->args.v[0], "verify") != 0)
		return cmd_fail(SONDE_EXIT_USAGE, "audit %s: there is verify only; see: sonde %s --help", o->args.v[0], c->name);
	if (o->args.n < 2)
		return cmd_fail(SONDE_EXIT_USAGE, "audit verify: which file?");
	return verify(o);
}

const Command cmd_audit = {
	.name = "audit",
	.args = "verify FILE...",
	.summary = "was evidence, or the log of all runs, changed since it was written?",
	.doc = "Each FILE is a pcapng that `run --write` made, or the log /var/lib/sonde/log. Both are chains of hashes: a "
	       "byte that was changed, a block or line that was taken out, put in or moved, and an end that was cut off are "
	       "seen, and the bytes in which the first breach lies are told; then the exit status is 1.\n\nA chain does not "
	       "show that the whole file was written anew: for that, compare with the hash that the run printed (and that "
	       "stands in the log), by --head.",
	.opts = audit_opts,
	.nopts = sizeof audit_opts / sizeof audit_opts[0],
	.min_args = 1,
	.max_args = OPT_LIST_MAX,
	.size = sizeof(AuditOptions),
	.run = run_audit,
};
