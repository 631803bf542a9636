/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON in its one form (RFC 8785), for what is hashed and others have to hash again.
 */
#ifndef SONDE_MCP_CANONICAL_H
#define SONDE_MCP_CANONICAL_H

#include "base/sha256.h"

#include <jansson.h>

/* New, free(); NULL: no memory, or none for v before. */
char *canonical(const json_t *v);

/* Of that text; all zeros: no memory. */
Hash canonical_hash(const json_t *v);

#endif
