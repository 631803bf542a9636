/* SPDX-License-Identifier: Apache-2.0
 *
 * What each verdict means, what usually helps, and which test decides next.
 */
#include "mcp/tool_probe.h"

extern const char probe_text_ping_host[], probe_text_tcp_reachability[], probe_text_traceroute_host[], probe_text_resolve_dns[],
	probe_text_tls_check[], probe_text_http_probe[];

#define PING "ping_host {\"target\":\"$target\"}"
#define TRACE "traceroute_host {\"target\":\"$target\"}"
#define TRACE_PORT "traceroute_host {\"target\":\"$target\",\"proto\":\"tcp\",\"port\":$port}"
#define TCP_PORT "tcp_reachability {\"target\":\"$target\",\"port\":$port}"
#define TCP_443 "tcp_reachability {\"target\":\"$target\",\"port\":443}"
#define TCP_OTHER "tcp_reachability {\"target\":\"$target\",\"port\":$other_port}: to compare"
#define TLS "tls_check {\"target\":\"$target\",\"port\":$port}"
#define TLS_NAME "tls_check {\"target\":\"$target\",\"port\":$port,\"server_name\":\"$server_name\"}"
#define HTTP(scheme) "http_probe {\"url\":\"" scheme "://$authority:$port/\"}"
#define LOCAL "local_state {}: are address, mask and route right here"

#define HINT_REFUSED "Nothing listens there, or a firewall resets in its name: is the service up, and bound to this address?"
#define HINT_SILENT "Dropped in silence by a firewall or security group, no route back, or the host is down."
#define HINT_NOT_SENT "On our own link nobody answers for that address: host or router down, wrong address, wrong VLAN."

static const ProbeFact ping_fact[] = {
	{ "sent", "sent", FACT_INT },		  { "received", "received", FACT_INT },
	{ "loss", "loss", FACT_NUM },		  { "rtt_min_ms", "rtt_min_ms", FACT_NUM },
	{ "rtt_avg_ms", "rtt_avg_ms", FACT_NUM }, { "rtt_max_ms", "rtt_max_ms", FACT_NUM },
	{ "jitter_ms", "jitter_ms", FACT_NUM },	  { "icmp", "icmp", FACT_LIST },
	{ "df", "df", FACT_BOOL },
	{ 0 },
};

static const ProbeSay ping_say[] = {
	{ "ALIVE", NULL, "$received of $sent echo requests were answered, rtt $rtt_min_ms/$rtt_avg_ms/$rtt_max_ms ms (min/avg/max)", "", { 0 } },
	{ "PARTIAL_LOSS", NULL, "$received of $sent echo requests were answered",
	  "Loss on the path, or a limit on ICMP answers: only loss of TCP hurts applications.",
	  { "ping_host {\"target\":\"$target\",\"count\":50,\"interval_ms\":50}: a better estimate", TRACE ": from which hop on" } },
	{ "NO_RESPONSE", "fragmentation-needed", "a router says that packets of this size are too long",
	  "The path's MTU is smaller: hosts must learn it (let ICMP type 3 code 4 pass), or MSS be clamped.",
	  { "run_program {\"source\":\"print(pmtu('$target'))\"}: the path's MTU", PING ": whether short packets pass" } },
	{ "NO_RESPONSE", "prohibited", "no echo reply; a filter says that echo requests are prohibited (evidence)",
	  "A firewall or access list rejects this on purpose: other protocols may pass.", { TCP_443 ": whether TCP passes", TRACE ": where that is" } },
	{ "NO_RESPONSE", "unreachable", "no echo reply; the network says that the target cannot be reached (evidence)",
	  "Whoever sent the ICMP error (evidence) has no way to the target: host down, wrong address, missing route.",
	  { TRACE ": where it ends" } },
	{ "NO_RESPONSE", NULL, "none of $sent echo requests was answered",
	  "Host down, path broken, or ICMP echo filtered: silence does not tell which.",
	  { TCP_443 ": answers where only ICMP is filtered", TRACE ": how far packets get" } },
	{ "NOT_SENT", "\"df\":true", "no echo request left this host: $size bytes in one packet",
	  "Longer than our own link takes, or the next hop does not answer: see warnings.", { PING ": whether short packets leave" } },
	{ "NOT_SENT", NULL, "no echo request left this host: the next hop does not answer", HINT_NOT_SENT, { LOCAL } },
	{ 0 },
};

const Probe probe_ping_host = { probe_text_ping_host, ping_fact, ping_say, 150000 };

static const ProbeFact tcp_fact[] = {
	{ "syn_sent", "syn_sent", FACT_INT },	{ "rtt_ms", "rtt_ms", FACT_NUM },
	{ "icmp", "icmp", FACT_WORDS },		{ "reporter", "reporter", FACT_ADDR },
	{ "not_sent", "not_sent", FACT_BOOL }, { 0 },
};

static const ProbeSay tcp_say[] = {
	{ "OPEN", NULL, "port $port accepts connections, handshake in $rtt_ms ms", "", { HTTP("$scheme") ": if it speaks HTTP", TLS ": if it speaks TLS" } },
	{ "CONNECTION_REFUSED", NULL, "the SYN to port $port was answered with a reset", HINT_REFUSED,
	  { TRACE_PORT ": fewer hops than to an open port mean a box in front", TCP_OTHER } },
	{ "CONNECTION_TIMEOUT", NULL, "port $port kept silent, SYNs sent: $syn_sent", HINT_SILENT,
	  { TCP_OTHER, TRACE_PORT ": where the SYN dies" } },
	{ "ADMIN_PROHIBITED", NULL, "$reporter rejects port $port: $icmp",
	  "A firewall or access list at $reporter rejects this on purpose: ask for a rule there.",
	  { TRACE_PORT ": where that is", TCP_OTHER } },
	{ "UNREACHABLE", "not_sent", "nothing left this host: the next hop does not answer", HINT_NOT_SENT, { LOCAL } },
	{ "UNREACHABLE", "reporter", "$reporter says that the target cannot be reached: $icmp",
	  "Host down, wrong address, missing route, or a firewall that answers so.",
	  { TRACE_PORT ": where that is", PING } },
	{ "UNREACHABLE", NULL, "the network says that the target cannot be reached",
	  "A router on the way has no way on: host down, wrong address, missing route, or a filter.", { TRACE ": where it ends", PING } },
	{ "RESET", NULL, "port $port completed the handshake and reset the connection at once",
	  "A proxy without backend, an access rule or a middlebox: see the service's own log.",
	  { TRACE_PORT ": who answers the SYN", HTTP("$scheme") ": whether it stays so" } },
	{ 0 },
};

const Probe probe_tcp_reachability = { probe_text_tcp_reachability, tcp_fact, tcp_say, 30000 };

static const ProbeFact trace_fact[] = {
	{ "last_answer_ttl", "last_answer_ttl", FACT_INT },
	{ "hop", "hops", FACT_HOPS },
	{ 0 },
};

#define TRACE_OTHER "traceroute_host {\"target\":\"$target\",\"proto\":\"tcp\",\"port\":$other_port}"

static const ProbeSay trace_say[] = {
	{ "REACHED", "\"rst\"", "a reset came from the target's address, $last_answer_ttl hops away",
	  "If a port that is open is more hops away, not the target resets but a box in front of it, in its name.",
	  { TRACE_OTHER ": as many hops to a port that is open?" } },
	{ "REACHED", NULL, "the target itself answered, $last_answer_ttl hops away", "", { 0 } },
	{ "INCOMPLETE", "prohibited", "the target did not answer; a filter on the way says no (evidence.hops)",
	  "The hop that answers \"prohibited\" rejects these packets: ask for a rule there.", { TRACE_OTHER ": whether other packets pass" } },
	{ "INCOMPLETE", "unreachable", "the target did not answer; a router says that it has no way there (evidence.hops)",
	  "Behind the hop that answers \"unreachable\" the host is down, or a route is missing.", { PING ": whether it stays so" } },
	{ "INCOMPLETE", NULL, "the target did not answer; the last hop that did is $last_answer_ttl",
	  "Behind that hop probes or answers are dropped. Silent hops in between mean nothing by themselves.",
	  { TRACE_OTHER ": to a port that is open, the same last hop means the path, a farther one a rule", TCP_PORT ": whether the service answers all the same" } },
	{ 0 },
};

const Probe probe_traceroute_host = { probe_text_traceroute_host, trace_fact, trace_say, 90000 };

static const ProbeFact dns_fact[] = {
	{ "server", "server", FACT_ADDR },	{ "reason", "reason", FACT_WORDS },
	{ "queries", "queries", FACT_INT },	{ "rcode", "rcode", FACT_WORDS },
	{ "rtt_ms", "rtt_ms", FACT_NUM },	{ "authoritative", "authoritative", FACT_BOOL },
	{ "truncated", "truncated", FACT_BOOL }, { "records", "records", FACT_INT },
	{ "cnames", "cnames", FACT_INT },	{ "address", "addresses", FACT_ADDRS },
	{ 0 },
};

#define DNS(name, type) "resolve_dns {\"name\":\"" name "\",\"type\":\"" type "\",\"server\":\"$server\"}"
#define DNS_TCP "resolve_dns {\"name\":\"$name\",\"type\":\"$type\",\"server\":\"$server\",\"tcp\":true}"
#define DNS_SERVER "tcp_reachability {\"target\":\"$server\",\"port\":53}: whether the server is there"
#define OWN_RESOLVER "$own"

static const ProbeSay dns_say[] = {
	{ "RESOLVED", "addresses", "$addresses, says $server; aliases on the way: $cnames", "", { 0 } },
	{ "RESOLVED", NULL, "records of type $type, of $server: $records", "", { 0 } },
	{ "NXDOMAIN", NULL, "$server says that the name does not exist",
	  "Misspelled, not yet published, or asked in the wrong view (internal or external) of the zone.",
	  { DNS("$zone", "SOA") ": whether it knows the zone", OWN_RESOLVER } },
	{ "NO_DATA", NULL, "the name exists, but has no record of type $type, says $server",
	  "Another type may be there; for a service, that record is missing in the zone.", { DNS("$name", "$other_type") ": whether that is there", OWN_RESOLVER } },
	{ "SERVER_FAILURE", NULL, "$server could not find an answer (SERVFAIL)",
	  "Its upstream or the zone's own servers fail, or DNSSEC does not validate.",
	  { DNS("$zone", "NS") ": whether it finds the zone's servers", OWN_RESOLVER } },
	{ "REFUSED", NULL, "$server refuses to answer us",
	  "It serves other clients or other zones only: its access list, or the wrong server (argument server asks another).", { OWN_RESOLVER } },
	{ "DNS_ERROR", NULL, "$server answered with $rcode", "The server does not understand or allow the question.", { DNS_TCP, OWN_RESOLVER } },
	{ "NOT_SENT", NULL, "no question left this host: see warnings",
	  "A name outside of the zones of the policy is asked of nobody; else there is no way to $server from here.",
	  { "local_state {\"what\":\"routes\"}: is there a way to the server" } },
	{ "NO_RESPONSE", "reason", "by TCP nothing came from $server: $reason",
	  "The server may answer by UDP alone, TCP 53 may be filtered, or it is down.", { DNS_SERVER, DNS("$name", "$type") ": by UDP", OWN_RESOLVER } },
	{ "NO_RESPONSE", NULL, "$server kept silent, questions sent: $queries",
	  "The server is down, UDP 53 is filtered, or the way there is broken.",
	  { DNS_SERVER, "ping_host {\"target\":\"$server\"}", OWN_RESOLVER } },
	{ 0 },
};

const Probe probe_resolve_dns = { probe_text_resolve_dns, dns_fact, dns_say, 30000 };

static const ProbeFact tls_fact[] = {
	{ "connect_ms", "connect_ms", FACT_NUM }, { "handshake_ms", "handshake_ms", FACT_NUM },
	{ "version", "version", FACT_WORDS },	  { "cipher", "cipher", FACT_WORDS },
	{ "alpn", "alpn", FACT_WORDS },		  { "trusted", "trusted", FACT_BOOL },
	{ "name_ok", "name_ok", FACT_BOOL },	  { "days_left", "days_left", FACT_INT },
	{ "reason", "reason", FACT_WORDS },	  { 0 },
};

#define SAY_NO_CONNECTION                                                                                                                    \
	{ "CONNECTION_REFUSED", NULL, "the SYN to port $port was answered with a reset", HINT_REFUSED,                       \
	  { TRACE_PORT ": fewer hops than to an open port mean a box in front", TCP_OTHER } },                                                                  \
		{ "CONNECTION_TIMEOUT", NULL, "no connection: port $port kept silent", HINT_SILENT,                                          \
		  { TCP_OTHER, TRACE_PORT ": where the SYN dies" } },                                     \
		{ "ADMIN_PROHIBITED", NULL, "no connection, a filter rejects port $port: $reason",                                           \
		  "A firewall or access list rejects this on purpose: ask for a rule at the address that says so.",                         \
		  { TRACE_PORT ": where that is", TCP_OTHER } },                                                                  \
		{ "UNREACHABLE", "nothing left", "no connection: nothing left this host, the next hop does not answer", HINT_NOT_SENT,       \
		  { LOCAL } },                                                                                                   \
	{                                                                                                                                    \
		"UNREACHABLE", NULL, "no connection, the network says that there is no way: $reason",                                        \
		"Whoever says so has no way on: host down, wrong address, missing route, or a filter.",                                      \
		{ TRACE_PORT ": where that is", PING }                                                                            \
	}

static const ProbeSay tls_say[] = {
	{ "VALID", NULL, "handshake and certificate are good: $version, $days_left days left", "", { 0 } },
	{ "EXPIRED", NULL, "the certificate is over ($days_left days left)", "Renew it, and see that the server loads the new one.",
	  { TLS_NAME ": again, once it is renewed" } },
	{ "NAME_MISMATCH", NULL, "the certificate is for other names than $server_name (peer_data)",
	  "Wrong virtual host or default certificate, a missing name in it, or the wrong server: server_name has to be the name that clients use.",
	  { "$lookup" } },
	{ "UNTRUSTED", NULL, "this host does not trust the certificate: $reason",
	  "Self-signed, an authority that is not installed here, or an intermediate certificate that the server does not send.",
	  { "run_program {\"source\":\"print(tls('$target', $port, name='$server_name').chain)\"}: which certificates the server sends" } },
	{ "HANDSHAKE_FAILED", NULL, "the connection stood, the TLS handshake failed: $reason",
	  "The port may not speak TLS, or versions, ciphers or SNI do not fit; a middlebox may cut it.",
	  { HTTP("http") ": whether it speaks plain text", TRACE_PORT } },
	SAY_NO_CONNECTION,
	{ "RESET", NULL, "the connection was reset at once", "A proxy, an access rule or a middlebox throws out.", { TCP_PORT } },
	{ 0 },
};

const Probe probe_tls_check = { probe_text_tls_check, tls_fact, tls_say, 30000 };

static const ProbeFact http_fact[] = {
	{ "status", "status", FACT_INT },		  { "connect_ms", "connect_ms", FACT_NUM },
	{ "tls_ms", "tls_ms", FACT_NUM },		  { "first_byte_ms", "first_byte_ms", FACT_NUM },
	{ "total_ms", "total_ms", FACT_NUM },		  { "body_bytes", "body_bytes", FACT_INT },
	{ "reason", "reason", FACT_WORDS },		  { 0 },
};

static const ProbeSay http_say[] = {
	{ "OK", "longer than max", "status $status, first byte after $first_byte_ms ms; of the body $body_bytes bytes were read", "", { 0 } },
	{ "OK", NULL, "status $status, first byte after $first_byte_ms ms", "", { 0 } },
	{ "INCOMPLETE_ANSWER", NULL, "status $status, but the answer stops after $body_bytes bytes of body: $reason",
	  "Small packets pass: a path that drops large ones in silence, or an application that stalls or breaks off.",
	  { "run_program {\"source\":\"print(pmtu('$target'))\"}: blackhole tells the path from the application",
	    "$root" } },
	{ "REDIRECT", NULL, "status $status: the server sends elsewhere (Location, in peer_data); it was not followed", "",
	  { "ask that URL, if it is where you want to go" } },
	{ "CLIENT_ERROR", NULL, "status $status: the server does not take the request",
	  "Path, host name or credentials: network and server work.", { "$root" } },
	{ "SERVER_ERROR", NULL, "status $status: the server or what stands behind it fails",
	  "Network and front end work; look at the application's and the proxy's log.", { "$root" } },
	{ "TLS_FAILED", NULL, "no request was made: $reason", "The certificate or the handshake is at fault.", { TLS_NAME } },
	{ "NO_HTTP_ANSWER", NULL, "connected, but no answer of HTTP came: $reason",
	  "The port speaks something else, or the application hangs or closes.", { TLS_NAME ": whether it speaks TLS", TCP_PORT } },
	SAY_NO_CONNECTION,
	{ 0 },
};

const Probe probe_http_probe = { probe_text_http_probe, http_fact, http_say, 45000 };
