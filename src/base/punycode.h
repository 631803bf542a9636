/* SPDX-License-Identifier: Apache-2.0
 *
 * A-labels (`xn--...`) of names as the characters that they stand for, RFC 3492: a
 * reader must see which name is meant.
 */
#ifndef SONDE_BASE_PUNYCODE_H
#define SONDE_BASE_PUNYCODE_H

#include "base/str.h"

/* Code points that a label can hold: a label has at most 63 characters, and each
 * code point takes at least one. */
enum { PUNYCODE_MOST = 63 };

/* Decodes what stands behind `xn--` into at most PUNYCODE_MOST code points.  False:
 * it is no punycode, stands for no character, or for one that is no text. */
bool punycode_decode(Str s, uint32_t out[PUNYCODE_MOST], size_t *ret_n);

/* The other way; false if it does not fit into a label. */
bool punycode_encode(const uint32_t *cp, size_t n, char out[PUNYCODE_MOST], size_t *ret_len);

/* The name with each label that starts by `xn--` decoded, as UTF-8; labels that are
 * no punycode, or hold characters that steer a terminal, stay as they are. */
void punycode_name(Str name, Sb *out);

#endif
