/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dns.h"

const char *dns_name_expand(Bytes msg, size_t *at, Writer *out)
{
	size_t pos = *at, low = pos, n = 0;
	unsigned pointers = 0;

	for (;;) {
		if (pos >= msg.n)
			return "runs past the end";
		size_t c = msg.p[pos];

		if (c >= 0xc0) { /* RFC 1035 4.1.4: a pointer to a prior occurrence */
			if (pos + 2 > msg.n)
				return "runs past the end";
			size_t to = (c & 0x3f) << 8 | msg.p[pos + 1];

			if (pointers == 0)
				*at = pos + 2;
			if (to >= low) /* each goes further back, so it can't loop */
				return "has a compression pointer that does not point back";
			if (++pointers > DNS_POINTERS_MOST)
				return "has too many compression pointers";
			pos = low = to;
			continue;
		}
		if (c > DNS_LABEL_MOST)
			return "has a label of an unknown kind";
		if (c >= msg.n - pos)
			return "runs past the end";
		n += c + 1;
		if (n > DNS_NAME_MOST)
			return "is longer than 255 bytes";
		wr_bytes(out, BYTES(msg.p + pos, c + 1));
		pos += c + 1;
		if (c == 0)
			break;
	}
	if (pointers == 0)
		*at = pos;
	return NULL;
}

static void label_text(Bytes label, Sb *out)
{
	for (size_t i = 0; i < label.n; i++) {
		uint8_t c = label.p[i];

		if (c <= ' ' || c >= 0x7f)
			sb_printf(out, "\\%03u", c);
		else if (strchr(".\\\"();@$", c))
			sb_printf(out, "\\%c", c);
		else
			sb_char(out, (char)c);
	}
}

void dns_name_text(Bytes name, Sb *out)
{
	Cursor c = cursor(name);
	size_t n = cur_u8(&c);

	if (n == 0)
		sb_char(out, '.');
	for (; n && !c.bad; n = cur_u8(&c)) {
		label_text(cur_bytes(&c, n), out);
		sb_char(out, '.');
	}
}

/* One character, with RFC 1035 5.1's escapes: \. and \065. */
static bool text_char(Str s, size_t *at, uint8_t *ret_c)
{
	unsigned v = 0;

	if (s.p[*at] != '\\') {
		*ret_c = (uint8_t)s.p[(*at)++];
		return true;
	}
	if (++*at >= s.n)
		return false;
	if (s.p[*at] < '0' || s.p[*at] > '9') {
		*ret_c = (uint8_t)s.p[(*at)++];
		return true;
	}
	for (int i = 0; i < 3; i++, ++*at) {
		if (*at >= s.n || s.p[*at] < '0' || s.p[*at] > '9')
			return false;
		v = v * 10 + (unsigned)(s.p[*at] - '0');
	}
	*ret_c = (uint8_t)v;
	return v <= 255;
}

bool dns_name_from_text(Str text, Arena *a, Bytes *ret_name)
{
	uint8_t *p = arena_alloc(a, DNS_NAME_MOST + 2);
	size_t n = 1, label = 0; /* the label's length byte is at `label` */

	for (size_t at = str_is(text, ".") ? 1 : 0; at < text.n;) {
		uint8_t c = 0;

		if (text.p[at] == '.') {
			if (n == label + 1)
				return false;
			label = n++;
			at++;
		} else {
			if (!text_char(text, &at, &c))
				return false;
			p[n++] = c;
			if (++p[label] > DNS_LABEL_MOST)
				return false;
		}
		if (n > DNS_NAME_MOST)
			return false;
	}
	if (n > label + 1) /* no dot at the end: the root's label is missing */
		n++;
	*ret_name = BYTES(p, n);
	return n <= DNS_NAME_MOST;
}

/* RFC 1035 3.3 and what RFC 3597 4 lists; names in other types are not compressed. */
static const DnsLayout layouts[] = {
	{ DNS_TYPE_NS, 0, 1, 0 },
	{ DNS_TYPE_CNAME, 0, 1, 0 },
	{ DNS_TYPE_SOA, 0, 2, 20 },
	{ DNS_TYPE_PTR, 0, 1, 0 },
	{ DNS_TYPE_MX, 2, 1, 0 },
	{ DNS_TYPE_SRV, 6, 1, 0 },
	{ 3, 0, 1, 0 },  /* MD */
	{ 4, 0, 1, 0 },  /* MF */
	{ 7, 0, 1, 0 },  /* MB */
	{ 8, 0, 1, 0 },  /* MG */
	{ 9, 0, 1, 0 },  /* MR */
	{ 14, 0, 2, 0 }, /* MINFO */
	{ 17, 0, 2, 0 }, /* RP */
	{ 18, 2, 1, 0 }, /* AFSDB */
	{ 21, 2, 1, 0 }, /* RT */
	{ 26, 2, 2, 0 }, /* PX */
	{ 36, 2, 1, 0 }, /* KX */
	{ 39, 0, 1, 0 }, /* DNAME */
};

const DnsLayout *dns_layout(uint16_t type)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].type == type)
			return &layouts[i];
	return NULL;
}

/* The bytes of an uncompressed name at the cursor. */
static Bytes cur_name(Cursor *c)
{
	size_t from = c->off;
	uint8_t n;

	while ((n = cur_u8(c)) != 0 && !c->bad)
		cur_skip(c, n);
	return c->bad ? (Bytes){ 0 } : BYTES(c->p + from, c->off - from);
}

static void numbers_text(Cursor *c, unsigned count, unsigned bytes, Sb *out)
{
	for (unsigned i = 0; i < count; i++)
		sb_printf(out, "%u ", bytes == 2 ? cur_be16(c) : cur_be32(c));
}

static void hex_text(Bytes b, Sb *out)
{
	sb_printf(out, "\\# %zu ", b.n);
	for (size_t i = 0; i < b.n; i++)
		sb_printf(out, "%02x", b.p[i]);
}

static void strings_text(Bytes rdata, Sb *out)
{
	Cursor c = cursor(rdata);

	while (cur_left(&c)) {
		if (c.off)
			sb_char(out, ' ');
		sb_char(out, '"');
		Bytes s = cur_bytes(&c, cur_u8(&c));

		for (size_t i = 0; i < s.n; i++) {
			if (s.p[i] < ' ' || s.p[i] >= 0x7f)
				sb_printf(out, "\\%03u", s.p[i]);
			else
				sb_printf(out, s.p[i] == '"' || s.p[i] == '\\' ? "\\%c" : "%c", s.p[i]);
		}
		sb_char(out, '"');
		if (c.bad)
			break;
	}
}

void dns_rdata_text(uint16_t type, Bytes rdata, Sb *out)
{
	const DnsLayout *d = dns_layout(type);
	char text[IP_TEXT];

	if ((type == DNS_TYPE_A && rdata.n == 4) || (type == DNS_TYPE_AAAA && rdata.n == 16)) {
		ip_format(ip_from(rdata.n == 4 ? 4 : 6, rdata.p), text);
		sb_cstr(out, text);
	} else if (type == DNS_TYPE_TXT && rdata.n) {
		strings_text(rdata, out);
	} else if (d && rdata.n) {
		Cursor c = cursor(rdata);

		numbers_text(&c, d->before / 2, 2, out);
		for (unsigned i = 0; i < d->names; i++) {
			if (i)
				sb_char(out, ' ');
			dns_name_text(cur_name(&c), out);
		}
		if (d->behind)
			sb_char(out, ' ');
		numbers_text(&c, d->behind / 4, 4, out);
		if (d->behind && out->n && out->p[out->n - 1] == ' ')
			out->n--;
	} else {
		hex_text(rdata, out);
	}
}

static Str next_word(Str *s)
{
	size_t n = 0;

	while (n < s->n && s->p[n] != ' ')
		n++;
	Str word = { s->p, n };

	while (n < s->n && s->p[n] == ' ')
		n++;
	*s = (Str){ s->p + n, s->n - n };
	return word;
}

/* Strings of at most 255 bytes. */
static Bytes strings_from_text(Str text, Arena *a)
{
	enum { MOST = 255 };
	Sb out = sb(a);

	do {
		Str piece = { text.p, text.n < MOST ? text.n : MOST };

		sb_char(&out, (char)piece.n);
		sb_str(&out, piece);
		text = (Str){ text.p + piece.n, text.n - piece.n };
	} while (text.n);
	return str_bytes(sb_done(&out));
}

static bool layout_from_text(const DnsLayout *d, Str text, Arena *a, Bytes *ret)
{
	Sb out = sb(a);
	uint64_t v = 0;
	Bytes name;

	if (d->names != 1 || d->behind)
		return false;
	for (unsigned i = 0; i < d->before / 2u; i++) {
		if (!str_to_u64(next_word(&text), 65535, &v))
			return false;
		sb_char(&out, (char)(v >> 8));
		sb_char(&out, (char)v);
	}
	if (!dns_name_from_text(next_word(&text), a, &name) || text.n)
		return false;
	sb_str(&out, bytes_str(name));
	*ret = str_bytes(sb_done(&out));
	return true;
}

bool dns_rdata_from_text(uint16_t type, Str text, Arena *a, Bytes *ret_rdata)
{
	const DnsLayout *d = dns_layout(type);
	Ip ip;

	if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA) {
		if (!ip_parse(text, &ip) || ip.v != (type == DNS_TYPE_A ? 4 : 6))
			return false;
		*ret_rdata = BYTES(arena_copy(a, ip.b, ip_len(ip)), ip_len(ip));
		return true;
	}
	if (type == DNS_TYPE_TXT) {
		*ret_rdata = strings_from_text(text, a);
		return true;
	}
	return d && layout_from_text(d, text, a, ret_rdata);
}
