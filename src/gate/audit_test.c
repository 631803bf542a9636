/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence is written, then changed in every way that there is: each byte flipped,
 * cut anywhere, blocks swapped, taken out, doubled.  The check has to see it, and to
 * say a place that holds what was changed.
 */
#include "gate/audit.h"
#include "gate/evidence.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 1 << 20 };

static uint8_t file[MOST], changed[MOST];
static size_t file_n;
static Hash head;

static int make_evidence(void **state)
{
	static uint8_t buf[EVIDENCE_BUF];
	static const uint8_t frame[90] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45 };
	int fd = memfd_create("evidence", 0);
	Evidence e;

	(void)state;
	evidence_init(&e, fd, buf);
	evidence_iface(&e, "eth0", true, 0);
	for (int i = 0; i < 150; i++) {
		evidence_frame(&e, 0, 1000 * i, (Bytes){ 0 }, BYTES(frame, 60 + (size_t)i % 30), 90, i % 2,
			       i % 3 ? NULL : "tx_id=5");
		if (i % 10 == 0)
			evidence_refused(&e, 1000 * i, "refused", BYTES(frame, 40));
		if (i % 7 == 0)
			evidence_flush(&e);
	}
	head = evidence_end(&e);
	file_n = (size_t)pread(fd, file, MOST, 0);
	close(fd);
	assert_true(file_n > 10000 && file_n < MOST);
	return 0;
}

static Audit check(const uint8_t *p, size_t n)
{
	int fd = memfd_create("changed", 0);

	assert_int_equal(write(fd, p, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	Audit a = audit_verify(fd);
	close(fd);
	return a;
}

static void what_was_written_is_intact(void **state)
{
	Audit a = check(file, file_n);

	(void)state;
	assert_true(a.intact);
	assert_int_equal(a.kind, AUDIT_EVIDENCE);
	assert_int_equal(a.items, 1 + 1 + 150 + 15);
	assert_int_equal(a.links, (1 + 1 + 150 + 15) / EVIDENCE_LINK + 1);
	assert_true(hash_eq(a.head, head));
}

static void each_flipped_bit_is_seen(void **state)
{
	(void)state;
	memcpy(changed, file, file_n);
	for (size_t i = 0; i < file_n; i++) {
		changed[i] ^= (uint8_t)(1u << i % 8);
		Audit a = check(changed, file_n);

		changed[i] = file[i];
		if (a.intact || (a.kind == AUDIT_EVIDENCE && (i < a.from || i >= a.to)))
			fail_msg("byte %zu: intact %d, said [%lu, %lu): %s", i, a.intact, a.from, a.to, a.why);
	}
}

static void each_cut_is_seen(void **state)
{
	(void)state;
	for (size_t n = 0; n < file_n; n++)
		assert_false(check(file, n).intact);
	memcpy(changed, file, file_n);
	memcpy(changed + file_n, file + file_n - 100, 100);
	assert_false(check(changed, file_n + 100).intact); /* and so is more than was written */
}

static size_t length_at(size_t at)
{
	uint32_t len;

	memcpy(&len, file + at + 4, sizeof len);
	return len;
}

/* Without, twice, or swapped with the next one: each block, links as well. */
static void blocks_keep_their_places(void **state)
{
	(void)state;
	for (size_t at = 0; at < file_n; at += length_at(at)) {
		size_t len = length_at(at), next = at + len < file_n ? length_at(at + len) : 0;

		memcpy(changed, file, at);
		memcpy(changed + at, file + at + len, file_n - at - len);
		assert_false(check(changed, file_n - len).intact);

		memcpy(changed, file, at + len);
		memcpy(changed + at + len, file + at, file_n - at);
		assert_false(check(changed, file_n + len).intact);

		if (!next || (next == len && memcmp(file + at, file + at + len, len) == 0))
			continue;
		memcpy(changed, file, file_n);
		memcpy(changed + at, file + at + len, next);
		memcpy(changed + at + next, file + at, len);
		assert_false(check(changed, file_n).intact);
	}
}

static void other_files_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(check((const uint8_t *)"hello\n", 6).kind, AUDIT_NONE);
	assert_int_equal(check(file, 0).kind, AUDIT_NONE);
	assert_false(check((const uint8_t *)"{\"seq\":1}\n", 10).intact);
	memset(changed, 'x', MOST);
	changed[0] = '{';
	assert_false(check(changed, MOST).intact); /* a line that never ends */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_intact), cmocka_unit_test(each_flipped_bit_is_seen),
		cmocka_unit_test(each_cut_is_seen),	      cmocka_unit_test(blocks_keep_their_places),
		cmocka_unit_test(other_files_are_told_apart),
	};

	return cmocka_run_group_tests(tests, make_evidence, NULL);
}
