/* SPDX-License-Identifier: Apache-2.0
 *
 * netd: serves the three requests on the owner table, and ends by proof.
 */
#ifndef SONDE_GATE_NETD_H
#define SONDE_GATE_NETD_H

#include "sys/nft.h"

/* Until the channel closes.  The exit code, see opener.h. */
int netd_serve(int gate_fd, Nft *nft);

#endif
