/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ber.h"

#include "base/addr.h"
#include "base/escape.h"

enum { LONG_FORM = 0x80, TAG_NUMBER = 0x1f, SUBIDS_MOST = 128 };

bool ber_next(Cursor *c, uint8_t *ret_tag, Bytes *ret_data)
{
	if (c->bad || cur_left(c) == 0)
		return false;
	*ret_tag = cur_u8(c);
	size_t n = cur_u8(c);

	if (n >= LONG_FORM) {
		size_t bytes = n & 0x7f;

		/* X.690 8.1.3.6: 0x80 is the indefinite form, which SNMP has not (RFC 3417 8) */
		c->bad |= bytes == 0 || bytes > 4;
		for (n = 0; bytes && !c->bad; bytes--)
			n = n << 8 | cur_u8(c);
	}
	if (c->bad || (*ret_tag & TAG_NUMBER) == TAG_NUMBER || n > cur_left(c)) {
		c->bad = true;
		return false;
	}
	*ret_data = cur_bytes(c, n);
	return true;
}

Bytes ber_take(Cursor *c, uint8_t tag)
{
	uint8_t got = 0;
	Bytes data = { 0 };

	if (ber_next(c, &got, &data) && got == tag)
		return data;
	c->bad = true;
	return (Bytes){ 0 };
}

/* X.690 8.3: two's complement */
static bool number(Bytes b, int64_t *ret)
{
	if (b.n == 0 || b.n > 8)
		return false;
	uint64_t v = b.p[0] & 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < b.n; i++)
		v = v << 8 | b.p[i];
	*ret = (int64_t)v;
	return true;
}

int32_t ber_take_int(Cursor *c)
{
	Bytes b = ber_take(c, BER_INTEGER);
	int64_t v = 0;

	if (c->bad || !number(b, &v) || v < INT32_MIN || v > INT32_MAX) {
		c->bad = true;
		return 0;
	}
	return (int32_t)v;
}

/* ---- writing ---- */

static size_t length_bytes(size_t n)
{
	size_t bytes = 1;

	for (; n > 0xff; n >>= 8)
		bytes++;
	return bytes;
}

size_t ber_len(size_t n)
{
	return 2 + (n < LONG_FORM ? 0 : length_bytes(n)) + n;
}

static size_t int_bytes(int64_t v)
{
	size_t n = 1;

	for (; v < -0x80 || v > 0x7f; v >>= 8)
		n++;
	return n;
}

size_t ber_int_len(int64_t v)
{
	return 2 + int_bytes(v);
}

void ber_put_head(Writer *w, uint8_t tag, size_t n)
{
	wr_u8(w, tag);
	if (n < LONG_FORM) {
		wr_u8(w, (uint8_t)n);
		return;
	}
	size_t bytes = length_bytes(n);

	wr_u8(w, (uint8_t)(LONG_FORM | bytes));
	while (bytes-- > 0)
		wr_u8(w, (uint8_t)(n >> 8 * bytes));
}

void ber_put_int(Writer *w, int64_t v)
{
	size_t bytes = int_bytes(v);

	ber_put_head(w, BER_INTEGER, bytes);
	while (bytes-- > 0)
		wr_u8(w, (uint8_t)((uint64_t)v >> 8 * bytes));
}

/* ---- object identifiers, X.690 8.19 ---- */

static bool subid(Cursor *c, uint64_t *ret)
{
	uint64_t v = 0;
	uint8_t b = 0x80;

	for (unsigned i = 0; (b & 0x80) && i < 5 && !c->bad; i++) {
		b = cur_u8(c);
		v = v << 7 | (b & 0x7fu);
	}
	*ret = v;
	return !c->bad && !(b & 0x80) && v <= UINT32_MAX + UINT64_C(80);
}

bool ber_oid_text(Bytes oid, Sb *out)
{
	size_t mark = out->n;
	Cursor c = cursor(oid);
	uint64_t v = 0;

	if (!oid.n || !subid(&c, &v))
		return false;
	unsigned top = v < 80 ? (unsigned)v / 40 : 2;

	sb_printf(out, "%u.%llu", top, (unsigned long long)(v - top * 40u));
	while (cur_left(&c)) {
		if (!subid(&c, &v)) {
			out->n = mark;
			return false;
		}
		sb_printf(out, ".%llu", (unsigned long long)v);
	}
	return true;
}

static bool text_number(Cursor *c, uint64_t *ret)
{
	size_t from = c->off;

	for (*ret = 0; cur_left(c) && c->p[c->off] >= '0' && c->p[c->off] <= '9' && *ret <= UINT32_MAX;)
		*ret = *ret * 10 + (uint64_t)(cur_u8(c) - '0');
	return c->off > from && *ret <= UINT32_MAX;
}

static void put_subid(Writer *w, uint64_t v)
{
	unsigned shift = 0;

	while (v >> shift > 0x7f)
		shift += 7;
	for (; shift; shift -= 7)
		wr_u8(w, (uint8_t)(0x80 | (v >> shift & 0x7f)));
	wr_u8(w, v & 0x7f);
}

bool ber_oid_from_text(Str text, Arena *a, Bytes *ret_oid)
{
	size_t room = SUBIDS_MOST * 5;
	Writer w = writer(arena_alloc(a, room), room);
	Cursor c = cursor(str_bytes(text));
	uint64_t top, v;

	if (cur_left(&c) && c.p[0] == '.') /* as snmpget writes it */
		cur_skip(&c, 1);
	if (!text_number(&c, &top) || top > 2 || cur_u8(&c) != '.' || !text_number(&c, &v) || (top < 2 && v > 39))
		return false;
	put_subid(&w, top * 40 + v);
	while (cur_left(&c)) {
		if (cur_u8(&c) != '.' || !text_number(&c, &v))
			return false;
		put_subid(&w, v);
	}
	*ret_oid = wr_done(&w);
	return !w.full && !c.bad;
}

/* ---- values ---- */

typedef enum Form { FORM_SIGNED, FORM_UNSIGNED, FORM_TEXT, FORM_OID, FORM_IP, FORM_EMPTY } Form;

/* RFC 2578 7.1, RFC 3416 3 */
static const struct {
	uint8_t tag;
	uint8_t form;
	const char *name;
} types[] = {
	{ BER_INTEGER, FORM_SIGNED, "INTEGER" }, { BER_OCTETS, FORM_TEXT, "OCTET STRING" },
	{ BER_NULL, FORM_EMPTY, "NULL" },	 { BER_OID, FORM_OID, "OBJECT IDENTIFIER" },
	{ BER_IP, FORM_IP, "IpAddress" },	 { 0x41, FORM_UNSIGNED, "Counter32" },
	{ 0x42, FORM_UNSIGNED, "Gauge32" },	 { 0x43, FORM_UNSIGNED, "TimeTicks" },
	{ 0x44, FORM_TEXT, "Opaque" },		 { 0x46, FORM_UNSIGNED, "Counter64" },
	{ 0x80, FORM_EMPTY, "noSuchObject" },	 { 0x81, FORM_EMPTY, "noSuchInstance" },
	{ 0x82, FORM_EMPTY, "endOfMibView" },
};

static int type_of(Bytes element, Bytes *ret_data)
{
	Cursor c = cursor(element);
	uint8_t tag = 0;

	*ret_data = (Bytes){ 0 };
	if (!ber_next(&c, &tag, ret_data))
		return -1;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].tag == tag)
			return (int)i;
	return -1;
}

const char *ber_type_name(Bytes element)
{
	Bytes data;
	int t = type_of(element, &data);

	return t < 0 ? "unknown" : types[t].name;
}

/* Unsigned numbers have a zero in front where their top bit is set; some agents
 * leave it out. */
static bool value_number(int t, Bytes data, uint64_t *ret)
{
	int64_t v = 0;

	if (t < 0 || types[t].form > FORM_UNSIGNED || data.n == 0 || data.n > 9)
		return false;
	if (types[t].form == FORM_SIGNED) {
		bool ok = number(data, &v);

		*ret = (uint64_t)v;
		return ok;
	}
	if (data.n == 9 && data.p[0])
		return false;
	for (*ret = 0; data.n; data = bytes_slice(data, 1, data.n))
		*ret = *ret << 8 | data.p[0];
	return true;
}

bool ber_number(Bytes element, int64_t *ret)
{
	Bytes data;
	int t = type_of(element, &data);
	uint64_t v;

	if (!value_number(t, data, &v) || (types[t].form == FORM_UNSIGNED && v > INT64_MAX))
		return false;
	*ret = (int64_t)v;
	return true;
}

static void hex_text(Bytes b, Sb *out)
{
	sb_cstr(out, "0x");
	for (size_t i = 0; i < b.n; i++)
		sb_printf(out, "%02x", b.p[i]);
}

/* Text, if it is text that a terminal shows; else hex. */
static void octets_text(Bytes b, Sb *out)
{
	for (size_t i = 0; i < b.n; i++)
		if ((b.p[i] < ' ' && b.p[i] != '\n' && b.p[i] != '\r' && b.p[i] != '\t') || b.p[i] > '~') {
			hex_text(b, out);
			return;
		}
	escape_peer(out, b);
}

void ber_value_text(Bytes element, Sb *out)
{
	char ip[IP_TEXT];
	Bytes data;
	int t = type_of(element, &data);
	uint64_t v;

	if (t >= 0 && types[t].form == FORM_EMPTY) {
		sb_cstr(out, types[t].name);
	} else if (value_number(t, data, &v)) {
		sb_printf(out, types[t].form == FORM_SIGNED ? "%lld" : "%llu", (unsigned long long)v);
	} else if (t >= 0 && types[t].form == FORM_TEXT) {
		octets_text(data, out);
	} else if (t >= 0 && types[t].form == FORM_IP && data.n == 4) {
		ip_format(ip_from(4, data.p), ip);
		sb_cstr(out, ip);
	} else if (t < 0 || types[t].form != FORM_OID || !ber_oid_text(data, out)) {
		hex_text(data, out);
	}
}
