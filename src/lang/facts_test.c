/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/decl.h"
#include "lang/facts.h"
#include "lang/parse.h"
#include "lang/sig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { MEMORY = 128 << 20 };

typedef struct Checked {
	Arena a;
	Ast ast;
	Scopes scopes;
	DiagList diags, lib_diags;
	Manifest m;
	FactsStats stats;
} Checked;

static uint8_t *memory;

static void check_with(Checked *c, const char *text, const FactsParam *param, uint32_t nparam)
{
	*c = (Checked){ 0 };
	arena_init(&c->a, memory, MEMORY, NULL);
	c->diags.a = c->lib_diags.a = &c->a;
	ast_init(&c->ast, &c->a);
	assert_true(parse_file(&c->ast, STR("test"), str_c(text), false, &c->diags));
	scope_run(&c->ast, &c->diags, &c->lib_diags, &c->scopes);
	decl_read(&c->a, &c->ast.files.p[0], DECL_PROGRAM, &c->diags, &c->m.decls);
	facts_run(&(FactsIn){ .a = &c->a,
			      .ast = &c->ast,
			      .scopes = &c->scopes,
			      .param = param,
			      .nparam = nparam,
			      .diags = &c->diags,
			      .lib_diags = &c->lib_diags,
			      .settle = true },
		  &c->m, &c->stats);
}

static void check(Checked *c, const char *text)
{
	check_with(c, text, NULL, 0);
}

static void complain(const Checked *c)
{
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		print_message("%s %.*s\n", c->diags.v.p[i].code, STR_ARG(c->diags.v.p[i].message));
}

/* ---- signatures ---- */

static void test_signatures_parse(void **state)
{
	Arena a;
	Sigs s;

	(void)state;
	arena_init(&a, memory, MEMORY, NULL);
	sigs_init(&s, &a);
	for (int i = 0; i < BI_N; i++)
		assert_non_null(sig_func(&s, (BuiltinFunc)i));
	for (int i = 0; i < M_N; i++)
		assert_non_null(sig_method(&s, (BuiltinMethod)i));
	for (int i = 0; i < A_N; i++)
		assert_non_null(sig_attr(&s, (BuiltinAttr)i));
	const Sig *p = sig_func(&s, BI_print);

	assert_true(p->param[0].star && !p->param[0].by_keyword_only);
	assert_true(p->param[2].by_keyword_only && str_is(p->param[2].s, "\n"));
	assert_int_equal(sig_param(p, STR("sep")), 1);
	assert_int_equal(sig_param(sig_func(&s, BI_abs), STR("x")), -1);
	assert_null(sig_parse(&a, STR("(a: int")));
	assert_null(sig_type_parse(&a, STR("list[")));
}

/* ---- worst case ---- */

#define P "IP(dst=\"10.0.0.1\")/TCP(dport=80)"
#define U "IP(dst=\"10.0.0.1\")/UDP(dport=9)"

typedef struct CountRow {
	const char *text;
	uint64_t packets, syn, least;
} CountRow;

static const CountRow counts[] = {
	{ "print(1)\n", 0, 0, 0 },
	{ "send(" U ")\n", 1, 0, 1 },
	{ "send(" P ")\n", 1, 1, 1 },
	{ "send(IP(dst=\"10.0.0.1\")/TCP(dport=80, flags=\"A\"))\n", 1, 0, 1 },
	{ "send([" U " for i in range(7)])\n", 7, 0, 7 },
	{ "send([" U " for i in range(7) if i != 3])\n", 7, 0, 0 },
	{ "r = sr1(" P ", retry=2)\n", 3, 3, 1 },
	/* what the gate cuts counts each piece, unless the link takes it whole; with DF it goes whole or not at all */
	{ "send(" U "/(b\"x\" * 1472))\n", 1, 0, 1 },
	{ "send(" U "/(b\"x\" * 1473))\n", 2, 0, 1 },
	{ "send(" U "/(b\"x\" * 8000))\n", 6, 0, 1 },
	{ "send(IP(dst=\"10.0.0.1\", flags=\"DF\")/UDP(dport=9)/(b\"x\" * 8000))\n", 1, 0, 0 },
	{ "for i in range(3):\n    send(" U "/Raw(b\"x\" * 3000))\n", 9, 0, 3 },
	/* loops */
	{ "for i in range(5):\n    send(" U ")\n", 5, 0, 5 },
	{ "for i in range(5):\n    for j in range(3):\n        send(" U ")\n", 15, 0, 15 },
	{ "for i in [1, 2]:\n    send(" U ")\n", 2, 0, 2 },
	{ "for i in range(5):\n    if sr1(" P "):\n        break\n", 5, 5, 1 },
	{ "for i in range(5):\n    if i > 2:\n        continue\n    send(" U ")\n", 5, 0, 0 },
	{ "for i in range(4):\n    send(" U ")\nelse:\n    send(" U ")\n", 5, 0, 5 },
	{ "i = 0\nwhile i < 5:\n    send(" U ")\n    i += 1\n", LEN_INF, 0, 0 },
	{ "i = 0\nwhile i < 5:\n    i += 1\nsend(" U ")\n", 1, 0, 1 },
	{ "while True:\n    send(" U ")\n    break\n", 1, 0, 1 },
	{ "xs = [i for i in range(9) if sr1(" P ")]\n", 9, 9, 9 },
	/* branches */
	{ "r = sr1(" U ")\nif r:\n    send([" U "] * 3)\nelse:\n    send(" U ")\n", 4, 0, 2 },
	{ "r = sr1(" U ")\nif r:\n    exit()\nsend([" U "] * 3)\n", 4, 0, 1 },
	{ "if False:\n    send(" U ")\n", 0, 0, 0 },
	{ "r = sr1(" U ") or sr1(" U ")\n", 2, 0, 1 },
	/* lengths */
	{ "ans, unans = sr([" U " for i in range(6)])\nsend(unans)\n", 12, 0, 6 },
	{ "ans, unans = sr([" U " for i in range(6)])\nfor s, r in ans[:2]:\n    send(" U ")\n", 8, 0, 6 },
	{ "ps = []\nfor i in range(4):\n    ps.append(" U ")\nsend(ps)\n", 4, 0, 0 },
	{ "for j in range(3):\n    ps = []\n    for i in range(4):\n        ps += [" U "]\n    send(ps)\n",
	  12, 0, 0 },
	{ "ps = [" U "]\nsend(ps + ps)\n", 2, 0, 2 },
	{ "send(IP(dst=\"10.0.0.0/30\", ttl=range(1, 4))/UDP(dport=[7, 9]))\n", 24, 0, 24 },
	{ "send(IPv6(dst=\"2001:db8::1\")/UDP(dport=9)/bytes(3000))\n", 3, 0, 1 },
	{ "send(IP(dst=\"10.0.0.1\")/TCP(dport=9, options=[MSS(9)])/bytes(1450))\n", 2, 1, 1 },
	/* functions */
	{ "def f(n):\n    for i in range(n):\n        send(" U ")\nf(3)\nf(4)\n", 7, 0, 7 },
	{ "def f(r):\n    if r:\n        return 1\n    send(" U ")\n    return 2\nprint(f(sr1(" U ")))\n", 2,
	  0, 1 },
	{ "def f():\n    for i in range(10):\n        if sr1(" U "):\n            return i\nprint(f())\n", 10,
	  0, 1 },
};

static void test_worst_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		const CountRow *r = &counts[i];
		Checked c;

		check(&c, r->text);
		if (c.diags.errors || c.m.worst.packets != r->packets || c.m.worst.syn != r->syn ||
		    c.m.worst.least_packets != r->least) {
			complain(&c);
			fail_msg("%s: %llu packets, %llu syn, at least %llu", r->text,
				 (unsigned long long)c.m.worst.packets, (unsigned long long)c.m.worst.syn,
				 (unsigned long long)c.m.worst.least_packets);
		}
	}
}

static void test_emitting_while(void **state)
{
	Checked c;

	(void)state;
	check(&c, "while True:\n    send(" U ")\n    sleep(1)\n");
	assert_true(c.m.worst.emitting_while);
	check(&c, "while True:\n    sleep(1)\n");
	assert_false(c.m.worst.emitting_while);
}

/* ---- manifest ---- */

static const char *row_text(Checked *c, const Emission *e)
{
	Sb b = sb(&c->a);

	target_text(&e->peer, &b);
	sb_printf(&b, " %u", e->proto);
	if (e->dports_all)
		sb_cstr(&b, " all");
	if (e->dports.n) {
		sb_cstr(&b, " to ");
		ports_text(&e->dports, &b);
	}
	if (e->sports.n) {
		sb_cstr(&b, " from ");
		ports_text(&e->sports, &b);
	}
	if (e->src_set)
		sb_cstr(&b, " src");
	if (e->ether)
		sb_cstr(&b, " ether");
	for (int w = 0; w < WORD_N; w++)
		if (e->words >> w & 1)
			sb_printf(&b, " %s", word_name((ReachWord)w));
	return sb_done(&b).p;
}

typedef struct RowsRow {
	const char *text;
	const char *rows[6];
} RowsRow;

static const RowsRow rows[] = {
	{ "send(IP(dst=\"10.0.0.1\")/ICMP())\n", { "10.0.0.1 1" } },
	{ "send(" U ")\nsend(IP(dst=\"10.0.0.1\")/UDP(sport=4000, dport=7))\n",
	  { "10.0.0.1 17 to 7, 9 from 4000" } },
	{ "send(IPv6(dst=\"fd00::1\")/ICMPv6())\n", { "fd00::1 58" } },
	{ "send(Ether()/ARP(pdst=\"10.0.0.9\"))\n", { "10.0.0.9 0 ether" } },
	{ "send(IP(src=\"10.0.0.7\", dst=\"10.0.0.1\")/ICMP())\n", { "10.0.0.1 1 src" } },
	{ "send(IP(dst=\"db.acme.corp\")/TCP(dport=5432))\n", { "db.acme.corp 6 to 5432" } },
	{ "send(IP(dst=[\"10.0.0.1\", \"10.0.0.3\"])/ICMP())\n", { "10.0.0.1 1", "10.0.0.3 1" } },
	{ "send(IP(dst=(\"10.0.0.1\", \"10.0.0.9\"))/ICMP())\n", { "10.0.0.1-10.0.0.9 1" } },
	/* a range stays one (the gate leaves out what needs a word); a port that is named stays named */
	{ "send(IP(dst=\"10.0.0.1\")/UDP(dport=range(120, 140)))\n", { "10.0.0.1 17 to 120-139" } },
	{ "send(IP(dst=\"10.0.0.1\")/UDP(dport=[160, 161, 162]))\n", { "10.0.0.1 17 to 160, 161, 162" } },
	/* what is not known before the start asks for all, within the declared */
	{ "reach(\"10.0.0.0/30\")\nreflect(UDP.dport, src=\"0.0.0.0/0\", dst=\"0.0.0.0/0\", max=64)\n"
	  "for p in sniff(\"icmp\"):\n    if IP in p:\n        "
	  "send(IP(dst=p.src)/UDP(dport=p.ttl))\n",
	  { "10.0.0.0/30 17 all" } },
	{ "reach(\"10.0.0.1\", fragments=True)\nsend(IP(dst=\"10.0.0.1\", frag=3)/UDP(dport=9))\n",
	  { "10.0.0.1 17 to 9 fragments" } },
	/* pairs stay together where each is walked by itself */
	{ "for h, p in [(\"10.0.0.1\", 80), (\"10.0.0.2\", 443)]:\n    sr1(IP(dst=h)/TCP(dport=p))\n",
	  { "10.0.0.1 6 to 80", "10.0.0.2 6 to 443" } },
	{ "def f(h, p=7):\n    return IP(dst=h)/UDP(dport=p)\nsend(f(\"10.0.0.1\"))\nsend(f(\"10.0.0.2\", "
	  "p=9))\n",
	  { "10.0.0.1 17 to 7", "10.0.0.2 17 to 9" } },
	{ "i = 1\nwhile i <= 3:\n    send(IP(dst=f\"10.0.0.{i}\")/ICMP())\n    i += 1\n",
	  { "10.0.0.1 1", "10.0.0.2 1", "10.0.0.3 1" } },
	{ "a = ip(\"10.0.0.1\")\nfor i in range(3):\n    send(IP(dst=a + i)/ICMP())\n",
	  { "10.0.0.1-10.0.0.3 1" } },
	{ "for h in {\"a\": \"10.0.0.1\", \"b\": \"10.0.0.2\"}.values():\n    send(IP(dst=h)/ICMP())\n",
	  { "10.0.0.1 1", "10.0.0.2 1" } },
	{ "def f():\n    send(" U ")\n", { NULL } },
	{ "if 1 > 2:\n    send(" U ")\n", { NULL } },
};

static void test_manifest(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Checked c;
		uint32_t n = 0;

		check(&c, rows[i].text);
		if (c.diags.errors) {
			complain(&c);
			fail_msg("%s", rows[i].text);
		}
		while (n < 6 && rows[i].rows[n])
			n++;
		for (uint32_t k = 0; k < c.m.emit.n && k < n; k++)
			assert_string_equal(row_text(&c, &c.m.emit.p[k]), rows[i].rows[k]);
		if (c.m.emit.n != n)
			fail_msg("%s: %u rows", rows[i].text, c.m.emit.n);
	}
}

static void test_names_filters_questions(void **state)
{
	Checked c;

	(void)state;
	check(&c,
	      "send(IP(dst=\"a.b\")/ICMP(), iface=\"eth7\")\nfor p in sniff(\"udp port 53\"):\n    print(p)\n"
	      "print(route(\"10.0.0.1\"), interfaces(), interfaces())\n");
	complain(&c);
	assert_int_equal(c.diags.errors, 0);
	assert_int_equal(c.m.names.n, 1);
	assert_true(str_is(c.m.names.p[0], "a.b"));
	assert_true(str_is(c.m.ifaces.p[0], "eth7"));
	assert_int_equal(c.m.filters.n, 1);
	assert_int_equal(c.m.local.n, 2);
	assert_int_equal(c.m.local.p[0].kind, LOCAL_ROUTE);
	assert_int_equal(ip4_num(c.m.local.p[0].dst), 0x0a000001);
}

static void test_params(void **state)
{
	const FactsParam given = { STR("to"), STR("10.0.0.9") };
	Checked c;

	(void)state;
	check(&c, "param to: ip = \"10.0.0.1\"\nsend(IP(dst=to)/ICMP())\n");
	assert_string_equal(row_text(&c, &c.m.emit.p[0]), "10.0.0.1 1");
	check_with(&c, "param to: ip = \"10.0.0.1\"\nsend(IP(dst=to)/ICMP())\n", &given, 1);
	assert_string_equal(row_text(&c, &c.m.emit.p[0]), "10.0.0.9 1");
	check_with(&c, "param to: int = 3\nprint(to)\n", &given, 1);
	assert_int_equal(c.diags.errors, 1);
}

/* ---- bounds ---- */

static void test_hostile_programs_end(void **state)
{
	static const char *const texts[] = {
		/* doubling lists, strings, tuples; deep loops; calls that fan out */
		"x = [1]\nwhile True:\n    x += x\n    x = x + x\n",
		"s = \"a\"\nfor i in range(1000000):\n    s = s + s + str(i)\nprint(s)\n",
		"t = ()\nwhile True:\n    t = (t, t)\n    print(t)\n",
		"x = []\nwhile True:\n    x.append(x)\n    x = [x]\n",
		"d = {}\nwhile True:\n    d[str(d)] = d\n    d = {1: d}\n",
		"x = 1\nwhile True:\n    x = {1: \"a\", \"b\": [x], 2.5: (x,)} if x else [x]\n",
		"p = IP(dst=\"10.0.0.1\")/ICMP()\nwhile True:\n    p = p/ICMP()\n    p = [p]\n    p = p[0]\n",
	};
	Checked c;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		check(&c, texts[i]);
		assert_true(c.stats.steps <= 2000000 + 100000);
	}
	/* 2^25 ways through functions that call each other twice */
	Sb b = sb(&c.a);
	static char text[8192];

	sb_cstr(&b, "def f0(x):\n    return x\n");
	for (int i = 1; i <= 25; i++)
		sb_printf(&b, "def f%d(x):\n    return f%d(x) + f%d(x + 1)\n", i, i - 1, i - 1);
	sb_cstr(&b, "print(f25(1))\n");
	Str s = sb_done(&b);

	assert_true(s.n < sizeof text);
	memcpy(text, s.p, s.n + 1);
	check(&c, text);
	assert_int_equal(c.diags.errors, 1);
	assert_string_equal(c.diags.v.p[0].code, "E-COMPLEX");
}

static void test_long_program(void **state)
{
	static char text[64 * 1024];
	size_t n = 0;
	unsigned lines = 0;
	struct timespec t0, t1;
	Checked c;

	(void)state;
	while (lines < 1000) {
		n += (size_t)snprintf(
			text + n, sizeof text - n,
			"def f%u(a, b=3):\n    if a > b:\n        return a - b\n    return a * 2\n"
			"r = sr1(IP(dst=\"10.0.0.%u\")/TCP(dport=80))\nif r and TCP in r:\n"
			"    print(r[TCP].flags, f%u(%u), r.rtt)\nxs = [i * 2 for i in range(%u) if i %% 2 "
			"== 0]\n"
			"for x in xs:\n    print(x, f%u(x))\n",
			lines, lines % 250 + 1, lines, lines, lines % 50 + 1, lines);
		lines += 10;
	}
	clock_gettime(CLOCK_MONOTONIC, &t0);
	check(&c, text);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	complain(&c);
	assert_int_equal(c.diags.errors, 0);
	double ms = (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e6;

	print_message("%u lines in %.1f ms, %u steps, %u walks\n", lines, ms, c.stats.steps, c.stats.walks);
	/* the bar is 50 ms (make bench); a loaded machine with sanitizers gets ten times that */
	assert_true(ms < 500);
	assert_true(c.stats.steps < 60000);
}

static void test_codes_are_listed(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < diag_codes_n; i++) {
		assert_true(diag_codes[i].code[0] == 'E' || diag_codes[i].code[0] == 'W');
		assert_int_equal(diag_codes[i].code[1], '-');
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(diag_codes[i].code, diag_codes[k].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures_parse),	cmocka_unit_test(test_worst_case),
		cmocka_unit_test(test_emitting_while),		cmocka_unit_test(test_manifest),
		cmocka_unit_test(test_names_filters_questions), cmocka_unit_test(test_params),
		cmocka_unit_test(test_hostile_programs_end),	cmocka_unit_test(test_long_program),
		cmocka_unit_test(test_codes_are_listed),
	};

	memory = malloc(MEMORY);
	return memory ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
