/* SPDX-License-Identifier: Apache-2.0
 *
 * What both hosts of a transfer share: the bytes that they send, which are a function of
 * a seed, what is told of each connection, and options as NAME=VALUE.
 */
#ifndef SONDE_TESTS_PEERS_STREAM_H
#define SONDE_TESTS_PEERS_STREAM_H

#include "base/rng.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* n bytes of the stream from `off` on, which is a multiple of 8. */
static inline void stream_fill(uint64_t seed, uint64_t off, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = rng_mix(seed ^ rng_mix(off + i));

		memcpy(p + i, &w, n - i < 8 ? n - i : 8);
	}
}

static inline int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* One direction of a transfer. */
typedef struct Way {
	uint64_t bytes;
	Sha256 sha;
	int64_t first_ns, last_ns;
} Way;

static inline void way_add(Way *w, Bytes b)
{
	w->last_ns = clock_ns();
	if (!w->bytes)
		w->first_ns = w->last_ns;
	w->bytes += b.n;
	sha256_add(&w->sha, b);
}

static inline void way_print(Way *w, const char *name)
{
	char text[SHA256_TEXT];

	hash_format(sha256_done(&w->sha), text);
	printf("\"%s\": %llu, \"%s_sha\": \"%s\", \"%s_ns\": %lld", name, (unsigned long long)w->bytes, name, text, name,
	       (long long)(w->last_ns - w->first_ns));
}

/* The value of NAME=VALUE among the arguments, or `other`. */
static inline const char *option(int argc, char **argv, const char *name, const char *other)
{
	size_t n = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return other;
}

static inline long option_num(int argc, char **argv, const char *name, long other)
{
	const char *text = option(argc, argv, name, NULL);

	return text ? atol(text) : other;
}

static inline bool option_is(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], word))
			return true;
	return false;
}

#endif
