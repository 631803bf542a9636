/* SPDX-License-Identifier: Apache-2.0
 *
 * The system call filters of engine, TLS process, front and checker; the others' are
 * sandbox_filter() (sandbox.h).
 */
#ifndef SONDE_SYS_SANDBOX_FILTER_H
#define SONDE_SYS_SANDBOX_FILTER_H

/* read of `in`, write to `out`, exit_group; -errno. */
int sandbox_engine_filter(const int in[2], const int out[2]);

/* read and write of `fd`, what OpenSSL asks for, exit_group; -errno. */
int sandbox_tls_filter(int fd);

/* What libmicrohttpd, GnuTLS, jansson and threads ask for; the rest fails. */
int sandbox_front_filter(void);

/* Makes the filter of a checker's children ready; sandbox_checker_child() puts it on. */
int sandbox_checker_filter(int fd);

#endif
