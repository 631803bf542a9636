/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of a capture filter: made by filter_parse.c, read by filter.c.
 */
#ifndef SONDE_PROBE_FILTER_AST_H
#define SONDE_PROBE_FILTER_AST_H

#include "base/addr.h"
#include "probe/filter.h"

typedef enum NodeKind { NODE_AND, NODE_OR, NODE_NOT, NODE_TEST } NodeKind;

typedef enum TestKind {
	TEST_LINK,   /* the network protocol itself: ip, ip6, arp */
	TEST_PROTO,  /* a transport by its name: tcp, udp, icmp, icmp6 */
	TEST_NUMBER, /* proto N */
	TEST_NET,    /* host and net */
	TEST_PORT,   /* port and portrange */
	TEST_VLAN,
} TestKind;

typedef enum TestDir { DIR_EITHER, DIR_SRC, DIR_DST, DIR_BOTH } TestDir;

/* Network protocols that a test applies to. */
enum { OVER_IP4 = 1, OVER_IP6 = 2, OVER_ARP = 4 };
/* Transports of a port test. */
enum { PORT_TCP = 1, PORT_UDP = 2 };

typedef struct FilterTest {
	TestKind kind;
	TestDir dir;
	uint8_t over;
	uint8_t ports;	 /* TEST_PORT */
	uint8_t proto;	 /* TEST_PROTO, TEST_NUMBER */
	bool bare;	 /* host or net without protocol */
	bool any_vlan;	 /* `vlan` without id */
	uint8_t depth;	 /* VLAN tags that stand before what is tested: pcap-filter's `vlan` shifts all that
			    follows */
	uint16_t lo, hi; /* ports; lo: VLAN id */
	Net net;
} FilterTest;

typedef struct FilterNode FilterNode;
struct FilterNode {
	NodeKind kind;
	FilterNode *left, *right; /* NOT: left alone */
	FilterTest test;
};

struct Filter {
	const FilterNode *root; /* NULL: everything passes */
	StackSet stacks;
};

/* Stacks of a node, for the parser's rule about `arp`. */
void filter_node_stacks(const FilterNode *n, bool negated, StackSet *ret_set);

#endif
