/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/opt.h"

#include "base/escape.h"

#include <stdio.h>

static bool opt_error(const Command *c, const char *what, const char *word, const char *hint)
{
	uint8_t memory[4096];
	Arena a;

	arena_init(&a, memory, sizeof memory, NULL);
	Sb text = sb(&a);

	escape_line(&text, (Str){ word, strnlen(word, 200) });
	fprintf(stderr, "sonde %s: %s: %.*s\n", c->name, what, STR_ARG(sb_done(&text)));
	if (hint)
		fprintf(stderr, "did you mean --%s?\n", hint);
	fprintf(stderr, "see: sonde %s --help\n", c->name);
	return false;
}

static const Opt *find_long(const Command *c, Str name)
{
	for (unsigned i = 0; i < c->nopts; i++)
		if (c->opts[i].name && str_is(name, c->opts[i].name))
			return &c->opts[i];
	return NULL;
}

/* The known option that is nearest to an unknown one; NULL: none is. */
static const char *nearest(const Command *c, Str name)
{
	Nearest n = nearest_to(name);

	for (unsigned i = 0; i < c->nopts; i++)
		if (c->opts[i].name)
			nearest_try(&n, str_c(c->opts[i].name));
	return n.best.p;
}

static bool store(const Command *c, const Opt *o, const char *value, void *options)
{
	char *at = (char *)options + o->off;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)(void *)at = true;
		return true;
	case OPT_STR:
		*(const char **)(void *)at = value;
		return true;
	case OPT_LIST: {
		OptList *l = (OptList *)(void *)at;

		if (l->n == OPT_LIST_MAX)
			return opt_error(c, "given too often", o->name ? o->name : value, NULL);
		l->v[l->n++] = value;
		return true;
	}
	case OPT_UINT: {
		OptUint *u = (OptUint *)(void *)at;

		if (!str_to_u64(str_c(value), UINT64_MAX, &u->v))
			return opt_error(c, "not a whole number", value, NULL);
		u->set = true;
		return true;
	}
	}
	return false;
}

/* "--name", "--name=value", "--name value" */
static bool parse_long(const Command *c, int argc, char **argv, int *i, void *options)
{
	const char *word = argv[*i] + 2, *eq = strchr(word, '=');
	Str name = { word, eq ? (size_t)(eq - word) : strlen(word) };
	const Opt *o = find_long(c, name);

	if (!o)
		return opt_error(c, "unknown option", argv[*i], nearest(c, name));
	if (o->kind == OPT_FLAG)
		return eq ? opt_error(c, "takes no value", argv[*i], NULL) : store(c, o, NULL, options);
	if (eq)
		return store(c, o, eq + 1, options);
	if (++*i >= argc)
		return opt_error(c, "needs a value", argv[*i - 1], NULL);
	return store(c, o, argv[*i], options);
}

/* "-e text", "-etext", "-qv" */
static bool parse_short(const Command *c, int argc, char **argv, int *i, void *options)
{
	const char *word = argv[*i];

	for (const char *p = word + 1; *p; p++) {
		const Opt *o = NULL;

		for (unsigned k = 0; k < c->nopts; k++)
			if (c->opts[k].letter == *p)
				o = &c->opts[k];
		if (!o)
			return opt_error(c, "unknown option", word, NULL);
		if (o->kind == OPT_FLAG) {
			store(c, o, NULL, options);
			continue;
		}
		if (p[1])
			return store(c, o, p + 1, options);
		if (++*i >= argc)
			return opt_error(c, "needs a value", word, NULL);
		return store(c, o, argv[*i], options);
	}
	return true;
}

bool opt_parse(const Command *c, int argc, char **argv, void *options)
{
	CmdArgs *args = options;
	bool plain = false;

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!plain && strcmp(w, "--") == 0) {
			plain = true;
		} else if (!plain && w[0] == '-' && w[1] == '-') {
			if (!parse_long(c, argc, argv, &i, options))
				return false;
		} else if (!plain && w[0] == '-' && w[1]) {
			if (!parse_short(c, argc, argv, &i, options))
				return false;
		} else if (args->n >= c->max_args || args->n == OPT_LIST_MAX) {
			return opt_error(c, "one argument too many", w, NULL);
		} else {
			args->v[args->n++] = w;
		}
	}
	if (args->n < c->min_args)
		return opt_error(c, "an argument is missing; usage: sonde", c->args, NULL);
	return true;
}

static void synopsis(const Command *c, Sb *out)
{
	sb_printf(out, "sonde %s%s%s%s", c->name, c->nopts ? " [options]" : "", c->args[0] ? " " : "", c->args);
}

static void opt_left(const Opt *o, Sb *out)
{
	if (o->letter)
		sb_printf(out, "-%c%s", o->letter, o->name ? ", " : "");
	if (o->name)
		sb_printf(out, "--%s", o->name);
	if (o->arg)
		sb_printf(out, " %s", o->arg);
}

void opt_help(const Command *c, Sb *out)
{
	sb_cstr(out, "usage: ");
	synopsis(c, out);
	sb_printf(out, "\n\n%s\n", c->summary);
	if (c->doc[0])
		sb_printf(out, "\n%s\n", c->doc);
	for (unsigned i = 0; i < c->nopts; i++) {
		size_t from;

		sb_cstr(out, i ? "  " : "\noptions:\n  ");
		from = out->n;
		opt_left(&c->opts[i], out);
		size_t used = out->n - from;

		sb_fill(out, ' ', used < 24 ? 26 - used : 2);
		sb_printf(out, "%s\n", c->opts[i].doc);
	}
}

/* Text for mdoc: a dot or quote at the start of a line and backslashes are its own signs. */
static void man_text(const char *z, Sb *out)
{
	bool start = true;

	for (; *z; z++) {
		if (start && (*z == '.' || *z == '\''))
			sb_cstr(out, "\\&");
		if (z[0] == '\n' && z[1] == '\n') {
			sb_cstr(out, "\n.Pp\n");
			z++;
			start = true;
			continue;
		}
		if (*z == '\\')
			sb_cstr(out, "\\e");
		else
			sb_char(out, *z);
		start = *z == '\n';
	}
	sb_char(out, '\n');
}

void opt_man(const Command *const *commands, Sb *out)
{
	for (; *commands; commands++) {
		const Command *c = *commands;

		sb_printf(out, ".Ss sonde %s %s\n", c->name, c->args);
		man_text(c->summary, out);
		if (c->doc[0]) {
			sb_cstr(out, ".Pp\n");
			man_text(c->doc, out);
		}
		if (!c->nopts)
			continue;
		sb_cstr(out, ".Bl -tag -width Ds\n");
		for (unsigned i = 0; i < c->nopts; i++) {
			const Opt *o = &c->opts[i];

			sb_cstr(out, ".It ");
			if (o->letter)
				sb_printf(out, "Fl %c%s", o->letter, o->name ? " , " : "");
			if (o->name)
				sb_printf(out, "Fl \\&-%s", o->name);
			if (o->arg)
				sb_printf(out, " Ar %s", o->arg);
			sb_char(out, '\n');
			man_text(o->doc, out);
		}
		sb_cstr(out, ".El\n");
	}
}

void opt_completion(const Command *const *commands, Sb *out)
{
	sb_cstr(out, "# bash completion of sonde: written by `sonde help --completion`\n"
		     "_sonde() {\n"
		     "  local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} words=\n"
		     "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
		     "    words='");
	for (const Command *const *c = commands; *c; c++)
		sb_printf(out, "%s%s", c == commands ? "" : " ", (*c)->name);
	sb_cstr(out, "'\n  else\n    case $cmd in\n");
	for (; *commands; commands++) {
		sb_printf(out, "    %s) words='", (*commands)->name);
		for (unsigned i = 0; i < (*commands)->nopts; i++)
			if ((*commands)->opts[i].name)
				sb_printf(out, "--%s ", (*commands)->opts[i].name);
		sb_cstr(out, "--help' ;;\n");
	}
	sb_cstr(out, "    esac\n  fi\n"
		     "  if [[ $cur == -* || $COMP_CWORD = 1 ]]; then\n"
		     "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		     "  else\n"
		     "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
		     "  fi\n"
		     "}\n"
		     "complete -o filenames -F _sonde sonde\n");
}
