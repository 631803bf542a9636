/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/keys.h"

#include "base/base64.h"
#include "base/units.h"

static bool is_printable(Str s, size_t most)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	return s.n > 0 && s.n <= most;
}

bool keys_name_ok(Str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && (!c || !strchr("._@+-", c)))
			return false;
	}
	return name.n > 0 && name.n <= KEYS_NAME && name.p[0] != '-';
}

uint32_t keys_day(Str text)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	uint32_t y, m, d;

	if (text.n != 10 || text.p[4] != '-' || text.p[7] != '-')
		return 0;
	for (size_t i = 0; i < 10; i++)
		if (i != 4 && i != 7 && (text.p[i] < '0' || text.p[i] > '9'))
			return 0;
#define DIGIT(i) ((uint32_t)(text.p[i] - '0'))
	y = DIGIT(0) * 1000 + DIGIT(1) * 100 + DIGIT(2) * 10 + DIGIT(3);
	m = DIGIT(5) * 10 + DIGIT(6);
	d = DIGIT(8) * 10 + DIGIT(9);
#undef DIGIT
	if (y < 2000 || m < 1 || m > 12 || d < 1)
		return 0;
	bool leap = m == 2 && y % 4 == 0 && (y % 100 || y % 400 == 0);

	return d <= days[m - 1] + (uint32_t)leap ? y * 10000 + m * 100 + d : 0;
}

uint32_t keys_today(int64_t unix_s)
{
	Date d = date_of_days(unix_s >= 0 ? unix_s / 86400 : 0);

	return (uint32_t)(d.year * 10000 + d.month * 100 + d.day);
}

/* One word behind the name; *seen has a bit for each kind. */
static bool take_word(Str word, KeyRow *r, unsigned *seen)
{
	Str value = word, name = str_until(&value, '=');
	unsigned bit = 0;
	bool ok = false;

	if (str_is(name, "key")) {
		bit = 1;
		ok = hash_parse(str_bytes(value), &r->hash);
	} else if (str_is(name, "subject")) {
		bit = 1;
		ok = is_printable(value, KEYS_SUBJECT);
		r->by_subject = true;
		r->subject = value;
	} else if (str_is(name, "until")) {
		bit = 2;
		r->until = keys_day(value);
		ok = r->until != 0;
	} else if (str_is(name, "policy")) {
		bit = 4;
		ok = is_printable(value, KEYS_PATH) && value.p[0] == '/';
		r->policy = value;
	}
	ok = ok && !(*seen & bit);
	*seen |= bit;
	return ok;
}

int keys_next(Str *text, KeyRow *ret_row)
{
	while (text->n) {
		Str line = str_until(text, '\n'), word;
		unsigned seen = 0;

		if (!line.n || line.p[0] == '#')
			continue;
		*ret_row = (KeyRow){ .name = str_until(&line, ' ') };
		if (!keys_name_ok(ret_row->name))
			return -1;
		while (line.n) {
			word = str_until(&line, ' ');
			if (!take_word(word, ret_row, &seen))
				return -1;
		}
		return seen & 1 ? 1 : -1;
	}
	return 0;
}

static unsigned line_of(Str whole, Str rest)
{
	unsigned line = 0;

	for (const char *p = whole.p; p < rest.p; p++)
		line += *p == '\n';
	return line + (rest.n == 0 && rest.p > whole.p && rest.p[-1] != '\n');
}

static const char *against(const KeyRow *a, const KeyRow *b)
{
	if (a->by_subject == b->by_subject && (a->by_subject ? str_eq(a->subject, b->subject) : hash_eq(a->hash, b->hash)))
		return a->by_subject ? "this subject has a row already" : "this key has a row already";
	return str_eq(a->name, b->name) && !str_eq(a->policy, b->policy) ? "this name has a row with another policy" : NULL;
}

bool keys_check(Str text, unsigned *ret_line, const char **ret_why)
{
	Str rest = text;
	KeyRow r;
	int n, rows = 0;

	*ret_why = NULL;
	while ((n = keys_next(&rest, &r)) == 1) {
		Str first = text;
		KeyRow other;

		*ret_line = line_of(text, rest);
		if (++rows > KEYS_ROWS) {
			*ret_why = "too many rows";
			return false;
		}
		while (keys_next(&first, &other) == 1 && first.p < rest.p)
			if ((*ret_why = against(&r, &other)))
				return false;
	}
	*ret_line = line_of(text, rest);
	if (n < 0)
		*ret_why = "not a row: NAME key=SHA256 or subject=TEXT, then until=YYYY-MM-DD, policy=/PATH";
	return n == 0;
}

void keys_text(const uint8_t secret[KEYS_SECRET], char ret_key[KEYS_KEY])
{
	size_t n = strlen(KEYS_PREFIX);

	memcpy(ret_key, KEYS_PREFIX, n);
	base64url(ret_key + n, BYTES(secret, KEYS_SECRET));
}

bool keys_looks_like(Str key)
{
	return str_starts(key, STR(KEYS_PREFIX)) && key.n == strlen(KEYS_PREFIX) + BASE64_TEXT(KEYS_SECRET);
}

Hash keys_hash(Str key)
{
	return sha256(str_bytes(key));
}
