/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/portbits.h"

void portbits_fill(PortBits *b, bool value)
{
	memset(b, value ? 0xff : 0, sizeof *b);
}

void portbits_add(PortBits *b, const PortSet *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t p = s->p[i].lo; p <= s->p[i].hi; p++)
			b->w[p / 64] |= UINT64_C(1) << (p % 64);
}

void portbits_and(PortBits *b, const PortBits *other)
{
	for (size_t i = 0; i < PORTBITS_WORDS; i++)
		b->w[i] &= other->w[i];
}

void portbits_minus(PortBits *b, const PortBits *other)
{
	for (size_t i = 0; i < PORTBITS_WORDS; i++)
		b->w[i] &= ~other->w[i];
}

bool portbits_empty(const PortBits *b)
{
	uint64_t any = 0;

	for (size_t i = 0; i < PORTBITS_WORDS; i++)
		any |= b->w[i];
	return any == 0;
}

PortSet portbits_set(const PortBits *b, Arena *a)
{
	PortSet s = { 0 };

	for (uint32_t p = 0; p < 65536; p++) {
		if (p % 64 == 0 && b->w[p / 64] == 0) {
			p += 63;
			continue;
		}
		if (!portbits_has(b, (uint16_t)p))
			continue;
		uint32_t end = p;

		while (end < 65535 && portbits_has(b, (uint16_t)(end + 1)))
			end++;
		vec_push(a, &s, (PortRange){ (uint16_t)p, (uint16_t)end });
		p = end;
	}
	return s;
}
