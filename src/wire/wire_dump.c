/* SPDX-License-Identifier: Apache-2.0
 *
 * A test tool: the codec as a filter, for the differential tests against Scapy and
 * tshark (tests/wire) and for fuzz dictionaries.
 *
 *   wire_dump decode   "Ether HEX" per line -> one JSON object per line: layers with
 *                      their set fields (numbers, or hex), checksums, payload,
 *                      padding, reason, and what an ICMP error quotes
 *   wire_dump rebuild  "Ether HEX" -> the frame decoded, encoded, in hex; lengths,
 *                      counts and checksums derived anew
 *   wire_dump build    "IP dst=167772161 / UDP dport=53 / =HEX" -> the frame in hex
 *                      (=HEX: payload; fields that are no numbers in hex)
 *   wire_dump doc      "IP" -> its table
 *   wire_dump dict     -> a libFuzzer dictionary from all tables
 *   wire_dump bench    -> ns per packet, decoded and encoded
 */
#include "wire/dns.h"
#include "wire/wire.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MEMORY = 16 * 1024 * 1024, LINE = 4 * LIMIT_FRAME };

static char line[LINE];
static uint8_t memory[MEMORY];

static void hex_out(Sb *out, Bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		sb_printf(out, "%02x", b.p[i]);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static Bytes hex_in(Str s, Arena *a)
{
	uint8_t *p = arena_alloc(a, s.n / 2);
	size_t n = 0;

	for (; n < s.n / 2; n++) {
		int hi = digit(s.p[2 * n]), lo = digit(s.p[2 * n + 1]);

		if (hi < 0 || lo < 0)
			break;
		p[n] = (uint8_t)(hi << 4 | lo);
	}
	return BYTES(p, n);
}

static Str word(Str *s)
{
	size_t n = 0;

	while (s->n && (s->p[0] == ' ' || s->p[0] == '\n'))
		*s = (Str){ s->p + 1, s->n - 1 };
	while (n < s->n && s->p[n] != ' ' && s->p[n] != '\n')
		n++;
	Str w = { s->p, n };

	*s = (Str){ s->p + n, s->n - n };
	return w;
}

static void json_hex(Json *j, const char *key, Bytes b)
{
	Sb hex = sb(j->out->a);

	hex_out(&hex, b);
	json_kstr(j, key, sb_done(&hex));
}

static bool in_hex(const WireField *f)
{
	return f->width == 0 || f->width > 64 || f->kind == FK_BYTES;
}

static void dump_layer(const WireLayer *l, Json *j, const char *csum)
{
	json_open(j, '{');
	json_kstr(j, "name", str_c(l->proto->name));
	json_kint(j, "off", l->off);
	json_kint(j, "len", l->len);
	if (csum)
		json_kstr(j, "csum", str_c(csum));
	json_key(j, "fields");
	json_open(j, '{');
	for (unsigned i = 0; i < l->proto->nfields; i++) {
		const WireField *f = &l->proto->fields[i];

		if (!wire_is_set(l, i))
			continue;
		if (in_hex(f)) {
			json_hex(j, f->name, wire_bytes(l, i));
		} else {
			json_key(j, f->name);
			json_uint(j, wire_num(l, i) & (UINT64_MAX >> (64 - f->width)));
		}
	}
	json_close(j, '}');
	json_close(j, '}');
}

/* What the fields of kind FK_RECORDS hold, under the names of the fields. */
static void dump_records(const WireLayer *l, Json *j)
{
	for (unsigned s = 0; s < l->proto->nvars; s++) {
		const WireField *f = &l->proto->fields[l->proto->var[s]];
		Cursor c = cursor(l->var[s]);
		WireLayer r;

		if (f->kind != FK_RECORDS)
			continue;
		json_key(j, f->name);
		json_open(j, '[');
		while (wire_record_next((WireId)f->record, &c, &r))
			dump_layer(&r, j, NULL);
		json_close(j, ']');
	}
}

static void dump_packet(const WirePacket *p, Arena *a, Json *j, bool in_quote)
{
	static const char *const csums[] = { "none", "good", "bad", "unknown" };
	WirePacket *quoted = arena_new(a, WirePacket);
	WireMpls labels[8];

	json_open(j, '{');
	json_key(j, "layers");
	json_open(j, '[');
	for (unsigned i = 0; i < p->n; i++)
		dump_layer(&p->layer[i], j, csums[wire_check(p, i)]);
	json_close(j, ']');
	json_hex(j, "payload", p->payload);
	json_hex(j, "padding", p->padding);
	json_key(j, "reason");
	if (p->reason)
		json_str(j, str_c(p->reason));
	else
		json_nil(j);
	for (unsigned i = 0; i < p->n; i++)
		dump_records(&p->layer[i], j);
	if (!in_quote && wire_quoted(p, a, quoted)) {
		unsigned n = wire_icmp_mpls(p, labels, 8);

		json_key(j, "mpls");
		json_open(j, '[');
		for (unsigned i = 0; i < n && i < 8; i++)
			json_int(j, labels[i].label);
		json_close(j, ']');
		json_key(j, "quoted");
		dump_packet(quoted, a, j, true);
	}
	json_close(j, '}');
}

static void parse_line(Str s, Arena *a, WirePacket *p)
{
	const WireProto *first = wire_proto_by_name(word(&s));

	wire_parse(hex_in(word(&s), a), first ? first->id : WIRE_ETHER, a, p);
}

static void do_decode(Str s, Arena *a, Sb *out)
{
	WirePacket *p = arena_new(a, WirePacket);
	Json j = json(out);

	parse_line(s, a, p);
	dump_packet(p, a, &j, false);
}

static void build_out(const WirePacket *p, Arena *a, Sb *out)
{
	Bytes frame;
	const char *error = wire_build(p, a, &frame, NULL);

	if (error)
		sb_printf(out, "error %s", error);
	else
		hex_out(out, frame);
}

static void do_rebuild(Str s, Arena *a, Sb *out)
{
	WirePacket *p = arena_new(a, WirePacket);

	parse_line(s, a, p);
	for (unsigned i = 0; i < p->n; i++) {
		WireLayer copy;

		wire_layer_copy(&copy, &p->layer[i], a);
		wire_rederive(&copy);
		p->layer[i] = copy;
	}
	build_out(p, a, out);
}

static void set_field(WireLayer *l, Str w, Arena *a)
{
	size_t n = 0;

	while (n < w.n && w.p[n] != '=')
		n++;
	int i = wire_field(l->proto, (Str){ w.p, n });
	Str value = n < w.n ? (Str){ w.p + n + 1, w.n - n - 1 } : (Str){ 0 };

	if (i < 0)
		return;
	if (in_hex(&l->proto->fields[i]))
		(void)wire_set_bytes(l, (unsigned)i, hex_in(value, a));
	else
		(void)wire_set_num(l, (unsigned)i, strtoull(value.p, NULL, 10));
}

static void do_build(Str s, Arena *a, Sb *out)
{
	WirePacket *p = arena_new(a, WirePacket);
	WireLayer *l = NULL;

	for (Str w = word(&s); w.n; w = word(&s)) {
		if (str_is(w, "/"))
			l = NULL;
		else if (w.p[0] == '=')
			p->payload = hex_in((Str){ w.p + 1, w.n - 1 }, a);
		else if (l)
			set_field(l, w, a);
		else if (wire_proto_by_name(w) && p->n < LIMIT_LAYERS)
			wire_layer_init(l = &p->layer[p->n++], wire_proto_by_name(w), a);
	}
	build_out(p, a, out);
}

static void do_doc(Str s, Arena *a, Sb *out)
{
	const WireProto *p = wire_proto_by_name(word(&s));

	(void)a;
	if (p)
		wire_doc(p->id, out);
}

static void dict_value(Sb *out, const char *name, const char *value_name, uint64_t v, unsigned width)
{
	sb_printf(out, "# %s %s\n\"", name, value_name);
	for (unsigned n = (width + 7) / 8; n-- > 0;)
		sb_printf(out, "\\x%02x", (unsigned)(v >> 8 * n & 0xff));
	sb_cstr(out, "\"\n");
}

/* Values that have names, and option kinds with the length they should have. */
static void dict(Sb *out)
{
	for (unsigned id = 0; id < WIRE_N; id++) {
		const WireProto *p = wire_proto((WireId)id);

		for (unsigned i = 0; i < p->nfields; i++)
			for (const WireName *n = p->fields[i].names; n && n->name; n++)
				if (p->fields[i].kind == FK_ENUM)
					dict_value(out, p->name, n->name, n->value, p->fields[i].width);
		for (const WireOption *o = p->options; o && o->name; o++)
			dict_value(out, p->name, o->name, (uint64_t)o->kind << 8 | o->len, 16);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench(Arena *a, Sb *out)
{
	enum { ROUNDS = 2000000 };
	static const char text[] =
		"IP src=167772161 dst=167772162 id=7 / UDP sport=40000 dport=33434 / "
		"=000102030405060708090a0b0c0d0e0f1011121314151617181920212223242526272829";
	WirePacket *p = arena_new(a, WirePacket), *q = arena_new(a, WirePacket);
	Sb hex = sb(a);

	do_build((Str){ text, sizeof text - 1 }, a, &hex);
	Bytes frame = hex_in(sb_done(&hex), a);
	size_t mark = arena_mark(a);
	double t0 = seconds();

	for (int i = 0; i < ROUNDS; i++) {
		wire_parse(frame, WIRE_IP, a, p);
		arena_reset(a, mark);
	}
	double t1 = seconds();

	for (unsigned i = 0; i < p->n; i++) {
		WireLayer copy;

		wire_layer_copy(&copy, &p->layer[i], a);
		wire_rederive(&copy);
		p->layer[i] = copy;
	}
	mark = arena_mark(a);
	double t2 = seconds();

	for (int i = 0; i < ROUNDS; i++) {
		(void)wire_build(p, a, &frame, q);
		arena_reset(a, mark);
	}
	double t3 = seconds();

	sb_printf(out, "decode %.0f ns, encode %.0f ns (IP/UDP, %zu bytes)", (t1 - t0) / ROUNDS * 1e9,
		  (t3 - t2) / ROUNDS * 1e9, frame.n);
}

static const struct {
	const char *name;
	void (*run)(Str s, Arena *a, Sb *out);
} modes[] = {
	{ "decode", do_decode },
	{ "rebuild", do_rebuild },
	{ "build", do_build },
	{ "doc", do_doc },
};

int main(int argc, char **argv)
{
	Arena a;
	const char *mode = argc == 2 ? argv[1] : "";

	arena_init(&a, memory, MEMORY, NULL);
	Sb out = sb(&a);

	if (strcmp(mode, "dict") == 0 || strcmp(mode, "bench") == 0) {
		if (mode[0] == 'd')
			dict(&out);
		else
			bench(&a, &out);
		puts(sb_done(&out).p);
		return 0;
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(mode, modes[i].name) != 0)
			continue;
		while (fgets(line, sizeof line, stdin)) {
			arena_reset(&a, 0);
			out = sb(&a);
			modes[i].run(str_c(line), &a, &out);
			puts(sb_done(&out).p);
			fflush(stdout);
		}
		return 0;
	}
	fputs("usage: wire_dump decode|rebuild|build|doc|dict|bench\n", stderr);
	return 6;
}
