/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that people bring from Python, Scapy and elsewhere, with what to write
 * instead.
 */
#include "lang/habit.h"
#include "lang/scope.h"

#include "wire/wire.h"

static const struct {
	const char *name, *use;
} habits[] = {
	/* constants and words of other languages */
	{ "null", "write None" },
	{ "nil", "write None" },
	{ "none", "write None" },
	{ "NULL", "write None" },
	{ "undefined", "write None" },
	{ "true", "write True" },
	{ "false", "write False" },
	{ "TRUE", "write True" },
	{ "FALSE", "write False" },
	{ "self", "there are no classes" },
	{ "__name__", "statements at the top level run; leave the test out" },
	/* Python's functions */
	{ "open", "there are no files: print what is found; `sonde run --write f.pcapng` keeps the traffic" },
	{ "input", "values come from outside by `param name: type = default` and `sonde run -p name=value`" },
	{ "eval", "a program is one text: there is no eval" },
	{ "exec", "a program is one text: there is no exec" },
	{ "compile", "a program is one text: there is no eval" },
	{ "quit", "write exit()" },
	{ "isinstance",
	  "types are known before the start; `L in p` asks for a layer, `x is None` for an absent value" },
	{ "type", "types are known before the start; `sonde check` shows them" },
	{ "hasattr", "types are known before the start; a layer is asked for by `L in p`" },
	{ "getattr", "write the attribute's name: p.ttl" },
	{ "setattr", "write p.ttl = 3" },
	{ "vars", "print(x) shows all fields of a result" },
	{ "dir", "print(x) shows all fields of a result" },
	{ "help", "`sonde doc NAME` explains a built-in" },
	{ "iter", "`for` takes lists, strings, dicts and ranges as they are" },
	{ "next", "write list[0], or a `for` with `break`" },
	{ "frozenset", "write set(...)" },
	{ "bytearray", "write bytes(...); a list of numbers can be changed" },
	{ "memoryview", "write bytes, and slices of it" },
	{ "format", "write an f-string: f\"{x:.2f}\"" },
	{ "ascii", "write repr(x)" },
	{ "bin", "write f\"{x:b}\"" },
	{ "oct", "write f\"{x:o}\"" },
	{ "pow", "write x ** y" },
	{ "id", "write ==: values are compared by value" },
	{ "callable", "functions are arguments only" },
	{ "Exception", "there are no exceptions: test the result" },
	{ "KeyboardInterrupt", "there are no exceptions: Ctrl-C prints what is known so far" },
	{ "Counter", "write count_by(list)" },
	{ "defaultdict", "write d.get(k, 0)" },
	{ "Optional", "write T?" },
	/* Python's modules */
	{ "time", "write sleep(0.5) and now(); time stamps are p.time and r.rtt" },
	{ "random", "write randint(a, b) and random_bytes(n)" },
	{ "os", "write random_bytes(n); there are no files and no environment" },
	{ "sys", "write exit()" },
	{ "struct", "write pack(fmt, ...) and unpack(fmt, b)" },
	{ "socket", "write ping, sr, resolve, connect, datagram" },
	{ "statistics", "write summarize(list).median and the like" },
	{ "np", "write summarize(list).median and the like" },
	{ "numpy", "write summarize(list).median and the like" },
	{ "math", "write abs, round, min, max, x ** 0.5" },
	{ "ipaddress", "write ip(\"10.0.0.1\") and net(\"10.0.0.0/24\")" },
	{ "json", "`sonde run --json` prints results as JSON" },
	{ "re", "write `in`, find, split, startswith: there are no regular expressions" },
	{ "datetime", "write now(); differences of times are durations" },
	{ "itertools", "write the loops, or a comprehension with several `for`" },
	{ "collections", "write count_by(list), d.get(k, 0)" },
	{ "threading", "connections and loads go on during every wait" },
	{ "asyncio", "connections and loads go on during every wait" },
	{ "subprocess", "there are no processes" },
	/* Scapy */
	{ "srp", "write sr(Ether()/ARP(...)): sr sends frames too" },
	{ "srp1", "write sr1(Ether()/ARP(...)): sr1 sends frames too" },
	{ "sendp", "write send(...): it sends frames too" },
	{ "srloop", "write a `for` with sr1 and sleep" },
	{ "srflood", "write sr(list, rate=...)" },
	{ "srbt", "there is no Bluetooth" },
	{ "sr1flood", "write sr1(list, rate=...)" },
	{ "AsyncSniffer", "write send(...), then sniff(...): what came since the last mark is not lost" },
	{ "rdpcap", "`sonde run --read f.pcap` gives its packets to sniff" },
	{ "wrpcap", "`sonde run --write f.pcapng` keeps all traffic" },
	{ "PcapReader", "`sonde run --read f.pcap` gives its packets to sniff" },
	{ "PcapWriter", "`sonde run --write f.pcapng` keeps all traffic" },
	{ "conf", "there is no configuration: iface= is an argument" },
	{ "RandShort", "leave the field out: ports and ids that are left out are distinct" },
	{ "RandInt", "leave the field out, or write randint(a, b)" },
	{ "RandIP", "write reach and spoof declarations, and addresses that are known" },
	{ "RandMAC", "leave the field out" },
	{ "RandString", "write random_bytes(n)" },
	{ "fuzz", "write the fields out; randint and random_bytes give values" },
	{ "raw", "write bytes(p)" },
	{ "hexdump", "write print(p.hex())" },
	{ "ls", "write print(p.show()); `sonde doc TCP` lists the fields of a layer" },
	{ "lsc", "`sonde doc` lists all there is" },
	{ "Padding", "payload ends where the header's length says; padding is not shown" },
	{ "arping", "write arp(ip)" },
	{ "arpcachepoison", "write ARP(...) packets; policy must allow arp_claim" },
	{ "getmacbyip", "write arp(ip).mac" },
	{ "get_if_addr", "write interfaces()" },
	{ "get_if_hwaddr", "write interfaces()" },
	{ "get_if_list", "write interfaces()" },
	{ "ICMPv6EchoRequest", "write Echo(), or ICMPv6(type=\"echo-request\")" },
	{ "ICMPv6EchoReply", "write ICMPv6 in r and r[ICMPv6].type == \"echo-reply\"" },
	{ "ICMPv6ND_NS", "write ICMPv6(type=135)" },
	{ "IPerror", "the packet that an ICMP error quotes is r.quoted" },
	{ "TCPerror", "the packet that an ICMP error quotes is r.quoted: r.quoted[TCP].dport" },
	{ "UDPerror", "the packet that an ICMP error quotes is r.quoted: r.quoted[UDP].dport" },
	{ "ICMPerror", "the packet that an ICMP error quotes is r.quoted: r.quoted[ICMP].id" },
	{ "DNSRROpt", "write DNSRROPT" },
	{ "Dot1AD", "write Dot1Q(...)/Dot1Q(...)" },
	{ "ntp", "comes with a later version; IP()/UDP(dport=123)/b\"...\" and sr1 do one exchange" },
	{ "snmp_get", "comes with a later version" },
	{ "dhcp_discover", "comes with a later version" },
};

const char *name_habit(Str name)
{
	for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++)
		if (str_is(name, habits[i].name))
			return habits[i].use;
	return NULL;
}

/* NOP and EOL are options of IP and TCP: TCP's are meant, they are coded the same.
 * Options with Scapy's small letters are no names of the language: ("router", ip). */
const struct WireOption *name_option(Str name, uint32_t *ret_index)
{
	for (unsigned k = 0; k <= WIRE_N; k++) {
		WireId id = k == 0 ? WIRE_TCP : (WireId)(k - 1);
		const WireOption *o = wire_proto(id)->options;

		for (uint32_t row = 0; o && o[row].name; row++)
			if (name.n && name.p[0] <= 'Z' && str_is(name, o[row].name)) {
				*ret_index = (uint32_t)id << 8 | row;
				return &o[row];
			}
	}
	return NULL;
}
