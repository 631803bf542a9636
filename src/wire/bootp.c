/* SPDX-License-Identifier: Apache-2.0
 *
 * BOOTP (RFC 951, RFC 1542) and the options that make it DHCP (RFC 2131, RFC 2132)
 *
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      op       |     htype     |     hlen      |     hops      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              xid                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             secs              |             flags             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ciaddr                             |
 * |                            yiaddr                             |
 * |                            siaddr                             |
 * |                            giaddr                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              chaddr (6 bytes) and its padding (10)            |
 * |                        sname (64 bytes)                       |
 * |                        file (128 bytes)                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      options: the magic cookie, if DHCP follows               |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * The hardware address is Ethernet's, which all have that Sonde speaks to; what a
 * longer one has behind stands in chpad.
 */
#include "wire/build.h"
#include "wire/parse.h"

enum { HDR = 236, COOKIE = 4 };

enum {
	F_OP, F_HTYPE, F_HLEN, F_HOPS, F_XID, F_SECS, F_FLAGS, F_CIADDR, F_YIADDR, F_SIADDR, F_GIADDR,
	F_CHADDR, F_CHPAD, F_SNAME, F_FILE, F_OPTIONS, F_N,
};

static const uint8_t cookie[COOKIE] = { 99, 130, 83, 99 }; /* RFC 2131 3 */

static const WireName ops[] = { { "BOOTREQUEST", 1 }, { "BOOTREPLY", 2 }, { NULL, 0 } };
static const WireName htypes[] = { { "Ethernet", 1 }, { "IEEE802", 6 }, { "InfiniBand", 32 }, { NULL, 0 } };
static const WireName flag_names[] = { { "B", 0x8000 }, { NULL, 0 } };

static const WireField fields[] = {
	[F_OP] = FIELD("op", 0, 8, ENUM, CONTENT, "from a client or from a server", .dflt = 1, .names = ops),
	[F_HTYPE] = FIELD("htype", 8, 8, ENUM, CONTENT, "type of hardware address", .dflt = 1, .names = htypes),
	[F_HLEN] = FIELD("hlen", 16, 8, UINT, CONTENT, "bytes of the hardware address", .dflt = 6),
	[F_HOPS] = FIELD("hops", 24, 8, UINT, CONTENT, "relays passed"),
	[F_XID] = FIELD("xid", 32, 32, UINT, CONTENT, "transaction; distinct for each message", .computed = true,
			.distinct = true),
	[F_SECS] = FIELD("secs", 64, 16, UINT, CONTENT, "seconds since the client began"),
	[F_FLAGS] = FIELD("flags", 80, 16, FLAGS, CONTENT, "B: answer by broadcast", .names = flag_names),
	[F_CIADDR] = FIELD("ciaddr", 96, 32, IP4, CONTENT, "the address that the client has"),
	[F_YIADDR] = FIELD("yiaddr", 128, 32, IP4, CONTENT, "the address that the client gets"),
	[F_SIADDR] = FIELD("siaddr", 160, 32, IP4, CONTENT, "the next server"),
	[F_GIADDR] = FIELD("giaddr", 192, 32, IP4, CONTENT, "the relay"),
	[F_CHADDR] = FIELD("chaddr", 224, 48, MAC, CONTENT, "the client's hardware address"),
	[F_CHPAD] = FIELD("chpad", 272, 80, BYTES, CONTENT, "the rest of 16 bytes for the hardware address"),
	[F_SNAME] = FIELD("sname", 352, 512, BYTES, CONTENT, "the server's name, zeros behind it"),
	[F_FILE] = FIELD("file", 864, 1024, BYTES, CONTENT, "what to boot, zeros behind it"),
	[F_OPTIONS] = FIELD("options", 1888, 0, BYTES, CONTENT, "DHCP's magic cookie, if DHCP follows",
			    .computed = true),
};

static bool is_dhcp(Bytes options)
{
	return options.n >= COOKIE && memcmp(options.p, cookie, COOKIE) == 0;
}

static bool parse(WireParse *p, WireLayer *l)
{
	if (!wire_head(p, l, HDR))
		return false;
	Bytes rest = BYTES(p->c.p + p->c.off + HDR, cur_left(&p->c) - HDR);
	size_t n = is_dhcp(rest) ? COOKIE : rest.n;

	if (!wire_take(p, l, HDR + n))
		return false;
	wire_take_var(p, l, 0, HDR, HDR + n);
	if (n < rest.n)
		p->next = WIRE_DHCP;
	return true;
}

static void prepare(WireBuild *b, unsigned at)
{
	WireLayer *l = &b->out->layer[at];

	if (!wire_is_set(l, F_OPTIONS) && wire_inner(b, at) == WIRE_DHCP)
		l->var[0] = BYTES(cookie, COOKIE);
}

static void summary(const WireLayer *l, Sb *out)
{
	sb_char(out, ' ');
	wire_field_text(l, F_OP, out);
	sb_printf(out, " xid=0x%08x ", (unsigned)wire_num(l, F_XID));
	wire_field_text(l, F_CHADDR, out);
}

const WireProto wire_proto_BOOTP = {
	.id = WIRE_BOOTP,
	.name = "BOOTP",
	.title = "Bootstrap Protocol",
	.rfc = "RFC 951",
	.role = ROLE_APP,
	.fields = fields,
	.nfields = F_N,
	.nvars = 1,
	.var = { F_OPTIONS },
	.fixed = HDR,
	.parse = parse,
	.prepare = prepare,
	.summary = summary,
};

/* ---- DHCP ---- */

enum { D_OPTIONS, D_N };

static const WireField dhcp_fields[] = {
	[D_OPTIONS] = FIELD("options", 0, 0, OPTIONS, CONTENT, "options; the last one is \"end\""),
};

/* RFC 2131, 3203, 4388 */
static const WireName message_types[] = {
	{ "discover", 1 },    { "offer", 2 },       { "request", 3 },           { "decline", 4 },
	{ "ack", 5 },         { "nak", 6 },         { "release", 7 },           { "inform", 8 },
	{ "force_renew", 9 }, { "lease_query", 10 }, { "lease_unassigned", 11 }, { "lease_unknown", 12 },
	{ "lease_active", 13 }, { NULL, 0 },
};

#define ADDRESSES(nm, n, text)	   OPTION(nm, n, 0, 0, text, .width = 4, .ip = true)
#define ADDRESS(nm, n, text)	   OPTION(nm, n, 6, 1, text, .ip = true)
#define NUMBER(nm, n, bytes, text) OPTION(nm, n, 2 + (bytes), 1, text)
#define TEXT(nm, n, text)	   OPTION(nm, n, 0, 0, text)

/* RFC 2132 and IANA "BOOTP Vendor Extensions and DHCP Options", by Scapy's names. */
static const WireOption dhcp_options[] = {
	OPTION("pad", 0, 1, 0, "padding"),
	ADDRESS("subnet_mask", 1, "the net's mask"),
	NUMBER("time_zone", 2, 4, "seconds east of UTC"),
	ADDRESSES("router", 3, "routers of the net"),
	ADDRESSES("time_server", 4, "RFC 868 servers"),
	ADDRESSES("name_server", 6, "DNS servers"),
	ADDRESSES("log_server", 7, "log servers"),
	TEXT("hostname", 12, "the client's name"),
	TEXT("domain", 15, "the domain for names without one"),
	NUMBER("default_ttl", 23, 1, "TTL that the client should use"),
	NUMBER("interface-mtu", 26, 2, "MTU of the link"),
	ADDRESS("broadcast_address", 28, "the net's broadcast address"),
	ADDRESSES("static-routes", 33, "pairs of destination and router"),
	ADDRESSES("NTP_server", 42, "NTP servers"),
	TEXT("vendor_specific", 43, "by vendor_class_id"),
	ADDRESSES("NetBIOS_server", 44, "WINS servers"),
	NUMBER("NetBIOS_node_type", 46, 1, "1 B, 2 P, 4 M, 8 H"),
	ADDRESS("requested_addr", 50, "the address that the client wants"),
	NUMBER("lease_time", 51, 4, "seconds of the lease"),
	NUMBER("dhcp-option-overload", 52, 1, "1 file, 2 sname, 3 both hold options"),
	OPTION("message-type", 53, 3, 1, "discover, offer, request, ...", .names = message_types),
	ADDRESS("server_id", 54, "the server's address"),
	OPTION("param_req_list", 55, 0, 0, "options that the client asks for", .width = 1),
	TEXT("error_message", 56, "why a nak or decline"),
	NUMBER("max_dhcp_size", 57, 2, "longest message that is taken"),
	NUMBER("renewal_time", 58, 4, "seconds until the lease is renewed (T1)"),
	NUMBER("rebinding_time", 59, 4, "seconds until any server is asked (T2)"),
	TEXT("vendor_class_id", 60, "the client's kind"),
	TEXT("client_id", 61, "type (1: Ethernet) and identifier of the client"),
	TEXT("tftp_server_name", 66, "TFTP server"),
	TEXT("boot-file-name", 67, "what to boot"),
	TEXT("user_class", 77, "RFC 3004"),
	TEXT("client_FQDN", 81, "RFC 4702"),
	TEXT("relay_agent_information", 82, "RFC 3046"),
	TEXT("pxe_client_architecture", 93, "RFC 4578"),
	TEXT("classless_static_routes", 121, "RFC 3442: prefix length, prefix, router; again"),
	OPTION("end", 255, 1, 0, "the last option"),
	END_OF_OPTIONS,
};

static bool dhcp_parse(WireParse *p, WireLayer *l)
{
	size_t n = cur_left(&p->c);

	if (!wire_take(p, l, n))
		return false;
	wire_take_var(p, l, 0, 0, n);
	wire_check_options(p, l->proto, l->var[0]);
	return true;
}

static void dhcp_summary(const WireLayer *l, Sb *out)
{
	enum { MESSAGE_TYPE = 53 };
	Cursor c = cursor(l->var[0]);
	WireOpt o;
	bool bad = false;

	while (wire_option_next(l->proto, &c, &o, &bad))
		if (o.kind == MESSAGE_TYPE && o.data.n == 1) {
			const char *name = wire_value_name(&(WireField){ .names = message_types }, o.data.p[0]);

			sb_printf(out, " %s", name ? name : "message of an unknown type");
			return;
		}
}

const WireProto wire_proto_DHCP = {
	.id = WIRE_DHCP,
	.name = "DHCP",
	.title = "Dynamic Host Configuration Protocol",
	.rfc = "RFC 2131",
	.role = ROLE_APP,
	.fields = dhcp_fields,
	.nfields = D_N,
	.nvars = 1,
	.var = { D_OPTIONS },
	.opt_form = OPT_DHCP,
	.options = dhcp_options,
	.parse = dhcp_parse,
	.summary = dhcp_summary,
};
