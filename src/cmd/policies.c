/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/policies.h"

#include "base/escape.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "lang/decl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What fstat says of the file and of the folder that holds it. */
static bool stat_facts(PolicyFile *f, int fd, const char *path)
{
	struct stat st, dir;
	char folder[4096];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 1;

	if (n >= sizeof folder || fstat(fd, &st) < 0)
		return false;
	memcpy(folder, slash ? path : ".", n);
	folder[n] = 0;
	if (stat(n ? folder : "/", &dir) < 0)
		return false;
	f->regular = S_ISREG(st.st_mode);
	f->uid = st.st_uid;
	f->mode = st.st_mode & 07777;
	f->dir_uid = dir.st_uid;
	f->dir_mode = dir.st_mode & 07777;
	return true;
}

bool policies_read_one(Arena *a, const char *path, bool system, PolicyFile *ret_f)
{
	PolicyFile f = { .path = str_c(path), .system = system };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (system ? O_NOFOLLOW : 0));

	if (fd < 0 || !stat_facts(&f, fd, path)) {
		cmd_fail(0, "policy %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool ok = !f.regular || cmd_read_fd(a, fd, path, LIMIT_SOURCE, &f.text);

	close(fd);
	*ret_f = f;
	return ok;
}

static bool add(Arena *a, Policies *p, const char *path, bool system)
{
	return policies_read_one(a, path, system, &p->file[p->n]) && ++p->n;
}

bool policies_add(Arena *a, Policies *p, const char *path)
{
	return add(a, p, path, false);
}

bool policies_read(Arena *a, const OptList *more, Policies *ret_p)
{
	const char *env = getenv("SONDE_POLICY");

	*ret_p = (Policies){ .installed = access(POLICY_SYSTEM_PATH, F_OK) == 0 || errno != ENOENT };
	if (ret_p->installed && !add(a, ret_p, POLICY_SYSTEM_PATH, true))
		return false;
	for (unsigned i = 0; i < more->n; i++)
		if (!add(a, ret_p, more->v[i], false))
			return false;
	return !env || !env[0] || add(a, ret_p, env, false);
}

bool policies_reader(void *ctx, Str text, Arena *a, DiagList *diags, Decls *ret_decls)
{
	(void)ctx;
	return decl_policy(text, a, diags, ret_decls);
}

/* The first diagnostic of a policy file, as one sentence with its place. */
static Str first_diag(Arena *a, const PolicyFile *f, const DiagList *diags)
{
	Sb out = sb(a);

	if (diags->v.n) {
		const Diag *d = &diags->v.p[0];
		LineCol at = line_col(f->text, d->span.from);

		sb_printf(&out, "%.*s:%u:%u: %.*s", STR_ARG(f->path), at.line, at.col, STR_ARG(d->message));
		if (d->hint.n)
			sb_printf(&out, ": %.*s", STR_ARG(d->hint));
	}
	return sb_done(&out);
}

bool policies_parse(void *ctx, Arena *a, PolicyList *ret_list, Str *ret_why)
{
	const Policies *p = ctx;

	if (!p->installed)
		policy_builtin(vec_push(a, ret_list, (Policy){ 0 }));
	for (unsigned i = 0; i < p->n; i++) {
		DiagList diags = { .a = a };
		Policy *policy = vec_push(a, ret_list, (Policy){ 0 });

		*ret_why = (Str){ 0 };
		if (policy_load(&p->file[i], policies_reader, NULL, a, &diags, policy, ret_why))
			continue;
		if (!ret_why->n)
			*ret_why = first_diag(a, &p->file[i], &diags);
		return false;
	}
	return true;
}

void policies_text(const Policies *p, Sb *out)
{
	for (unsigned i = 0; i < p->n; i++) {
		Str text = p->file[i].text;

		sb_cstr(out, "# ");
		escape_line(out, p->file[i].path);
		sb_char(out, '\n');
		for (size_t at = 0; at < text.n;) {
			LineCol line = line_col(text, (uint32_t)at);

			escape_source(out, line.text);
			sb_char(out, '\n');
			at = (size_t)(line.text.p - text.p) + line.text.n + 1;
		}
	}
	if (p->n + !p->installed > 1)
		sb_cstr(out, "# all of these hold at once\n");
}
