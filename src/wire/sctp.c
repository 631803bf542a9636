/* SPDX-License-Identifier: Apache-2.0
 *
 * SCTP and its chunks, each a layer (RFC 9260)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             sport             |             dport             |
 * |                              tag                              |
 * |                            chksum                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * A chunk:
 *
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     type      |     flags     |              len              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  by type; padded to 4 bytes, which len does not count         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 12, CHUNK = 4, DATA = 16, INIT = 20, SACK = 16, SHUTDOWN = 8, PAD = 4 };

enum { F_SPORT, F_DPORT, F_TAG, F_CHKSUM, F_N };

static const WireField fields[] = {
	[F_SPORT] = FIELD("sport", 0, 16, UINT, CONTENT, "source port", .required = true),
	[F_DPORT] = FIELD("dport", 16, 16, UINT, CONTENT, "destination port", .required = true),
	[F_TAG] = FIELD("tag", 32, 32, UINT, CONTENT, "the receiver's verification tag; 0 with INIT"),
	[F_CHKSUM] = FIELD("chksum", 64, 32, UINT, CONTENT, "CRC32c of all", .computed = true, .follows = true),
};

/* ---- CRC32c, RFC 9260 appendix A: reflected polynomial, least significant byte first ---- */

static uint32_t crc_on(uint32_t crc, Bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		crc ^= b.p[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return crc;
}

/* Of a packet, with zeros in the place of the CRC itself. */
static uint32_t crc32c(Bytes b)
{
	uint8_t head[HDR] = { 0 };

	memcpy(head, b.p, HDR - 4);
	return __builtin_bswap32(~crc_on(crc_on(UINT32_MAX, BYTES(head, HDR)), bytes_slice(b, HDR, b.n)));
}

static void finish(WireBuild *b, unsigned at)
{
	if (!wire_is_set(&b->out->layer[at], F_CHKSUM))
		wire_derive(b, at, F_CHKSUM, crc32c(wire_from(b, at)));
}

static WireCsum check(const WirePacket *p, unsigned at, Bytes covered)
{
	if (covered.n < HDR)
		return CSUM_UNKNOWN;
	return crc32c(covered) == wire_num(&p->layer[at], F_CHKSUM) ? CSUM_GOOD : CSUM_BAD;
}

/* ---- what the chunks have ---- */

static const WireName chunk_types[] = {
	{ "data", 0 },		 { "init", 1 },	       { "init-ack", 2 },	   { "sack", 3 },
	{ "heartbeat", 4 },	 { "heartbeat-ack", 5 }, { "abort", 6 },	   { "shutdown", 7 },
	{ "shutdown-ack", 8 },	 { "error", 9 },	 { "cookie-echo", 10 },	   { "cookie-ack", 11 },
	{ "shutdown-complete", 14 }, { NULL, 0 },
};

#define TYPE(n) FIELD("type", 0, 8, ENUM, CONTENT, "type of chunk", .dflt = (n), .names = chunk_types)
#define FLAGS   FIELD("flags", 8, 8, UINT, CONTENT, "flags by type")
#define LEN                                                                                            \
	FIELD("len", 16, 16, UINT, CONTENT, "bytes, this header included, padding not", .computed = true, \
	      .follows = true)

enum { C_TYPE, C_FLAGS, C_LEN, C_VAR, C_PLAIN = C_VAR, C_WITH_VAR };

static const WireField heartbeat_fields[] = {
	TYPE(4), FLAGS, LEN, FIELD("params", 32, 0, BYTES, CONTENT, "what comes back with the acknowledgment"),
};
static const WireField heartbeat_ack_fields[] = {
	TYPE(5), FLAGS, LEN, FIELD("params", 32, 0, BYTES, CONTENT, "what came with the request"),
};
static const WireField shutdown_ack_fields[] = { TYPE(8), FLAGS, LEN };
static const WireField error_fields[] = {
	TYPE(9), FLAGS, LEN, FIELD("error_causes", 32, 0, BYTES, CONTENT, "causes: code, length, data"),
};
static const WireField cookie_echo_fields[] = {
	TYPE(10), FLAGS, LEN, FIELD("cookie", 32, 0, BYTES, CONTENT, "the cookie of the INIT ACK"),
};
static const WireField cookie_ack_fields[] = { TYPE(11), FLAGS, LEN };

enum { A_TYPE, A_RESERVED, A_TCB, A_LEN, A_CAUSES, A_N };

static const WireField abort_fields[] = {
	TYPE(6),
	FIELD("reserved", 8, 7, UINT, CONTENT, "reserved"),
	FIELD("TCB", 15, 1, UINT, CONTENT, "1: the sender has no association, the tag is the receiver's own"),
	LEN,
	FIELD("error_causes", 32, 0, BYTES, CONTENT, "causes: code, length, data"),
};

static const WireField shutdown_complete_fields[] = {
	TYPE(14),
	FIELD("reserved", 8, 7, UINT, CONTENT, "reserved"),
	FIELD("TCB", 15, 1, UINT, CONTENT, "1: the sender has no association, the tag is the receiver's own"),
	LEN,
};

enum { SH_TYPE, SH_FLAGS, SH_LEN, SH_CUMUL, SH_N };

static const WireField shutdown_fields[] = {
	TYPE(7), FLAGS, LEN, FIELD("cumul_tsn_ack", 32, 32, SERIAL, CONTENT, "last TSN received in order"),
};

enum { I_TYPE, I_FLAGS, I_LEN, I_TAG, I_RWND, I_OUT, I_IN, I_TSN, I_PARAMS, I_N };

#define INIT_FIELDS(n)                                                                             \
	{                                                                                          \
		TYPE(n), FLAGS, LEN, FIELD("init_tag", 32, 32, UINT, CONTENT, "tag for the answers"), \
			FIELD("a_rwnd", 64, 32, UINT, CONTENT, "receive window in bytes"),         \
			FIELD("n_out_streams", 96, 16, UINT, CONTENT, "streams to the peer"),      \
			FIELD("n_in_streams", 112, 16, UINT, CONTENT, "the most streams from the peer"), \
			FIELD("init_tsn", 128, 32, SERIAL, CONTENT, "first TSN"),                  \
			FIELD("params", 160, 0, BYTES, CONTENT, "parameters: type, length, value"), \
	}

static const WireField init_fields[] = INIT_FIELDS(1);
static const WireField init_ack_fields[] = INIT_FIELDS(2);

enum { D_TYPE, D_RESERVED, D_DELAY, D_UNORDERED, D_BEGINNING, D_ENDING, D_LEN, D_TSN, D_STREAM, D_SEQ, D_PROTO, D_DATA, D_N };

static const WireField data_fields[] = {
	TYPE(0),
	FIELD("reserved", 8, 4, UINT, CONTENT, "reserved"),
	FIELD("delay_sack", 12, 1, UINT, CONTENT, "1: acknowledge at once (RFC 7053)"),
	FIELD("unordered", 13, 1, UINT, CONTENT, "1: delivered out of order"),
	FIELD("beginning", 14, 1, UINT, CONTENT, "1: first fragment of a message"),
	FIELD("ending", 15, 1, UINT, CONTENT, "1: last fragment of a message"),
	LEN,
	FIELD("tsn", 32, 32, SERIAL, CONTENT, "number of the chunk"),
	FIELD("stream_id", 64, 16, UINT, CONTENT, "stream"),
	FIELD("stream_seq", 80, 16, UINT, CONTENT, "number of the message in the stream"),
	FIELD("proto_id", 96, 32, UINT, CONTENT, "payload protocol identifier"),
	FIELD("data", 128, 0, BYTES, CONTENT, "the data"),
};

enum { S_TYPE, S_FLAGS, S_LEN, S_CUMUL, S_RWND, S_GAPS, S_DUPS, S_GAP_LIST, S_DUP_LIST, S_N };

static const WireField sack_fields[] = {
	TYPE(3),
	FLAGS,
	LEN,
	FIELD("cumul_tsn_ack", 32, 32, SERIAL, CONTENT, "last TSN received in order"),
	FIELD("a_rwnd", 64, 32, UINT, CONTENT, "receive window in bytes"),
	FIELD("n_gap_ack", 96, 16, UINT, CONTENT, "number of gap_ack_list", .computed = true, .follows = true),
	FIELD("n_dup_tsn", 112, 16, UINT, CONTENT, "number of dup_tsn_list", .computed = true, .follows = true),
	FIELD("gap_ack_list", 128, 0, BYTES, CONTENT, "pairs of 16 bits: first and last TSN behind cumul_tsn_ack"),
	FIELD("dup_tsn_list", 128, 0, BYTES, CONTENT, "TSNs that came twice, 32 bits each"),
};

/* ---- chunks, decoding ---- */

#define CHUNK_IDS(X)                                                                                   \
	X(0, SCTPDATA) X(1, SCTPINIT) X(2, SCTPINITACK) X(3, SCTPSACK) X(4, SCTPHEARTBEAT)             \
	X(5, SCTPHEARTBEATACK) X(6, SCTPABORT) X(7, SCTPSHUTDOWN) X(8, SCTPSHUTDOWNACK) X(9, SCTPERROR) \
	X(10, SCTPCOOKIEECHO) X(11, SCTPCOOKIEACK) X(14, SCTPSHUTDOWNCOMPLETE)

static WireId chunk_of(uint8_t type)
{
	switch (type) {
#define CASE_(n, id) \
	case n:      \
		return WIRE_##id;
		CHUNK_IDS(CASE_)
#undef CASE_
	default:
		return WIRE_NONE;
	}
}

static void follow(WireParse *p)
{
	if (cur_left(&p->c) == 0)
		return;
	uint8_t type = p->c.p[p->c.off];

	p->next = chunk_of(type);
	if (p->next == WIRE_NONE)
		wire_note(p, "SCTP chunk of type %u is not decoded", type);
}

static bool parse(WireParse *p, WireLayer *l)
{
	if (!wire_head(p, l, HDR) || !wire_take(p, l, HDR))
		return false;
	if (!p->quoted && !p->fragment)
		follow(p);
	return true;
}

/* RFC 9260 3.2: padding is at most 3 bytes, and zeros; that of the last chunk may be
 * missing from what others send. */
static size_t padding(WireParse *p, const uint8_t *h, size_t len)
{
	size_t pad = (PAD - len % PAD) % PAD, left = cur_left(&p->c) - len;

	if (left < pad)
		wire_note(p, "SCTP chunk of %zu bytes is not padded", len);
	for (size_t i = 0; i < pad && i < left; i++)
		if (h[len + i])
			wire_note(p, "SCTP chunk is padded with other than zeros");
	return left < pad ? left : pad;
}

/* Length and padding; false if the chunk is not all there. */
static bool take_chunk(WireParse *p, WireLayer *l, size_t *ret_len)
{
	size_t fixed = l->proto->fixed;
	const uint8_t *h = wire_head(p, l, fixed);

	if (!h)
		return false;
	size_t len = get_be16(h + 2);

	*ret_len = len;
	if (len < fixed)
		return wire_fail(p, "%s of %zu bytes, the least is %zu", l->proto->name, len, fixed);
	if (len > cur_left(&p->c))
		return wire_fail(p, "%s of %zu bytes, %zu are there", l->proto->name, len, cur_left(&p->c));
	return wire_take(p, l, len + padding(p, h, len));
}

/* Parameters and error causes: type, length with its own four bytes, value, padded. */
static void check_tlvs(WireParse *p, const WireLayer *l)
{
	Cursor c = cursor(l->var[0]);

	while (cur_left(&c) && !c.bad) {
		cur_skip(&c, 2);
		size_t len = cur_be16(&c), pad = (PAD - len % PAD) % PAD;

		c.bad |= len < CHUNK;
		cur_skip(&c, len - CHUNK);
		if (!c.bad)
			cur_skip(&c, pad < cur_left(&c) ? pad : cur_left(&c));
	}
	if (c.bad)
		wire_note(p, "%s: a parameter runs past its end", l->proto->name);
}

static bool parse_chunk(WireParse *p, WireLayer *l)
{
	size_t len, fixed = l->proto->fixed;

	if (!take_chunk(p, l, &len))
		return false;
	if (l->proto->nvars)
		wire_take_var(p, l, 0, fixed, len);
	else if (len > fixed)
		wire_note(p, "%s of %zu bytes, %zu are due", l->proto->name, len, fixed);
	if (l->proto->nvars && l->proto->id != WIRE_SCTPDATA && l->proto->id != WIRE_SCTPCOOKIEECHO)
		check_tlvs(p, l);
	follow(p);
	return true;
}

static bool parse_sack(WireParse *p, WireLayer *l)
{
	size_t len;

	if (!take_chunk(p, l, &len))
		return false;
	size_t gaps = (size_t)wire_num(l, S_GAPS) * 4, dups = (size_t)wire_num(l, S_DUPS) * 4;

	if (SACK + gaps + dups != len)
		wire_note(p, "%s of %zu bytes with %zu of gaps and %zu of duplicates", l->proto->name, len, gaps, dups);
	gaps = gaps < len - SACK ? gaps : len - SACK;
	wire_take_var(p, l, 0, SACK, SACK + gaps);
	wire_take_var(p, l, 1, SACK + gaps, len);
	follow(p);
	return true;
}

/* ---- chunks, encoding ---- */

static void prepare_chunk(WireBuild *b, unsigned at)
{
	const WireLayer *l = &b->out->layer[at];
	size_t n = l->proto->fixed;

	for (unsigned i = 0; i < l->proto->nvars; i++)
		n += l->var[i].n;
	wire_derive_len(b, at, (unsigned)wire_field(l->proto, STR("len")), n, "length");
}

static void prepare_sack(WireBuild *b, unsigned at)
{
	prepare_chunk(b, at);
	wire_derive_len(b, at, S_GAPS, b->out->layer[at].var[0].n / 4, "gaps");
	wire_derive_len(b, at, S_DUPS, b->out->layer[at].var[1].n / 4, "duplicates");
}

/* ---- tables ---- */

static void summary(const WireLayer *l, Sb *out)
{
	sb_printf(out, " %u > %u", (unsigned)wire_num(l, F_SPORT), (unsigned)wire_num(l, F_DPORT));
}

const WireProto wire_proto_SCTP = {
	.id = WIRE_SCTP,
	.name = "SCTP",
	.title = "Stream Control Transmission Protocol",
	.rfc = "RFC 9260",
	.role = ROLE_TRANSPORT,
	.fields = fields,
	.nfields = F_N,
	.fixed = HDR,
	.parse = parse,
	.finish = finish,
	.check = check,
	.summary = summary,
};

#define CHUNK_PROTO(pid, nm, ttl, tab, size, parser, preparer, ...)      \
	const WireProto wire_proto_##pid = {                             \
		.id = WIRE_##pid,                                        \
		.name = "SCTPChunk" nm,                                  \
		.title = "SCTP " ttl " chunk",                           \
		.rfc = "RFC 9260",                                       \
		.role = ROLE_APP,                                        \
		.fields = tab,                                           \
		.nfields = sizeof tab / sizeof *tab,                     \
		.fixed = size,                                           \
		.align = PAD,                                            \
		.apart = true,                                           \
		.parse = parser,                                         \
		.prepare = preparer,                                     \
		__VA_ARGS__                                              \
	}

#define ONE_VAR(i) .nvars = 1, .var = { i }

CHUNK_PROTO(SCTPDATA, "Data", "DATA", data_fields, DATA, parse_chunk, prepare_chunk, ONE_VAR(D_DATA));
CHUNK_PROTO(SCTPINIT, "Init", "INIT", init_fields, INIT, parse_chunk, prepare_chunk, ONE_VAR(I_PARAMS));
CHUNK_PROTO(SCTPINITACK, "InitAck", "INIT ACK", init_ack_fields, INIT, parse_chunk, prepare_chunk, ONE_VAR(I_PARAMS));
CHUNK_PROTO(SCTPSACK, "SACK", "SACK", sack_fields, SACK, parse_sack, prepare_sack, .nvars = 2,
	    .var = { S_GAP_LIST, S_DUP_LIST });
CHUNK_PROTO(SCTPHEARTBEAT, "HeartbeatReq", "HEARTBEAT", heartbeat_fields, CHUNK, parse_chunk, prepare_chunk,
	    ONE_VAR(C_VAR));
CHUNK_PROTO(SCTPHEARTBEATACK, "HeartbeatAck", "HEARTBEAT ACK", heartbeat_ack_fields, CHUNK, parse_chunk, prepare_chunk,
	    ONE_VAR(C_VAR));
CHUNK_PROTO(SCTPABORT, "Abort", "ABORT", abort_fields, CHUNK, parse_chunk, prepare_chunk, ONE_VAR(A_CAUSES));
CHUNK_PROTO(SCTPSHUTDOWN, "Shutdown", "SHUTDOWN", shutdown_fields, SHUTDOWN, parse_chunk, prepare_chunk);
CHUNK_PROTO(SCTPSHUTDOWNACK, "ShutdownAck", "SHUTDOWN ACK", shutdown_ack_fields, CHUNK, parse_chunk, prepare_chunk);
CHUNK_PROTO(SCTPERROR, "Error", "ERROR", error_fields, CHUNK, parse_chunk, prepare_chunk, ONE_VAR(C_VAR));
CHUNK_PROTO(SCTPCOOKIEECHO, "CookieEcho", "COOKIE ECHO", cookie_echo_fields, CHUNK, parse_chunk, prepare_chunk,
	    ONE_VAR(C_VAR));
CHUNK_PROTO(SCTPCOOKIEACK, "CookieAck", "COOKIE ACK", cookie_ack_fields, CHUNK, parse_chunk, prepare_chunk);
CHUNK_PROTO(SCTPSHUTDOWNCOMPLETE, "ShutdownComplete", "SHUTDOWN COMPLETE", shutdown_complete_fields, CHUNK, parse_chunk,
	    prepare_chunk);
