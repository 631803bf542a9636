/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/check_report.h"

#include "base/json.h"
#include "cmd/cmd.h"
#include "deal/manifest_codec.h"
#include "lang/check_text.h"

void check_report_init(CheckReport *c, Arena *a)
{
	*c = (CheckReport){ .a = a, .diags.a = a };
}

static Str keep(const CheckReport *c, Bytes b)
{
	return (Str){ arena_copy(c->a, b.p, b.n), b.n };
}

void check_report_event(CheckReport *c, const Msg *m)
{
	if (m->type == MSG_DIAG)
		cmd_take_diag(c->a, &c->diags, m);
	else if (m->type == MSG_CHECKED)
		c->has_manifest = manifest_decode(m->checked.manifest, c->a, &c->manifest) == NULL;
	if (m->type != MSG_FAIL)
		return;
	c->fail_code = keep(c, m->fail.code);
	c->fail_text = keep(c, m->fail.message);
}

void check_report_json(const CheckReport *c, Str text, int exit, Sb *out)
{
	Json j = json(out);

	json_open(&j, '{');
	json_kstr(&j, "sha256", cmd_sha256(c->a, text));
	cmd_json_diags(&j, &c->diags, text);
	json_key(&j, "manifest");
	if (c->has_manifest)
		check_json(&c->manifest, text, &j);
	else
		json_nil(&j);
	json_kint(&j, "exit", exit);
	json_close(&j, '}');
	sb_char(out, '\n');
}
