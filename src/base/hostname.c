/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hostname.h"

#include "base/punycode.h"

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

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_ld(char c)
{
	return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || is_digit(c);
}

static const char *label_fault(Str l, bool service)
{
	if (l.n == 0)
		return "an empty label";
	if (l.n > NAME_LABEL_MAX)
		return "a label of more than 63 characters";
	for (size_t i = service && l.n > 1 && l.p[0] == '_'; i < l.n; i++)
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

Str host_next_label(Str *name)
{
	const char *dot = name->n ? memchr(name->p, '.', name->n) : NULL;
	size_t n = dot ? (size_t)(dot - name->p) : name->n;
	Str label = { name->p, n };

	*name = dot ? (Str){ dot + 1, name->n - n - 1 } : (Str){ name->p + n, 0 };
	return label;
}

static bool is_hex(char c)
{
	return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f');
}

/* As inet_aton() reads numbers: 0x1f is one too. */
static bool is_number(Str s)
{
	bool hex = s.n > 1 && s.p[0] == '0' && ascii_lower(s.p[1]) == 'x';

	for (size_t i = hex ? 2 : 0; i < s.n; i++)
		if (!(hex ? is_hex(s.p[i]) : is_digit(s.p[i])))
			return false;
	return s.n;
}

bool host_ends_in_number(Str name)
{
	Str label = { 0 };

	while (name.n)
		label = host_next_label(&name);
	return is_number(label);
}

static const char *fault_of(Str name, bool service)
{
	Str rest = name;

	if (name.n == 0)
		return "no name at all";
	if (name.n > NAME_WIRE_MAX - 2)
		return "more than 253 characters";
	if (name.p[name.n - 1] == '.')
		return "a dot at its end";
	while (rest.n) {
		const char *fault = label_fault(host_next_label(&rest), service);

		if (fault)
			return fault;
	}
	/* RFC 3696 2: what looks like a number could be read as an address. */
	return host_ends_in_number(name) ? "a last label that is a number" : NULL;
}

const char *host_name_fault(Str name)
{
	return fault_of(name, false);
}

const char *host_question_fault(Str name)
{
	return fault_of(name, true);
}

bool host_name_unicode(Str name, Arena *a, Str *ret_text)
{
	Sb out = sb(a);
	bool any = false;

	while (name.n) {
		Str l = host_next_label(&name);
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
