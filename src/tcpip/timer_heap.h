/* SPDX-License-Identifier: Apache-2.0
 *
 * The endpoints by when they are due: a pairing heap (Fredman, Sedgewick, Sleator, Tarjan
 * 1986) through links in the endpoints themselves, so that ten thousand timers need no table
 * that grows.  Ties are broken by number: a run does not depend on addresses.
 *
 * Ownership: the links of Endpoint; the caller holds the root.
 */
#ifndef SONDE_TCPIP_TIMER_HEAP_H
#define SONDE_TCPIP_TIMER_HEAP_H

#include "tcpip/endpoint.h"

void timer_heap_add(Endpoint **root, Endpoint *e);
void timer_heap_remove(Endpoint **root, Endpoint *e);

#endif
