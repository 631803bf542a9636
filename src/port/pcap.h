/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture file in the place of the gate (--read): a child of cmd's parses it
 * with libpcap and turns it into FRAMEs with the file's own times.
 *
 * It is a process of its own because libpcap reads by stdio, which asks for more
 * system calls than the engine may make; it has a filter of its own, for what it
 * parses is foreign.  The file's clock is the run's clock: a WAIT brings the
 * frames up to its time, then its TICK; a NOW tells the time of the last frame.
 * A send stops the run.
 */
#ifndef SONDE_PORT_PCAP_H
#define SONDE_PORT_PCAP_H

#include <stdio.h>

/* Serves one engine until it ends or leaves.  Owns both descriptors; `name`
 * is the file's, for messages.  Returns
 * the exit code: SONDE_EXIT_ENVIRONMENT if the file ended in the middle of a frame
 * (what came before was told).  A file that is no capture is told by STOP. */
int pcap_port_serve(int engine_fd, int file_fd, const char *name);

/* The same without closing this process in first.  Closes f. */
int pcap_port_file(int engine_fd, FILE *f, const char *name);

#endif
