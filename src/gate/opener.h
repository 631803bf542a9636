/* SPDX-License-Identifier: Apache-2.0
 *
 * Opener, then netd: the one process with capabilities.
 *
 * It reads nothing but one plan of fixed size, questions of a number and a hash before
 * it (gate/opener_state.h), and requests of four bytes, all from
 * the loader that becomes the gate.  With CAP_NET_RAW and CAP_NET_ADMIN it opens
 * the packet sockets of the plan and passes them on; then it keeps CAP_NET_ADMIN
 * alone and looks after the owner table until the gate's end of the channel closes.
 */
#ifndef SONDE_GATE_OPENER_H
#define SONDE_GATE_OPENER_H

#include <stdint.h>

/* The process's main.  `number` names the table.  The exit code: 0 if nothing of
 * ours is left in the kernel, as the kernel said; else SONDE_EXIT_ENVIRONMENT. */
int opener_main(int gate_fd, uint32_t number);

#endif
