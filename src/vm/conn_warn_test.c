/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/conn_warn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct Case {
	size_t counter;
	WarnId id;
	bool by_hand;
} Case;

static const Case cases[] = {
	{ offsetof(TcpConn, out.fast), WARN_RETRANSMISSION, false },
	{ offsetof(TcpConn, out.rto), WARN_RETRANSMISSION, false },
	{ offsetof(TcpConn, out.tlp), WARN_RETRANSMISSION, false },
	{ offsetof(TcpConn, out.spurious_dsack), WARN_SPURIOUS, false },
	{ offsetof(TcpConn, out.spurious_eifel), WARN_SPURIOUS, false },
	{ offsetof(TcpConn, out.reordered), WARN_SEGMENTS_REORDERED, false },
	{ offsetof(TcpConn, in.retransmits), WARN_PEER_AGAIN, true },
	{ offsetof(TcpConn, in.out_of_order), WARN_OUT_OF_ORDER, false },
	{ offsetof(TcpConn, in.overlaps), WARN_OVERLAP, false },
	{ offsetof(TcpConn, out.zero_windows), WARN_ZERO_WINDOW, false },
	{ offsetof(TcpConn, out.window_shrunk), WARN_SHRUNK, false },
	{ offsetof(TcpConn, in.out_of_window), WARN_OUT_OF_WINDOW, true },
	{ offsetof(TcpConn, in.ack_unsent), WARN_ACK_UNSENT, true },
	{ offsetof(TcpConn, in.paws), WARN_OLD_STAMP, true },
	{ offsetof(TcpConn, in.no_timestamp), WARN_STAMP_GONE, false },
	{ offsetof(TcpConn, in.rst_odd_seq), WARN_RST_SEQ, true },
	{ offsetof(TcpConn, in.syns), WARN_LIVE_SYN, true },
	{ offsetof(TcpConn, out.syn_retries), WARN_SYN_AGAIN, false },
	{ offsetof(TcpConn, out.mtu_changes), WARN_MTU_CHANGED, false },
	{ offsetof(TcpConn, out.ece_in), WARN_ECHO_ECE, false },
	{ offsetof(TcpConn, in.icmp_ignored), WARN_ODD_ICMP, true },
};

static Warnings ws;
static TcpConn conn;

static unsigned codes(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WARN_N; i++)
		n += ws.w[i].count > 0;
	return n;
}

static void judge(const Case *k, uint32_t crafted)
{
	const uint32_t seven = 7;

	memset(&ws, 0, sizeof ws);
	memset(&conn, 0, sizeof conn);
	conn.out.segments = conn.in.segments = 1000;
	conn.crafted = crafted;
	if (k)
		memcpy((char *)&conn + k->counter, &seven, sizeof seven);
	conn_warnings(&ws, &conn);
}

static void test_each_counter_has_its_code_and_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		judge(&cases[i], 0);
		assert_int_equal(codes(), 1);
		assert_int_equal(ws.w[cases[i].id].count, 7);
		assert_non_null(strstr(ws.w[cases[i].id].peer[0].evidence, ": 7 "));
	}
}

static void test_a_healthy_connection_says_nothing(void **state)
{
	(void)state;
	judge(NULL, 0);
	assert_int_equal(codes(), 0);
}

static void test_what_was_made_by_hand_is_not_the_networks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		judge(&cases[i], 1);
		assert_int_equal(codes(), cases[i].by_hand ? 0 : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_counter_has_its_code_and_no_other),
		cmocka_unit_test(test_a_healthy_connection_says_nothing),
		cmocka_unit_test(test_what_was_made_by_hand_is_not_the_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
