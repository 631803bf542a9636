/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold for whatever the decoders make of any bytes: each byte is
 * accounted for once, all that is set can be read and printed, and a packet that
 * nothing is wrong with is encoded to the same bytes.
 */
#ifndef SONDE_WIRE_FUZZ_CHECK_H
#define SONDE_WIRE_FUZZ_CHECK_H

#include "wire/dns.h"
#include "wire/table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[64 << 20];

static inline void must(bool ok)
{
	if (!ok)
		abort();
}

static inline void check_accounts(const WirePacket *p, Bytes frame)
{
	size_t n = p->payload.n + p->padding.n;

	for (unsigned i = 0; i < p->n; i++) {
		must(p->layer[i].off + p->layer[i].len <= frame.n);
		n += p->layer[i].len;
	}
	must(n == frame.n);
}

static inline void check_reads(const WirePacket *p, Arena *a)
{
	Sb out = sb(a);
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->n; i++) {
		const WireLayer *l = &p->layer[i];

		for (unsigned f = 0; f < l->proto->nfields; f++) {
			Bytes b = wire_bytes(l, f);

			sum += wire_num(l, f);
			for (size_t k = 0; k < b.n; k++)
				sum += b.p[k];
		}
		sum += (uint64_t)wire_check(p, i);
	}
	wire_summary(p, &out);
	wire_show(p, &out);
	sb_printf(&out, "%u", (unsigned)sum);
	for (size_t i = 0; i < out.n; i++) /* nothing of a peer goes to a terminal as it is */
		must(out.p[i] == '\n' || (out.p[i] >= ' ' && out.p[i] < 0x7f));
}

static inline bool is_rewritten(const WirePacket *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->layer[i].proto->rewritten)
			return true;
	return false;
}

static inline void check_again(const WirePacket *p, Bytes frame, Arena *a)
{
	Bytes again = { 0 };

	if (p->reason || is_rewritten(p))
		return;
	must(wire_build(p, a, &again, NULL) == NULL);
	must(bytes_eq(again, frame));
}

#endif
