/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes, methods and keywords that do not exist: what they are called here,
 * habits from Python and Scapy, and the nearest that do.
 */
#include "lang/facts_inside.h"

#include "lang/habit.h"

#include <stdio.h>

/* ---- habits ---- */

/* What is read (call: called) under that name of a value of that kind, as a
 * pattern of habit.h.  A row counts only if the members of $0 in its pattern exist. */
static const struct {
	uint8_t kind;
	bool call;
	const char *name, *pattern;
} rows[] = {
	{ T_RESULT, false, "rtt", "$0.avg" },
	{ T_RESULT, false, "rtt", "$0.median" },
	{ T_RESULT, false, "avg_rtt", "$0.avg" },
	{ T_RESULT, false, "rtt_avg", "$0.avg" },
	{ T_RESULT, false, "average", "$0.avg" },
	{ T_RESULT, false, "mean", "$0.avg" },
	{ T_RESULT, false, "max_rtt", "$0.max" },
	{ T_RESULT, false, "rtt_max", "$0.max" },
	{ T_RESULT, false, "min_rtt", "$0.min" },
	{ T_RESULT, false, "rtt_min", "$0.min" },
	{ T_RESULT, false, "avg", "$0.median" },
	{ T_RESULT, false, "stdev", "summarize($0.rtts).stdev" },
	{ T_RESULT, false, "stddev", "summarize($0.rtts).stdev" },
	{ T_RESULT, false, "std", "summarize($0.rtts).stdev" },
	{ T_RESULT, false, "p95", "summarize($0.rtts).p95" },
	{ T_RESULT, false, "packet_loss", "$0.loss" },
	{ T_RESULT, false, "loss_rate", "$0.loss" },
	{ T_RESULT, false, "packets_sent", "$0.sent" },
	{ T_RESULT, false, "packets_received", "$0.received" },
	{ T_RESULT, false, "transmitted", "$0.sent" },
	{ T_RESULT, false, "loss_percent", "($0.loss * 100)" },
	{ T_RESULT, false, "loss_pct", "($0.loss * 100)" },
	{ T_RESULT, false, "lost", "($0.sent - $0.received)" },
	{ T_RESULT, false, "success", "($0.received > 0)" },
	{ T_RESULT, false, "alive", "($0.received > 0)" },
	{ T_RESULT, false, "is_alive", "($0.received > 0)" },
	{ T_RESULT, true, "is_alive", "($0.received > 0)" },
	{ T_RESULT, false, "reachable", "($0.received > 0)" },
	{ T_RESULT, false, "ip", "$0.addr" },
	{ T_RESULT, false, "address", "$0.addr" },
	{ T_RESULT, false, "host", "$0.addr" },
	{ T_RESULT, false, "src", "$0.addr" },
	{ T_RESULT, false, "hop", "$0.ttl" },
	{ T_RESULT, false, "hop_number", "$0.ttl" },
	{ T_RESULT, false, "distance", "$0.ttl" },
	{ T_RESULT, false, "path_mtu", "$0.mtu" },
	{ T_RESULT, false, "pmtu", "$0.mtu" },
	{ T_RESULT, false, "records", "$0.answers" },
	{ T_RESULT, false, "answer", "$0.answers" },
	{ T_RESULT, false, "time", "$0.rtt" },
	{ T_RESULT, true, "summary", "str($0)" },
	{ T_STATS, false, "mean", "$0.avg" },
	{ T_STATS, false, "average", "$0.avg" },
	{ T_STATS, false, "std", "$0.stdev" },
	{ T_STATS, false, "stddev", "$0.stdev" },
	{ T_STATS, false, "count", "$0.n" },
	{ T_STATS, false, "p50", "$0.median" },
	{ T_DURATION, true, "total_seconds", "$0.s" },
	{ T_DURATION, false, "seconds", "$0.s" },
	{ T_DURATION, false, "sec", "$0.s" },
	{ T_DURATION, false, "milliseconds", "$0.ms" },
	{ T_DURATION, false, "msec", "$0.ms" },
	{ T_DURATION, false, "microseconds", "$0.us" },
	{ T_DURATION, false, "total_ms", "$0.ms" },
	{ T_TIME, true, "timestamp", "$0.s" },
	{ T_TIME, true, "isoformat", "str($0)" },
	{ T_TIME, true, "strftime", "str($0)" },
	{ T_LIST, true, "push", "$0.append($1)" },
	{ T_LIST, true, "add", "$0.append($1)" },
	{ T_LIST, true, "push_back", "$0.append($1)" },
	{ T_LIST, true, "append_all", "$0.extend($1)" },
	{ T_LIST, true, "contains", "($1 in $0)" },
	{ T_LIST, true, "includes", "($1 in $0)" },
	{ T_LIST, true, "join", "$1.join($0)" },
	{ T_LIST, true, "sum", "sum($0)" },
	{ T_LIST, true, "mean", "summarize($0).avg" },
	{ T_LIST, true, "average", "summarize($0).avg" },
	{ T_LIST, true, "avg", "summarize($0).avg" },
	{ T_LIST, true, "median", "summarize($0).median" },
	{ T_LIST, true, "std", "summarize($0).stdev" },
	{ T_LIST, true, "stdev", "summarize($0).stdev" },
	{ T_LIST, true, "max", "max($0)" },
	{ T_LIST, true, "min", "min($0)" },
	{ T_LIST, false, "mean", "summarize($0).avg" },
	{ T_LIST, false, "hops", "$0" },
	{ T_LIST, false, "first", "$0[0]" },
	{ T_LIST, false, "last", "$0[-1]" },
	{ T_LIST, true, "first", "$0[0]" },
	{ T_LIST, true, "last", "$0[-1]" },
	{ T_LIST, true, "empty", "(len($0) == 0)" },
	{ T_LIST, true, "isempty", "(len($0) == 0)" },
	{ T_LIST, true, "is_empty", "(len($0) == 0)" },
	{ T_LIST, true, "summary", "print($0)" },
	{ T_LIST, true, "nsummary", "print($0)" },
	{ T_LIST, true, "show", "print($0)" },
	{ T_SET, true, "append", "$0.add($1)" },
	{ T_SET, true, "push", "$0.add($1)" },
	{ T_SET, true, "contains", "($1 in $0)" },
	{ T_DICT, true, "has_key", "($1 in $0)" },
	{ T_DICT, true, "contains", "($1 in $0)" },
	{ T_DICT, true, "iteritems", "$0.items()" },
	{ T_DICT, true, "itervalues", "$0.values()" },
	{ T_DICT, true, "iterkeys", "$0.keys()" },
	{ T_STR, true, "contains", "($1 in $0)" },
	{ T_STR, true, "decode", "$0" },
	{ T_STR, true, "hex", "$0.encode().hex()" },
	{ T_STR, true, "trim", "$0.strip()" },
	{ T_STR, true, "to_string", "$0" },
	{ T_BYTES, true, "encode", "$0" },
	{ T_BYTES, true, "tobytes", "$0" },
	{ T_PACKET, true, "show2", "print($0.show())" },
	{ T_PACKET, true, "display", "print($0.show())" },
	{ T_PACKET, true, "hexdump", "print($0.hex())" },
	{ T_PACKET, true, "build", "bytes($0)" },
	{ T_PACKET, true, "do_build", "bytes($0)" },
	{ T_PACKET, true, "command", "repr($0)" },
	{ T_PACKET, false, "sent_time", "$0.time" },
	{ T_PACKET, false, "timestamp", "$0.time" },
	{ T_PACKET, false, "load", "$0.payload" },
	{ T_PACKET, false, "data", "$0.payload" },
	{ T_PACKET, false, "latency", "$0.rtt" },
	{ T_PACKET, false, "hlim", "$0.ttl" },
	{ T_PACKET, false, "length", "len($0)" },
	{ T_PACKET, false, "sniffed_on", "$0.iface" },
	{ T_PACKET, false, "original", "bytes($0)" },
	{ T_OPTION, false, "type", "$0.kind" },
	{ T_TUPLE, false, "query", "$0[0]" },
	{ T_TUPLE, false, "answer", "$0[1]" },
	{ T_ANSWERS, true, "summary", "print($0)" },
	{ T_ANSWERS, true, "nsummary", "print($0)" },
	{ T_ANSWERS, true, "show", "print($0)" },
	{ T_ANSWERS, false, "answered", "$0.ans" },
	{ T_ANSWERS, false, "answers", "$0.ans" },
	{ T_ANSWERS, false, "unanswered", "$0.unans" },
	{ T_ANSWERS, false, "res", "$0.ans" },
	{ T_IP, false, "exploded", "str($0)" },
	{ T_IP, false, "compressed", "str($0)" },
	{ T_NET, false, "network", "$0.network_address" },
	{ T_NET, false, "broadcast", "$0.broadcast_address" },
	{ T_NET, false, "prefix_len", "$0.prefixlen" },
	{ T_NET, false, "prefix", "$0.prefixlen" },
	{ T_IFACE, false, "ip", "$0.addrs[0]" },
	{ T_IFACE, false, "ips", "$0.addrs" },
	{ T_IFACE, false, "addr", "$0.addrs[0]" },
	{ T_ROUTE, false, "gw", "$0.gateway" },
	{ T_ROUTE, false, "dev", "$0.iface" },
	{ T_DNSRR, false, "address", "$0.addr" },
	{ T_DNSRR, false, "data", "$0.rdata" },
	{ T_DNSRR, false, "value", "$0.rdata" },
	{ T_ANY, false, "length", "len($0)" },
	{ T_ANY, false, "size", "len($0)" },
	{ T_ANY, true, "size", "len($0)" },
	{ T_ANY, true, "length", "len($0)" },
	{ T_ANY, true, "len", "len($0)" },
	{ T_ANY, true, "to_string", "str($0)" },
	{ T_ANY, true, "toString", "str($0)" },
};

/* Where no text can be put in its place. */
static const struct {
	const char *name, *use;
} habits[] = {
	{ "format", "write an f-string: f\"{x:.2f}\"" },
	{ "sprintf", "write an f-string: f\"{p.src} {p[TCP].dport}\"" },
	{ "hostname", "addresses are shown as they are; resolve(name, type=\"PTR\") asks for a name" },
	{ "name", "addresses are shown as they are; resolve(name, type=\"PTR\") asks for a name" },
	{ "stdout", "there are no processes: results have fields" },
	{ "returncode", "there are no processes: test r.received, r.rcode" },
	{ "filter", "write a comprehension: [p for p in packets if ...]" },
	{ "plot", "print the numbers: there are no pictures" },
	{ "make_table", "write table(list, \"ttl addr loss\")" },
	{ "fields", "name the field: p[TCP].dport; p.show() gives all" },
	{ "lastlayer", "p.layers are the names of its layers" },
	{ "hours", "write .s / 3600" },
	{ "minutes", "write .s / 60" },
};

static const char *habit_words(Str name)
{
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
		if (str_is(name, habits[i].name))
			return habits[i].use;
	return NULL;
}

/* ---- keywords ---- */

/* What a keyword argument of another library is called here; NULL: nothing, and it
 * is left out without loss.  fn NULL: of anything that has `to`. */
static const struct {
	const char *fn, *from, *to, *hint;
} keywords[] = {
	{ NULL, "maxttl", "max_ttl", NULL },
	{ NULL, "max_hops", "max_ttl", NULL },
	{ NULL, "maxhops", "max_ttl", NULL },
	{ NULL, "hops", "max_ttl", NULL },
	{ NULL, "minttl", "min_ttl", NULL },
	{ NULL, "first_ttl", "min_ttl", NULL },
	{ NULL, "packet_size", "size", NULL },
	{ NULL, "pkt_size", "size", NULL },
	{ NULL, "payload_size", "size", NULL },
	{ NULL, "length", "size", NULL },
	{ NULL, "packets", "count", NULL },
	{ NULL, "num", "count", NULL },
	{ NULL, "n", "count", NULL },
	{ NULL, "queries", "probes", NULL },
	{ NULL, "nqueries", "probes", NULL },
	{ NULL, "count", "probes", NULL },
	{ NULL, "host", "dst", NULL },
	{ NULL, "hostname", "dst", NULL },
	{ NULL, "target", "dst", NULL },
	{ NULL, "destination", "dst", NULL },
	{ NULL, "dest", "dst", NULL },
	{ NULL, "source", "src", NULL },
	{ NULL, "port", "dport", NULL },
	{ NULL, "dst_port", "dport", NULL },
	{ NULL, "dest_port", "dport", NULL },
	{ NULL, "src_port", "sport", NULL },
	{ NULL, "source_port", "sport", NULL },
	{ NULL, "wait", "timeout", NULL },
	{ NULL, "retries", "retry", NULL },
	{ NULL, "tries", "retry", NULL },
	{ NULL, "delay", "inter", NULL },
	{ NULL, "interval", "inter", NULL },
	{ NULL, "pps", "rate", NULL },
	{ NULL, "interface", "iface", NULL },
	{ NULL, "dev", "iface", NULL },
	{ NULL, "protocol", "proto", NULL },
	{ NULL, "dont_fragment", "df", NULL },
	{ NULL, "qtype", "type", NULL },
	{ NULL, "rdtype", "type", NULL },
	{ NULL, "record_type", "type", NULL },
	{ NULL, "dns_server", "server", NULL },
	{ NULL, "nameserver", "server", NULL },
	{ NULL, "resolver", "server", NULL },
	{ NULL, "bpf", "filter", NULL },
	{ NULL, "reversed", "reverse", NULL },
	{ "print", "flush", NULL, NULL },
	{ "print", "file", NULL, "all that is printed goes to one place" },
	{ "exit", "code", NULL, NULL },
	{ "sniff", "store", NULL, "sniff gives the list of packets" },
	{ "sniff", "promisc", NULL, "own flows come anyway; capture(..) and the policy say what else" },
	{ "sniff", "monitor", NULL, NULL },
	{ "sniff", "quiet", NULL, NULL },
	{ "sniff", "offline", NULL, "`sonde run --read f.pcap` gives its packets to sniff" },
	{ "sr", "multi", NULL, "res.answers_all has all answers of each probe" },
	{ NULL, "threaded", NULL, NULL },
	{ NULL, "chainCC", NULL, NULL },
	{ NULL, "nofilter", NULL, NULL },
	{ NULL, "promisc", NULL, NULL },
	{ NULL, "filter", NULL, "answers are matched by identity; others do not count" },
	{ NULL, "verbose", NULL, NULL },
	{ NULL, "verb", NULL, NULL },
	{ NULL, "realtime", NULL, NULL },
	{ NULL, "resolve", NULL, NULL },
};

/* The names of fields under which people know them. */
static const struct {
	const char *from, *to;
} field_names[] = {
	{ "port", "dport" },	   { "dst_port", "dport" },	{ "dest_port", "dport" },
	{ "destination_port", "dport" }, { "src_port", "sport" }, { "source_port", "sport" },
	{ "destination", "dst" },  { "dest", "dst" },		{ "target", "dst" },
	{ "dst_ip", "dst" },	   { "source", "src" },		{ "src_ip", "src" },
	{ "hop_limit", "hlim" },   { "ttl", "hlim" },		{ "hlim", "ttl" },
	{ "tos", "tc" },	   { "tclass", "tc" },		{ "traffic_class", "tc" },
	{ "flag", "flags" },	   { "sequence", "seq" },	{ "seqnum", "seq" },
	{ "acknowledgment", "ack" }, { "acknum", "ack" },	{ "win", "window" },
	{ "window_size", "window" }, { "checksum", "chksum" },	{ "csum", "chksum" },
	{ "identifier", "id" },	   { "length", "len" },		{ "protocol", "proto" },
	{ "operation", "op" },	   { "opcode", "op" },		{ "target_ip", "pdst" },
	{ "dst", "pdst" },	   { "sender_ip", "psrc" },	{ "src", "psrc" },
	{ "name", "qname" },	   { "type", "qtype" },		{ "icmp_type", "type" },
	{ "fragment", "frag" },	   { "opts", "options" },	{ "urgent", "urgptr" },
	{ "queries", "qd" },	   { "question", "qd" },	{ "data", "load" },
	{ "payload", "load" },	   { "dscp", "tos" },
};

static bool sig_takes(const CallArgs *c, Str name)
{
	int i = sig_param(c->sig, name);

	return i >= 0 && !c->arg[i];
}

bool facts_keyword_habit(Facts *f, Diag *d, const Node *call, const CallArgs *c, const Arg *a)
{
	Str name = a->name->text;

	if (facts_fix_keyword(f, d, call, c->name, a))
		return true;
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		const char *to = keywords[i].to, *fn = keywords[i].fn;

		if (!str_is(name, keywords[i].from) || (fn && !str_is(str_c(c->name), fn)))
			continue;
		if (to && !sig_takes(c, str_c(to)))
			continue;
		if (keywords[i].hint)
			d->hint = str_c(keywords[i].hint);
		if (to)
			facts_fix_span(f, d, call,
				       (Span){ a->span.from, a->span.from + (uint32_t)name.n }, str_c(to));
		else
			facts_fix_span(f, d, call, facts_arg_span(call, a), STR(""));
		return true;
	}
	return false;
}

const char *facts_field_habit(const WireProto *p, Str name)
{
	for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++)
		if (str_is(name, field_names[i].from) && wire_field(p, str_c(field_names[i].to)) >= 0)
			return field_names[i].to;
	return NULL;
}

/* ---- the nearest ---- */

void facts_near_try(Near *n, Str name)
{
	unsigned most = n->want.n <= 3 ? 1 : 2, d = str_distance(n->want, name, most);

	if (n->n < NEAR_ALL)
		n->n += (unsigned)snprintf(n->all + n->n, NEAR_ALL - n->n, " %.*s", STR_ARG(name));
	if (d <= most && d < n->d) {
		n->d = d;
		n->best = name;
	}
}

void facts_near_fix(Facts *f, Diag *d, const Near *n, const Node *file, Span span)
{
	if (n->d == 255 && n->n && n->n < NEAR_ALL && !d->hint.n)
		d->hint = str_printf(f->a, "there is:%s", n->all);
	if (n->d == 255)
		return;
	facts_fix_span(f, d, file, span, n->best);
	d->hint = str_printf(f->a, "did you mean %.*s?", STR_ARG(n->best));
}

static void near_rows(Near *near, const BuiltinRow *row, int n, BuiltinOwner owner)
{
	for (int i = 0; i < n; i++)
		if (row[i].owner == owner)
			facts_near_try(near, str_c(row[i].name));
}

/* The layer whose fields x.name can be, or WIRE_NONE. */
static WireId view_of(const Fact *x)
{
	if (x->kind != T_PACKET)
		return WIRE_NONE;
	if (x->view == WIRE_NONE && x->n == 1 && x->stack[0]->built && x->stack[0]->n == 1)
		return (WireId)x->stack[0]->id[0];
	return (WireId)x->view;
}

static void near_all(Near *near, const Fact *x)
{
	WireId id = view_of(x);
	BuiltinOwner owner = x->kind == T_PACKET && x->view != WIRE_NONE ? OWNER_NONE : fact_owners[x->kind]; /* r[TCP] has its layer's alone */

	if (owner != OWNER_NONE) {
		near_rows(near, builtin_attrs, A_N, owner);
		near_rows(near, builtin_methods, M_N, owner);
	}
	if (x->kind == T_RESULT)
		for (uint32_t i = 0; i < x->node->result.n; i++)
			facts_near_try(near, x->node->result.field[i].name->text);
	if (id != WIRE_NONE) {
		const WireProto *p = wire_proto(id);

		for (unsigned i = 0; i < p->nfields; i++)
			facts_near_try(near, str_c(p->fields[i].name));
		near_rows(near, builtin_attrs, A_N, OWNER_LAYER);
		near_rows(near, builtin_methods, M_N, OWNER_LAYER);
	}
}

/* ---- attributes ---- */

static bool has_member(const Fact *x, Str name)
{
	BuiltinOwner owner = fact_owners[x->kind];

	for (uint32_t i = 0; x->kind == T_RESULT && i < x->node->result.n; i++)
		if (str_eq(x->node->result.field[i].name->text, name))
			return true;
	return owner != OWNER_NONE && (builtin_attr(owner, name) >= 0 || builtin_method(owner, name) >= 0);
}

/* Do all members exist that the pattern takes of $0? */
static bool pattern_fits(const Fact *x, const char *pattern)
{
	for (const char *p = strstr(pattern, "$0."); p; p = strstr(p, "$0.")) {
		size_t n = 0;

		p += 3;
		n = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
		if (!has_member(x, (Str){ p, n }))
			return false;
	}
	return true;
}

static const char *pattern_of(Facts *f, const Fact *x, Str name, bool call)
{
	bool text = x->kind == T_IP || x->kind == T_MAC || x->kind == T_NET || x->kind == T_FLAGS ||
		    x->kind == T_INT || x->kind == T_FLOAT || x->kind == T_DURATION || x->kind == T_TIME;
	bool sized = x->kind == T_LIST || x->kind == T_DICT || x->kind == T_SET || x->kind == T_STR ||
		     x->kind == T_BYTES || x->kind == T_TUPLE;
	uint64_t bits;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if ((rows[i].kind == x->kind || (rows[i].kind == T_ANY && sized)) && rows[i].call == call &&
		    str_is(name, rows[i].name) && pattern_fits(x, rows[i].pattern))
			return rows[i].pattern;
	if (x->kind == T_LIST && !call && builtin_attr(OWNER_STATS, name) >= 0)
		return str_printf(f->a, "summarize($0).%.*s", STR_ARG(name)).p;
	if (x->kind == T_FLAGS && !call && x->field && wire_name_value(x->field, name, &bits))
		return str_printf(f->a, "(\"%.*s\" in $0)", STR_ARG(name)).p;
	if (text && call && builtin_method(OWNER_STR, name) >= 0)
		return str_printf(f->a, "str($0).%.*s($*)", STR_ARG(name)).p;
	if (x->kind == T_DICT && !call && cell_field(x->cell, name))
		return str_printf(f->a, "$0[\"%.*s\"]", STR_ARG(name)).p;
	return NULL;
}

Str facts_operand(Facts *f, const Node *n)
{
	static const uint8_t closed[N_COUNT] = { [N_NAME] = 1, [N_ATTR] = 1, [N_CALL] = 1,	[N_INDEX] = 1,
						 [N_STR] = 1,  [N_INT] = 1,  [N_FLOAT] = 1,	[N_LIST] = 1,
						 [N_DICT] = 1, [N_BYTES] = 1, [N_DURATION] = 1, [N_FSTRING] = 1,
						 [N_LISTCOMP] = 1 };
	Str s = facts_source(f, n);

	return closed[n->kind] ? s : str_printf(f->a, "(%.*s)", STR_ARG(s));
}

/* r[DNS].an */
static bool is_records(const Node *n)
{
	return n->kind == N_ATTR && n->attr.obj->kind == N_INDEX &&
	       (str_is(n->attr.sym->text, "an") || str_is(n->attr.sym->text, "ns") ||
		str_is(n->attr.sym->text, "ar") || str_is(n->attr.sym->text, "qd"));
}

/* call: the node of the method's call; NULL: the attribute is read. */
static bool habit_fix(Facts *f, Diag *d, Node *n, const Fact *x, const Node *call)
{
	const char *pattern = pattern_of(f, x, n->attr.sym->text, call != NULL);

	if (!pattern && x->kind == T_LIST && x->cell->elem->kind != T_NEVER &&
	    has_member(x->cell->elem, n->attr.sym->text)) {
		d->hint = STR("it is a list: `for x in ..`, or one of it by its index");
		if (is_records(n->attr.obj)) /* Scapy's r[DNS].an.rdata */
			pattern = str_printf(f->a, call ? "$0[0].%.*s($*)" : "$0[0].%.*s",
					     STR_ARG(n->attr.sym->text)).p;
	}
	HabitUse use = { 0 };
	Str text;

	if (!pattern)
		return false;
	if (call)
		use = habit_use_of(f->a, f->in->ast->files.p[call->file].text, call);
	use.self = facts_operand(f, n->attr.obj);
	if (!habit_expand(f->a, pattern, &use, &text))
		return false;
	facts_fix(f, d, call ? call : n, text);
	return true;
}

static bool other_form(Facts *f, Node *n, const Fact *x, const Node *call)
{
	BuiltinOwner owner = fact_owners[x->kind];
	Str name = n->attr.sym->text;
	bool field = false;

	for (uint32_t i = 0; x->kind == T_RESULT && i < x->node->result.n; i++)
		field |= str_eq(x->node->result.field[i].name->text, name);
	if (!call && owner != OWNER_NONE && builtin_method(owner, name) >= 0) {
		Diag *d = facts_say(f, "E-FIELD", n, "%.*s is a method: call it", STR_ARG(name));

		facts_fix(f, d, n, str_printf(f->a, "%.*s()", STR_ARG(facts_source(f, n))));
		return true;
	}
	if (call && (field || (owner != OWNER_NONE && builtin_attr(owner, name) >= 0))) {
		Diag *d = facts_say(f, "E-FIELD", n, "%.*s is no method: leave the brackets out", STR_ARG(name));

		facts_fix_span(f, d, call, (Span){ n->span.to, call->span.to }, STR(""));
		return true;
	}
	return false;
}

const Fact *facts_no_attr(Facts *f, Node *n, const Fact *x, const Node *call)
{
	Str name = n->attr.sym->text;
	Near near = { .want = name, .d = 255 };
	const char *use = habit_words(name);

	if (other_form(f, n, x, call))
		return facts_bad(f);
	Diag *d = facts_say_at(f, "E-FIELD", n, n->attr.at, "%.*s has no %s %.*s", STR_ARG(facts_a_text(f, x)),
			       call ? "method" : "field", STR_ARG(name));

	if (habit_fix(f, d, n, x, call))
		return facts_bad(f);
	if (use) {
		d->hint = str_c(use);
		return facts_bad(f);
	}
	WireId id = view_of(x);
	const char *field = id == WIRE_NONE || call ? NULL : facts_field_habit(wire_proto(id), name);

	if (field) {
		facts_fix_span(f, d, n, n->attr.at, str_c(field));
		return facts_bad(f);
	}
	near_all(&near, x);
	if (x->kind == T_LIST && !call)
		d->hint = STR("it is a list: `for x in ..`, or one of it by its index");
	facts_near_fix(f, d, &near, n, n->attr.at);
	return facts_bad(f);
}
