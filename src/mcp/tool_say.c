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

static const ProbeFact ping_fact[] = {
	{ "sent", "sent", FACT_INT },		  { "received", "received", FACT_INT },
	{ "loss", "loss", FACT_NUM },		  { "rtt_min_ms", "rtt_min_ms", FACT_NUM },
	{ "rtt_avg_ms", "rtt_avg_ms", FACT_NUM }, { "rtt_max_ms", "rtt_max_ms", FACT_NUM },
	{ "jitter_ms", "jitter_ms", FACT_NUM },	  { "icmp", "icmp", FACT_LIST },
	{ 0 },
};

static const ProbeSay ping_say[] = {
	{ "ALIVE", NULL, "$received of $sent echo requests were answered, rtt $rtt_min_ms/$rtt_avg_ms/$rtt_max_ms ms (min/avg/max)", "", { 0 } },
	{ "PARTIAL_LOSS", NULL, "$received of $sent echo requests were answered",
	  "Loss on the path, or a limit on ICMP answers: it hurts applications only if TCP loses too.",
	  { "ping_host {\"target\":\"$target\",\"count\":50,\"interval_ms\":50}: a better estimate", TRACE ": at which hop it begins" } },
	{ "NO_RESPONSE", "fragmentation-needed", "a router says that packets of this size are too long for its link",
	  "The path's MTU is smaller than the packet: hosts must learn it (ICMP type 3 code 4 may not be filtered), or MSS be clamped.",
	  { "run_program {\"source\":\"print(pmtu('$target'))\"}: the path's MTU", PING ": whether small packets pass" } },
	{ "NO_RESPONSE", "unreachable", "no echo reply; the network says that the target cannot be reached",
	  "Whoever sent the ICMP error (evidence) has no way to the target: host down, wrong address, missing route.",
	  { TRACE ": where it ends" } },
	{ "NO_RESPONSE", NULL, "none of $sent echo requests was answered",
	  "Host down, path broken, or ICMP echo filtered: silence alone does not tell which.",
	  { TCP_443 ": a port that should be open answers where ICMP is filtered", TRACE ": how far packets get" } },
	{ "NOT_SENT", NULL, "no echo request left this host",
	  "With df the packet is longer than our own link takes, or the next hop does not answer: see warnings.",
	  { PING ": with the usual size", "local_state: are address, mask and route right here" } },
	{ 0 },
};

const Probe probe_ping_host = { probe_text_ping_host, ping_fact, ping_say, 150000 };

static const ProbeFact tcp_fact[] = {
	{ "syn_sent", "syn_sent", FACT_INT },	{ "rtt_ms", "rtt_ms", FACT_NUM },
	{ "icmp", "icmp", FACT_WORDS },		{ "reporter", "reporter", FACT_ADDR },
	{ "not_sent", "not_sent", FACT_BOOL }, { 0 },
};

static const ProbeSay tcp_say[] = {
	{ "OPEN", NULL, "port $port accepts connections, handshake in $rtt_ms ms", "",
	  { "tls_check or http_probe, if the service behind it is the question" } },
	{ "CONNECTION_REFUSED", NULL, "the SYN to port $port was answered with a reset",
	  "Nothing listens there, or a firewall resets in the target's name: is the service up, and bound to this address?",
	  { TRACE_PORT ", and to a port that is open: fewer hops mean that a box in front resets", "tcp_reachability to a port that should be open" } },
	{ "CONNECTION_TIMEOUT", NULL, "$syn_sent SYNs to port $port got no answer",
	  "Something drops in silence: a firewall or security group, a missing route back, or the host is down.",
	  { PING ": is the host there at all", TRACE_PORT ": where the SYN dies" } },
	{ "ADMIN_PROHIBITED", NULL, "$reporter says that port $port is prohibited: $icmp",
	  "A firewall or access list at $reporter rejects this on purpose: ask for a rule there.",
	  { TRACE_PORT ": where on the way that is", "tcp_reachability to a port that should be open" } },
	{ "UNREACHABLE", "not_sent", "nothing left this host: the next hop does not answer",
	  "On our own link nobody answers for the next hop's address: host or router down, wrong address, wrong VLAN.",
	  { "local_state: are address, mask and route right here", PING } },
	{ "UNREACHABLE", "reporter", "$reporter says that the target cannot be reached: $icmp",
	  "$reporter has no way on: host down, wrong address, missing route, or a firewall that answers so.",
	  { TRACE_PORT ": where on the way that is", PING } },
	{ "UNREACHABLE", NULL, "the network says that the target cannot be reached",
	  "A router on the way has no way on: host down, wrong address, missing route.", { TRACE ": where it ends", PING } },
	{ "RESET", NULL, "port $port completed the handshake and reset the connection at once",
	  "A proxy without backend, a TCP wrapper or a middlebox accepts and throws out: see the service's own log and access rules.",
	  { TRACE_PORT ": who answers the SYN", "tls_check or http_probe: whether it stays so once something is said" } },
	{ 0 },
};

const Probe probe_tcp_reachability = { probe_text_tcp_reachability, tcp_fact, tcp_say, 30000 };

static const ProbeFact trace_fact[] = {
	{ "last_answer_ttl", "last_answer_ttl", FACT_INT },
	{ "hop", "hops", FACT_HOPS },
	{ 0 },
};

static const ProbeSay trace_say[] = {
	{ "REACHED", "\"rst\"", "a reset came from the target's address, $last_answer_ttl hops away",
	  "If a port that is open is more hops away, not the target resets but a box in front of it, in its name.",
	  { "traceroute_host by tcp to a port that is open: as many hops?" } },
	{ "REACHED", NULL, "the target itself answered, $last_answer_ttl hops away", "", { 0 } },
	{ "INCOMPLETE", "prohibited", "the target did not answer; a filter on the way says no (evidence.hops)",
	  "The hop that answers \"prohibited\" rejects these packets: ask for a rule there.",
	  { "traceroute_host {\"target\":\"$target\",\"proto\":\"tcp\",\"port\":443}: whether other packets pass" } },
	{ "INCOMPLETE", "unreachable", "the target did not answer; a router says that it has no way there (evidence.hops)",
	  "Behind the hop that answers \"unreachable\" the host is down, or a route is missing.",
	  { PING ": whether it stays so" } },
	{ "INCOMPLETE", NULL, "the target did not answer; the last hop that did is $last_answer_ttl",
	  "Behind that hop probes or answers are dropped. Silent hops in between mean nothing by themselves.",
	  { "traceroute_host by tcp to a port that is open: the same last hop means the path, a farther one a rule for what was sent here", TCP_443 } },
	{ 0 },
};

const Probe probe_traceroute_host = { probe_text_traceroute_host, trace_fact, trace_say, 90000 };

static const ProbeFact dns_fact[] = {
	{ "server", "server", FACT_ADDR },
	{ "queries", "queries", FACT_INT },	{ "rcode", "rcode", FACT_WORDS },
	{ "rtt_ms", "rtt_ms", FACT_NUM },	{ "authoritative", "authoritative", FACT_BOOL },
	{ "truncated", "truncated", FACT_BOOL }, { "records", "records", FACT_INT },
	{ "cnames", "cnames", FACT_INT },	{ "address", "addresses", FACT_ADDRS },
	{ 0 },
};

#define DNS_TCP "resolve_dns {\"name\":\"$name\",\"type\":\"$type\",\"server\":\"$server\",\"tcp\":true}"
#define DNS_OTHER "resolve_dns with another server, to compare"

static const ProbeSay dns_say[] = {
	{ "RESOLVED", NULL, "$records records of type $type from $server, $cnames aliases on the way", "", { 0 } },
	{ "NXDOMAIN", NULL, "$server says that the name does not exist",
	  "Misspelled, not yet published, or asked in the wrong view (internal or external) of the zone.", { DNS_OTHER } },
	{ "NO_DATA", NULL, "the name exists, but has no record of type $type",
	  "Another type may be there; for a service, that record is missing in the zone.",
	  { "resolve_dns with another type (A, AAAA, CNAME): what the name has", DNS_OTHER } },
	{ "SERVER_FAILURE", NULL, "$server could not find an answer (SERVFAIL)",
	  "Its upstream or the zone's own servers fail, or DNSSEC does not validate.", { DNS_OTHER, "tcp_reachability to the zone's name servers, port 53" } },
	{ "REFUSED", NULL, "$server refuses to answer us", "It serves other clients or other zones only: its access list, or the wrong server.",
	  { DNS_OTHER } },
	{ "DNS_ERROR", NULL, "$server answered with $rcode", "The server does not understand or allow the question.", { DNS_TCP, DNS_OTHER } },
	{ "NOT_SENT", NULL, "no question left this host: see warnings",
	  "A name outside of the zones of the policy is asked of nobody; else there is no way to $server from here.",
	  { "local_state {\"what\":\"routes\"}: is there a way to the server" } },
	{ "NO_RESPONSE", NULL, "$queries questions to $server got no answer",
	  "The server is down, UDP 53 is filtered, or the way there is broken.",
	  { "tcp_reachability {\"target\":\"$server\",\"port\":53}", "ping_host {\"target\":\"$server\"}", DNS_OTHER } },
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

#define SAY_NO_CONNECTION                                                                                             \
	{ "CONNECTION_REFUSED", NULL, "the connection was refused", "Nothing listens there, or a firewall rejects by reset.", { TCP_PORT } }, \
		{ "CONNECTION_TIMEOUT", NULL, "no connection: no answer to the SYNs",                                 \
		  "Something drops in silence, or the host is down.", { TCP_PORT, PING } },                          \
	{                                                                                                             \
		"UNREACHABLE", NULL, "no connection: the network says that there is no way", "A filter or a router on the way says no.", \
		{ TCP_PORT ": who says so" }                                                                          \
	}

static const ProbeSay tls_say[] = {
	{ "VALID", NULL, "handshake and certificate are good: $version, $days_left days left", "", { 0 } },
	{ "EXPIRED", NULL, "the certificate is over ($days_left days left)", "Renew it, and see that the server loads the new one.",
	  { "tls_check again, after the renewal" } },
	{ "NAME_MISMATCH", NULL, "the certificate is for other names than $server_name (peer_data)",
	  "Wrong virtual host or default certificate, a missing name in it, or the wrong server.",
	  { "resolve_dns {\"name\":\"$server_name\"}: whether the name leads to this server" } },
	{ "UNTRUSTED", NULL, "this host does not trust the certificate: $reason",
	  "Self-signed, an authority that is not installed here, or an intermediate certificate that the server does not send.",
	  { "tls_check from another host or with the right server_name, to compare" } },
	{ "HANDSHAKE_FAILED", NULL, "the connection stood, the TLS handshake failed: $reason",
	  "The port may not speak TLS, or versions, ciphers or SNI do not fit; a middlebox may cut it.",
	  { "http_probe with http:// and this port: whether it speaks plain text", TRACE_PORT } },
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
	{ "OK", NULL, "status $status, first byte after $first_byte_ms ms", "", { 0 } },
	{ "INCOMPLETE_ANSWER", NULL, "status $status, but the answer stops after $body_bytes bytes of body: $reason",
	  "Small packets pass: a path that drops large ones in silence, or an application that stalls or breaks off.",
	  { "run_program {\"source\":\"print(pmtu('$target'))\"}: blackhole tells the path from the application",
	    "http_probe of a small page on this server, to compare" } },
	{ "REDIRECT", NULL, "status $status: the server sends elsewhere (Location, in peer_data); it was not followed", "",
	  { "http_probe with that URL, if it is where you want to go" } },
	{ "CLIENT_ERROR", NULL, "status $status: the server does not take the request",
	  "Path, host name or credentials: network and server work.", { "http_probe with another path or host, to compare" } },
	{ "SERVER_ERROR", NULL, "status $status: the server or what stands behind it fails",
	  "Network and front end work; look at the application's and the proxy's log.",
	  { "http_probe of a static path: whether the front end alone works" } },
	{ "TLS_FAILED", NULL, "no request was made: $reason", "The certificate or the handshake is at fault.",
	  { "tls_check {\"target\":\"$target\",\"port\":$port}" } },
	{ "NO_HTTP_ANSWER", NULL, "connected, but no answer of HTTP came: $reason",
	  "The port speaks something else, or the application hangs or closes.", { "tls_check {\"target\":\"$target\",\"port\":$port}", TCP_PORT } },
	SAY_NO_CONNECTION,
	{ 0 },
};

const Probe probe_http_probe = { probe_text_http_probe, http_fact, http_say, 45000 };
