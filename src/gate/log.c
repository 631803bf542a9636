/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/log.h"

#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- writing ---- */

__attribute__((format(printf, 2, 3))) static void put(LogLine *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof l->text - l->n)
		l->full = true;
	else
		l->n += (size_t)n;
}

/* Printable ASCII but quote and backslash as it is: the log is read by people and
 * by tools that know nothing of us. */
static void put_text(LogLine *l, Str v)
{
	for (size_t i = 0; i < v.n; i++) {
		uint8_t c = (uint8_t)v.p[i];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
			put(l, "%c", c);
		else
			put(l, "\\u%04x", c);
	}
}

void log_begin(LogLine *l, const LogChain *c, int64_t real_s, const char *event)
{
	char prev[SHA256_TEXT];
	int64_t days = real_s / 86400, s = real_s % 86400;
	Date d = date_of_days(days);

	l->n = 0;
	l->full = false;
	hash_format(c->prev, prev);
	put(l, "{\"seq\":%llu,\"prev\":\"%s\",\"time\":\"%04lld-%02u-%02uT%02d:%02d:%02dZ\",\"event\":\"%s\"",
	    (unsigned long long)c->seq + 1, prev, (long long)d.year, d.month, d.day, (int)(s / 3600), (int)(s / 60 % 60),
	    (int)(s % 60), event);
}

void log_str(LogLine *l, const char *key, Str v)
{
	put(l, ",\"%s\":\"", key);
	put_text(l, v);
	put(l, "\"");
}

void log_num(LogLine *l, const char *key, uint64_t v)
{
	put(l, ",\"%s\":%llu", key, (unsigned long long)v);
}

void log_hash(LogLine *l, const char *key, Hash h)
{
	char text[SHA256_TEXT];

	hash_format(h, text);
	log_str(l, key, str_c(text));
}

bool log_end(LogLine *l, LogChain *c)
{
	Hash h = sha256(BYTES(l->text, l->n));

	log_hash(l, "hash", h);
	put(l, "}\n");
	if (l->full)
		return false;
	c->prev = h;
	c->seq++;
	return true;
}

/* ---- checking ---- */

/* Takes `text` off the front. */
static bool skip(Bytes *b, const char *text)
{
	size_t n = strlen(text);

	if (b->n < n || memcmp(b->p, text, n) != 0)
		return false;
	*b = bytes_slice(*b, n, b->n);
	return true;
}

static bool take_hash(Bytes *b, Hash *ret_h)
{
	if (!hash_parse(bytes_slice(*b, 0, 2 * SHA256_BYTES), ret_h))
		return false;
	*b = bytes_slice(*b, 2 * SHA256_BYTES, b->n);
	return true;
}

static bool take_seq(Bytes *b, uint64_t *ret_seq)
{
	size_t n = 0;

	while (n < b->n && b->p[n] >= '0' && b->p[n] <= '9')
		n++;
	if (!str_to_u64(bytes_str(bytes_slice(*b, 0, n)), UINT64_MAX - 1, ret_seq))
		return false;
	*b = bytes_slice(*b, n, b->n);
	return true;
}

const char *log_chain_check(LogChain *c, Bytes line)
{
	static const char key[] = ",\"hash\":\"";
	const size_t tail = sizeof key - 1 + 2 * SHA256_BYTES + 2;
	Bytes head = line, end = bytes_slice(line, line.n < tail ? 0 : line.n - tail, line.n);
	uint64_t seq;
	Hash prev, says;

	if (!skip(&head, "{\"seq\":") || !take_seq(&head, &seq) || !skip(&head, ",\"prev\":\"") || !take_hash(&head, &prev) ||
	    !skip(&head, "\",\"time\":") || !skip(&end, key) || !take_hash(&end, &says) || !skip(&end, "\"}") || end.n)
		return "this is no line of a log";
	if (!hash_eq(sha256(bytes_slice(line, 0, line.n - tail)), says))
		return "what stands here is not what was written";
	if (c->seq && (seq != c->seq + 1 || !hash_eq(prev, c->prev)))
		return "lines were taken out, put in or moved";
	*c = (LogChain){ .seq = seq, .prev = says };
	return NULL;
}
