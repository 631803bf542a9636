/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/zones.h"

enum { LABELS_MAX = 128 };

static uint32_t split(Str name, Str labels[LABELS_MAX])
{
	uint32_t n = 0;

	while (name.n && n < LABELS_MAX)
		labels[n++] = host_next_label(&name);
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
