/* SPDX-License-Identifier: Apache-2.0
 *
 * What outlives a run and is read again: a row of the ledger, a line of the log, the
 * record of an approval.  The first byte says which.
 */
#include "gate/approval.h"
#include "gate/ledger_row.h"
#include "gate/log.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With a check sum that fits: else hardly any would be read. */
static void row(Bytes b)
{
	uint8_t in[LEDGER_ROW] = { 0 }, out[LEDGER_ROW];
	LedgerRow r = { 0 }, again;

	memcpy(&r, b.p, b.n < sizeof r ? b.n : sizeof r);
	r.name[LEDGER_NAME - 1] = 0;
	ledger_row_encode(&r, in);
	if (ledger_row_decode(in, &again)) {
		LedgerCount c = { { 1, 2, 3, 4, 5, 6 } };

		ledger_row_add(&again, &c, again.last);
		for (LedgerSpan s = 0; s < LEDGER_SPANS; s++)
			if (ledger_row_sum(&again, s, again.last).v[LEDGER_PACKETS] < 1)
				abort();
		ledger_row_give_back(&again, &c, again.last, again.last);
		ledger_row_encode(&again, out);
	}
	memcpy(in, b.p, b.n < sizeof in ? b.n : sizeof in);
	ledger_row_decode(in, &again);
}

static void lines(Bytes b)
{
	LogChain c = { 0 };

	for (size_t from = 0, i = 0; i <= b.n; i++) {
		if (i < b.n && b.p[i] != '\n')
			continue;
		log_chain_check(&c, bytes_slice(b, from, i));
		from = i + 1;
	}
}

static void approval(Bytes b)
{
	Approval a;

	if (approval_read(b, &a) && (a.text.n > b.n || a.program.n > b.n || a.manifest.n > b.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(Bytes) = { row, lines, approval };

	if (size)
		targets[data[0] % 3](BYTES(data + 1, size - 1));
	return 0;
}
