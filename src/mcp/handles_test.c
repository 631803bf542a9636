/* SPDX-License-Identifier: Apache-2.0
 *
 * What a caller can name later, how long, and beside whom.
 */
#include "mcp/test_server.h"

typedef char Name[HANDLE_TEXT];

static Call call_of(const Caller *who)
{
	return (Call){ .mcp = &mcp, .caller = who };
}

static void keep(const Caller *who, const char *text, Name ret_name)
{
	Call c = call_of(who);

	assert_true(handle_keep(&c, "page", text, ret_name));
}

static bool finds(const Caller *who, const char *name, const char *text)
{
	Call c = call_of(who);
	char *got = handle_text(&c, name);
	bool same = got && (!text || strcmp(got, text) == 0);

	free(got);
	return same;
}

/* So many bytes; to be freed. */
static char *long_text(size_t n)
{
	char *text = malloc(n + 1);

	memset(text, 'x', n);
	text[n] = 0;
	return text;
}

static void test_they_expire(void **state)
{
	Name early, late;

	(void)state;
	keep(&alice, "one", early);
	now_s += 1800;
	keep(&alice, "two", late);
	now_s += LIMIT_MCP_HANDLE_AGE - 1800;
	assert_true(finds(&alice, early, "one"));
	now_s++;
	assert_false(finds(&alice, early, NULL));
	assert_true(finds(&alice, late, "two"));
	/* to be named is not to be kept longer */
	now_s += 1800;
	assert_false(finds(&alice, late, NULL));
}

static void test_they_are_their_callers(void **state)
{
	Caller same = alice, other_key = alice, other_session = alice;
	Name name;

	(void)state;
	strcpy(other_key.name, "alic");
	strcpy(other_session.session, "mcp alic");
	keep(&alice, "hers", name);
	assert_true(finds(&same, name, "hers"));
	assert_false(finds(&bob, name, NULL));
	assert_false(finds(&other_key, name, NULL));
	assert_false(finds(&other_session, name, NULL));
	assert_false(finds(&alice, "page_", NULL));
	assert_false(finds(&alice, "", NULL));
}

static void test_names_say_nothing(void **state)
{
	Name name[HANDLES_CALLER];

	(void)state;
	for (int i = 0; i < HANDLES_CALLER; i++) {
		keep(&alice, "same text", name[i]);
		assert_int_equal(strlen(name[i]), 5 + 32);
		assert_int_equal(strspn(name[i] + 5, "0123456789abcdef"), 32);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name[i], name[k]);
	}
}

static void test_the_callers_own_oldest_gives_way(void **state)
{
	char *half = long_text(LIMIT_MCP_HANDLES_CALLER / 2 - 1000), *whole = long_text(LIMIT_MCP_HANDLES_CALLER);
	Name his, name[HANDLES_CALLER + 1], a, b, c;
	Call call = call_of(&alice);

	(void)state;
	keep(&bob, "his", his);
	for (int i = 0; i <= HANDLES_CALLER; i++)
		keep(&alice, "hers", name[i]);
	assert_false(finds(&alice, name[0], NULL));
	for (int i = 1; i <= HANDLES_CALLER; i++)
		assert_true(finds(&alice, name[i], "hers"));
	keep(&alice, half, a);
	keep(&alice, half, b);
	assert_false(finds(&alice, name[1], NULL)); /* room for these by bytes, not by number */
	keep(&alice, half, c);
	assert_false(finds(&alice, a, NULL));
	assert_true(finds(&alice, b, half));
	assert_true(finds(&alice, c, half));
	assert_false(handle_keep(&call, "page", whole, a));
	assert_true(finds(&alice, b, half)); /* what can't be kept pushes nothing out */
	assert_true(finds(&bob, his, "his"));
	free(half);
	free(whole);
}

/* The table is full, by many or by one who does not stop. */
static void test_who_has_less_is_not_pushed_out(void **state)
{
	char *some = long_text(1000 * 1000), *piece = long_text(2 * 1000 * 1000);
	unsigned crowd = LIMIT_MCP_HANDLES / LIMIT_MCP_HANDLES_CALLER + 4;
	Name hers, his, crowds;

	(void)state;
	keep(&alice, some, hers); /* older than all that comes */
	for (unsigned i = 0; i < crowd; i++) {
		Caller one = { .session = "crowd" };

		snprintf(one.name, sizeof one.name, "%u", i);
		keep(&one, piece, crowds);
		keep(&one, piece, crowds);
	}
	assert_true(finds(&alice, hers, some));
	for (int i = 0; i < 200; i++)
		keep(&bob, piece, his);
	assert_true(finds(&bob, his, piece));
	assert_true(finds(&alice, hers, some));
	/* who came last keeps something, and old ones make room for all */
	now_s += LIMIT_MCP_HANDLE_AGE + 1;
	keep(&alice, piece, hers);
	keep(&bob, piece, crowds);
	assert_true(finds(&alice, hers, piece) && finds(&bob, crowds, piece));
	assert_false(finds(&bob, his, NULL));
	free(some);
	free(piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_they_expire), T(test_they_are_their_callers), T(test_names_say_nothing),
		T(test_the_callers_own_oldest_gives_way), T(test_who_has_less_is_not_pushed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
