/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include "base/escape.h"
#include "base/exits.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "deal/manifest_codec.h"
#include "gate/compartments.h"
#include "lang/check_text.h"

#include <stdio.h>
#include <unistd.h>

enum { RESULT_MOST = 4 * 1024 * 1024 }; /* bytes of one result object's JSON */

void report_init(Report *r, Arena *a, const ReportOptions *opt)
{
	*r = (Report){ .a = a, .opt = *opt, .diags = { .a = a } };
}

static Str keep(Report *r, Bytes b)
{
	return (Str){ arena_copy(r->a, b.p, b.n), b.n };
}

static void clear_progress(Report *r)
{
	if (r->progress)
		cmd_write(STDERR_FILENO, STR("\r\x1b[K"));
	r->progress = false;
}

/* One piece of program output to the terminal, now. */
static void show_text(Report *r, Str text)
{
	size_t mark = arena_mark(r->a);
	Sb out = sb(r->a);

	clear_progress(r);
	for (size_t i = 0; i < text.n;) {
		const char *nl = memchr(text.p + i, '\n', text.n - i);
		size_t end = nl ? (size_t)(nl - text.p) : text.n;

		if (!r->in_line && !r->opt.quiet)
			sb_cstr(&out, "| ");
		escape_source(&out, (Str){ text.p + i, end - i });
		r->in_line = !nl;
		if (nl)
			sb_char(&out, '\n');
		i = nl ? end + 1 : end;
	}
	cmd_write(STDOUT_FILENO, sb_done(&out));
	arena_reset(r->a, mark);
}

/* Neighbours of one kind are one piece of the JSON output. */
static void end_piece(Report *r)
{
	if (r->piece.n) {
		r->piece_is.a = sb_done(&r->piece);
		vec_push(r->a, &r->output, r->piece_is);
	}
	r->piece = sb(r->a);
}

/* What the engine says of a piece; what is no label, or no origins, tells everything. */
static ReportItem told(Report *r, uint8_t label, Bytes origin)
{
	ReportItem it = { .label = label < TOLD_N ? label : TOLD_CONTENT };
	Cursor c = cursor(origin);
	Whence w;
	bool bad;

	while (whence_next(&c, &w, &bad))
		;
	if (bad || label >= TOLD_N || (label == TOLD_CONTENT && !origin.n)) {
		uint8_t any = WHENCE_ANY;

		it = (ReportItem){ .label = TOLD_CONTENT, .origin = str_bytes(keep(r, BYTES(&any, 1))) };
	} else if (r->piece.n && bytes_eq(origin, r->piece_is.origin)) {
		it.origin = r->piece_is.origin;
	} else {
		it.origin = str_bytes(keep(r, origin));
	}
	return it;
}

/* guardrails.md 2: kept before it is shown.  The same as before is kept already. */
static bool keep_shown(Report *r, Bytes origin)
{
	uint8_t buf[WHENCE_BYTES + 16];
	Writer w = writer(buf, sizeof buf);

	if (r->opt.session_fd <= 0)
		return true;
	for (uint32_t i = 0; i < r->shown.n; i++)
		if (bytes_eq(r->shown.p[i], origin))
			return true;
	if (r->unkept || !session_shown(&w, origin) || pwrite(r->opt.session_fd, w.p, w.n, 0) != (ssize_t)w.n) {
		r->unkept = true;
		report_error(r, SONDE_EXIT_ENVIRONMENT, "E-ENVIRONMENT",
			     STR("whose content this session is shown can't be kept: it is not shown"));
		return false;
	}
	vec_push(r->a, &r->shown, str_bytes(keep(r, origin)));
	return true;
}

static bool may_show(Report *r, const ReportItem *is)
{
	return is->label != TOLD_CONTENT || keep_shown(r, is->origin);
}

static bool same_kind(const ReportItem *x, const ReportItem *y)
{
	return x->n == y->n && x->label == y->label && bytes_eq(x->origin, y->origin);
}

static void take_text(Report *r, const Msg *m)
{
	ReportItem is = told(r, m->text.label, m->text.origin);
	Bytes text = m->text.text;
	size_t room = r->opt.max_output > r->written ? r->opt.max_output - r->written : 0;

	if (text.n > room) {
		r->cut += text.n - room;
		text = bytes_slice(text, 0, room);
	}
	is.n = m->text.peer != 0;
	if (!may_show(r, &is) || !text.n)
		return;
	r->written += text.n;
	if (!r->opt.json) {
		show_text(r, bytes_str(text));
		return;
	}
	if (r->piece.n && !same_kind(&r->piece_is, &is))
		end_piece(r);
	r->piece.a = r->a;
	r->piece_is = is;
	sb_str(&r->piece, bytes_str(text));
}

/* The engine keeps back what is above the limit, and tells how much: {"cut":N} of group
 * "output" is no line of its own. */
static bool take_cut(Report *r, const Msg *m)
{
	Str json = bytes_str(m->stat.json), head = STR("{\"cut\":");
	uint64_t n;

	if (!str_is(bytes_str(m->stat.group), "output") || !str_starts(json, head) || json.n < head.n + 2 ||
	    !str_to_u64((Str){ json.p + head.n, json.n - head.n - 1 }, SIZE_MAX / 2, &n))
		return false;
	r->cut += (size_t)n;
	return true;
}

/* JSON of the engine is foreign too: it goes into ours only if it is one object. */
static Str json_object(Report *r, Bytes b)
{
	int depth = 0;
	bool in_text = false;

	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = b.p[i];

		if (c < 0x20)
			return STR("{}");
		if (in_text && c == '\\')
			i++;
		else if (c == '"')
			in_text = !in_text;
		else if (!in_text && (c == '{' || c == '['))
			depth++;
		else if (!in_text && (c == '}' || c == ']') && --depth == 0 && i + 1 < b.n)
			return STR("{}");
	}
	return b.n >= 2 && b.p[0] == '{' && depth == 0 && !in_text ? keep(r, b) : STR("{}");
}

/* A result too long to be kept whole is left out, and counted. */
static void take_result(Report *r, const Msg *m)
{
	r->result.a = r->a;
	r->too_long |= r->result.n + m->result.json.n > RESULT_MOST;
	if (!r->too_long)
		sb_str(&r->result, bytes_str(m->result.json));
	if (m->result.more)
		return;
	r->left_out += r->too_long;
	if (!r->too_long) {
		ReportItem is = told(r, m->result.label, m->result.origin);

		if (!may_show(r, &is)) {
			r->left_out++;
			goto out;
		}
		is.a = keep(r, m->result.type);
		is.b = json_object(r, str_bytes(sb_done(&r->result)));
		is.n = m->result.line;
		vec_push(r->a, &r->results, is);
	}
out:
	r->too_long = false;
	r->result = sb(r->a);
}

/* Evidence is content of the peer whom it is about. */
static bool show_evidence(Report *r, const Msg *m)
{
	uint8_t buf[64];
	Writer w = writer(buf, sizeof buf);

	if (!m->warn.peer.v || str_starts(bytes_str(m->warn.evidence), STR(WHENCE_INSTEAD)))
		return true;
	return whence_put(&w, &(Whence){ .kind = WHENCE_ADDRS, .lo = m->warn.peer, .hi = m->warn.peer }) &&
	       keep_shown(r, wr_done(&w));
}

/* Only codes of ours are told; what they mean is our own text, not the engine's. */
static void take_warning(Report *r, const Msg *m)
{
	WarnId id = warn_by_code(bytes_str(m->warn.code));
	ReportWarning *w = r->warnings.n ? &r->warnings.p[r->warnings.n - 1] : NULL;
	ReportItem peer = { .b = keep(r, m->warn.evidence), .n = m->warn.of_peer };
	char text[IP_TEXT];

	if (id == WARN_N)
		return;
	if (!show_evidence(r, m))
		return;
	if (!w || w->row != warn_row(id))
		w = vec_push(r->a, &r->warnings, (ReportWarning){ .row = warn_row(id), .count = m->warn.count });
	if (m->warn.peer.v)
		peer.a = keep(r, BYTES(text, ip_format(m->warn.peer, text)));
	vec_push(r->a, &w->peer, peer);
}

void report_error(Report *r, int exit, const char *code, Str message)
{
	if (!r->error.n)
		r->error = (ReportItem){ .a = str_c(code), .b = message, .n = 1 };
	if (!r->exit)
		r->exit = exit;
}

static void take_error(Report *r, const Msg *m)
{
	r->error_is = told(r, m->fail.label, m->fail.origin);
	may_show(r, &r->error_is);
}

static void take_manifest(Report *r, const Msg *m)
{
	Manifest manifest;
	Sb out = sb(r->a);
	Json j = json(&out);

	if (manifest_decode(m->checked.manifest, r->a, &manifest))
		return;
	check_json(&manifest, r->opt.source, &j);
	r->manifest_json = sb_done(&out);
}

static void take_gate_end(Report *r, const Msg *m)
{
	static const struct {
		int exit;
		const char *code;
	} codes[] = { { SONDE_EXIT_POLICY, "E-POLICY" },
		      { SONDE_EXIT_BUDGET, "E-BUDGET" },
		      { SONDE_EXIT_INTERRUPTED, "E-INTERRUPTED" } };
	const char *code = "E-ENVIRONMENT";

	if (!m->gate_end.exit)
		return;
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (codes[i].exit == m->gate_end.exit)
			code = codes[i].code;
	Str why = keep(r, m->gate_end.message);

	report_error(r, m->gate_end.exit, code,
		     m->gate_end.exit == SONDE_EXIT_BUDGET ? str_printf(r->a, "the budget is spent: %.*s", STR_ARG(why)) : why);
}

void report_note(Report *r, Str text)
{
	vec_push(r->a, &r->notes, text);
}

static void take_stat(Report *r, const Msg *m)
{
	if (!take_cut(r, m))
		vec_push(r->a, &r->stats, (ReportItem){ .a = keep(r, m->stat.group), .b = json_object(r, m->stat.json) });
}

void report_event(Report *r, const Msg *m)
{
	switch (m->type) {
	case MSG_CHECKED:
		take_manifest(r, m);
		break;
	case MSG_NOTE:
		report_note(r, keep(r, m->note.text));
		break;
	case MSG_APPROVAL:
		r->approval_hash = keep(r, m->approval.hash);
		r->approval_text = keep(r, m->approval.text);
		r->approval_form = m->approval.form;
		break;
	case MSG_GATE_STAT:
		r->gate_stat = *m;
		break;
	case MSG_GATE_END:
		take_gate_end(r, m);
		break;
	case MSG_TEXT:
		take_text(r, m);
		break;
	case MSG_DIAG:
		cmd_take_diag(r->a, &r->diags, m);
		break;
	case MSG_RESULT:
		take_result(r, m);
		break;
	case MSG_WARN:
		take_warning(r, m);
		break;
	case MSG_STAT:
		take_stat(r, m);
		break;
	case MSG_FAIL:
		r->error_span = (Span){ m->fail.from, m->fail.to };
		if (!r->error.n)
			take_error(r, m);
		report_error(r, m->fail.exit, (const char *)keep(r, m->fail.code).p, keep(r, m->fail.message));
		break;
	case MSG_DONE:
		r->done = true;
		if (!r->exit)
			r->exit = m->done.exit;
		break;
	default:
		break;
	}
}

void report_progress(Report *r, int64_t elapsed_ns)
{
	static const char wheel[] = "|/-\\";
	char text[64];

	if (!r->opt.terminal || r->opt.json || r->in_line || elapsed_ns < 2 * NS_PER_S)
		return;
	int n = snprintf(text, sizeof text, "\r\x1b[K%c %.0f s ", wheel[elapsed_ns / (NS_PER_S / 4) % 4],
			 (double)elapsed_ns / 1e9);

	cmd_write(STDERR_FILENO, (Str){ text, (size_t)n });
	r->progress = true;
}

/* ---- text ---- */

/* {"a":1,"b":"x"} as `a 1  b x`: our statistics are flat. */
static void flat_json(Sb *out, Str j)
{
	bool in_text = false;

	for (size_t i = 1; i + 1 < j.n; i++) {
		char c = j.p[i];

		if (c == '"')
			in_text = !in_text;
		else if (c == '\\' && i + 2 < j.n)
			sb_char(out, j.p[++i]);
		else if (!in_text && c == ':')
			sb_char(out, ' ');
		else if (!in_text && c == ',')
			sb_cstr(out, "  ");
		else
			sb_char(out, c);
	}
}

static void text_warnings(Report *r, Sb *out)
{
	if (r->warnings.n)
		sb_cstr(out, "warnings:\n");
	for (uint32_t i = 0; i < r->warnings.n; i++) {
		const ReportWarning *w = &r->warnings.p[i];
		uint32_t others = w->count;

		sb_printf(out, "  %s x%u: ", w->row->code, w->count);
		for (uint32_t k = 0; k < w->peer.n; k++) {
			const ReportItem *p = &w->peer.p[k];

			if (k) /* the first evidence is the warning's own; here who else, and how often */
				sb_printf(out, "\n    also %.*s x%u: ", STR_ARG(p->a.n ? p->a : STR("others")), p->n);
			escape_line(out, p->b);
			others = p->n < others ? others - p->n : 0;
		}
		if (others)
			sb_printf(out, "\n    also x%u of further peers", others);
		sb_printf(out, "\n    means: %s\n    usually: %s\n    next: %s\n", w->row->meaning, w->row->causes,
			  w->row->next);
	}
}

static void text_gate(Report *r, Sb *out)
{
	if (r->gate_stat.type != MSG_GATE_STAT)
		return;
	__typeof__(&r->gate_stat.gate_stat) g = &r->gate_stat.gate_stat;

	sb_printf(out, "  gate: sent %llu packets, %llu bytes, %llu SYN; refused %llu; held %llu; ARP/ND %llu\n",
		  (unsigned long long)g->packets, (unsigned long long)g->bytes, (unsigned long long)g->syn,
		  (unsigned long long)g->refused, (unsigned long long)g->held, (unsigned long long)g->neighbour_probes);
	sb_printf(out, "  stamps: sent by %s, received by %s; capture dropped %llu, backlog dropped %llu\n",
		  stamp_text((StampSource)g->tx_source), stamp_text((StampSource)g->rx_source),
		  (unsigned long long)g->capture_drops, (unsigned long long)g->backlog_drops);
}

static void text_stats(Report *r, Sb *out)
{
	if (!r->stats.n && !r->notes.n && r->gate_stat.type != MSG_GATE_STAT)
		return;
	sb_cstr(out, "stats:\n");
	for (uint32_t i = 0; i < r->stats.n; i++) {
		Sb flat = sb(r->a);

		sb_cstr(out, "  ");
		escape_line(out, r->stats.p[i].a);
		sb_cstr(out, ": ");
		flat_json(&flat, r->stats.p[i].b);
		escape_line(out, sb_done(&flat));
		sb_char(out, '\n');
	}
	text_gate(r, out);
	for (uint32_t i = 0; i < r->notes.n; i++) {
		sb_cstr(out, "  ");
		escape_line(out, r->notes.p[i]);
		sb_char(out, '\n');
	}
	sb_printf(out, "  seed %llu\n", (unsigned long long)r->opt.seed);
}

/* What would have to be approved, as whoever approves will see it. */
static void text_approval(Report *r, Sb *out)
{
	if (!r->approval_hash.n)
		return;
	sb_cstr(out, "needs approval:\n");
	for (size_t i = 0; i < r->approval_text.n;) {
		const char *nl = memchr(r->approval_text.p + i, '\n', r->approval_text.n - i);
		size_t end = nl ? (size_t)(nl - r->approval_text.p) : r->approval_text.n;

		sb_cstr(out, "  ");
		escape_line(out, (Str){ r->approval_text.p + i, end - i });
		sb_char(out, '\n');
		i = end + 1;
	}
}

static void text_error(Report *r, Sb *out)
{
	if (!r->error.n)
		return;
	if (r->error_span.to > 0 && r->error_span.to <= r->opt.source.n) {
		Diag d = { .code = r->error.a.p, .span = r->error_span, .message = r->error.b };

		diag_render(&d, r->opt.name, r->opt.source, out);
		return;
	}
	sb_cstr(out, "sonde: ");
	escape_line(out, r->error.a);
	sb_cstr(out, ": ");
	escape_line(out, r->error.b);
	sb_char(out, '\n');
}

static void end_text(Report *r)
{
	Sb out = sb(r->a);

	clear_progress(r);
	if (r->in_line)
		sb_char(&out, '\n');
	if (r->cut)
		sb_printf(&out, "(%zu bytes of output more: raise --max-output)\n", r->cut);
	if (!r->opt.quiet) {
		text_warnings(r, &out);
		text_stats(r, &out);
	}
	cmd_write(STDOUT_FILENO, sb_done(&out));
	out = sb(r->a);
	for (uint32_t i = 0; i < r->diags.v.n; i++)
		diag_render(&r->diags.v.p[i], r->opt.name, r->opt.source, &out);
	text_approval(r, &out);
	text_error(r, &out);
	cmd_write(STDERR_FILENO, sb_done(&out));
}

/* ---- JSON ---- */

static void json_raw(Json *j, Str s)
{
	if (j->comma)
		sb_char(j->out, ',');
	sb_str(j->out, s);
	j->comma = true;
}

static void json_gate(Report *r, Json *j)
{
	json_key(j, "gate");
	if (r->gate_stat.type != MSG_GATE_STAT) {
		json_nil(j);
		return;
	}
	__typeof__(&r->gate_stat.gate_stat) g = &r->gate_stat.gate_stat;
	const struct {
		const char *key;
		uint64_t v;
	} rows[] = {
		{ "packets", g->packets },   { "bytes", g->bytes },
		{ "syn", g->syn },	     { "refused", g->refused },
		{ "held", g->held },	     { "capture_drops", g->capture_drops },
		{ "backlog_drops", g->backlog_drops }, { "neighbour_probes", g->neighbour_probes },
	};

	json_open(j, '{');
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		json_key(j, rows[i].key);
		json_uint(j, rows[i].v);
	}
	json_kstr(j, "tx_stamps", str_c(stamp_text((StampSource)g->tx_source)));
	json_kstr(j, "rx_stamps", str_c(stamp_text((StampSource)g->rx_source)));
	json_close(j, '}');
}

/* "label":"content","origin":["10.0.0.1"]: each once. */
static void json_told(Report *r, Json *j, const ReportItem *it)
{
	Cursor c = cursor(it->origin);
	Str last = { 0 };
	Whence w;
	bool bad;

	json_kstr(j, "label", str_c(told_name((Told)it->label)));
	json_key(j, "origin");
	json_open(j, '[');
	while (whence_next(&c, &w, &bad)) {
		Sb text = sb(r->a);

		whence_text(&w, &text);
		Str s = sb_done(&text);

		if (!str_eq(s, last)) /* a name's addresses follow one another */
			json_str(j, s);
		last = s;
	}
	json_close(j, ']');
}

static void json_output(Report *r, Json *j)
{
	json_key(j, "output");
	json_open(j, '[');
	for (uint32_t i = 0; i < r->output.n; i++) {
		json_open(j, '{');
		json_kstr(j, "text", r->output.p[i].a);
		json_told(r, j, &r->output.p[i]);
		json_kbool(j, "peer", r->output.p[i].n != 0);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (r->cut)
		json_kint(j, "output_cut", (int64_t)r->cut);
	if (r->left_out)
		json_kint(j, "results_left_out", r->left_out);
	json_key(j, "results");
	json_open(j, '[');
	for (uint32_t i = 0; i < r->results.n; i++) {
		json_open(j, '{');
		json_kstr(j, "type", r->results.p[i].a);
		json_kint(j, "line", r->results.p[i].n);
		json_told(r, j, &r->results.p[i]);
		json_key(j, "fields");
		json_raw(j, r->results.p[i].b);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_peers(Json *j, const ReportWarning *w)
{
	json_key(j, "peers");
	json_open(j, '[');
	for (uint32_t i = 0; i < w->peer.n; i++) {
		const ReportItem *p = &w->peer.p[i];

		if (!p->a.n)
			continue;
		json_open(j, '{');
		json_kstr(j, "peer", p->a);
		json_kint(j, "count", p->n);
		json_kstr(j, "evidence", p->b);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_warnings(Report *r, Json *j)
{
	json_key(j, "warnings");
	json_open(j, '[');
	for (uint32_t i = 0; i < r->warnings.n; i++) {
		const ReportWarning *w = &r->warnings.p[i];

		json_open(j, '{');
		json_kstr(j, "code", str_c(w->row->code));
		json_kstr(j, "layer", str_c(warn_layer_name(w->row->layer)));
		json_kint(j, "count", w->count);
		json_kstr(j, "evidence", w->peer.p[0].b);
		json_peers(j, w);
		json_kstr(j, "meaning", str_c(w->row->meaning));
		json_kstr(j, "causes", str_c(w->row->causes));
		json_kstr(j, "next", str_c(w->row->next));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_stats(Report *r, Json *j)
{
	json_key(j, "stats");
	json_open(j, '{');
	json_key(j, "seed");
	json_uint(j, r->opt.seed);
	json_key(j, "groups");
	json_open(j, '[');
	for (uint32_t i = 0; i < r->stats.n; i++) {
		json_open(j, '{');
		json_kstr(j, "group", r->stats.p[i].a);
		json_key(j, "values");
		json_raw(j, r->stats.p[i].b);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_gate(r, j);
	json_close(j, '}');
}

static void json_error(Report *r, Json *j)
{
	if (!r->error.n)
		return;
	json_key(j, "error");
	json_open(j, '{');
	json_kstr(j, "code", r->error.a);
	json_kstr(j, "message", r->error.b);
	json_told(r, j, &r->error_is);
	json_key(j, "span");
	if (r->error_span.to)
		cmd_json_span(j, r->opt.source, r->error_span);
	else
		json_nil(j);
	json_close(j, '}');
}

static void end_json(Report *r)
{
	Sb out = sb(r->a);
	Json j = json(&out);

	end_piece(r);
	json_open(&j, '{');
	json_output(r, &j);
	json_warnings(r, &j);
	json_stats(r, &j);
	json_key(&j, "manifest");
	if (r->manifest_json.n)
		json_raw(&j, r->manifest_json);
	else
		json_nil(&j);
	json_key(&j, "notes");
	json_open(&j, '[');
	for (uint32_t i = 0; i < r->notes.n; i++)
		json_str(&j, r->notes.p[i]);
	json_close(&j, ']');
	if (r->approval_hash.n) {
		json_key(&j, "approval");
		json_open(&j, '{');
		json_kstr(&j, "hash", r->approval_hash);
		json_kbool(&j, "form", r->approval_form);
		json_key(&j, "rendering");
		cmd_json_lines(&j, r->approval_text);
		json_close(&j, '}');
	}
	cmd_json_diags(&j, &r->diags, r->opt.source);
	json_error(r, &j);
	json_kint(&j, "exit", r->exit);
	json_close(&j, '}');
	sb_char(&out, '\n');
	cmd_write(STDOUT_FILENO, sb_done(&out));
}

int report_end(Report *r)
{
	if (r->diags.errors && !r->exit)
		r->exit = SONDE_EXIT_CHECK;
	if (r->opt.json)
		end_json(r);
	else
		end_text(r);
	return r->exit;
}
