/* SPDX-License-Identifier: Apache-2.0
 *
 * Names as text: what a host name may look like, and whether it lies in a zone.
 * Compared label by label, case-insensitively, never by look-up
 * (guardrails.md 2).
 */
#ifndef SONDE_GATE_ZONES_H
#define SONDE_GATE_ZONES_H

#include "base/str.h"
#include "base/vec.h"

typedef struct Zones {
	bool all;
	VEC(Str) v; /* "acme.corp"; the zone itself and all below it */
} Zones;

enum { NAME_WIRE_MAX = 255, NAME_LABEL_MAX = 63 }; /* RFC 1035 2.3.4 */

/* What is wrong with a host name, or NULL: letters, digits and hyphens, RFC 1123
 * 2.1; A-labels decode and encode back to themselves, RFC 5891 4.4. */
const char *name_fault(Str name);

/* The Unicode form of a name with A-labels, for people to see; false if it has none. */
bool name_unicode(Str name, Arena *a, Str *ret_text);

bool zones_have(const Zones *z, Str name);
/* `wire`: an uncompressed name of a DNS message, root label included. */
bool zones_have_wire(const Zones *z, Bytes wire);

#endif
