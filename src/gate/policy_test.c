/* SPDX-License-Identifier: Apache-2.0
 *
 * Policy files: whose they must be, what may stand in them.
 */
#include "gate/test_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint8_t memory[8 << 20];
static Lab lab;

static bool reads(void *ctx, Str text, Arena *a, DiagList *diags, Decls *d)
{
	(void)ctx;
	if (str_is(text, "unknown"))
		diag_add(diags, "E-NAME", (Span){ 0, 7 }, "no such word");
	if (str_is(text, "resolver"))
		vec_push(a, &d->resolvers, lab_ip("10.0.0.1"));
	if (str_is(text, "name"))
		vec_push(a, &d->reach, (Reach){ .target = { .name = STR("db.acme.corp") } });
	if (str_is(text, "follow")) {
		vec_push(a, &d->may_follow, (Target){ .lo = lab_ip("10.0.0.1"), .hi = lab_ip("10.0.0.1") });
		vec_push(a, &d->may_follow, (Target){ .name = STR("db") });
	}
	return !str_is(text, "false");
}

static bool loads(PolicyFile f, Str *why)
{
	DiagList diags = { .a = &lab.a };
	Policy p;
	bool ok = policy_load(&f, reads, NULL, &lab.a, &diags, &p, why);

	assert_true(ok || why->n || diags.errors || str_is(f.text, "false"));
	if (ok)
		assert_true(p.floor == f.system && str_eq(p.file, f.path) && str_eq(p.text, f.text));
	return ok;
}

static void installed_policy_is_roots_alone(void **state)
{
	(void)state;
	const PolicyFile good = { .path = STR("/etc/sonde/policy.sonde"), .text = STR("ok"), .system = true,
				  .regular = true, .mode = 0100644, .dir_mode = 040755 };
	PolicyFile f;
	Str why;

	lab_init(&lab, memory, sizeof memory);
	assert_true(loads(good, &why));
#define BAD(change, says)                                 \
	f = good;                                         \
	change;                                           \
	assert_false(loads(f, &why));                     \
	assert_non_null(strstr(why.p, says))
	BAD(f.uid = 1000, "root");
	BAD(f.mode = 0100664, "others");
	BAD(f.mode = 0100646, "others");
	BAD(f.regular = false, "regular");
	BAD(f.dir_uid = 1000, "folder");
	BAD(f.dir_mode = 040777, "folder");
	BAD(f.dir_mode = 040775, "folder");
#undef BAD
	/* others only narrow, so it does not matter whose they are */
	f = good;
	f.system = false;
	f.uid = 1000;
	f.mode = 0100666;
	f.dir_mode = 041777;
	assert_true(loads(f, &why));
	/* what a call says of itself may not choose who is asked for names */
	f.call = true;
	assert_true(loads(f, &why));
	f.text = STR("resolver");
	assert_false(loads(f, &why));
	assert_non_null(strstr(why.p, "alone"));
}

static void unknown_words_and_names_load_nothing(void **state)
{
	(void)state;
	static const char *const bad[] = { "unknown", "false", "name", "follow" };
	Str why;

	lab_init(&lab, memory, sizeof memory);
	for (size_t i = 0; i < 4; i++)
		assert_false(loads((PolicyFile){ .path = STR("p"), .text = str_c(bad[i]), .regular = true }, &why));
	char *big = arena_alloc(&lab.a, 70000);

	memset(big, '#', 70000);
	assert_false(loads((PolicyFile){ .path = STR("p"), .text = { big, 70000 }, .regular = true }, &why));
	assert_non_null(strstr(why.p, "64 KB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed_policy_is_roots_alone),
		cmocka_unit_test(unknown_words_and_names_load_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
