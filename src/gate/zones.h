/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a name lies in a zone: compared label by label, case-insensitively, never by
 * look-up (guardrails.md 2).
 */
#ifndef SONDE_GATE_ZONES_H
#define SONDE_GATE_ZONES_H

#include "base/hostname.h"
#include "base/vec.h"

typedef struct Zones {
	bool all;
	VEC(Str) v; /* "acme.corp"; the zone itself and all below it */
} Zones;

bool zones_have(const Zones *z, Str name);
/* `wire`: an uncompressed name of a DNS message, root label included. */
bool zones_have_wire(const Zones *z, Bytes wire);

#endif
