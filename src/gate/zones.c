/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/zones.h"

#include "base/punycode.h"

/* ---- labels ---- */

static bool is_alabel(Str l)
{
	return l.n > 4 && str_same((Str){ l.p, 4 }, STR("xn--"));
}

/* An A-label is the encoding of its decoding, and has something to encode. */
static const char *alabel_fault(Str l)
{
	Str puny = { l.p + 4, l.n - 4 };
	uint32_t cp[PUNYCODE_MOST];
	char back[PUNYCODE_MOST];
	size_t n = 0, len = 0;

	if (!punycode_decode(puny, cp, &n) || !punycode_encode(cp, n, back, &len) || !str_same((Str){ back, len }, puny))
		return "a label that begins with xn-- and is no A-label";
	return NULL;
}

static bool is_ld(char c)
{
	return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

static const char *label_fault(Str l)
{
	if (l.n == 0)
		return "an empty label";
	if (l.n > NAME_LABEL_MAX)
		return "a label of more than 63 characters";
	for (size_t i = 0; i < l.n; i++)
		if (!is_ld(l.p[i]) && l.p[i] != '-')
			return "a character other than letters, digits and hyphens";
	if (l.p[0] == '-' || l.p[l.n - 1] == '-')
		return "a label that begins or ends with a hyphen";
	if (is_alabel(l))
		return alabel_fault(l);
	if (l.n >= 4 && l.p[2] == '-' && l.p[3] == '-')
		return "a label with hyphens in its third and fourth place"; /* RFC 5891 4.2.3.1 */
	return NULL;
}

/* The first label of *name, which loses it and its dot. */
static Str next_label(Str *name)
{
	const char *dot = name->n ? memchr(name->p, '.', name->n) : NULL;
	size_t n = dot ? (size_t)(dot - name->p) : name->n;
	Str label = { name->p, n };

	*name = dot ? (Str){ dot + 1, name->n - n - 1 } : (Str){ name->p + n, 0 };
	return label;
}

static bool is_digits(Str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

const char *name_fault(Str name)
{
	Str label = { 0 };

	if (name.n == 0)
		return "no name at all";
	if (name.n > NAME_WIRE_MAX - 2)
		return "more than 253 characters";
	if (name.p[name.n - 1] == '.')
		return "a dot at its end";
	while (name.n) {
		label = next_label(&name);
		const char *fault = label_fault(label);

		if (fault)
			return fault;
	}
	/* RFC 3696 2: what looks like a number could be read as an address. */
	return is_digits(label) ? "a last label of digits only" : NULL;
}

bool name_unicode(Str name, Arena *a, Str *ret_text)
{
	Sb out = sb(a);
	bool any = false;

	while (name.n) {
		Str l = next_label(&name);
		uint32_t cp[PUNYCODE_MOST];
		size_t n;

		if (is_alabel(l) && l.n <= NAME_LABEL_MAX && punycode_decode((Str){ l.p + 4, l.n - 4 }, cp, &n)) {
			any = true;
			for (size_t i = 0; i < n; i++) {
				char u[4];

				sb_str(&out, (Str){ u, utf8_encode(cp[i], u) });
			}
		} else {
			sb_str(&out, l);
		}
		if (name.n)
			sb_char(&out, '.');
	}
	*ret_text = sb_done(&out);
	return any;
}

/* ---- zones ---- */

enum { LABELS_MAX = 128 };

static uint32_t split(Str name, Str labels[LABELS_MAX])
{
	uint32_t n = 0;

	while (name.n && n < LABELS_MAX)
		labels[n++] = next_label(&name);
	return n;
}

/* Whether the zone's labels are the last ones of the name. */
static bool lies_in(const Str *name, uint32_t n, Str zone)
{
	Str z[LABELS_MAX];
	uint32_t nz = split(zone, z);

	if (nz == 0 || nz > n)
		return false;
	for (uint32_t i = 0; i < nz; i++)
		if (!str_same(name[n - nz + i], z[i]))
			return false;
	return true;
}

static bool labels_in(const Zones *z, const Str *name, uint32_t n)
{
	if (z->all)
		return true;
	for (uint32_t i = 0; i < z->v.n; i++)
		if (lies_in(name, n, z->v.p[i]))
			return true;
	return false;
}

bool zones_have(const Zones *z, Str name)
{
	Str labels[LABELS_MAX];

	return name.n && labels_in(z, labels, split(name, labels));
}

bool zones_have_wire(const Zones *z, Bytes wire)
{
	Str labels[LABELS_MAX];
	uint32_t n = 0;
	Cursor c = cursor(wire);

	if (wire.n > NAME_WIRE_MAX)
		return false;
	for (;;) {
		uint8_t len = cur_u8(&c);

		if (len > NAME_LABEL_MAX || c.bad)
			return false;
		if (len == 0)
			return cur_left(&c) == 0 && labels_in(z, labels, n);
		labels[n++] = bytes_str(cur_bytes(&c, len)); /* 255 bytes hold at most 127 */
	}
}
