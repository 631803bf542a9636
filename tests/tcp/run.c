/* SPDX-License-Identifier: Apache-2.0
 *
 *     tcp_script [-v] [-k TEXT] FILE.tcp ...    runs all cases; exit 1 if one fails
 *
 * -k: only cases whose name holds TEXT.  Prints each failure with file and line.
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- words ---- */

const char *peek_word(const Words *ws)
{
	return ws->at < ws->n ? ws->w[ws->at] : NULL;
}

const char *word(World *w, Words *ws, const char *what)
{
	if (ws->at >= ws->n)
		fail(w, "missing: %s", what);
	return ws->w[ws->at++];
}

bool eat(Words *ws, const char *s)
{
	if (ws->at >= ws->n || strcmp(ws->w[ws->at], s) != 0)
		return false;
	ws->at++;
	return true;
}

int64_t number(World *w, const char *s)
{
	static const struct {
		const char *name;
		double by;
	} units[] = { { "", 1 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "K", 1024 }, { "M", 1048576 } };
	char *rest;
	double v = strtod(s, &rest);

	for (size_t i = 0; i < sizeof units / sizeof *units && rest != s; i++) {
		if (strcmp(rest, units[i].name) == 0)
			return (int64_t)(v * units[i].by + (v < 0 ? -0.5 : 0.5));
	}
	fail(w, "not a number: %s", s);
}

int64_t next_number(World *w, Words *ws, const char *what)
{
	return number(w, word(w, ws, what));
}

static void split(char *line, Words *ws)
{
	char *save = NULL;
	char *hash = strchr(line, '#');

	if (hash)
		*hash = 0;
	ws->n = ws->at = 0;
	for (char *t = strtok_r(line, " \t\n", &save); t && ws->n < MAX_WORDS; t = strtok_r(NULL, " \t\n", &save))
		ws->w[ws->n++] = t;
}

/* ---- cases ---- */

enum { MAX_PIECES = 32, MAX_LINES = 64 };

/* Lines that cases of a file share: "-- name", then "use name". */
typedef struct Piece {
	char name[32];
	char *lines[MAX_LINES];
	int n;
} Piece;

typedef struct Run {
	World w;
	Piece pieces[MAX_PIECES];
	int n_pieces;
	const char *only;
	bool verbose, skip;
	char name[128];
	bool failed;
	unsigned n, bad;
	uint64_t checks;
} Run;

static void report(Run *r)
{
	if (!r->failed)
		printf("%s:%d: %s: %s\n", r->w.file, r->w.line, r->name, r->w.why);
	r->failed = true;
}

/* Nothing may be left that no line looked at. */
static void finish(Run *r)
{
	if (!*r->name || r->skip)
		return;
	if (!r->failed && !setjmp(r->w.fail)) {
		Words none = { .w = { (char *)(uintptr_t)"quiet" }, .n = 1 };

		world_pull(&r->w);
		run_command(&r->w, &none);
	} else if (!r->failed) {
		report(r);
	}
	r->n++;
	r->bad += r->failed;
	r->checks += r->w.checks;
	if (r->verbose)
		printf("%s %s: %s\n", r->failed ? "FAIL" : "ok  ", r->w.file, r->name);
}

static void begin(Run *r, const char *name)
{
	finish(r);
	snprintf(r->name, sizeof r->name, "%.*s", (int)sizeof r->name - 1, name);
	r->name[strcspn(r->name, "\n")] = 0;
	r->skip = r->only && !strstr(r->name, r->only);
	r->failed = false;
	world_begin(&r->w);
}

/* "+10ms": after the line before; "1.5s": since the case began. */
static int64_t when(World *w, const char *s)
{
	return *s == '+' ? w->now_ns + number(w, s + 1) : WORLD_EPOCH + number(w, s);
}

static void step(Run *r, const char *line);

static void use(Run *r, const char *name)
{
	for (int i = 0; i < r->n_pieces; i++) {
		const Piece *p = &r->pieces[i];

		if (strcmp(p->name, name) != 0)
			continue;
		for (int k = 0; k < p->n && !r->failed; k++)
			step(r, p->lines[k]);
		return;
	}
	snprintf(r->w.why, sizeof r->w.why, "no piece of this name: %.64s", name);
	report(r);
}

static void step(Run *r, const char *line)
{
	World *w = &r->w;
	char copy[512];
	Words ws;

	snprintf(copy, sizeof copy, "%s", line);
	split(copy, &ws);
	if (!ws.n || r->skip || r->failed)
		return;
	if (!strcmp(ws.w[0], "use")) {
		use(r, ws.n > 1 ? ws.w[1] : "");
		return;
	}
	if (setjmp(w->fail)) {
		report(r);
		return;
	}
	int64_t at = when(w, word(w, &ws, "a time"));

	if (at < w->now_ns)
		fail(w, "time goes back");
	world_until(w, at);
	run_command(w, &ws);
}

static void forget_pieces(Run *r)
{
	for (int i = 0; i < r->n_pieces; i++) {
		for (int k = 0; k < r->pieces[i].n; k++)
			free(r->pieces[i].lines[k]);
	}
	r->n_pieces = 0;
}

static void begin_piece(Run *r, const char *name)
{
	finish(r);
	*r->name = 0;
	if (r->n_pieces == MAX_PIECES)
		return;
	Piece *p = &r->pieces[r->n_pieces++];

	p->n = 0;
	snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(name, " \n"), name);
}

static void add_line(Run *r, const char *line)
{
	Piece *p = r->n_pieces ? &r->pieces[r->n_pieces - 1] : NULL;

	if (p && p->n < MAX_LINES)
		p->lines[p->n++] = strdup(line);
}

static bool run_file(Run *r, const char *path)
{
	const char *slash = strrchr(path, '/');
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f) {
		perror(path);
		return false;
	}
	r->w.file = slash ? slash + 1 : path;
	*r->name = 0;
	for (int n = 1; fgets(line, sizeof line, f); n++) {
		if (!strncmp(line, "== ", 3))
			begin(r, line + 3);
		else if (!strncmp(line, "-- ", 3))
			begin_piece(r, line + 3);
		else if (*r->name) {
			r->w.line = n;
			step(r, line);
		} else {
			add_line(r, line);
		}
	}
	finish(r);
	*r->name = 0;
	forget_pieces(r);
	fclose(f);
	return true;
}

int main(int argc, char **argv)
{
	static Run r;
	bool ok = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			r.verbose = true;
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			r.only = argv[++i];
		else
			ok &= run_file(&r, argv[i]);
	}
	printf("%u cases, %u failed, %llu checks of invariants\n", r.n, r.bad, (unsigned long long)r.checks);
	free(r.w.memory);
	return ok && !r.bad && r.n ? 0 : 1;
}
