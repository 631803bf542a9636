/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/approval.h"

#include "base/limits.h"
#include "deal/manifest_codec.h"

static const char magic[] = "SONDE-APPROVAL-1\n";
enum { MAGIC = sizeof magic - 1 };

/* ---- policies ---- */

uint32_t approval_runs(const Policy *p, uint32_t n)
{
	uint32_t runs = 1;

	for (uint32_t i = 0; i < n; i++) {
		int64_t says = p[i].decls.approve_runs;

		if (p[i].floor)
			runs = says ? (uint32_t)says : 1;
		else if (says && (uint32_t)says < runs)
			runs = (uint32_t)says;
	}
	return runs < LIMIT_APPROVED_RUNS ? runs : LIMIT_APPROVED_RUNS;
}

Hash approval_policy_hash(const Policy *p, uint32_t n)
{
	Sha256 s;

	sha256_init(&s);
	for (uint32_t i = 0; i < n; i++) {
		sha256_add_u64(&s, p[i].floor);
		sha256_add_sized(&s, str_bytes(p[i].text));
	}
	return sha256_done(&s);
}

/* ---- the record ---- */

static void put_section(Writer *w, Bytes b)
{
	wr_be32(w, (uint32_t)b.n);
	wr_bytes(w, b);
}

static Bytes pins_bytes(const Rules *r, Arena *a)
{
	Sb out = sb(a);
	char ip[IP_TEXT];

	for (uint32_t i = 0; i < r->pins.n; i++) {
		ip_format(r->pins.p[i].addr, ip);
		sb_printf(&out, "%.*s %s\n", STR_ARG(r->pins.p[i].name), ip);
	}
	return str_bytes(sb_done(&out));
}

static uint32_t lines_of(Str text)
{
	uint32_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

/* Whole lines of printable ASCII: nothing steers a terminal or hides. */
static bool is_plain(Str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\n' && (text.p[i] < 0x20 || text.p[i] > 0x7e))
			return false;
	return text.n && text.p[text.n - 1] == '\n';
}

const char *approval_make(const ApprovalInput *in, Arena *a, Approval *ret_a)
{
	Writer manifest = writer(arena_alloc(a, LIMIT_MSG), LIMIT_MSG);
	Writer w = writer(arena_alloc(a, LIMIT_APPROVAL), LIMIT_APPROVAL);
	Str text = approval_text(in, a);
	Hash policy = approval_policy_hash(in->policies, in->npolicies);

	if (!is_plain(text))
		return "what would have to be approved holds characters that can't be shown";
	if (lines_of(text) > LIMIT_APPROVAL_LINES)
		return "what would have to be approved takes more than 60 lines: it can only be refused; ask for less, or in "
		       "fewer and simpler ranges";
	if (!manifest_encode(in->manifest, &manifest))
		return "the manifest is too long to be approved";
	wr_bytes(&w, BYTES(magic, MAGIC));
	put_section(&w, str_bytes(text));
	put_section(&w, str_bytes(in->program));
	put_section(&w, str_bytes(in->params));
	put_section(&w, wr_done(&manifest));
	put_section(&w, pins_bytes(in->rules, a));
	put_section(&w, BYTES(policy.b, sizeof policy.b));
	put_section(&w, str_bytes(in->build));
	put_section(&w, str_bytes(in->session));
	wr_be32(&w, approval_runs(in->policies, in->npolicies));
	return !w.full && approval_read(wr_done(&w), ret_a) ? NULL : "program and manifest are too long to be approved";
}

bool approval_read(Bytes record, Approval *ret_a)
{
	Cursor c = cursor(record);
	Bytes part[APPROVAL_SECTIONS];
	bool ours = bytes_eq(cur_bytes(&c, MAGIC), BYTES(magic, MAGIC));

	for (unsigned i = 0; i < APPROVAL_SECTIONS; i++)
		part[i] = cur_bytes(&c, cur_be32(&c));
	*ret_a = (Approval){ .record = record,
			     .hash = sha256(record),
			     .text = bytes_str(part[0]),
			     .program = bytes_str(part[1]),
			     .params = bytes_str(part[2]),
			     .manifest = part[3],
			     .pins = bytes_str(part[4]),
			     .build = bytes_str(part[6]),
			     .session = bytes_str(part[7]),
			     .runs = cur_be32(&c) };
	ret_a->lines = lines_of(ret_a->text);
	return ours && !c.bad && cur_left(&c) == 0 && part[5].n == SHA256_BYTES && is_plain(ret_a->text) &&
	       ret_a->lines <= LIMIT_APPROVAL_LINES && ret_a->runs > 0 && ret_a->runs <= LIMIT_APPROVED_RUNS;
}
