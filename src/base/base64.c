/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static const char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64url(char *out, Bytes in)
{
	size_t o = 0;
	uint32_t v = 0, bits = 0;

	for (size_t i = 0; i < in.n; i++) {
		v = (v << 8 | in.p[i]) & 0xffff;
		for (bits += 8; bits >= 6; bits -= 6)
			out[o++] = url_digits[v >> (bits - 6) & 63];
	}
	if (bits)
		out[o++] = url_digits[v << (6 - bits) & 63];
	out[o] = 0;
	return o;
}

static ssize_t decode(uint8_t *out, Str text, const char *alphabet)
{
	size_t o = 0;
	uint32_t v = 0, bits = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *d = text.p[i] ? strchr(alphabet, text.p[i]) : NULL;

		if (!d)
			return -1;
		v = (v << 6 | (uint32_t)(d - alphabet)) & 0xfff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[o++] = (uint8_t)(v >> bits);
		}
	}
	return bits == 6 || (v & ((1u << bits) - 1)) ? -1 : (ssize_t)o;
}

ssize_t unbase64url(uint8_t *out, Str text)
{
	return decode(out, text, url_digits);
}

ssize_t unbase64(uint8_t *out, Str text)
{
	if (text.n % 4)
		return -1;
	for (int pad = 0; pad < 2 && text.n && text.p[text.n - 1] == '='; pad++)
		text.n--;
	return decode(out, text, digits);
}
