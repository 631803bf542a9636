/* SPDX-License-Identifier: Apache-2.0
 *
 * RFC 8785's own samples: 3.2.2, 3.2.3, appendix B.
 */
#include "mcp/canonical.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void same(const char *json, const char *want)
{
	json_t *v = json_loads(json, JSON_DECODE_ANY, NULL);
	char *got = v ? canonical(v) : NULL;

	assert_non_null(v);
	assert_string_equal(got, want);
	free(got);
	json_decref(v);
}

static void test_numbers(void **state)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} rows[] = {
		{ 0x0000000000000000, "0" },
		{ 0x8000000000000000, "0" },
		{ 0x0000000000000001, "5e-324" },
		{ 0x8000000000000001, "-5e-324" },
		{ 0x7fefffffffffffff, "1.7976931348623157e+308" },
		{ 0xffefffffffffffff, "-1.7976931348623157e+308" },
		{ 0x4340000000000000, "9007199254740992" },
		{ 0xc340000000000000, "-9007199254740992" },
		{ 0x4430000000000000, "295147905179352830000" },
		{ 0x44b52d02c7e14af5, "9.999999999999997e+22" },
		{ 0x44b52d02c7e14af6, "1e+23" },
		{ 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
		{ 0x444b1ae4d6e2ef4e, "999999999999999700000" },
		{ 0x444b1ae4d6e2ef4f, "999999999999999900000" },
		{ 0x444b1ae4d6e2ef50, "1e+21" },
		{ 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
		{ 0x3eb0c6f7a0b5ed8d, "0.000001" },
		{ 0x41b3de4355555553, "333333333.3333332" },
		{ 0x41b3de4355555554, "333333333.33333325" },
		{ 0x41b3de4355555555, "333333333.3333333" },
		{ 0x41b3de4355555556, "333333333.3333334" },
		{ 0x41b3de4355555557, "333333333.33333343" },
		{ 0xbecbf647612f3696, "-0.0000033333333333333333" },
		{ 0x43143ff3c1cb0959, "1424953923781206.2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *v;
		char *got;
		double d;

		memcpy(&d, &rows[i].bits, sizeof d);
		v = json_real(d);
		got = canonical(v);
		assert_string_equal(got, rows[i].text);
		free(got);
		json_decref(v);
	}
	same("[-7, 0, 9007199254740992, 9223372036854775807, 0.056, 100.0, 1e2]", "[-7,0,9007199254740992,9223372036854776000,0.056,100,100]");
}

static void test_texts_and_words(void **state)
{
	(void)state;
	same("{\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],"
	     "\"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\", \"literals\": [null, true, false]}",
	     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
	     "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
	same("\"\\b\\t\\f\\r\\u001f\\u007f\"", "\"\\b\\t\\f\\r\\u001f\x7f\"");
	same("[[], {}, \"\"]", "[[],{},\"\"]");
}

static void test_names_in_order(void **state)
{
	(void)state;
	same("{\"\\u20ac\": 1, \"\\r\": 2, \"\\ufb33\": 3, \"1\": 4, \"\\ud83d\\ude00\": 5, \"\\u0080\": 6, \"\\u00f6\": 7}",
	     "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
	same("{\"b\": {\"d\": 1, \"c\": 2}, \"aa\": 3, \"a\": 4, \"\": 5}", "{\"\":5,\"a\":4,\"aa\":3,\"b\":{\"c\":2,\"d\":1}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_texts_and_words),
		cmocka_unit_test(test_names_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
