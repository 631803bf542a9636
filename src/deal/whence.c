/* SPDX-License-Identifier: Apache-2.0 */
#include "deal/whence.h"

#include "deal/manifest.h"

const char *told_name(Told t)
{
	static const char *const names[] = { "clean", "measured", "content" };

	return t < TOLD_N ? names[t] : names[TOLD_CONTENT];
}

bool whence_put(Writer *w, const Whence *x)
{
	size_t before = w->n;

	wr_u8(w, x->kind);
	if (x->kind != WHENCE_ANY) {
		wr_ip(w, x->lo);
		wr_ip(w, x->hi);
	}
	if (x->kind == WHENCE_NAME) {
		wr_be16(w, (uint16_t)(x->name.n < UINT16_MAX ? x->name.n : UINT16_MAX));
		wr_bytes(w, str_bytes((Str){ x->name.p, x->name.n < UINT16_MAX ? x->name.n : UINT16_MAX }));
	}
	if (!w->full)
		return true;
	w->n = before;
	w->full = false;
	return false;
}

static bool read_row(Cursor *c, Whence *x)
{
	*x = (Whence){ .kind = cur_u8(c) };
	if (x->kind == WHENCE_ANY)
		return true;
	x->lo = cur_ip(c);
	x->hi = cur_ip(c);
	if (x->kind > WHENCE_NAME || c->bad || x->lo.v != x->hi.v || ip_cmp(x->lo, x->hi) > 0)
		return false;
	if (x->kind == WHENCE_ADDRS)
		return x->lo.v != 0;
	Bytes name = cur_bytes(c, cur_be16(c));

	x->name = bytes_str(name);
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] <= ' ' || name.p[i] > '~')
			return false;
	return !c->bad && name.n > 0 && (!x->lo.v || ip_eq(x->lo, x->hi));
}

bool whence_next(Cursor *c, Whence *ret, bool *ret_bad)
{
	*ret_bad = false;
	if (!cur_left(c))
		return false;
	*ret_bad = !read_row(c, ret) || c->bad;
	return !*ret_bad;
}

void whence_text(const Whence *x, Sb *out)
{
	if (x->kind == WHENCE_ANY)
		sb_cstr(out, "anybody");
	else if (x->kind == WHENCE_NAME)
		sb_str(out, x->name);
	else
		target_text(&(Target){ .lo = x->lo, .hi = x->hi }, out);
}
