/* SPDX-License-Identifier: Apache-2.0
 *
 * The encoder's state, for the `prepare` and `finish` functions of the protocols.
 *
 * Places are given out from the outermost layer inwards, images and variable
 * fields are copied there, then each protocol derives what was not set: transports
 * after all others, from the innermost layer outwards, so that a checksum finds
 * all that it covers, and its pseudo header, in their final form.
 */
#ifndef SONDE_WIRE_BUILD_H
#define SONDE_WIRE_BUILD_H

#include "wire/table.h"

struct WireBuild {
	Arena *a;
	WirePacket *out;   /* the layers; from the second step on their images are in the frame */
	Bytes body;        /* payload */
	uint8_t *frame;
	size_t end;        /* of the payload, in the frame; padding is behind */
	const char *error; /* the first one */
};

void wire_build_error(WireBuild *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes a derived value, unless the field is set. */
static inline void wire_derive(WireBuild *b, unsigned at, unsigned field, uint64_t v)
{
	WireLayer *l = &b->out->layer[at];

	if (!wire_is_set(l, field))
		wire_put(l->image, &l->proto->fields[field], v);
}

/* As wire_derive, for a length: an error if it does not fit. */
void wire_derive_len(WireBuild *b, unsigned at, unsigned field, size_t n, const char *what);

/* All bytes from the start of a layer to the payload's end. */
static inline Bytes wire_from(const WireBuild *b, unsigned at)
{
	size_t off = b->out->layer[at].off;

	return BYTES(b->frame + off, b->end - off);
}

/* The protocol of the layer inside, or WIRE_NONE. */
static inline WireId wire_inner(const WireBuild *b, unsigned at)
{
	return at + 1 < b->out->n ? b->out->layer[at + 1].proto->id : WIRE_NONE;
}

/* Derives the number of the inner layer: an EtherType or an IP protocol. */
void wire_derive_ethertype(WireBuild *b, unsigned at, unsigned field);
void wire_derive_ipproto(WireBuild *b, unsigned at, unsigned field, uint8_t none);

/* The sum of the pseudo header (RFC 9293 3.1, RFC 8200 8.1) of the network layer
 * around layer `at` of an encoded or received packet; false if there is none. */
bool wire_pseudo(const WirePacket *p, unsigned at, uint8_t proto, size_t len, uint32_t *ret_sum);

/* Encodes one layer, without derivation, at `to`: its header's length. */
uint32_t wire_layer_encode(const WireLayer *l, uint8_t *to);

#endif
