/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests and declarations as bytes, for the way from engine to gate and for
 * the hash that a person approves.
 *
 * One manifest has exactly one encoding, and each byte string that decodes is that
 * of what it decodes to: numbers have their shortest form, sets are sorted, what
 * is not declared is zero.  The decoder takes bytes of a hostile engine: it
 * refuses what it does not understand to the last byte, and its memory is bounded
 * by a small multiple of their number.
 *
 * Format: "SDM1" (manifest) or "SDD1" (declarations), then the fields in the order
 * of manifest_codec.c.  Numbers: 7 bits a byte, least first, the top bit says
 * "more"; signed ones are never negative; text and lists: their number, then
 * themselves; addresses: family (0, 4, 6) and bytes.
 */
#ifndef SONDE_DEAL_MANIFEST_CODEC_H
#define SONDE_DEAL_MANIFEST_CODEC_H

#include "base/bytes.h"
#include "deal/manifest.h"

/* False: it does not fit, or it has more than LIMIT_MANIFEST_ITEMS of something. */
bool manifest_encode(const Manifest *m, Writer *w);
bool decls_encode(const Decls *d, Writer *w);

/* NULL, or what is wrong with the bytes.  The result owns nothing of `b`. */
const char *manifest_decode(Bytes b, Arena *a, Manifest *ret_m);
const char *decls_decode(Bytes b, Arena *a, Decls *ret_d);

#endif
