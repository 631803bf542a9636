/* SPDX-License-Identifier: Apache-2.0
 *
 * Names, records and record data of DNS.  Inside Sonde all are uncompressed: the
 * decoder expands compression once, with limits, so that nobody else meets it.
 */
#ifndef SONDE_WIRE_DNS_H
#define SONDE_WIRE_DNS_H

#include "wire/wire.h"

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_MX = 15,
	DNS_TYPE_TXT = 16,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SRV = 33,
	DNS_TYPE_OPT = 41,
	DNS_NAME_MOST = 255, /* RFC 1035 2.3.4: bytes of a name, in wire form */
	DNS_LABEL_MOST = 63,
	DNS_POINTERS_MOST = 64,          /* of one name */
	DNS_EXPANDED_MOST = 256 * 1024,  /* bytes of the records of one message, expanded */
};

/* ---- names ---- */

/* Expands the name at *at of a message; *at is behind it afterwards.  NULL, or
 * what is wrong with it ("runs past the end"). */
const char *dns_name_expand(Bytes msg, size_t *at, Writer *out);

/* "www.example.com." (RFC 1035 5.1: what is no host name character as \DDD). */
void dns_name_text(Bytes name, Sb *out);

/* A name's wire form; the last dot may be missing.  False for an empty label, or
 * a label or name that is too long. */
bool dns_name_from_text(Str text, Arena *a, Bytes *ret_name);

/* ---- record data ---- */

/* Record data as people write it: "10.0.0.1", "10 mail.example.com."; types
 * without a row as RFC 3597 says: "\# 3 0a0b0c". */
void dns_rdata_text(uint16_t type, Bytes rdata, Sb *out);

/* The reverse, for A AAAA NS CNAME PTR DNAME MX TXT SRV. */
bool dns_rdata_from_text(uint16_t type, Str text, Arena *a, Bytes *ret_rdata);

/* For the decoder: the layout of record data that has names in it. */
typedef struct DnsLayout {
	uint16_t type;
	uint8_t before; /* bytes in front of the names */
	uint8_t names;
	uint8_t behind;
} DnsLayout;

const DnsLayout *dns_layout(uint16_t type);

/* ---- over a stream (RFC 1035 4.2.2, RFC 7766 8) ---- */

enum { DNS_STREAM_HEAD = 2 };

/* How many bytes the next message takes with its length before it; 0: its length is not
 * there yet. */
static inline size_t dns_stream_size(Bytes stream)
{
	return stream.n < DNS_STREAM_HEAD ? 0 : DNS_STREAM_HEAD + (size_t)get_be16(stream.p);
}

#endif
