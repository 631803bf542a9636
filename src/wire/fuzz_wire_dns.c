/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS: messages, whose records are encoded to what they were, and names and
 * record data as text, which read back.
 */
#include "wire/fuzz_check.h"

static void check_text(const WireLayer *r, Arena *a)
{
	Sb text = sb(a);
	Bytes back = { 0 };

	dns_name_text(r->var[0], &text);
	must(dns_name_from_text(sb_done(&text), a, &back));
	must(bytes_eq(back, r->var[0]));
}

static void check_records(const WireLayer *dns, Arena *a)
{
	for (unsigned s = 0; s < 4; s++) {
		Cursor c = cursor(dns->var[s]);
		WireLayer r;
		unsigned n = 0;

		for (; wire_record_next(s == 0 ? WIRE_DNSQR : WIRE_DNSRR, &c, &r); n++) {
			must(bytes_eq(wire_record_build(&r, a), BYTES(c.p + r.off, r.len)));
			check_text(&r, a);
		}
		must(c.off == c.n);
		must(!wire_is_set(dns, F_DNS_QD + s) || n == wire_num(dns, F_DNS_QDCOUNT + s));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Arena a;
	WirePacket p;
	Bytes msg = BYTES(data, size), rdata = { 0 };

	arena_init(&a, memory, sizeof memory, NULL);
	wire_parse(msg, WIRE_DNS, &a, &p);
	check_accounts(&p, msg);
	check_reads(&p, &a);
	if (p.n)
		check_records(&p.layer[0], &a);
	if (size)
		(void)dns_rdata_from_text(data[0], (Str){ (const char *)data + 1, size - 1 }, &a, &rdata);
	return 0;
}
