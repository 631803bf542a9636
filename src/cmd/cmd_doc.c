/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde doc: the language on one page, and a page per built-in, layer, bound and
 * word, all from the tables that checker, VM and gate use themselves.
 */
#include "cmd/cmd.h"

#include "deal/manifest.h"
#include "lang/decl.h"
#include "lib/lib.h"
#include "probe/warnings.h"
#include "vm/builtins.h"
#include "wire/wire.h"

extern const char doc_reference[]; /* doc/reference.md, embedded at build */

typedef struct DocOptions {
	CmdArgs args;
} DocOptions;

#define FUNC(id, name, sig, label, effect, doc) { name, sig, OWNER_NONE, LABEL_##label, EFFECT_##effect, doc },
#define METHOD(owner, id, name, sig, label, effect, doc) \
	{ name, sig, OWNER_##owner, LABEL_##label, EFFECT_##effect, doc },
#define ATTR(owner, id, name, type, label, doc) { name, type, OWNER_##owner, LABEL_##label, EFFECT_NONE, doc },
static const BuiltinRow rows[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#undef ATTR

#define OWNER_ROW_(id, name) [OWNER_##id] = (name),
static const char *const owners[] = { BUILTIN_OWNERS(OWNER_ROW_) };

enum { ROWS = sizeof rows / sizeof rows[0] };

static bool is_call(const BuiltinRow *r)
{
	return r->sig[0] == '(';
}

static void row_text(const BuiltinRow *r, Sb *out)
{
	static const char *const labels[] = { "clean", "measured", "content", "as its probe's" };
	static const char *const effects[] = { "", "; sends", "; lets time pass", "; read from this host before the start" };

	if (r->owner != OWNER_NONE)
		sb_printf(out, "%s.", owners[r->owner]);
	sb_printf(out, is_call(r) ? "%s%s\n" : "%s: %s\n", r->name, r->sig);
	sb_printf(out, "    %s.\n    [%s%s]\n", r->doc, labels[r->label], effects[r->effect]);
}

/* "ping", "Packet.rtt", "str" (all of a type) */
static void doc_rows(Str topic, Sb *out)
{
	const char *dot = memchr(topic.p, '.', topic.n);
	Str owner = { topic.p, dot ? (size_t)(dot - topic.p) : 0 };
	Str name = dot ? (Str){ dot + 1, topic.n - owner.n - 1 } : topic;

	for (unsigned i = 0; i < ROWS; i++) {
		bool by_name = name.n && name.p[0] != '_' && str_is(name, rows[i].name) && (!dot || str_is(owner, owners[rows[i].owner]));
		bool by_owner = !dot && rows[i].owner != OWNER_NONE && str_is(topic, owners[rows[i].owner]);

		if (by_name || by_owner)
			row_text(&rows[i], out);
	}
}

/* ---- verbs and their results ---- */

static Str cut(const char *from, const char *to)
{
	return (Str){ from, (size_t)(to - from) };
}

/* Where a line of lib starts with `word` `name` `(`; NULL: nowhere. */
static const char *lib_line(const LibFile *f, const char *word, Str name, Arena *a)
{
	Str want = str_printf(a, "\n%s %.*s(", word, STR_ARG(name));
	const char *at = memmem(f->text.p, f->text.n, want.p, want.n);

	return at ? at + 1 : NULL;
}

/* A result type: its declaration, which names fields, types and labels, and the
 * comment below, which tells what they mean. */
static void doc_result(Str topic, Sb *out)
{
	for (unsigned i = 0; i < lib_count; i++) {
		const char *at = lib_line(&lib_files[i], "result", topic, out->a);
		const char *end = lib_files[i].text.p + lib_files[i].text.n;
		const char *stop = at ? memmem(at, (size_t)(end - at), ")\n", 2) : NULL;

		if (!stop)
			continue;
		sb_str(out, cut(at, stop + 2));
		for (const char *p = stop + 2, *nl; p < end && *p == '#'; p = nl + 1) {
			nl = memchr(p, '\n', (size_t)(end - p));
			sb_cstr(out, "   ");
			sb_str(out, cut(p + 1, nl + 1));
		}
	}
}

/* The type behind `->` of a def: of list[Hop], Hop. */
static Str returned(Str def)
{
	const char *arrow = memmem(def.p, def.n, ") -> ", 5), *end = def.p + def.n;
	const char *p = arrow ? arrow + 5 : end, *q;

	if (end - p > 5 && memcmp(p, "list[", 5) == 0)
		p += 5;
	for (q = p; q < end && *q != ':' && *q != ']' && *q != '?'; q++)
		;
	return cut(p, q);
}

/* A verb: the lines of its def in lib, with the docstring. */
static void doc_verb(Str topic, Sb *out)
{
	for (unsigned i = 0; i < lib_count && topic.n && topic.p[0] != '_'; i++) {
		Str text = lib_files[i].text;
		const char *at = lib_line(&lib_files[i], "def", topic, out->a), *end = text.p + text.n;

		if (!at)
			continue;
		const char *quote = memmem(at, (size_t)(end - at), "\"\"\"", 3);
		const char *stop = quote ? memmem(quote + 3, (size_t)(end - quote - 3), "\"\"\"", 3) : NULL;
		Str def = cut(at, stop ? stop + 3 : end);

		sb_str(out, def);
		sb_cstr(out, "\n\n");
		doc_result(returned(def), out);
	}
}

static void doc_layer(Str topic, Sb *out)
{
	const WireProto *p = wire_proto_by_name(topic);

	if (p)
		wire_doc(p->id, out);
}

/* Of each word of a policy a line that could stand in one, and what it says. */
static const struct {
	const char *line, *text;
} policy_words[DECL_N] = {
	[DECL_BUDGET] = { "budget(packets=20000, time=120, peer_rate=100)", "a program's own bounds, where they exceed the defaults; of a policy, the most that any may declare:" },
	[DECL_REACH] = { "reach(\"10.0.0.0/8\", tcp=[80, (8000, 8100)], udp=[53], icmp=True)",
			 "to whom what may be sent, and nothing else. A program needs it only for peers that are no constants or params, and "
			 "for the words that a peer alone does not give:" },
	[DECL_DENY] = { "deny(\"10.9.0.0/16\", tcp=[22])", "of what is in reach, what is not; with a peer alone, all of it" },
	[DECL_ZONE] = { "zone(\"acme.corp\")", "names that may be looked up and told to servers, all below it too; zone(all): any" },
	[DECL_RESOLVER] = { "resolver(\"10.0.0.53\")", "who is asked for names" },
	[DECL_SPOOF] = { "spoof(\"10.20.4.1\", rate=100, max=250)",
			 "sources that are not ours, which their owner knows of: frames a second, and in all; 10 and 100 if not said" },
	[DECL_REFLECT] = { "reflect(payload, src=\"10.0.0.5\", dst=\"10.0.0.6\", max=64)",
			   "what one peer said may be sent to another, in this field and so many bits" },
	[DECL_CAPTURE] = { "capture(\"tcp port 80\")", "traffic that is not the run's own; capture(all): all" },
	[DECL_LISTEN] = { "listen(8080, \"10.0.0.0/8\")", "a port of this host that programs may open, and for whom" },
	[DECL_APPROVE] = { "approve(spoof, capture, listen, leak=512, reach=\"10.9.0.0/16\", runs=1)",
			   "what a person has to approve first (`sonde approve`), and for how many runs that is good" },
	[DECL_APPROVE_BY_FORM] = { "approve_by_form()", "of agents: what the client says its user said is a person's word" },
	[DECL_MAY_FOLLOW] = { "may_follow(\"10.1.0.0/16\", \"10.2.0.0/16\")",
			      "of agents: a session that was shown content of the first may still send to the second. Without it, only "
			      "to the peer whose content it was; both the same: within that network" },
	[DECL_OUTPUT] = { "output(\"measurements\")",
			  "<content from PEER> is shown for what peers sent; times, losses and whether they answered stay. Nor may "
			  "--write and --record keep it" },
	[DECL_RELAY] = { "relay(\"10.0.0.80\")", "a peer that passes on what it gets: what came from it does not go back to it" },
	[DECL_ALLOW_SELF] = { "allow_self(\"127.0.0.0/8\")", "this host's own addresses, loopback, link-local ones" },
	[DECL_INSECURE_DEV] = { "insecure_dev()", "a kernel without part of the sandbox will do; for work on Sonde" },
};

static void doc_word(DeclWord w, Sb *out)
{
	sb_printf(out, "%s\n    %s\n", policy_words[w].line, policy_words[w].text);
	if (w == DECL_BUDGET) {
#define ROW_(id, name, dflt, ceiling, unit, text)                                                                    \
	sb_printf(out, "    %-14s %s (%s)%s\n", name, text, unit, (dflt) ? "; default " #dflt : "");
		BOUNDS(ROW_)
#undef ROW_
	} else if (w == DECL_REACH) {
#define ROW_(id, name, text) sb_printf(out, "    %-14s %s\n", name, text);
		REACH_WORDS(ROW_)
#undef ROW_
		sb_cstr(out, "    vlan=[10]      tagged frames\n    other=[89]     other IP protocols\n");
	}
}

static void doc_declared(Str topic, Sb *out)
{
	int w = decl_word(topic);

	if (w >= 0)
		doc_word((DeclWord)w, out);
}

static void doc_policy(Sb *out)
{
	doc_word(DECL_BUDGET, out);
	doc_word(DECL_REACH, out);
	for (int w = 0; w < DECL_N; w++)
		if (w != DECL_BUDGET && w != DECL_REACH)
			doc_word((DeclWord)w, out);
	sb_cstr(out, "Files: /etc/sonde/policy.sonde (root's), --policy FILE, SONDE_POLICY: all hold at once.\n");
}

/* ---- warnings ---- */

static void warning_row(const WarnRow *r, Sb *out)
{
	sb_printf(out, "- **%s**", r->code);
	if (r->known[0])
		sb_printf(out, " (%s)", r->known);
	sb_printf(out, ": %s. *Usually:* %s. *Next:* %s.\n", r->meaning, r->causes, r->next);
}

/* As Markdown: doc/warnings.md is this text. */
static void doc_warnings(Sb *out)
{
	sb_cstr(out, "# Warnings\n\n"
		     "What Sonde says unasked, behind a program's output: code, count, first evidence, meaning, usual\n"
		     "causes, what to test next. `sonde doc CODE` shows one. Names in brackets are those of the same thing\n"
		     "in Wireshark and Zeek. A packet's own warnings are in `p.warnings`.\n");
	for (unsigned l = 0; l < WARN_LAYER_N; l++) {
		sb_printf(out, "\n## %s: %s\n\n", warn_layer_name((WarnLayer)l), warn_layer_text((WarnLayer)l));
		for (unsigned i = 0; i < WARN_N; i++)
			if (warn_row((WarnId)i)->layer == (WarnLayer)l)
				warning_row(warn_row((WarnId)i), out);
	}
}

static void doc_warning(Str topic, Sb *out)
{
	WarnId id = warn_by_code(topic);

	if (id != WARN_N)
		warning_row(warn_row(id), out);
}

static void each_lib_name(Str t, const char *before, Sb *out)
{
	size_t n = strlen(before);

	for (const char *p = t.p; p && (p = memmem(p, t.n - (size_t)(p - t.p), before, n)); p++)
		if (p[n] != '_')
			sb_printf(out, " %.*s", (int)strcspn(p + n, "("), p + n);
}

static void doc_topics(Sb *out)
{
	sb_cstr(out, "topics: reference, policy, warnings, builtins, topics\ndeclarations:");
#define WORD_(id, name, ...) sb_cstr(out, " " name);
	DECL_WORDS(WORD_)
#undef WORD_
	sb_cstr(out, "\nverbs and functions:");
	for (unsigned i = 0; i < lib_count; i++)
		each_lib_name(lib_files[i].text, "\ndef ", out);
	for (unsigned i = 0; i < ROWS; i++)
		if (rows[i].owner == OWNER_NONE && rows[i].name[0] != '_')
			sb_printf(out, " %s", rows[i].name);
	sb_cstr(out, "\ntypes:");
	for (unsigned i = OWNER_NONE + 1; i < OWNER_INT_TYPE; i++)
		sb_printf(out, " %s", owners[i]);
	sb_cstr(out, "\nresults:");
	for (unsigned i = 0; i < lib_count; i++)
		each_lib_name(lib_files[i].text, "\nresult ", out);
	sb_cstr(out, "\nlayers:");
	for (unsigned i = 0; i < WIRE_N; i++)
		sb_printf(out, " %s", wire_proto((WireId)i)->name);
	sb_char(out, '\n');
}

/* All pages that the name has: DNSRR is a type and a layer. */
static bool doc_things(Str topic, Sb *out)
{
	size_t before = out->n;

	doc_verb(topic, out);
	doc_result(topic, out);
	doc_rows(topic, out);
	doc_layer(topic, out);
	doc_warning(topic, out);
	doc_declared(topic, out);
	return out->n > before;
}

static void builtins_page(Str name, Sb *out)
{
	sb_printf(out, "\n## %.*s\n\n```text\n", STR_ARG(name));
	doc_things(name, out);
	sb_cstr(out, "```\n");
}

/* A word between blanks or line ends before `until`: DNSRR is a type and a layer, and has one page. */
static bool had(const char *from, const char *until, Str word)
{
	for (const char *p = from; p + word.n < until; p++)
		if (p[-1] == ' ' && memcmp(p, word.p, word.n) == 0 && (p[word.n] == ' ' || p[word.n] == '\n'))
			return true;
	return false;
}

/* The words of doc_topics() behind `heading`, a page each. */
static void builtins_of(Str topics, const char *heading, Sb *out)
{
	const char *at = memmem(topics.p, topics.n, heading, strlen(heading));
	const char *end = at ? memchr(at + 1, '\n', topics.n - (size_t)(at + 1 - topics.p)) : NULL;

	if (!end)
		return;
	for (const char *p = at + strlen(heading), *stop; p < end; p = stop) {
		p += *p == ' ';
		for (stop = p; stop < end && *stop != ' '; stop++)
			;
		if (!had(topics.p + 1, p, cut(p, stop)))
			builtins_page(cut(p, stop), out);
	}
}

/* As Markdown: doc/builtins.md is this text. */
static void doc_builtins(Sb *out)
{
	Sb list = sb(out->a);

	doc_topics(&list);
	Str topics = sb_done(&list);

	sb_cstr(out, "# Built-ins, types, results, layers\n\n"
		     "What `sonde doc NAME` prints for each name, from the tables that checker, VM and gate use.\n"
		     "\n## policy\n\n```text\n");
	doc_policy(out);
	sb_printf(out, "```\n\n## topics\n\n```text\n%.*s```\n", STR_ARG(topics));
	builtins_of(topics, "\ndeclarations:", out);
	builtins_of(topics, "\nverbs and functions:", out);
	builtins_of(topics, "\ntypes:", out);
	builtins_of(topics, "\nresults:", out);
	builtins_of(topics, "\nlayers:", out);
}

static int run_doc(const Command *c, const void *options)
{
	const DocOptions *o = options;
	Arena a = cmd_arena(4 << 20);
	Sb out = sb(&a);
	Str topic = o->args.n ? str_c(o->args.v[0]) : STR("reference");

	(void)c;
	if (str_is(topic, "reference"))
		sb_cstr(&out, doc_reference);
	else if (str_is(topic, "policy"))
		doc_policy(&out);
	else if (str_is(topic, "warnings"))
		doc_warnings(&out);
	else if (str_is(topic, "topics"))
		doc_topics(&out);
	else if (str_is(topic, "builtins"))
		doc_builtins(&out);
	else if (!doc_things(topic, &out))
		return cmd_fail(SONDE_EXIT_USAGE, "%s: no such topic; see: sonde doc topics", o->args.v[0]);
	return cmd_write(1, sb_done(&out)) ? SONDE_EXIT_OK : SONDE_EXIT_ENVIRONMENT;
}

/* Plain text inside mdoc's literal display. */
static void man_literal(Str s, Sb *out)
{
	sb_cstr(out, ".Bd -literal\n");
	for (size_t i = 0; i < s.n; i++) {
		if ((i == 0 || s.p[i - 1] == '\n') && (s.p[i] == '.' || s.p[i] == '\''))
			sb_cstr(out, "\\&");
		if (s.p[i] == '\\')
			sb_cstr(out, "\\e");
		else
			sb_char(out, s.p[i]);
	}
	sb_cstr(out, "\n.Ed\n");
}

void cmd_doc_man(Sb *out)
{
	Sb text = sb(out->a);

	sb_cstr(out, ".Dd $Mdocdate$\n.Dt SONDE 7\n.Os\n.Sh NAME\n.Nm sonde\n.Nd the packet language\n.Sh DESCRIPTION\n");
	man_literal(str_c(doc_reference), out);
	sb_cstr(out, ".Sh POLICY\n");
	doc_policy(&text);
	man_literal(sb_done(&text), out);
	sb_cstr(out, ".Sh BUILT-INS\n");
	text = sb(out->a);
	for (unsigned i = 0; i < ROWS; i++)
		row_text(&rows[i], &text);
	man_literal(sb_done(&text), out);
	sb_cstr(out, ".Sh SEE ALSO\n.Xr sonde 1\n");
}

const Command cmd_doc = {
	.name = "doc",
	.args = "[TOPIC]",
	.summary = "the language on one page, or a page on one thing",
	.doc = "Topics are verbs (ping), functions (sr1), types and their parts (Packet, Packet.rtt), layers (TCP), `policy`, `warnings` and each warning's code, `builtins` for all pages, and `topics` for the list.",
	.max_args = 1,
	.size = sizeof(DocOptions),
	.run = run_doc,
};
