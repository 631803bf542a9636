/* SPDX-License-Identifier: Apache-2.0
 *
 * libpcap, loaded when it is first needed.
 *
 * Most runs need no capture filter and read no file, and libpcap brings a dozen
 * libraries along whose loading would be the largest part of a short run.  So it
 * is opened by name, in the one process that uses it.
 *
 * Promise relied on: the ABI of libpcap.so.0.8 (its Debian name) and of
 * libpcap.so.1 is that of <pcap/pcap.h>.
 */
#ifndef SONDE_SYS_PCAP_LIB_H
#define SONDE_SYS_PCAP_LIB_H

#include "base/bytes.h"

#include <pcap/pcap.h>
#include <stdio.h>

/* Loads it now (else the first use does); false: there is none. */
bool pcap_lib_load(void);

/* Compiles a filter for frames with (`ether`) or without a link-layer header.
 * False, with one sentence that lives until the next call. */
bool pcap_lib_compile(const char *text, bool ether, struct bpf_program *ret_prog, const char **ret_fault);
void pcap_lib_free(struct bpf_program *prog);
/* Whether a frame passes code that pcap_lib_compile() made. */
bool pcap_lib_run(const struct bpf_insn *code, Bytes frame, uint32_t orig_len);

/* A capture file, with times in ns; NULL, with one sentence.  Closing it closes f. */
pcap_t *pcap_lib_open(FILE *f, const char **ret_fault);
void pcap_lib_close(pcap_t *p);
int pcap_lib_link(pcap_t *p);
const char *pcap_lib_link_name(int dlt);
/* 1: a frame; anything else: no more. */
int pcap_lib_next(pcap_t *p, struct pcap_pkthdr **ret_head, const u_char **ret_data);

#endif
