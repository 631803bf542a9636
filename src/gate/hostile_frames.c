/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/hostile_frames.h"

#define OUTSIDE "203.0.113.5"   /* denied in the lab */
#define STRANGER "10.0.0.77"    /* a source that is not ours */
#define STRANGER6 "fd00:1::77"
#define STRANGER_MAC "02:00:00:00:00:99"

#define B(lit) BYTES(lit, sizeof(lit) - 1)

static Bytes inner(uint8_t *store, size_t cap, const Spec *s)
{
	Writer w = writer(store, cap);

	spec_build(s, &w);
	return wr_done(&w);
}

/* b in front of c */
static Bytes join(uint8_t *store, size_t cap, Bytes b, Bytes c)
{
	Writer w = writer(store, cap);

	wr_bytes(&w, b);
	wr_bytes(&w, c);
	return wr_done(&w);
}

/* An ICMPv6 message: type, 3 zero bytes, 4 bytes, then the pieces. */
static Bytes nd(uint8_t *store, uint8_t type, Bytes rest)
{
	Writer w = writer(store, 256);

	wr_u8(&w, type);
	wr_zeros(&w, 7);
	wr_bytes(&w, rest);
	return wr_done(&w);
}

static Bytes put_addr(uint8_t *at, const char *z)
{
	Ip ip = lab_ip(z);

	memcpy(at, ip.b, ip_len(ip));
	return BYTES(at, ip_len(ip));
}

/* A BOOTP request with this hardware address. */
static Bytes discover(uint8_t *store, Mac chaddr)
{
	memset(store, 0, 300);
	store[0] = 1;
	store[1] = 1;
	store[2] = 6;
	memcpy(store + 28, chaddr.b, 6);
	memcpy(store + 236, "\x63\x82\x53\x63\x35\x01\x01\xff", 8);
	return BYTES(store, 300);
}

#define DNS_HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define DNS_TAIL "\x00\x01\x00\x01"
#define DNS(data_) p.dport = 53, p.data = B(data_)

#define SNMP_GET "\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x01\x00\x05\x00"
#define SNMP_SET "\x30\x26\x02\x01\x01\x04\x06public\xa3\x19\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x01\x00\x05\x00"
#define SNMP3_SECRET "\x30\x1e\x02\x01\x03\x30\x0d\x02\x01\x01\x02\x02\x05\xdc\x04\x01\x03\x02\x01\x03\x04\x02\x30\x00\x04\x04\x01\x02\x03\x04"

/* H(name, what lifts it, changes to a good packet p of scene s; `store` and `more` are memory).
 * U: UDP, T: TCP, I: ICMP, U6, I6, E: UDP in an Ethernet frame, A: ARP, N: NS */
#define HOSTILE(U, T, I, U6, I6, E, A, N)                                                                            \
	/* Ethernet */                                                                                               \
	E(ether_type_ipx, NULL, p.etype = 0x8137)                                                                    \
	E(ether_type_lldp, NULL, p.etype = 0x88cc)                                                                   \
	E(ether_type_mpls, NULL, p.etype = 0x8847)                                                                   \
	E(ether_type_pppoe, NULL, p.etype = 0x8864)                                                                  \
	E(ether_type_eapol, NULL, p.etype = 0x888e)                                                                  \
	E(ether_type_macsec, NULL, p.etype = 0x88e5)                                                                 \
	E(ether_type_flow_control, NULL, p.etype = 0x8808)                                                           \
	E(ether_length, NULL, p.etype = 0x0040)                                                                      \
	E(ether_type_differs, NULL, p.etype = 0x86dd)                                                                \
	E(ether_tag, "vlan=10", p.ntags = 1; p.tag[0] = 10)                                                          \
	E(ether_tag_priority, "vlan=0", p.ntags = 1; p.tag[0] = 0xe000)                                              \
	E(ether_two_tags, "vlan=10 vlan=20", p.ntags = 2; p.tag[0] = 10; p.tag[1] = 20)                              \
	E(ether_three_tags, NULL, p.ntags = 3; p.tag[0] = p.tag[1] = p.tag[2] = 10)                                  \
	E(ether_src_foreign, "spoof=" STRANGER_MAC, p.esrc = lab_mac(STRANGER_MAC))                                  \
	E(ether_src_group, NULL, p.esrc = lab_mac("ff:ff:ff:ff:ff:ff"))                                              \
	E(ether_dst_foreign, NULL, p.edst = lab_mac(STRANGER_MAC))                                                   \
	E(ether_dst_broadcast, NULL, p.edst = lab_mac("ff:ff:ff:ff:ff:ff"))                                          \
	E(ether_dst_multicast, NULL, p.edst = lab_mac("01:00:5e:00:00:01"))                                          \
	E(ether_dst_stp, NULL, p.edst = lab_mac("01:80:c2:00:00:00"))                                                \
	E(ether_padding_not_zero, NULL, p.trail = B("\0\0x"))                                                        \
	E(ether_padding_too_long, NULL, p.pad = 30)                                                                  \
	E(ether_ip_version_5, NULL, p.version = 5)                                                                   \
	/* ARP */                                                                                                    \
	A(arp_reply, "+arp_claim", store[7] = 2)                                                                     \
	A(arp_announcement, "+arp_claim", memcpy(store + 24, s->us4.b, 4))                                           \
	A(arp_probe, "+arp_claim", memset(store + 14, 0, 4))                                                         \
	A(arp_foreign_sender, "+arp_claim spoof=" STRANGER, put_addr(store + 14, STRANGER))                          \
	A(arp_foreign_reply, "+arp_claim spoof=" STRANGER, store[7] = 2; put_addr(store + 14, STRANGER))             \
	A(arp_foreign_mac, NULL, store[13] = 0x99)                                                                   \
	A(arp_foreign_macs, "spoof=" STRANGER_MAC, store[13] = 0x99; p.esrc = lab_mac(STRANGER_MAC))                 \
	A(arp_target_off_link, NULL, put_addr(store + 24, "10.9.0.1"))                                               \
	A(arp_target_outside, NULL, put_addr(store + 24, OUTSIDE))                                                   \
	A(arp_target_unspecified, NULL, put_addr(store + 24, "0.0.0.0"))                                             \
	A(arp_target_broadcast, NULL, put_addr(store + 24, "10.0.0.255"))                                            \
	A(arp_reverse, NULL, store[7] = 3)                                                                           \
	A(arp_inverse, NULL, store[7] = 8)                                                                           \
	A(arp_operation_0, NULL, store[7] = 0)                                                                       \
	A(arp_hardware_type, NULL, store[1] = 6)                                                                     \
	A(arp_protocol_type, NULL, store[2] = 0x86)                                                                  \
	A(arp_lengths, NULL, store[4] = 8)                                                                           \
	A(arp_cut, NULL, p.arp.n = 27)                                                                               \
	A(arp_padding_not_zero, NULL, p.trail = B("x"))                                                              \
	A(arp_padding_too_long, NULL, p.pad = 40)                                                                    \
	A(arp_dst_stranger, NULL, p.edst = lab_mac(STRANGER_MAC))                                                    \
	A(arp_dst_multicast, NULL, p.edst = lab_mac("01:00:5e:00:00:01"))                                            \
	A(arp_tag, "vlan=10", p.ntags = 1; p.tag[0] = 10)                                                            \
	/* IPv4 header */                                                                                            \
	U(ip_version_0, NULL, p.version = 16)                                                                        \
	U(ip_version_6, NULL, p.version = 6)                                                                         \
	U(ip_version_15, NULL, p.version = 15)                                                                       \
	U(ip_ihl_4, NULL, p.ihl_add = -1)                                                                            \
	U(ip_ihl_0, NULL, p.ihl_add = -5)                                                                            \
	U(ip_ihl_beyond, NULL, p.ihl_add = 10)                                                                       \
	U(ip_total_below_header, NULL, p.total_add = -20)                                                            \
	U(ip_total_zero, NULL, p.total_add = -33)                                                                    \
	U(ip_total_short, NULL, p.total_add = -1)                                                                    \
	U(ip_total_beyond, NULL, p.total_add = 1)                                                                    \
	U(ip_bytes_behind, NULL, p.trail = B("x"))                                                                   \
	U(ip_zeros_behind, NULL, p.pad = 1)                                                                          \
	U(ip_option_record_route, "+options", p.options = B("\7\7\4\0\0\0\0\0"))                                     \
	U(ip_option_router_alert, "+options", p.options = B("\x94\4\0\0"))                                           \
	U(ip_option_nops, "+options", p.options = B("\1\1\1\1"))                                                     \
	U(ip_option_time_stamps, "+options", p.options = B("\x44\x08\x05\0\0\0\0\0"))                                \
	U(ip_option_source_route, "+options", p.options = B("\x83\7\4\12\0\0\3\0"))                                  \
	U(ip_option_source_route_outside, NULL, p.options = B("\x83\7\4\313\0\161\5\0"))                             \
	U(ip_option_strict_route_outside, NULL, p.options = B("\x89\7\4\313\0\161\5\0"))                             \
	U(ip_option_source_route_home, NULL, p.options = B("\x83\7\4\177\0\0\1\0"))                                  \
	U(ip_option_source_route_odd, NULL, p.options = B("\x83\6\4\313\0\161\0\0"))                                 \
	U(ip_option_cut, NULL, p.options = B("\7\11\4\0"))                                                           \
	U(ip_option_length_0, NULL, p.options = B("\7\0\0\0"))                                                       \
	U(ip_option_length_1, NULL, p.options = B("\7\1\0\0"))                                                       \
	/* fragments */                                                                                              \
	U(fragment_first, "+fragments", p.frag = 0x2000; p.id = 1; p.data = B("12345678"))                           \
	U(fragment_later, "+fragments", p.frag = 2; p.id = 2; p.raw = B("12345678"))                                 \
	U(fragment_middle, "+fragments", p.frag = 0x2002; p.id = 3; p.raw = B("12345678"))                           \
	U(fragment_later_of_ospf, "+fragments +routing", p.frag = 2; p.id = 4; p.proto = 89; p.raw = B("12345678")) \
	U(fragment_later_of_tunnel, NULL, p.frag = 2; p.id = 4; p.proto = 4; p.raw = B("12345678"))                  \
	U(fragment_first_tiny, NULL, p.frag = 0x2000; p.raw = B("\xee\x48\0\x09"))                                   \
	T(fragment_first_tcp_8, NULL, p.frag = 0x2000; p.raw = B("\xee\x48\0\x50\0\0\0\1"))                          \
	T(fragment_first_tcp_options_cut, NULL, p.frag = 0x2000; p.doff_add = 2; p.data = B("1234"))                 \
	U(fragment_odd_length, NULL, p.frag = 0x2000; p.id = 5; p.data = B("123"))                                   \
	U(fragment_beyond_the_end, NULL, p.frag = 0x1fff; p.id = 6; p.raw = B("123456789"))                          \
	U(fragment_empty, NULL, p.frag = 0x2001; p.id = 7; p.proto = 17; p.raw = BYTES("", 0); p.total_add = -13; p.trail = (Bytes){ 0 }) \
	U(fragment_dns, NULL, p.frag = 0x2000; p.dport = 53; p.data = B(DNS_HEAD "\4acme\4corp\0" DNS_TAIL "1"))     \
	U(fragment_of_stranger, "+fragments spoof=" STRANGER, p.frag = 2; p.id = 8; p.src = lab_ip(STRANGER); p.raw = B("12345678")) \
	U(fragment_later_outside, NULL, p.frag = 2; p.dst = lab_ip(OUTSIDE); p.raw = B("12345678"))                  \
	/* destinations */                                                                                           \
	U(dst_outside, NULL, p.dst = lab_ip(OUTSIDE))                                                                \
	U(dst_unspecified, "allow_self=0.0.0.0", p.dst = lab_ip("0.0.0.0"))                                          \
	U(dst_this_network, "allow_self=0.1.2.3", p.dst = lab_ip("0.1.2.3"))                                         \
	U(dst_loopback, "allow_self=127.0.0.1", p.dst = lab_ip("127.0.0.1"))                                         \
	U(dst_own, "allow_self=10.0.0.1", p.dst = lab_ip("10.0.0.1"))                                                \
	U(dst_own_elsewhere, "allow_self=192.168.5.1", p.dst = lab_ip("192.168.5.1"))                                \
	U(dst_metadata, "allow_self=169.254.169.254", p.dst = lab_ip("169.254.169.254"))                             \
	U(dst_metadata_alibaba, "allow_self=100.100.100.200", p.dst = lab_ip("100.100.100.200"))                     \
	U(dst_metadata_azure, "allow_self=168.63.129.16", p.dst = lab_ip("168.63.129.16"))                           \
	U(dst_reserved, NULL, p.dst = lab_ip("240.0.0.1"))                                                           \
	U(dst_broadcast, "+broadcast", p.dst = lab_ip("255.255.255.255"))                                            \
	U(dst_directed_broadcast, "+broadcast", p.dst = lab_ip("10.0.0.255"))                                        \
	U(dst_network_address, "+broadcast", p.dst = lab_ip("10.0.0.0"))                                             \
	U(dst_directed_elsewhere, "+broadcast", p.dst = lab_ip("192.168.5.255"))                                     \
	U(dst_multicast, "+multicast", p.dst = lab_ip("224.0.0.1"))                                                  \
	U(dst_multicast_wide, "+multicast", p.dst = lab_ip("239.1.2.3"))                                             \
	U6(dst6_unspecified, "allow_self=::", p.dst = lab_ip("::"))                                                  \
	U6(dst6_loopback, "allow_self=::1", p.dst = lab_ip("::1"))                                                   \
	U6(dst6_own, "allow_self=fd00:1::1", p.dst = lab_ip("fd00:1::1"))                                            \
	U6(dst6_link_local, "allow_self=fe80::2", p.dst = lab_ip("fe80::2"))                                         \
	U6(dst6_metadata_aws, "allow_self=fd00:ec2::254", p.dst = lab_ip("fd00:ec2::254"))                           \
	U6(dst6_metadata_google, "allow_self=fd20:ce::254", p.dst = lab_ip("fd20:ce::254"))                          \
	U6(dst6_multicast, "+multicast", p.dst = lab_ip("ff02::1"))                                                  \
	U6(dst6_multicast_site, "+multicast", p.dst = lab_ip("ff05::2"))                                             \
	U6(dst6_mapped, NULL, p.dst = lab_ip("::ffff:10.0.0.2"))                                                     \
	U6(dst6_compatible, NULL, p.dst = lab_ip("::10.0.0.2"))                                                      \
	U6(dst6_nat64, NULL, p.dst = lab_ip("64:ff9b::10.0.0.2"))                                                    \
	U6(dst6_nat64_local, NULL, p.dst = lab_ip("64:ff9b:1::10.0.0.2"))                                            \
	U6(dst6_6to4, NULL, p.dst = lab_ip("2002:a00:2::1"))                                                         \
	U6(dst6_teredo, NULL, p.dst = lab_ip("2001::1"))                                                             \
	/* sources */                                                                                                \
	U(src_stranger, "spoof=" STRANGER, p.src = lab_ip(STRANGER))                                                 \
	T(src_stranger_syn, "spoof=" STRANGER, p.src = lab_ip(STRANGER))                                             \
	I(src_stranger_echo, "spoof=" STRANGER, p.src = lab_ip(STRANGER))                                            \
	U6(src6_stranger, "spoof=" STRANGER6, p.src = lab_ip(STRANGER6))                                             \
	U(src_peer, NULL, p.src = s->peer4)                                                                          \
	U(src_broadcast, NULL, p.src = lab_ip("255.255.255.255"))                                                    \
	U(src_multicast, NULL, p.src = lab_ip("224.0.0.1"))                                                          \
	U(src_unspecified, NULL, p.src = lab_ip("0.0.0.0"); p.sport = 68)                                            \
	U(src_loopback_held, NULL, p.src = lab_ip("127.0.0.1"))                                                      \
	U(src_other_link, NULL, p.src = lab_ip("192.168.5.1"))                                                       \
	U(src_port_not_held, NULL, p.sport = 61001)                                                                  \
	U(src_port_0, NULL, p.sport = 0)                                                                             \
	U(src_port_of_ssh, NULL, p.sport = 22)                                                                       \
	T(src_tcp_port_not_held, NULL, p.sport = 443; p.flags = 4)                                                   \
	I(src_id_not_held, NULL, p.sport = 0x1111)                                                                   \
	I6(src6_id_not_held, NULL, p.sport = 0x1111)                                                                 \
	U(spoof_amplifier_dns, NULL, p.src = lab_ip(STRANGER); DNS(DNS_HEAD "\4acme\4corp\0" DNS_TAIL))              \
	U(spoof_amplifier_echo, NULL, p.src = lab_ip(STRANGER); p.dport = 7)                                         \
	U(spoof_amplifier_memcached, NULL, p.src = lab_ip(STRANGER); p.dport = 11211)                                \
	U(spoof_amplifier_ssdp, NULL, p.src = lab_ip(STRANGER); p.dport = 1900)                                      \
	T(spoof_rst, NULL, p.src = lab_ip(STRANGER); p.flags = 4)                                                    \
	T(spoof_rst_ack, NULL, p.src = lab_ip(STRANGER); p.flags = 0x14)                                             \
	T(spoof_fin, NULL, p.src = lab_ip(STRANGER); p.flags = 0x11)                                                 \
	T(spoof_syn_ack, NULL, p.src = lab_ip(STRANGER); p.flags = 0x12)                                             \
	U(spoof_to_broadcast, NULL, p.src = lab_ip(STRANGER); p.dst = lab_ip("10.0.0.255"))                          \
	I(spoof_smurf, NULL, p.src = lab_ip(STRANGER); p.dst = lab_ip("255.255.255.255"))                            \
	/* ports */                                                                                                  \
	U(port_not_named, "udp=4444", p.dport = 4444)                                                                \
	T(port_tcp_not_named, "tcp=22", p.dport = 22)                                                                \
	U(port_0, "udp=0", p.dport = 0)                                                                              \
	U(port_chargen, "udp=19", p.dport = 19)                                                                      \
	U(port_mapper, "udp=111", p.dport = 111)                                                                     \
	U(port_snmp, "udp=161", p.dport = 161; p.data = B(SNMP_GET))                                                 \
	U(port_snmp_set, "udp=161 +snmp_write", p.dport = 161; p.data = B(SNMP_SET))                                 \
	U(port_snmp_garbage, "udp=161 +snmp_write", p.dport = 161; p.data = B("\x30\x84\x00"))                       \
	U(port_snmp_secret, "udp=161 +snmp_write", p.dport = 161; p.data = B(SNMP3_SECRET))                          \
	U(port_snmp_trailing, "udp=161 +snmp_write", p.dport = 161; p.data = B(SNMP_GET SNMP_SET))                   \
	U(port_cldap, "udp=389", p.dport = 389)                                                                      \
	U(port_memcached, "udp=11211", p.dport = 11211)                                                              \
	T(port_smtp, "tcp=25", p.dport = 25)                                                                         \
	U(port_ntp_control, "udp=123", p.dport = 123; p.data = B("\x16\2\0\0"))                                      \
	U(port_ntp_private, "udp=123", p.dport = 123; p.data = B("\x17\0\3\x2a"))                                    \
	T(port_bgp, "tcp=179 +routing", p.dport = 179)                                                               \
	U(port_rip, "udp=520 +routing", p.dport = 520)                                                               \
	U(port_ripng, "udp=521 +routing", p.dport = 521)                                                             \
	U(port_ldp, "udp=646 +routing", p.dport = 646)                                                               \
	U(port_hsrp, "udp=1985 +routing", p.dport = 1985)                                                            \
	U(port_hsrp6, "udp=2029 +routing", p.dport = 2029)                                                           \
	U(port_glbp, "udp=3222 +routing", p.dport = 3222)                                                            \
	U(port_bfd, "udp=3784 +routing", p.dport = 3784)                                                             \
	U(port_netbios, "udp=137 +local_naming", p.dport = 137)                                                      \
	U(port_ssdp, "udp=1900 +local_naming", p.dport = 1900)                                                       \
	U(port_pcp, "udp=5351 +local_naming", p.dport = 5351)                                                        \
	U(port_pcp_clients, "udp=5350 +local_naming", p.dport = 5350)                                                \
	U(port_mdns, "udp=5353 +local_naming", p.dport = 5353; p.data = B(DNS_HEAD "\4acme\4corp\0" DNS_TAIL))       \
	U(port_mdns_answer, NULL, p.dport = 5353; p.data = B("\0\0\x84\0\0\0\0\0\0\0\0\0"))                          \
	U(port_llmnr, "udp=5355 +local_naming", p.dport = 5355)                                                      \
	T(port_tcp_dns, NULL, p.dport = 53)                                                                          \
	T(port_tcp_dot, NULL, p.dport = 853)                                                                         \
	U(port_doq, NULL, p.dport = 853)                                                                             \
	U(dhcp_discover, "udp=67 +dhcp +broadcast", p.src = lab_ip("0.0.0.0"); p.dst = lab_ip("255.255.255.255");    \
	  p.sport = 68; p.dport = 67; p.data = discover(store, s->mac))                                              \
	U(dhcp_unicast, "udp=67 +dhcp", p.dport = 67; p.data = discover(store, s->mac))                              \
	U(dhcp_foreign_client, "udp=67 +dhcp spoof=" STRANGER_MAC, p.dport = 67; p.data = discover(store, lab_mac(STRANGER_MAC))) \
	U(dhcp_server, NULL, p.dport = 68; p.data = discover(store, s->mac); store[0] = 2)                           \
	U(dhcp_foreign_id, "udp=67 +dhcp spoof=" STRANGER_MAC, p.dport = 67; p.data = discover(store, s->mac);       \
	  memcpy(store + 240, "\x3d\x07\x01\x02\0\0\0\0\x99\xff", 10))                                               \
	U(dhcp_foreign_address, "udp=67 +dhcp spoof=" STRANGER, p.dport = 67; p.data = discover(store, s->mac);      \
	  put_addr(store + 12, STRANGER))                                                                            \
	U(dhcp_relay, NULL, p.dport = 67; p.data = discover(store, s->mac); put_addr(store + 24, STRANGER))          \
	U(dhcp_foreign_duid, "udp=67 +dhcp spoof=" STRANGER_MAC, p.dport = 67; p.data = discover(store, s->mac);     \
	  memcpy(store + 240, "\x3d\x0f\xff\1\2\3\4\0\3\0\1\2\0\0\0\0\x99\xff", 18))                                  \
	U(dhcp_id_of_nobody, NULL, p.dport = 67; p.data = discover(store, s->mac);                                   \
	  memcpy(store + 240, "\x3d\4\0abc\xff", 7))                                                                \
	U(dhcp_id_cut, NULL, p.dport = 67; p.data = discover(store, s->mac);                                         \
	  memcpy(store + 240, "\x3d\3\1\2\0\xff", 6))                                                                \
	U6(dhcp6_id_of_nobody, NULL, p.dport = 547; p.data = B("\1abc\0\1\0\7\0\2\0\0\0\1\x99"))                    \
	U(dhcp_overload, NULL, p.dport = 67; p.data = discover(store, s->mac); memcpy(store + 240, "\x34\1\3\xff", 4)) \
	U6(dhcp6_solicit, "udp=547 +dhcp", p.dport = 547; p.data = B("\1abc"))                                       \
	U6(dhcp6_foreign_id, "udp=547 +dhcp spoof=" STRANGER_MAC, p.dport = 547;                                     \
	   p.data = B("\1abc\0\1\0\12\0\3\0\1\2\0\0\0\0\x99"))                                                       \
	U6(dhcp6_foreign_id_and_time, "udp=547 +dhcp spoof=" STRANGER_MAC, p.dport = 547;                            \
	   p.data = B("\1abc\0\1\0\16\0\1\0\1\0\0\0\0\2\0\0\0\0\x99"))                                           \
	U6(dhcp6_id_cut, NULL, p.dport = 547; p.data = B("\1abc\0\1\0\6\0\3\0\1\2\0"))                              \
	U6(dhcp6_reply, NULL, p.dport = 546; p.data = B("\7abc"))                                                    \
	U6(dhcp6_relay, NULL, p.dport = 547; p.data = B("\14abc"))                                                   \
	/* DNS */                                                                                                    \
	U(dns_outside_zone, NULL, DNS(DNS_HEAD "\4evil\3com\0" DNS_TAIL))                                            \
	U(dns_suffix_trick, NULL, DNS(DNS_HEAD "\7notacme\4corp\0" DNS_TAIL))                                        \
	U(dns_prefix_trick, NULL, DNS(DNS_HEAD "\4acme\4corp\4evil\0" DNS_TAIL))                                     \
	U(dns_dot_in_label, NULL, DNS(DNS_HEAD "\11acme.corp\0" DNS_TAIL))                                           \
	U(dns_root, NULL, DNS(DNS_HEAD "\0" DNS_TAIL))                                                               \
	U(dns_answer, NULL, DNS("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\4acme\4corp\0" DNS_TAIL))          \
	U(dns_update, NULL, DNS("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00\4acme\4corp\0" DNS_TAIL))          \
	U(dns_notify, NULL, DNS("\x12\x34\x20\x00\x00\x01\x00\x00\x00\x00\x00\x00\4acme\4corp\0" DNS_TAIL))          \
	U(dns_no_question, NULL, DNS("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"))                            \
	U(dns_two_questions, NULL, DNS("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\4acme\4corp\0" DNS_TAIL "\4evil\3com\0" DNS_TAIL)) \
	U(dns_bytes_behind, NULL, DNS(DNS_HEAD "\4acme\4corp\0" DNS_TAIL "secret"))                                  \
	U(dns_cut_header, NULL, DNS("\x12\x34\x01\x00\x00\x01"))                                                     \
	U(dns_cut_name, NULL, DNS(DNS_HEAD "\4acme\4co"))                                                            \
	U(dns_cut_type, NULL, DNS(DNS_HEAD "\4acme\4corp\0\0\1"))                                                    \
	U(dns_pointer_name, NULL, DNS(DNS_HEAD "\xc0\x0c" DNS_TAIL))                                                 \
	U(dns_record_missing, NULL, DNS("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0" DNS_TAIL))  \
	U(dns_record_pointer_loop, NULL, DNS("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0" DNS_TAIL "\xc0\x1b\0\51\0\0\0\0\0\0\0\0")) \
	U(dns_record_points_into_header, NULL, DNS("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0" DNS_TAIL "\xc0\x02\0\51\0\0\0\0\0\0\0\0")) \
	U(dns_record_points_forward, NULL, DNS("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0" DNS_TAIL "\xc0\x20\0\51\0\0\0\0\0\0\0\0")) \
	U(dns_record_name_reserved_bits, NULL, DNS("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\4acme\4corp\0" DNS_TAIL "\x40\0\51\0\0\0\0\0\0\0\0")) \
	U(dns_empty, NULL, p.dport = 53; p.data = B(""))                                                             \
	/* TCP, UDP */                                                                                               \
	T(tcp_offset_4, NULL, p.doff_add = -1)                                                                       \
	T(tcp_offset_0, NULL, p.doff_add = -5)                                                                       \
	T(tcp_offset_beyond, NULL, p.doff_add = 1)                                                                   \
	T(tcp_cut, NULL, p.raw = B("\xee\x48\0\x50\0\0\0\1\0\0\0\0\x50\2\0\0\0\0\0"))                                \
	U(udp_length_7, NULL, p.udp_add = -6)                                                                        \
	U(udp_length_0, NULL, p.udp_add = -13)                                                                       \
	U(udp_length_beyond, NULL, p.udp_add = 1)                                                                    \
	U(udp_cut, NULL, p.raw = B("\xee\x48\0\x09\0\x08\0"))                                                        \
	/* ICMP */                                                                                                   \
	I(icmp_echo_reply, NULL, p.type = 0)                                                                         \
	I(icmp_unreachable_unasked, NULL, p.type = 3)                                                                \
	I(icmp_source_quench, NULL, p.type = 4)                                                                      \
	I(icmp_redirect, "+redirect", p.type = 5)                                                                    \
	I(icmp_router_advertisement, "+ra", p.type = 9)                                                              \
	I(icmp_router_solicitation, "+ra", p.type = 10)                                                              \
	I(icmp_time_exceeded_unasked, NULL, p.type = 11)                                                             \
	I(icmp_parameter_problem, NULL, p.type = 12)                                                                 \
	I(icmp_time_stamp_cut, NULL, p.type = 13; p.data = B("12345678901"))                                          \
	I(icmp_time_stamp_reply, NULL, p.type = 14)                                                                  \
	I(icmp_information_request, NULL, p.type = 15)                                                               \
	I(icmp_mask_request, NULL, p.type = 17)                                                                      \
	I(icmp_mask_reply, NULL, p.type = 18)                                                                        \
	I(icmp_mobile_redirect, NULL, p.type = 32)                                                                   \
	I(icmp_extended_echo, NULL, p.type = 42)                                                                     \
	I(icmp_type_255, NULL, p.type = 255)                                                                         \
	I(icmp_cut, NULL, p.raw = B("\10\0\0\0\x56\x78\0"))                                                          \
	I(icmp6_in_ip4, NULL, p.proto = 58)                                                                          \
	I6(icmp4_in_ip6, NULL, p.proto = 1)                                                                          \
	I6(icmp6_echo_reply, NULL, p.type = 129)                                                                     \
	I6(icmp6_too_big_unasked, NULL, p.type = 2)                                                                  \
	I6(icmp6_node_information, NULL, p.type = 139)                                                               \
	I6(icmp6_router_renumbering, NULL, p.type = 138)                                                             \
	I6(icmp6_mld_report, "+routing", p.type = 131)                                                               \
	I6(icmp6_mld2_report, "+routing", p.type = 143)                                                              \
	/* neighbour discovery */                                                                                    \
	N(ns_target_off_link, NULL, put_addr(store + 8, "fd00:2::2"))                                                \
	N(ns_target_outside, NULL, put_addr(store + 8, "2001:db8:bad::2"))                                           \
	N(ns_target_own, NULL, put_addr(store + 8, "fd00:1::1"))                                                     \
	N(ns_target_link_local, "allow_self=fe80::2", put_addr(store + 8, "fe80::2"))                                \
	N(ns_source_foreign, NULL, p.src = lab_ip(STRANGER6))                                                        \
	N(ns_source_unspecified, NULL, p.src = lab_ip("::"))                                                         \
	N(ns_wrong_group, NULL, p.dst = lab_ip("ff02::1:ff00:99"))                                                   \
	N(ns_all_nodes, NULL, p.dst = lab_ip("ff02::1"))                                                             \
	N(ns_other_destination, NULL, p.dst = lab_ip("fd00:1::3"))                                                   \
	N(ns_foreign_mac, "spoof=" STRANGER_MAC, store[31] = 0x99)                                                   \
	N(ns_target_option, NULL, store[24] = 2)                                                                     \
	N(ns_prefix_option, NULL, store[24] = 3)                                                                     \
	N(ns_option_length_0, NULL, store[25] = 0)                                                                   \
	N(ns_option_cut, NULL, store[25] = 2)                                                                        \
	N(ns_cut, NULL, p.raw.n = 20)                                                                                \
	I6(na_own, "+nd", p.raw = nd(store, 136, BYTES(s->us6.b, 16)))                                               \
	I6(na_foreign, "+nd spoof=" STRANGER6, p.raw = nd(store, 136, put_addr(more, STRANGER6)))                    \
	I6(na_peer, NULL, p.raw = nd(store, 136, BYTES(s->peer6.b, 16)))                                             \
	I6(na_foreign_mac, "+nd spoof=" STRANGER_MAC, memcpy(more, s->us6.b, 16);                                    \
	   memcpy(more + 16, "\2\1\2\0\0\0\0\x99", 8); p.raw = nd(store, 136, BYTES(more, 24)))                      \
	I6(router_solicitation, "+ra", p.raw = nd(store, 133, B("")))                                                \
	I6(router_advertisement, "+ra", p.raw = nd(store, 134, B("12345678")))                                       \
	I6(router_advertisement_to_all, "+ra +multicast", p.dst = lab_ip("ff02::1"); p.raw = nd(store, 134, B("12345678"))) \
	I6(router_advertisement_foreign_mac, "+ra spoof=" STRANGER_MAC, p.raw = nd(store, 134, B("12345678\1\1\2\0\0\0\0\x99"))) \
	I6(router_advertisement_cut, NULL, p.raw = nd(store, 134, B("1234")))                                        \
	I6(redirect6, "+redirect", memset(more, 1, 32); p.raw = nd(store, 137, BYTES(more, 32)))                     \
	/* other protocols */                                                                                        \
	U(proto_igmp, "+routing", p.proto = 2; p.raw = B("\x16\0\0\0\xe0\0\0\5"))                                    \
	U(proto_eigrp, "+routing", p.proto = 88)                                                                     \
	U(proto_ospf, "+routing", p.proto = 89; p.raw = B("\2\1\0\54"))                                              \
	U(proto_pim, "+routing", p.proto = 103)                                                                      \
	U(proto_vrrp, "+routing", p.proto = 112)                                                                     \
	U(proto_sctp, "other=132", p.proto = 132; p.raw = B("\xee\x48\0\x09\0\0\0\0\0\0\0\0\1\0\0\4"))               \
	U(proto_udplite, "other=136", p.proto = 136; p.raw = B("\xee\x48\0\x35\0\0\0\0"))                            \
	U(proto_esp, "other=50", p.proto = 50; p.raw = B("12345678"))                                                \
	U(proto_ah_wraps_udp, "other=51", p.proto = 51;                                                              \
	  p.raw = B("\x11\1\0\0\0\0\0\1\0\0\0\1\xee\x48\0\x09\0\x08\0\0"))                                           \
	U(proto_ah_wraps_port, NULL, p.proto = 51; p.raw = B("\x11\1\0\0\0\0\0\1\0\0\0\1\xee\x48\0\x50\0\x08\0\0"))  \
	U(proto_ah_cut, NULL, p.proto = 51; p.raw = B("\x11\11\0\0\0\0\0\1\0\0\0\1"))                                \
	U(proto_hopopt_in_ip4, NULL, p.proto = 0)                                                                    \
	U(proto_fragment_in_ip4, NULL, p.proto = 44)                                                                 \
	U(proto_253_empty, "other=253", p.proto = 253; p.data = B(""))                                               \
	U(proto_253, "other=253", p.proto = 253)                                                                     \
	/* IPv6 */                                                                                                   \
	U6(ip6_version_4, NULL, p.version = 4)                                                                       \
	U6(ip6_length_short, NULL, p.total_add = -1)                                                                 \
	U6(ip6_length_beyond, NULL, p.total_add = 1)                                                                 \
	U6(ip6_length_zero, NULL, p.total_add = -13)                                                                 \
	U6(ip6_bytes_behind, NULL, p.trail = B("x"))                                                                 \
	U6(ip6_outside, NULL, p.dst = lab_ip("2001:db8:bad::1"))                                                     \
	U6(ip6_hop_by_hop, "+options", p.ext = 0; p.exts = B("\x11\0\1\4\0\0\0\0"))                                  \
	U6(ip6_destination_options, "+options", p.ext = 60; p.exts = B("\x11\0\1\4\0\0\0\0"))                        \
	U6(ip6_home_address, "+options spoof=" STRANGER6, p.ext = 60; memcpy(store, "\x11\2\1\2\0\0\xc9\x10", 8);    \
	   put_addr(store + 8, STRANGER6); p.exts = BYTES(store, 24))                                                \
	U6(ip6_jumbo, NULL, p.ext = 0; p.exts = B("\x11\0\xc2\4\0\1\0\0"))                                           \
	U6(ip6_option_cut, NULL, p.ext = 0; p.exts = B("\x11\0\1\x09\0\0\0\0"))                                      \
	U6(ip6_hop_by_hop_second, NULL, p.ext = 60; p.exts = B("\0\0\1\4\0\0\0\0\x11\0\1\4\0\0\0\0"))                \
	U6(ip6_routing_0, "+options", p.ext = 43; memcpy(store, "\x11\2\0\1\0\0\0\0", 8);                            \
	   put_addr(store + 8, "fd00:1::3"); p.exts = BYTES(store, 24))                                              \
	U6(ip6_routing_0_outside, NULL, p.ext = 43; memcpy(store, "\x11\2\0\1\0\0\0\0", 8);                          \
	   put_addr(store + 8, "2001:db8:bad::1"); p.exts = BYTES(store, 24))                                        \
	U6(ip6_routing_2_outside, NULL, p.ext = 43; memcpy(store, "\x11\2\2\1\0\0\0\0", 8);                          \
	   put_addr(store + 8, "2001:db8:bad::1"); p.exts = BYTES(store, 24))                                        \
	U6(ip6_segment_routing, "+options", p.ext = 43; memcpy(store, "\x11\2\4\0\0\0\0\0", 8);                      \
	   put_addr(store + 8, "fd00:1::3"); p.exts = BYTES(store, 24))                                              \
	U6(ip6_segment_routing_outside, NULL, p.ext = 43; memcpy(store, "\x11\2\4\0\0\0\0\0", 8);                    \
	   put_addr(store + 8, "2001:db8:bad::1"); p.exts = BYTES(store, 24))                                        \
	U6(ip6_routing_3, NULL, p.ext = 43; p.exts = B("\x11\0\3\0\0\0\0\0"))                                        \
	U6(ip6_routing_odd, NULL, p.ext = 43; p.exts = B("\x11\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0"))                      \
	U6(ip6_fragment_first, "+fragments", p.ext = 44; p.exts = B("\x11\0\0\1\0\0\0\1"); p.data = B("12345678"))   \
	U6(ip6_fragment_atomic, "+fragments", p.ext = 44; p.exts = B("\x11\0\0\0\0\0\0\2"))                          \
	U6(ip6_fragment_later, "+fragments", p.ext = 44; p.exts = B("\x11\0\0\x10\0\0\0\3"); p.raw = B("12345678"))  \
	U6(ip6_fragment_tiny, NULL, p.ext = 44; p.exts = B("\x11\0\0\1\0\0\0\4"); p.raw = B("\xee\x48\0\x09"))       \
	U6(ip6_fragments_nested, NULL, p.ext = 44; p.exts = B("\x2c\0\0\1\0\0\0\5\x11\0\0\0\0\0\0\5"))               \
	I6(ip6_fragmented_ns, NULL, p.ext = 44; p.exts = B("\x3a\0\0\0\0\0\0\6"); memcpy(more, s->peer6.b, 16);      \
	   p.raw = nd(store, 135, BYTES(more, 16)))                                                                  \
	I6(ip6_fragmented_na, NULL, p.ext = 44; p.exts = B("\x3a\0\0\0\0\0\0\7"); p.raw = nd(store, 136, BYTES(s->us6.b, 16))) \
	U6(ip6_extension_cut, NULL, p.ext = 60; p.exts = B("\x11\x09\1\4\0\0\0\0"))                                  \
	U6(ip6_nine_extensions, NULL, p.ext = 60; for (int i = 0; i < 9; i++)                                        \
	   memcpy(store + i * 8, "\x3c\0\1\4\0\0\0\0", 8); store[64] = 17; p.exts = BYTES(store, 72))                \
	U6(ip6_no_next_header, "other=59", p.proto = 59)                                                             \
	U6(ip6_mobility, "other=135", p.proto = 135)                                                                 \
	/* tunnels; the inner packet is built in `more` */                                                           \
	U(tunnel_ipip, "+tunnel", Spec q = spec_udp(s); p.proto = 4; p.raw = inner(more, 512, &q))                   \
	U(tunnel_ipip_outside, NULL, Spec q = spec_udp(s); q.dst = lab_ip(OUTSIDE); p.proto = 4; p.raw = inner(more, 512, &q)) \
	U(tunnel_ipip_port, NULL, Spec q = spec_udp(s); q.dport = 4000; p.proto = 4; p.raw = inner(more, 512, &q))   \
	U(tunnel_ipip_stranger, "+tunnel spoof=" STRANGER, Spec q = spec_udp(s); q.src = lab_ip(STRANGER); p.proto = 4; \
	  p.raw = inner(more, 512, &q))                                                                              \
	U(tunnel_ipip_loopback, "+tunnel allow_self=127.0.0.1", Spec q = spec_udp(s); q.dst = lab_ip("127.0.0.1"); p.proto = 4; \
	  p.raw = inner(more, 512, &q))                                                                              \
	U(tunnel_ipip_garbage, NULL, p.proto = 4; p.raw = B("garbage"))                                              \
	U(tunnel_6in4, "+tunnel", Spec q = spec_udp6(s); p.proto = 41; p.raw = inner(more, 512, &q))                 \
	U(tunnel_6in4_outside, NULL, Spec q = spec_udp6(s); q.dst = lab_ip("2001:db8:bad::1"); p.proto = 41; p.raw = inner(more, 512, &q)) \
	U(tunnel_6in4_embedded, NULL, Spec q = spec_udp6(s); q.dst = lab_ip("::ffff:10.0.0.2"); p.proto = 41; p.raw = inner(more, 512, &q)) \
	U(tunnel_gre, "+tunnel", Spec q = spec_udp(s); p.proto = 47; p.raw = join(store, 512, B("\0\0\10\0"), inner(more, 512, &q))) \
	U(tunnel_gre_outside, NULL, Spec q = spec_udp(s); q.dst = lab_ip(OUTSIDE); p.proto = 47;                     \
	  p.raw = join(store, 512, B("\0\0\10\0"), inner(more, 512, &q)))                                            \
	U(tunnel_gre_key, "+tunnel", Spec q = spec_udp(s); p.proto = 47; p.raw = join(store, 512, B("\x20\0\10\0abcd"), inner(more, 512, &q))) \
	U(tunnel_gre_source_route, NULL, Spec q = spec_udp(s); p.proto = 47; p.raw = join(store, 512, B("\x40\0\10\0\0\0\0\0"), inner(more, 512, &q))) \
	U(tunnel_gre_arp, NULL, p.proto = 47; p.raw = B("\0\0\10\6\0\1\10\0"))                                       \
	U(tunnel_gre_pptp, NULL, p.proto = 47; p.raw = B("\x30\1\x88\x0b"))                                          \
	U(tunnel_vxlan, "udp=4789 +tunnel", Spec q = spec_ether(spec_udp(s), s); p.dport = 4789;                     \
	  p.data = join(store, 512, B("\10\0\0\0\0\0\1\0"), inner(more, 512, &q)))                                   \
	U(tunnel_vxlan_outside, NULL, Spec q = spec_ether(spec_udp(s), s); q.dst = lab_ip(OUTSIDE); p.dport = 4789;  \
	  p.data = join(store, 512, B("\10\0\0\0\0\0\1\0"), inner(more, 512, &q)))                                   \
	U(tunnel_vxlan_foreign_mac, "udp=4789 +tunnel spoof=" STRANGER_MAC, Spec q = spec_ether(spec_udp(s), s);     \
	  q.esrc = lab_mac(STRANGER_MAC); p.dport = 4789; p.data = join(store, 512, B("\10\0\0\0\0\0\1\0"), inner(more, 512, &q))) \
	U(tunnel_vxlan_arp, NULL, Spec q = spec_arp(s, store + 600); p.dport = 4789;                                 \
	  p.data = join(store, 512, B("\10\0\0\0\0\0\1\0"), inner(more, 512, &q)))                                   \
	U(tunnel_vxlan_flags, NULL, Spec q = spec_ether(spec_udp(s), s); p.dport = 4789;                             \
	  p.data = join(store, 512, B("\14\0\0\0\0\0\1\0"), inner(more, 512, &q)))                                   \
	U(tunnel_vxlan_to_all, NULL, Spec q = spec_ether(spec_udp(s), s); q.edst = lab_mac("ff:ff:ff:ff:ff:ff");     \
	  p.dport = 4789; p.data = join(store, 512, B("\10\0\0\0\0\0\1\0"), inner(more, 512, &q)))                   \
	U(tunnel_two_deep, "+tunnel", Spec q = spec_udp(s); Spec q1 = q; q1.proto = 4; q1.raw = inner(store, 256, &q); \
	  p.proto = 4; p.raw = inner(more, 512, &q1))                                                                \
	U(tunnel_geneve, "udp=6081 +tunnel", Spec q = spec_udp(s); p.dport = 6081;                                   \
	  p.data = join(store, 512, B("\0\0\10\0\0\0\1\0"), inner(more, 512, &q)))                                   \
	U(tunnel_geneve_critical, NULL, Spec q = spec_udp(s); p.dport = 6081;                                        \
	  p.data = join(store, 512, B("\0\x40\10\0\0\0\1\0"), inner(more, 512, &q)))                                 \
	U(tunnel_l2tp, NULL, p.dport = 1701)                                                                         \
	U(tunnel_teredo, NULL, Spec q = spec_udp6(s); p.dport = 3544; p.data = inner(more, 512, &q))                 \
	U(tunnel_gtp, NULL, p.dport = 2152)                                                                          \
	U(tunnel_etherip, NULL, p.proto = 97)                                                                        \
	U(tunnel_mpls, NULL, p.proto = 137)                                                                          \
	U(tunnel_three_deep, NULL, Spec q = spec_udp(s); Spec q1 = q; q1.proto = 4; q1.raw = inner(store, 256, &q);  \
	  Spec q2 = q1; q2.raw = inner(store + 256, 256, &q1); p.proto = 4; p.raw = inner(more, 512, &q2))           \
	U(tunnel_in_fragments, NULL, Spec q = spec_udp(s); q.data = B("12345678901"); p.proto = 4; p.frag = 0x2000; p.raw = inner(more, 512, &q))

#define BUILD_(name, base, kind_, ...)                                                     \
	static void build_##name(const Scene *s, Writer *w, EmitKind *ret_kind)            \
	{                                                                                  \
		static uint8_t store[2048], more[2048];                                    \
		Spec p = base;                                                             \
                                                                                           \
		(void)store, (void)more;                                                   \
		*ret_kind = kind_;                                                         \
		__VA_ARGS__;                                                               \
		spec_build(&p, w);                                                         \
	}
#define BUILD_U_(name, lift, ...) BUILD_(name, spec_udp(s), EMIT_IP4, __VA_ARGS__)
#define BUILD_T_(name, lift, ...) BUILD_(name, spec_tcp(s), EMIT_IP4, __VA_ARGS__)
#define BUILD_I_(name, lift, ...) BUILD_(name, spec_icmp(s), EMIT_IP4, __VA_ARGS__)
#define BUILD_U6_(name, lift, ...) BUILD_(name, spec_udp6(s), EMIT_IP6, __VA_ARGS__)
#define BUILD_I6_(name, lift, ...) BUILD_(name, spec_icmp6(s), EMIT_IP6, __VA_ARGS__)
#define BUILD_E_(name, lift, ...) BUILD_(name, spec_ether(spec_udp(s), s), EMIT_ETHER, __VA_ARGS__)
#define BUILD_A_(name, lift, ...) BUILD_(name, spec_arp(s, store), EMIT_ETHER, __VA_ARGS__)
#define BUILD_N_(name, lift, ...) BUILD_(name, spec_ns(s, store), EMIT_IP6, __VA_ARGS__)
HOSTILE(BUILD_U_, BUILD_T_, BUILD_I_, BUILD_U6_, BUILD_I6_, BUILD_E_, BUILD_A_, BUILD_N_)

#define ROW_(name, lift, ...) { #name, lift, build_##name },
static const HostileFrame rows[] = { HOSTILE(ROW_, ROW_, ROW_, ROW_, ROW_, ROW_, ROW_, ROW_) };

const HostileFrame *hostile_frames(size_t *ret_n)
{
	*ret_n = sizeof rows / sizeof rows[0];
	return rows;
}
