/* SPDX-License-Identifier: Apache-2.0
 *
 * The TLS process of a run: started by cmd when the loader says that the manifest needs
 * it, so that a run without TLS pays one socket pair and no more.
 */
#ifndef SONDE_GATE_RUN_TLS_H
#define SONDE_GATE_RUN_TLS_H

#include "sys/proc.h"

typedef struct RunTls {
	int exe;     /* the binary (proc_helper), -1: there is none */
	int roots;   /* the file of trusted certificates, -1: there is none */
	int self_fd; /* of cmd, with which it ends */
	bool insecure_dev;
	int gate[2]; /* the gate's end, its end */
	Child child;
} RunTls;

#define RUN_TLS_NONE ((RunTls){ .exe = -1, .roots = -1, .self_fd = -1, .gate = { -1, -1 }, .child = CHILD_NONE })

/* While the caller's rights are there, before the loader is forked: finds the binary and
 * the roots, makes the channel; 0 or -errno. */
int run_tls_prepare(RunTls *t);

/* Starts the process and hands the roots over; 0 or -errno.  Its end of the channel is
 * closed here in any case: without a process the gate reads an end. */
int run_tls_start(RunTls *t);

/* It ends by itself when the gate does; what does not is killed. */
void run_tls_end(RunTls *t);

#endif
