/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a session, half of which say what a hostile engine printed.  Whatever
 * they are, what was shown of anybody keeps a run from everybody, and what a run had it
 * may have again.
 */
#include "gate/compartments.h"
#include "gate/test_lab.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20], out[SESSION_MOST + 2 * SESSION_RECORD];
static Lab lab;
static size_t mark;

static void setup(void)
{
	static const char text[] =
		"reach 10.0.0.0/30 tcp=80,443 udp=9,53 icmp;reach 10.0.0.2 tcp=1-1024 other=51 vlan=10 +fragments +options;"
		"reach 2001:db8::/64 tcp=80 icmp;zone all;resolver 10.0.0.3;spoof 10.0.0.77 max=20;";

	lab_init(&lab, memory, sizeof memory);
	lab_policy(&lab, "sys", text);
	lab_program(&lab, text);
	lab_program(&lab, "emit 10.0.0.2 udp 9;name acme.corp;budget packets=10 leak=8");
	lab_pin(&lab, "acme.corp", "10.0.0.1");
	if (!lab_make(&lab))
		abort();
	vec_push(&lab.a, &lab.policy[0].decls.may_follow, (Target){ .lo = lab_ip("10.0.0.1"), .hi = lab_ip("10.0.0.1") });
	vec_push(&lab.a, &lab.policy[0].decls.may_follow, (Target){ .lo = lab_ip("10.0.0.0"), .hi = lab_ip("10.0.0.3") });
	lab.in.approvable = true;
	mark = arena_mark(&lab.a);
}

/* The rows that are told, as they are read: written again they are the same bytes. */
static void whence(Bytes b)
{
	Cursor c = cursor(b);
	Writer w = writer(out, sizeof out);
	Whence x;
	bool bad;

	while (whence_next(&c, &x, &bad)) {
		Sb text = sb(&lab.a);

		whence_text(&x, &text);
		if (!whence_put(&w, &x))
			abort();
	}
	if (w.n > b.n || !bytes_eq(wr_done(&w), bytes_slice(b, 0, w.n)) || (!bad && w.n != b.n))
		abort();
}

static Findings findings(Bytes records)
{
	static const Ip resolver = { .v = 4, .b = { 10, 0, 0, 3 } };
	Findings f = { .a = &lab.a };
	Session s;

	if (!session_read(records, &lab.a, &s))
		abort();
	for (uint32_t i = 0; i < s.shown.n; i++)
		if (s.shown.p[i].lo.v != s.shown.p[i].hi.v || ip_cmp(s.shown.p[i].lo, s.shown.p[i].hi) > 0)
			abort();
	session_check_names(&s, &lab.in, &resolver, 1, &f);
	session_check(&s, &lab.in, lab.r, &f);
	return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t anybody[] = { WHENCE_ANY };
	Bytes in = BYTES(data, size);
	Session s;
	Writer w;

	if (!lab.r)
		setup();
	arena_reset(&lab.a, mark);
	whence(in);
	if (size > SESSION_MOST || !session_read(in, &lab.a, &s))
		return 0;
	findings(in);
	w = writer(out, sizeof out);
	wr_bytes(&w, in);
	if (!session_had(&w, lab.r, &lab.m, &lab.a) || findings(wr_done(&w)).persons)
		abort();
	if (!session_shown(&w, BYTES(anybody, sizeof anybody)) || !findings(wr_done(&w)).refused)
		abort();
	return 0;
}
