/* SPDX-License-Identifier: Apache-2.0 */
#include "base/punycode.h"

#include "base/escape.h"

/* RFC 3492 5: the parameters for names of hosts. */
enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, INITIAL_BIAS = 72, INITIAL_N = 128 };

static int digit_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	return c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

/* RFC 3492 6.1 */
static uint32_t adapt(uint32_t delta, uint32_t n, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	for (delta += delta / n; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static uint32_t threshold(uint32_t k, uint32_t bias)
{
	return k <= bias + TMIN ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
}

static char digit_char(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + (d - 26));
}

/* One variable-length integer, added to *i; false if it does not fit or is cut. */
static bool read_delta(Str s, size_t *at, uint32_t bias, uint32_t *i)
{
	uint32_t w = 1;

	for (uint32_t k = BASE;; k += BASE) {
		int d = *at < s.n ? digit_of(s.p[*at]) : -1;

		if (d < 0 || (uint32_t)d > (UINT32_MAX - *i) / w)
			return false;
		++*at;
		*i += (uint32_t)d * w;
		uint32_t t = threshold(k, bias);

		if ((uint32_t)d < t)
			return true;
		if (w > UINT32_MAX / (BASE - t))
			return false;
		w *= BASE - t;
	}
}

/* What stands before the last hyphen stands for itself. */
static bool basic_part(Str s, uint32_t *out, size_t *ret_n, size_t *ret_at)
{
	size_t n = s.n;

	while (n > 0 && s.p[n - 1] != '-')
		n--;
	*ret_at = n;
	n -= n > 0;
	if (n > PUNYCODE_MOST)
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((uint8_t)s.p[i] >= 0x80)
			return false;
		out[i] = (uint8_t)s.p[i];
	}
	*ret_n = n;
	return true;
}

static bool is_text(uint32_t cp)
{
	return cp >= 0x80 && cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
}

/* RFC 3492 6.2 */
bool punycode_decode(Str s, uint32_t out[PUNYCODE_MOST], size_t *ret_n)
{
	uint32_t cp = INITIAL_N, i = 0, bias = INITIAL_BIAS;
	size_t n, at;

	if (!basic_part(s, out, &n, &at) || at == s.n)
		return false;
	while (at < s.n) {
		uint32_t old = i, count = (uint32_t)n + 1;

		if (n == PUNYCODE_MOST || !read_delta(s, &at, bias, &i))
			return false;
		bias = adapt(i - old, count, old == 0);
		if (i / count > UINT32_MAX - cp)
			return false;
		cp += i / count;
		i %= count;
		if (!is_text(cp))
			return false;
		memmove(out + i + 1, out + i, (n - i) * sizeof *out);
		out[i++] = cp;
		n++;
	}
	*ret_n = n;
	return true;
}

/* RFC 3492 6.3 */
bool punycode_encode(const uint32_t *cp, size_t n, char out[PUNYCODE_MOST], size_t *ret_len)
{
	uint32_t next = INITIAL_N, delta = 0, bias = INITIAL_BIAS;
	size_t len = 0, done, basic;

	for (size_t j = 0; j < n; j++)
		if (cp[j] < INITIAL_N)
			out[len++] = (char)cp[j];
	done = basic = len;
	if (basic)
		out[len++] = '-';
	for (; done < n; next++, delta++) {
		uint32_t least = UINT32_MAX;

		for (size_t j = 0; j < n; j++)
			if (cp[j] >= next && cp[j] < least)
				least = cp[j];
		delta += (least - next) * (uint32_t)(done + 1);
		next = least;
		for (size_t j = 0; j < n; j++) {
			delta += cp[j] < next;
			if (cp[j] != next)
				continue;
			uint32_t q = delta;

			for (uint32_t k = BASE;; k += BASE) {
				uint32_t t = threshold(k, bias);

				if (len == PUNYCODE_MOST)
					return false;
				if (q < t) {
					out[len++] = digit_char(q);
					break;
				}
				out[len++] = digit_char(t + (q - t) % (BASE - t));
				q = (q - t) / (BASE - t);
			}
			bias = adapt(delta, (uint32_t)done + 1, done == basic);
			delta = 0;
			done++;
		}
	}
	*ret_len = len;
	return true;
}

static void put_label(Str label, Sb *out)
{
	uint32_t cp[PUNYCODE_MOST];
	size_t n = 0;
	bool encoded = label.n > 4 && (label.p[0] | 32) == 'x' && (label.p[1] | 32) == 'n' && label.p[2] == '-' &&
		       label.p[3] == '-' && punycode_decode((Str){ label.p + 4, label.n - 4 }, cp, &n);

	for (size_t i = 0; i < n; i++)
		encoded &= !utf8_hidden(cp[i]);
	if (!encoded) {
		sb_str(out, label);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char utf8[4];

		sb_str(out, (Str){ utf8, utf8_encode(cp[i], utf8) });
	}
}

void punycode_name(Str name, Sb *out)
{
	for (size_t at = 0; name.n && at <= name.n;) {
		const char *dot = at < name.n ? memchr(name.p + at, '.', name.n - at) : NULL;
		size_t end = dot ? (size_t)(dot - name.p) : name.n;

		put_label((Str){ name.p + at, end - at }, out);
		if (dot)
			sb_char(out, '.');
		at = end + 1;
	}
}
