/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a connection as a program sees them: what TCP carries, or what TLS within
 * it carries (net_tls.c).  send, recv and what reads off a stream for a verb go through
 * here and need not know which.
 */
#ifndef SONDE_VM_LIVE_TLS_H
#define SONDE_VM_LIVE_TLS_H

#include "vm/engine_conn.h"

/* Turns what came into what it says; nothing to do without TLS.  False: the run has ended. */
bool live_pump(Engine *e, Live *l);
/* Sends all of b, waiting for room.  False: the run has ended. */
bool live_write(Engine *e, Live *l, Bytes b);
/* Says close_notify, where there is TLS.  False: the run has ended. */
bool live_close(Engine *e, Live *l);

size_t live_readable(const Live *l);
/* Up to n bytes from `from` on, which stay. */
size_t live_peek(const Live *l, size_t from, uint8_t *buf, size_t n);
size_t live_take(Engine *e, Live *l, uint8_t *buf, size_t n);
/* The peer has ended its side, and all before that was read. */
bool live_eof(const Live *l);
/* No more will come than is readable now. */
bool live_ended(const Live *l);

#endif
