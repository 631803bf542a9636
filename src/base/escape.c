/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"

static void hex_byte(Sb *out, uint8_t c)
{
	sb_printf(out, "\\x%02x", c);
}

void escape_peer(Sb *out, Bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = b.p[i];

		if (c == '\n')
			sb_cstr(out, "\\n");
		else if (c == '\t')
			sb_cstr(out, "\\t");
		else if (c == '\r')
			sb_cstr(out, "\\r");
		else if (c == '"' || c == '\\')
			sb_printf(out, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			sb_char(out, (char)c);
		else
			hex_byte(out, c);
	}
}

/* C0, DEL, C1, Unicode's Cf and the separators of lines and paragraphs. */
bool utf8_hidden(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },	     { 0x7f, 0x9f },	   { 0xad, 0xad },	 { 0x600, 0x605 },
		{ 0x61c, 0x61c },    { 0x6dd, 0x6dd },	   { 0x70f, 0x70f },	 { 0x180e, 0x180e },
		{ 0x200b, 0x200f },  { 0x2028, 0x202e },   { 0x2060, 0x206f },	 { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },  { 0xfff0, 0xffff },   { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (cp >= ranges[i][0] && cp <= ranges[i][1])
			return true;
	return false;
}

static void escape_utf8(Sb *out, Str s, bool keep_tabs)
{
	for (size_t i = 0; i < s.n;) {
		Str rest = { s.p + i, s.n - i };
		uint32_t cp = 0;
		size_t n = utf8_decode(rest, &cp);

		if (n && (!utf8_hidden(cp) || (keep_tabs && cp == '\t'))) {
			sb_str(out, (Str){ rest.p, n });
			i += n;
			continue;
		}
		for (size_t k = 0; k < (n ? n : 1); k++)
			hex_byte(out, (uint8_t)rest.p[k]);
		i += n ? n : 1;
	}
}

void escape_line(Sb *out, Str s)
{
	escape_utf8(out, s, false);
}

void escape_source(Sb *out, Str s)
{
	escape_utf8(out, s, true);
}
