/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/canonical.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLE_DIGITS = 17, NUMBER_TEXT = 40, PLAIN_FROM = -6, PLAIN_TO = 21 };

#define WHOLE_MOST (INT64_C(1) << 53) /* up to there a double is each integer */

static bool put(FILE *out, const json_t *v);

/* As ECMAScript writes it: the fewest digits that are this number again. */
static void put_real(FILE *out, double d)
{
	char text[NUMBER_TEXT], digits[DOUBLE_DIGITS + 1];
	int n = 0, point; /* digits, and how many of them stand before the point */

	for (int i = 0; i < DOUBLE_DIGITS; i++) {
		snprintf(text, sizeof text, "%.*e", i, d);
		if (strtod(text, NULL) == d)
			break;
	}
	for (const char *s = text; *s != 'e'; s++)
		if (*s >= '0' && *s <= '9')
			digits[n++] = *s;
	digits[n] = 0;
	point = atoi(strchr(text, 'e') + 1) + 1;
	if (text[0] == '-' && d != 0)
		fputc('-', out);
	if (point <= PLAIN_FROM || point > PLAIN_TO)
		fprintf(out, "%c%s%se%+d", digits[0], n > 1 ? "." : "", digits + 1, point - 1);
	else if (point <= 0)
		fprintf(out, "0.%.*s%s", -point, "000000", digits);
	else if (point < n)
		fprintf(out, "%.*s.%s", point, digits, digits + point);
	else
		fprintf(out, "%s%.*s", digits, point - n, "000000000000000000000");
}

static void put_text(FILE *out, const char *s, size_t n)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";

	fputc('"', out);
	for (const char *end = s + n, *k; s < end; s++)
		if (*s && (k = strchr(plain, *s)))
			fprintf(out, "\\%c", letter[k - plain]);
		else if ((unsigned char)*s < 0x20)
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, out);
	fputc('"', out);
}

/* Names are ordered by their UTF-16, where what lies beyond 16 bits stands before U+E000: in
 * UTF-8 the first bytes from F0 on before EE and EF. */
static int rank(unsigned char byte)
{
	return byte == 0xee || byte == 0xef ? byte + 0x10 : byte;
}

static int by_name(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	return rank((unsigned char)*x) - rank((unsigned char)*y);
}

static bool put_object(FILE *out, const json_t *v)
{
	size_t n = json_object_size(v), i = 0;
	const char **names = malloc((n + 1) * sizeof *names), *name;
	bool ok = names;
	json_t *one;

	if (!ok)
		return false;
	json_object_foreach((json_t *)(uintptr_t)v, name, one)
		names[i++] = name;
	qsort(names, n, sizeof *names, by_name);
	fputc('{', out);
	for (i = 0; i < n && ok; i++) {
		if (i)
			fputc(',', out);
		put_text(out, names[i], strlen(names[i]));
		fputc(':', out);
		ok = put(out, json_object_get(v, names[i]));
	}
	fputc('}', out);
	free(names);
	return ok;
}

static bool put_array(FILE *out, const json_t *v)
{
	size_t i, n = json_array_size(v);
	bool ok = true;

	fputc('[', out);
	for (i = 0; i < n && ok; i++) {
		if (i)
			fputc(',', out);
		ok = put(out, json_array_get(v, i));
	}
	fputc(']', out);
	return ok;
}

static bool put(FILE *out, const json_t *v)
{
	json_int_t whole = json_integer_value(v);

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return put_object(out, v);
	case JSON_ARRAY:
		return put_array(out, v);
	case JSON_STRING:
		put_text(out, json_string_value(v), json_string_length(v));
		return true;
	case JSON_INTEGER:
		if (whole < -WHOLE_MOST || whole > WHOLE_MOST)
			put_real(out, (double)whole);
		else
			fprintf(out, "%lld", (long long)whole);
		return true;
	case JSON_REAL:
		put_real(out, json_real_value(v));
		return true;
	default:
		fputs(json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null", out);
		return true;
	}
}

char *canonical(const json_t *v)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	bool ok = out && v && put(out, v) && !ferror(out);

	if ((out && fclose(out) != 0) || !ok) {
		free(text);
		return NULL;
	}
	return text;
}

Hash canonical_hash(const json_t *v)
{
	char *text = canonical(v);
	Hash h = text ? sha256(BYTES(text, strlen(text))) : (Hash){ 0 };

	free(text);
	return h;
}
