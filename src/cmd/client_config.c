/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/client_config.h"

enum { DEPTH = 64 };

typedef struct Scan {
	const char *p, *end;
} Scan;

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks and comments; false: a comment without end. */
static bool skip_blank(Scan *s)
{
	for (;;) {
		while (s->p < s->end && is_blank(*s->p))
			s->p++;
		if (s->end - s->p < 2 || s->p[0] != '/')
			return true;
		if (s->p[1] == '/') {
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		} else if (s->p[1] == '*') {
			const char *close = memmem(s->p + 2, (size_t)(s->end - s->p - 2), "*/", 2);

			if (!close)
				return false;
			s->p = close + 2;
		} else {
			return true;
		}
	}
}

static bool skip_string(Scan *s, Str *ret_inside)
{
	const char *from = ++s->p;

	for (; s->p < s->end && *s->p != '\n'; s->p++) {
		if (*s->p == '\\') {
			s->p++;
		} else if (*s->p == '"') {
			*ret_inside = (Str){ from, (size_t)(s->p++ - from) };
			return true;
		}
	}
	return false;
}

/* What one looks for in an object on the way past it. */
typedef struct Find {
	const char *key;
	Str value;	    /* with p NULL: not there */
	const char *inside; /* behind the object's opening brace */
	bool empty;
} Find;

static bool skip_value(Scan *s, int depth, Find *f);

/* A key and its colon. */
static bool skip_key(Scan *s, Str *ret_key)
{
	if (*s->p != '"' || !skip_string(s, ret_key) || !skip_blank(s) || s->p == s->end || *s->p != ':')
		return false;
	s->p++;
	return skip_blank(s);
}

/* An object or a list; `f`: of the object's own members. */
static bool skip_members(Scan *s, int depth, char close, Find *f)
{
	if (f)
		*f = (Find){ .key = f->key, .inside = s->p, .empty = true };
	for (;;) {
		Str key = { 0 };

		if (!skip_blank(s) || s->p == s->end)
			return false;
		if (*s->p == close) {
			s->p++;
			return true;
		}
		if (close == '}' && !skip_key(s, &key))
			return false;
		const char *from = s->p;

		if (!skip_value(s, depth - 1, NULL))
			return false;
		if (f)
			f->empty = false;
		if (f && str_is(key, f->key))
			f->value = (Str){ from, (size_t)(s->p - from) };
		if (!skip_blank(s) || s->p == s->end)
			return false;
		if (*s->p == ',')
			s->p++;
		else if (*s->p != close)
			return false;
	}
}

/* `f` is filled if the value is an object. */
static bool skip_value(Scan *s, int depth, Find *f)
{
	Str inside;

	if (depth == 0 || !skip_blank(s) || s->p == s->end)
		return false;
	if (*s->p == '"')
		return skip_string(s, &inside);
	if (*s->p == '{' || *s->p == '[') {
		char close = *s->p++ == '{' ? '}' : ']';

		return skip_members(s, depth, close, close == '}' ? f : NULL);
	}
	const char *from = s->p;

	while (s->p < s->end && !is_blank(*s->p) && !memchr(",]}:{[\"/", *s->p, 8))
		s->p++;
	return s->p > from;
}

/* The object that text is; false: it is none, or more than one value. */
static bool find_in(Str text, Find *f)
{
	Scan s = { text.p, text.p + text.n };

	return skip_value(&s, DEPTH, f) && f->inside && skip_blank(&s) && s.p == s.end;
}

static Str put(Arena *a, Str text, const char *at, Str what, bool comma)
{
	Sb out = sb(a);

	sb_str(&out, (Str){ text.p, (size_t)(at - text.p) });
	sb_str(&out, what);
	if (comma)
		sb_char(&out, ',');
	sb_str(&out, (Str){ at, text.n - (size_t)(at - text.p) });
	return sb_done(&out);
}

ConfigAdded config_add_json(Arena *a, Str text, const char *section, const char *name, Str entry, Str *ret_text)
{
	Find whole = { .key = section }, part = { .key = name };
	Scan blank = { text.p, text.p + text.n };

	if (skip_blank(&blank) && blank.p == blank.end) {
		*ret_text = str_printf(a, "{\n  \"%s\": {\n    \"%s\": %.*s\n  }\n}\n", section, name, STR_ARG(entry));
		return CONFIG_ADDED;
	}
	if (!find_in(text, &whole))
		return CONFIG_INVALID;
	if (!whole.value.p) {
		Str what = str_printf(a, "\n  \"%s\": {\n    \"%s\": %.*s\n  }%s", section, name, STR_ARG(entry), whole.empty ? "\n" : "");

		*ret_text = put(a, text, whole.inside, what, !whole.empty);
		return CONFIG_ADDED;
	}
	if (!find_in(whole.value, &part))
		return CONFIG_INVALID;
	if (part.value.p)
		return str_eq(part.value, entry) ? CONFIG_SAME : CONFIG_OTHER;
	Str what = str_printf(a, "\n    \"%s\": %.*s%s", name, STR_ARG(entry), part.empty ? "\n  " : "");

	*ret_text = put(a, text, part.inside, what, !part.empty);
	return CONFIG_ADDED;
}

/* A line of TOML without its blanks, up to the end of its first word or header. */
static bool names_table(Str line, const char *section, const char *name)
{
	char had[256];
	size_t n = 0;

	for (size_t i = 0; i < line.n && n < sizeof had - 1 && line.p[i] != '#'; i++)
		if (!is_blank(line.p[i]) && line.p[i] != '"' && line.p[i] != '\'')
			had[n++] = line.p[i];
	had[n] = 0;
	const char *p = had + (had[0] == '[');
	size_t s = strlen(section), m = strlen(name);

	if (strncmp(p, section, s) != 0)
		return false;
	if (had[0] != '[' && p[s] == '=')
		return true; /* a table in one line: nothing can be put behind it */
	return p[s] == '.' && strncmp(p + s + 1, name, m) == 0 && strchr("].=", p[s + 1 + m]);
}

ConfigAdded config_add_toml(Arena *a, Str text, const char *section, const char *name, Str entry, Str *ret_text)
{
	Str table = str_printf(a, "[%s.%s]\n%.*s", section, name, STR_ARG(entry));
	bool whole_line = !text.n || text.p[text.n - 1] == '\n';

	if (text.n && memchr(text.p, 0, text.n))
		return CONFIG_INVALID;
	if (text.n >= table.n && memmem(text.p, text.n, table.p, table.n))
		return CONFIG_SAME;
	for (size_t at = 0; at < text.n;) {
		const char *nl = memchr(text.p + at, '\n', text.n - at);
		size_t end = nl ? (size_t)(nl - text.p) : text.n;

		if (names_table((Str){ text.p + at, end - at }, section, name))
			return CONFIG_OTHER;
		at = end + 1;
	}
	*ret_text = str_printf(a, "%.*s%s%s%.*s", STR_ARG(text), whole_line ? "" : "\n", text.n ? "\n" : "", STR_ARG(table));
	return CONFIG_ADDED;
}
