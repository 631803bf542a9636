/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets as stacks of layers.
 *
 * One table per protocol (WireProto, WireField) drives the encoder, the decoder,
 * the language's layer types and completion, labels, printing, docs and fuzz
 * dictionaries.  A protocol is one file wire/<name>.c and one line in
 * wire/protos.def.
 *
 * A layer, built or received, is one thing: an image of its fixed header plus
 * its variable fields.  The image holds all fixed bits side by side; a variable
 * field (options, names, data) stands apart in `var[]` and is put in at its
 * place when the layer is encoded.  `set` says which fields somebody set (all,
 * for a received layer); wire_build() derives the rest: lengths, checksums,
 * protocol numbers, header lengths.  What it can't know (source address by the
 * kernel's route, source port, ids) the engine sets before.
 *
 * A received packet has no Raw layer: what no protocol decoded is its `payload`,
 * and `reason` says why.  A built one may end with Raw, which is nothing but a
 * payload with a name.
 *
 * Ownership: layers borrow their images and variable fields from the arena or
 * frame they were made on.
 */
#ifndef SONDE_WIRE_WIRE_H
#define SONDE_WIRE_WIRE_H

#include "base/addr.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum FieldKind {
	FK_UINT,    /* a number of `width` bits */
	FK_SERIAL,  /* a number taken modulo 2^width when it is set: seq, ack, time stamps */
	FK_FLAGS,   /* bits with names, `names` from bit 0 up: value = 1 << index */
	FK_ENUM,    /* a number whose values have names */
	FK_IP4,
	FK_IP6,
	FK_MAC,
	FK_BYTES,   /* bytes; with a width: so many, padded with zeros */
	FK_NAME,    /* variable: a DNS name, uncompressed wire form */
	FK_OPTIONS, /* variable: a list of options, WireProto.options describes them */
	FK_RECORDS, /* variable: records (WireField.record), uncompressed wire form, back to back */
	FK_SINT,    /* a number of `width` bits in two's complement */
	FK_STAMP,   /* a time in NTP's 64 bits (RFC 5905 6); 0: none */
	FK_OID,     /* variable: an object identifier, the contents in BER */
	FK_BER,     /* variable: one element in BER */
} FieldKind;

/* What a received field tells (guardrails.md 5).  MATCHED: in a direct answer
 * matching required it to equal the probe's, so it carries the probe's label. */
typedef enum WireLabel { LABEL_CLEAN, LABEL_MEASURED, LABEL_CONTENT, LABEL_MATCHED } WireLabel;

typedef struct WireName {
	const char *name; /* NULL ends a table */
	uint64_t value;   /* flags: the bit's mask */
} WireName;

typedef struct WireField {
	const char *name;
	uint16_t bit;   /* offset into the image; of a variable field: where it is put in */
	uint16_t width; /* bits; 0: variable */
	FieldKind kind;
	bool computed;  /* wire_build() or the engine derives it unless it is set */
	bool required;  /* has no default that makes sense: a program sets it */
	bool distinct;  /* computed: the engine gives each probe another one */
	bool follows;   /* a length, count or checksum: stale when another field changed, wire_rederive() */
	uint64_t dflt;  /* value when neither set nor computed */
	const WireName *names;
	WireLabel label;
	uint8_t record;  /* of FK_RECORDS: WireId of what they are; DNSRR stands for DNSRROPT too */
	uint32_t when;   /* the forms (WireVariant.bit) of the header that have it; 0: all */
	const char *doc; /* meaning, unit and, if computed, how */
} WireField;

/* A bit per protocol: a layer stack in the checker is a mask of these. */
typedef enum WireId {
#define PROTO(id, file) WIRE_##id,
#include "wire/protos.def"
	WIRE_N,
	WIRE_NONE = 0xff
} WireId;

#define WIRE_BIT(id) (UINT64_C(1) << (id))
_Static_assert(WIRE_N <= 64, "a mask of layers has 64 bits");

typedef enum WireRole {
	ROLE_LINK,      /* Ether, Dot1Q */
	ROLE_NETWORK,   /* ARP, IP, IPv6 */
	ROLE_EXTENSION, /* IPv6 extension headers */
	ROLE_TRANSPORT, /* ICMP, ICMPv6, UDP, TCP */
	ROLE_APP,       /* DNS, ... */
	ROLE_RECORD,    /* DNSQR, DNSRR, DNSRROPT: parts of a layer, not layers of a packet */
	ROLE_RAW,
} WireRole;

enum { WIRE_VARS = 4, WIRE_FIELDS = 40 };

typedef struct WireProto WireProto;

typedef struct WireLayer {
	const WireProto *proto;
	uint64_t set;         /* bit i: fields[i] is set */
	uint8_t *image;       /* proto->fixed bytes; of a received layer never written */
	Bytes var[WIRE_VARS]; /* variable fields, in the order of the table */
	uint32_t off;         /* received or built: where the header starts in the frame */
	uint32_t len;         /* header length in bytes, variable fields included */
} WireLayer;

typedef struct WirePacket {
	uint8_t n;
	WireLayer layer[LIMIT_LAYERS];
	Bytes payload;      /* behind the last decoded header, without Ethernet's padding */
	Bytes padding;      /* behind the end that the headers' lengths give: Ethernet's */
	Bytes frame;        /* all of it; empty for a packet that was never encoded */
	const char *
		reason; /* why decoding stopped early ("TCP data offset 3 is below 5"); NULL: nothing wrong */
} WirePacket;

/* How the options of a protocol are coded. */
typedef enum WireOptForm {
	OPT_NONE,
	OPT_TLV,  /* IP, TCP: kind, length of all; kinds 0 (end) and 1 stand alone */
	OPT_IPV6, /* kind, length of the data; kind 0 stands alone */
	OPT_ND,   /* kind, length of all in units of 8 bytes */
	OPT_EDNS, /* 16 bits code, 16 bits length of the data */
	OPT_LLDP, /* 7 bits kind, 9 bits length of the data */
	OPT_DHCP, /* kind, length of the data; kinds 0 (pad) and 255 (end) stand alone */
} WireOptForm;

/* One option kind of a protocol with options, and its constructor in the
 * language: MSS(1460), Timestamp(1, 0). */
typedef struct WireOption {
	const char *name; /* "MSS" */
	uint16_t kind;
	uint8_t len; /* of a fixed-size option, as it is coded, kind and length included; 1: kind alone; 0:
			varies */
	uint8_t args;    /* numbers that the constructor takes, each (data length)/args bytes big-endian */
	const char *doc;
	uint8_t width;  /* bytes of a number where `len` does not say it: of a list; 0: 4 */
	bool ip;        /* its numbers are IPv4 addresses */
	const WireName *names; /* of its numbers */
} WireOption;

typedef enum WireCsum {
	CSUM_NONE,    /* the layer has none, or UDP's 0: not used */
	CSUM_GOOD,
	CSUM_BAD,
	CSUM_UNKNOWN, /* a fragment, a truncated packet: it can't be computed */
} WireCsum;

typedef struct WireParse WireParse; /* decoder state, wire/parse.h */
typedef struct WireBuild WireBuild; /* encoder state, wire/build.h */

/* One form of a header whose first bytes say which fields follow (ICMP's type). */
typedef struct WireVariant {
	uint32_t bit;   /* names the form in WireField.when */
	uint16_t fixed; /* bytes of the image that this form has */
} WireVariant;

struct WireProto {
	WireId id;
	const char *name;  /* Scapy's: "IP" */
	const char *title; /* "Internet Protocol version 4" */
	const char *rfc;   /* "RFC 791" */
	WireRole role;
	const WireField *fields;
	uint8_t nfields;
	uint8_t nvars;           /* variable fields */
	uint8_t var[WIRE_VARS];  /* their places in `fields` */
	uint16_t fixed;          /* bytes of the image */
	bool apart;              /* built, its image stands nowhere in the frame: `prepare` derives, `finish` can't */
	bool rewritten;          /* decoded, it is encoded to bytes that mean the same: compression, BER */
	uint8_t align;           /* the header ends on a multiple of this, padded; 0 or 1: none */
	WireOptForm opt_form;
	const WireOption *options; /* ends with a row without name; NULL: none */

	/* The form of a header by its image; NULL: there is but one. */
	WireVariant (*variant)(const uint8_t *image);
	/* Reads one header at the cursor: image and variable fields of the layer,
	 * and what follows.  False, with a reason, if the bytes are no such header. */
	bool (*parse)(WireParse *p, WireLayer *l);
	/* Derives variable fields that are not set, before places are given out. */
	void (*prepare)(WireBuild *b, unsigned at);
	/* Derives what is computed and not set, when all inner layers are encoded. */
	void (*finish)(WireBuild *b, unsigned at);
	/* Verifies its checksum over the layer and what it carries; NULL: it has none. */
	WireCsum (*check)(const WirePacket *p, unsigned at, Bytes covered);
	/* Of a record: reads the next one; what must hold is as for wire_record_next(). */
	bool (*next)(Cursor *c, WireLayer *l);
	/* Where the header is not its image with the variable fields put in: its length
	 * and its bytes. */
	uint32_t (*measure)(const WireLayer *l);
	void (*encode)(const WireLayer *l, Writer *w);
	/* Its part of a one-line summary, behind the name; NULL: nothing. */
	void (*summary)(const WireLayer *l, Sb *out);
};

/* ---- registry ---- */

const WireProto *wire_proto(WireId id);
const WireProto *wire_proto_by_name(Str name);
/* The field's index, or -1. */
int wire_field(const WireProto *p, Str name);
/* The name of a value in a field's table, or NULL. */
const char *wire_value_name(const WireField *f, uint64_t value);
/* The value of a name; flags take joined names too ("SA", "MF+DF", ""). */
bool wire_name_value(const WireField *f, Str name, uint64_t *ret_value);
/* "SA", "MF+DF", "" */
void wire_flags_text(const WireField *f, uint64_t value, Sb *out);

/* ---- layers ---- */

/* A layer with nothing set: its image holds the defaults. */
void wire_layer_init(WireLayer *l, const WireProto *p, Arena *a);
/* Numbers, flags, enums, serials (modulo), IPv4 (host order) and MAC (48 bits) as a number.
 * False if the value does not fit. */
bool wire_set_num(WireLayer *l, unsigned field, uint64_t v);
/* IPv6 addresses and bytes of a width (both are copied), and variable fields in wire
 * form (borrowed). */
bool wire_set_bytes(WireLayer *l, unsigned field, Bytes b);
uint64_t wire_num(const WireLayer *l, unsigned field);
Bytes wire_bytes(const WireLayer *l, unsigned field);
static inline bool wire_is_set(const WireLayer *l, unsigned field)
{
	return l->set >> field & 1;
}
/* Back to "derive it" or to the default. */
void wire_unset(WireLayer *l, unsigned field);
/* Unsets the lengths, counts and checksums of a copied layer that is about to be changed. */
void wire_rederive(WireLayer *l);
/* Whether this form of the header has the field (ICMP's gw: only redirects). */
bool wire_has(const WireLayer *l, unsigned field);
/* A copy whose image may be written. */
void wire_layer_copy(WireLayer *ret, const WireLayer *l, Arena *a);
/* The field's value as show() prints it: "S", "echo-request", "10.0.0.1". */
void wire_field_text(const WireLayer *l, unsigned field, Sb *out);

/* The first layer of that protocol, or NULL. */
const WireLayer *wire_find(const WirePacket *p, WireId id);

/* ---- frames ---- */

/* Decodes a frame that starts with `first` (Ether, IP, IPv6, ...); always gives
 * a packet: what is no header ends as payload, with a reason. */
void wire_parse(Bytes frame, WireId first, Arena *a, WirePacket *ret);

/* Encodes layers and payload; derives what is computed and not set.  Returns
 * NULL and the frame, or why it can't be ("IP packet of 70000 bytes: the most is 65535").
 * ret_packet, unless NULL, is the packet as it was sent: all fields set. */
const char *wire_build(const WirePacket *p, Arena *a, Bytes *ret_frame, WirePacket *ret_packet);

/* Bytes of the layer's header as it would be encoded now (for lengths in the
 * checker); without the options that a SYN gets when none are set. */
uint32_t wire_header_len(const WireLayer *l);

/* "IP 10.0.0.1 > 10.0.0.2 / TCP 80 > 40000 SA seq=1 ack=2", one line. */
void wire_summary(const WirePacket *p, Sb *out);
/* All layers and fields, a line each, as Scapy's show(). */
void wire_show(const WirePacket *p, Sb *out);
/* The protocol's table of fields and options, for `sonde doc`. */
void wire_doc(WireId id, Sb *out);

/* ---- checksums ---- */

/* Verifies the checksum of one layer of a packet with a frame. */
WireCsum wire_check(const WirePacket *p, unsigned layer);

/* ---- ICMP errors ---- */

/* The packet that an ICMP or ICMPv6 error quotes; false if p is no such error.
 * A quote may end early: of a header that is cut, the fields beyond are not set
 * (and read as 0), and so is a reason. */
bool wire_quoted(const WirePacket *p, Arena *a, WirePacket *ret);

/* What a message of ICMP or ICMPv6 (v 4 or 6) says, in a word: "host-unreachable",
 * "prohibited", "time-exceeded", "icmp-5". */
void wire_icmp_word(uint8_t v, uint8_t type, uint8_t code, Sb *out);

/* RFC 4950: one entry of the label stack that a router reports. */
typedef struct WireMpls {
	uint32_t label;
	uint8_t tc;
	bool bottom;
	uint8_t ttl;
} WireMpls;

/* Fills at most `max` entries, the outermost first; how many there were. */
unsigned wire_icmp_mpls(const WirePacket *p, WireMpls *ret, unsigned max);

/* ---- fragments ---- */

/* An IP packet (no link header) that is being cut for links of `mtu` bytes. */
typedef struct WireCut {
	Bytes packet;
	uint32_t mtu;
	uint32_t id;       /* the identification for IPv6, whose packets carry none */
	size_t off;        /* bytes of the body that are cut off already */
	size_t head;       /* header bytes in front of the body; 0: it is no IP packet */
	size_t nh_at;      /* IPv6: where the last header that each piece repeats names the next */
	uint8_t later[60]; /* IPv4: the header of all pieces but the first */
	uint8_t nlater;
	bool v6;
} WireCut;

/* NULL, or why it can't be cut ("DF is set"). */
const char *wire_cut_init(WireCut *c, Bytes packet, uint32_t mtu, uint32_t id);
/* Writes the next piece; false when there is none left or w is full. */
bool wire_cut_next(WireCut *c, Writer *w);
/* How many pieces are still to come, and their bytes in all. */
uint32_t wire_cut_count(const WireCut *c, uint64_t *ret_bytes);
/* All pieces at once (one, if the packet fits), or why it can't be cut. */
const char *wire_fragment(Bytes packet, uint32_t mtu, uint32_t id, Arena *a, Bytes **ret_pieces,
			  uint32_t *ret_n);

/* ---- records ---- */

/* Reads the next record of a field of kind FK_RECORDS; DNSRROPT among DNSRR.  False
 * at the end, or, with c->bad, at a broken one. */
bool wire_record_next(WireId kind, Cursor *c, WireLayer *ret_l);
/* The wire form of a record; rdlen is derived unless set. */
Bytes wire_record_build(const WireLayer *l, Arena *a);
/* "www.example.com. A 60 10.0.0.1" */
void wire_record_text(const WireLayer *r, Sb *out);

/* ---- pieces that others need ---- */

/* An option's number: bytes of each, when its data has n. */
size_t wire_option_width(const WireProto *p, const WireOption *o, size_t n);
/* Its numbers as "1, 0", addresses or names; false, and nothing, if its data are none. */
bool wire_option_numbers(const WireProto *p, const WireOption *o, Bytes data, Sb *out);

/* ns since the epoch of a field of kind FK_STAMP, NS_NONE for 0, and back (false:
 * outside of 1968..2104). */
int64_t wire_stamp_ns(uint64_t stamp);
bool wire_stamp_from_ns(int64_t ns, uint64_t *ret_stamp);

/* RFC 1071 sum over b, continuing from `sum`, of which an even number of bytes
 * was summed; fold with wire_csum_fold. */
uint32_t wire_csum(uint32_t sum, Bytes b);
/* The checksum as it is put into a header. */
uint16_t wire_csum_fold(uint32_t sum);

typedef struct WireOpt {
	uint16_t kind;
	Bytes data; /* behind kind and length */
} WireOpt;
/* Walks IP's and TCP's options (OPT_TLV): false at the end or at a broken one (*ret_bad).
 * NOP and EOL are options too; behind EOL nothing is read. */
bool wire_opt_next(Cursor *c, WireOpt *ret_o, bool *ret_bad);
/* The same for the options of any protocol. */
bool wire_option_next(const WireProto *p, Cursor *c, WireOpt *ret_o, bool *ret_bad);
/* Appends one option as the protocol codes it; false if the data don't fit. */
bool wire_option_put(const WireProto *p, uint16_t kind, Bytes data, Sb *out);
const WireOption *wire_option_by_kind(const WireProto *p, uint16_t kind);
const WireOption *wire_option_by_name(const WireProto *p, Str name);

#endif
