/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"

#include "base/escape.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Arena cmd_arena(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Arena a;

	if (mem == MAP_FAILED) {
		fprintf(stderr, "sonde: no memory for %zu bytes\n", size);
		exit(SONDE_EXIT_ENVIRONMENT);
	}
	arena_init_zeroed(&a, mem, size, NULL);
	return a;
}

void cmd_json_lines(Json *j, Str text)
{
	json_open(j, '[');
	for (size_t i = 0; i < text.n;) {
		const char *nl = memchr(text.p + i, '\n', text.n - i);
		size_t end = nl ? (size_t)(nl - text.p) : text.n;

		json_str(j, (Str){ text.p + i, end - i });
		i = end + 1;
	}
	json_close(j, ']');
}

Str cmd_escaped_lines(Arena *a, Str text)
{
	Sb out = sb(a);

	for (size_t at = 0; at < text.n;) {
		const char *nl = memchr(text.p + at, '\n', text.n - at);
		size_t end = nl ? (size_t)(nl - text.p) : text.n;

		escape_source(&out, (Str){ text.p + at, end - at });
		sb_char(&out, '\n');
		at = end + 1;
	}
	return sb_done(&out);
}

bool cmd_write(int fd, Str s)
{
	return io_write(fd, str_bytes(s)) == s.n;
}

int cmd_fail(int code, const char *fmt, ...)
{
	static char memory[16384];
	char text[2048];
	Arena a;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	arena_init(&a, memory, sizeof memory, NULL);
	Sb out = sb(&a);

	sb_cstr(&out, "sonde: ");
	escape_line(&out, (Str){ text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1 });
	sb_char(&out, '\n');
	cmd_write(STDERR_FILENO, sb_done(&out));
	return code;
}

bool cmd_read_fd(Arena *a, int fd, const char *path, size_t most, Str *ret_text)
{
	char *p = arena_alloc(a, most + 1);
	ssize_t n = io_read(fd, p, most + 1);

	if (n < 0) {
		cmd_fail(0, "%s: %s", path, strerror((int)-n));
		return false;
	}
	if ((size_t)n > most) {
		cmd_fail(0, "%s: longer than %zu bytes, the most that is read", path, most);
		return false;
	}
	*ret_text = (Str){ p, (size_t)n };
	return true;
}

bool cmd_read_file(Arena *a, const char *path, size_t most, Str *ret_text)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return cmd_read_fd(a, STDIN_FILENO, "standard input", most, ret_text);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0) {
		cmd_fail(0, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		cmd_fail(0, "%s: is a directory", path);
		close(fd);
		return false;
	}
	bool ok = cmd_read_fd(a, fd, path, most, ret_text);

	close(fd);
	return ok;
}

int cmd_open_new(const char *option, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);

	if (fd < 0)
		cmd_fail(0, "%s %s: %s%s", option, path, strerror(errno),
			 errno == EEXIST ? "; it is never written over: give a new name" : "");
	return fd;
}

Str cmd_sha256(Arena *a, Str text)
{
	char hex[SHA256_TEXT];

	hash_format(sha256(str_bytes(text)), hex);
	return str_printf(a, "%s", hex);
}

int cmd_read_program(Arena *a, const CmdArgs *args, const char *text, Str *ret_name, Str *ret_text)
{
	if (text && args->n)
		return cmd_fail(SONDE_EXIT_USAGE, "either a file or -e TEXT, not both");
	if (!text && !args->n)
		return cmd_fail(SONDE_EXIT_USAGE, "no program: give a file, - for standard input, or -e 'text'");
	*ret_name = str_c(text ? "-e" : args->v[0]);
	if (!text)
		return cmd_read_file(a, args->v[0], LIMIT_SOURCE, ret_text) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
	*ret_text = str_c(text);
	if (ret_text->n > LIMIT_SOURCE)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "-e: longer than %u bytes, the most that a program may have",
				LIMIT_SOURCE);
	return SONDE_EXIT_OK;
}

static Str keep(Arena *a, Bytes b)
{
	return (Str){ arena_copy(a, b.p, b.n), b.n };
}

void cmd_take_diag(Arena *a, DiagList *l, const Msg *m)
{
	Str code = keep(a, m->diag.code);
	Diag d = { .code = code.p, .span = { m->diag.from, m->diag.to } };

	if (l->v.n >= LIMIT_DIAGS) {
		l->dropped++;
		return;
	}
	d.sev = code.n && code.p[0] == 'W' ? SEV_WARNING : SEV_ERROR;
	d.message = keep(a, m->diag.message);
	d.hint = keep(a, m->diag.hint);
	d.path = keep(a, m->diag.path);
	if (m->diag.fix)
		d.fix = (Fix){ .span = { m->diag.fix_from, m->diag.fix_to },
			       .text = keep(a, m->diag.fix_text),
			       .set = true,
			       .widening = m->diag.widening };
	l->errors += d.sev == SEV_ERROR;
	vec_push(a, &l->v, d);
}

void cmd_print_diags(Arena *a, const DiagList *l, Str name, Str source, int to)
{
	Sb out = sb(a);

	for (uint32_t i = 0; i < l->v.n; i++)
		diag_render(&l->v.p[i], name, source, &out);
	if (l->dropped)
		sb_printf(&out, "and %u more\n", l->dropped);
	if (out.n)
		cmd_write(to, sb_done(&out));
}

void cmd_json_span(Json *j, Str source, Span span)
{
	LineCol at = line_col(source, span.from);

	json_open(j, '{');
	json_kint(j, "from", span.from);
	json_kint(j, "to", span.to);
	json_kint(j, "line", at.line);
	json_kint(j, "col", at.col);
	json_close(j, '}');
}

static void json_diag(Json *j, const Diag *d, Str source)
{
	static const char *const severity[] = { "error", "warning", "note" };

	json_open(j, '{');
	json_kstr(j, "code", str_c(d->code));
	json_kstr(j, "severity", str_c(severity[d->sev]));
	json_kstr(j, "message", d->message);
	json_key(j, "span");
	cmd_json_span(j, source, d->span);
	if (d->hint.n)
		json_kstr(j, "hint", d->hint);
	if (d->path.n)
		json_kstr(j, "path", d->path);
	if (d->fix.set) {
		json_key(j, "fix");
		json_open(j, '{');
		json_key(j, "span");
		cmd_json_span(j, source, d->fix.span);
		json_kstr(j, "text", d->fix.text);
		json_kbool(j, "widening", d->fix.widening);
		json_close(j, '}');
	}
	json_close(j, '}');
}

void cmd_json_diags(Json *j, const DiagList *l, Str source)
{
	json_key(j, "diagnostics");
	json_open(j, '[');
	for (uint32_t i = 0; i < l->v.n; i++)
		json_diag(j, &l->v.p[i], source);
	json_close(j, ']');
}

int cmd_replace_file(Arena *a, const char *path, Str text, mode_t mode)
{
	Str temp = str_printf(a, "%s.sonde-new", path);

	unlink(temp.p); /* of a run that was killed */
	int fd = open(temp.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: %s", temp.p, strerror(errno));
	bool ok = cmd_write(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;

	ok = close(fd) == 0 && ok;
	if (ok && rename(temp.p, path) == 0)
		return SONDE_EXIT_OK;
	int e = errno;

	unlink(temp.p);
	return cmd_fail(SONDE_EXIT_ENVIRONMENT, "%s: %s", path, strerror(e));
}
