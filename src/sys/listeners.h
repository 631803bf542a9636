/* SPDX-License-Identifier: Apache-2.0
 *
 * What listens on this host, as /proc tells it: sockets, and the processes that hold
 * them as far as whoever asks may see.
 */
#ifndef SONDE_SYS_LISTENERS_H
#define SONDE_SYS_LISTENERS_H

#include <stdbool.h>

/* Writes one line of JSON: {"listeners":[{"proto":"tcp","addr":"0.0.0.0","port":22,"uid":0,
 * "process":"sshd","pid":812}],"complete":true}; process and pid are null where they are
 * not to be seen, complete is false if any is or if there are more than LISTENERS_MOST.
 * False: /proc could not be read, or the descriptor not be written. */
bool listeners_write(int fd);

enum { LISTENERS_MOST = 512 };

#endif
