/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of ports as 65,536 bits: the form in which rules are intersected, before
 * the result becomes a few sorted ranges.
 */
#ifndef SONDE_GATE_PORTBITS_H
#define SONDE_GATE_PORTBITS_H

#include "deal/manifest.h"

enum { PORTBITS_WORDS = 65536 / 64 };

typedef struct PortBits {
	uint64_t w[PORTBITS_WORDS];
} PortBits;

static inline bool portbits_has(const PortBits *b, uint16_t port)
{
	return b->w[port / 64] >> (port % 64) & 1;
}

static inline void portbits_drop(PortBits *b, uint16_t port)
{
	b->w[port / 64] &= ~(UINT64_C(1) << (port % 64));
}

void portbits_fill(PortBits *b, bool value);
void portbits_add(PortBits *b, const PortSet *s);
void portbits_and(PortBits *b, const PortBits *other);
void portbits_minus(PortBits *b, const PortBits *other);
bool portbits_empty(const PortBits *b);
/* As ranges that lie apart. */
PortSet portbits_set(const PortBits *b, Arena *a);

#endif
