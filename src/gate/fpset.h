/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of 64-bit fingerprints in two generations: when the newer one is full,
 * the older is forgotten and they change places.  At least the last `cap` things
 * put in are found again, in fixed memory, without deleting.
 *
 * Fingerprints are keyed by a seed that no peer knows, so that nobody can make
 * two things meet on purpose; by chance they do with probability n * 2^-64.
 */
#ifndef SONDE_GATE_FPSET_H
#define SONDE_GATE_FPSET_H

#include "base/addr.h"
#include "base/arena.h"
#include "base/rng.h"

typedef struct FpSet {
	uint64_t *slots[2]; /* 0: free */
	uint32_t mask, cap, n[2];
	uint8_t now;
} FpSet;

/* Remembers at least the last `cap` fingerprints (rounded up to a power of two). */
void fpset_init(FpSet *s, Arena *a, uint32_t cap);
void fpset_put(FpSet *s, uint64_t fp);
bool fpset_has(const FpSet *s, uint64_t fp);

static inline uint64_t fp_ip(uint64_t h, Ip ip)
{
	uint64_t w[2];

	memcpy(w, ip.b, sizeof w);
	return rng_mix(rng_mix(h ^ ip.v ^ w[0]) ^ w[1]);
}

static inline uint64_t fp_num(uint64_t h, uint64_t v)
{
	return rng_mix(h ^ v);
}

uint64_t fp_bytes(uint64_t h, Bytes b);

#endif
