/* SPDX-License-Identifier: Apache-2.0
 *
 * What a host name may look like.
 */
#ifndef SONDE_BASE_HOSTNAME_H
#define SONDE_BASE_HOSTNAME_H

#include "base/str.h"

enum { NAME_WIRE_MAX = 255, NAME_LABEL_MAX = 63 }; /* RFC 1035 2.3.4 */

/* What is wrong with a host name, or NULL: letters, digits and hyphens, RFC 1123
 * 2.1; A-labels decode and encode back to themselves, RFC 5891 4.4; its end is no
 * number, which others would read as an address. */
const char *host_name_fault(Str name);
/* The same of a name to ask DNS for: labels may begin with an underscore, RFC 8552. */
const char *host_question_fault(Str name);
bool host_ends_in_number(Str name);

/* The first label of *name, which loses it and its dot. */
Str host_next_label(Str *name);

/* The Unicode form of a name with A-labels, for people to see; false if it has none. */
bool host_name_unicode(Str name, Arena *a, Str *ret_text);

#endif
