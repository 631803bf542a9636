/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648), by either alphabet; strict: no other characters, no bit to spare.
 */
#ifndef SONDE_BASE_BASE64_H
#define SONDE_BASE_BASE64_H

#include "base/str.h"

#include <sys/types.h>

/* Characters that n bytes become without padding. */
#define BASE64_TEXT(n) (((n) * 4u + 2u) / 3u)

/* BASE64_TEXT(in.n) characters of the alphabet for URLs, without padding, and a zero byte;
 * their number. */
size_t base64url(char *out, Bytes in);
/* The bytes that it stands for, at most text.n * 3 / 4; -1: it is not the one way to write some. */
ssize_t unbase64url(uint8_t *out, Str text);
/* The same of the first alphabet, with padding. */
ssize_t unbase64(uint8_t *out, Str text);

#endif
