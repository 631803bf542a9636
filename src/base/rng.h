/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers as a function of what they are for: draw n of call site s under
 * a seed.  No state, so no draw depends on what other peers did before
 * (guardrails.md 5).  SplitMix64's finalizer; not for secrets.
 */
#ifndef SONDE_BASE_RNG_H
#define SONDE_BASE_RNG_H

#include <stdint.h>

static inline uint64_t rng_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t rng_draw(uint64_t seed, uint64_t site, uint64_t n)
{
	return rng_mix(rng_mix(rng_mix(seed) ^ site) ^ n);
}

/* 0..bound-1 without bias worth naming (2^-64 * bound); bound 0 means 2^64. */
static inline uint64_t rng_below(uint64_t r, uint64_t bound)
{
	return bound ? (uint64_t)((unsigned __int128)r * bound >> 64) : r;
}

#endif
