/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/policy.h"

#include "base/limits.h"

void policy_builtin(Policy *ret_p)
{
	*ret_p = (Policy){ .file = STR("the built-in policy"), .floor = true };
}

enum { OTHERS_MAY_WRITE = 022 };

/* guardrails.md 2: owner root, writable by nobody else; that goes for the folder
 * too, as who may write there may put another file in its place. */
static const char *owner_fault(const PolicyFile *f)
{
	if (!f->regular)
		return "is no regular file";
	if (!f->system)
		return NULL;
	if (f->uid != 0)
		return "does not belong to root";
	if (f->mode & OTHERS_MAY_WRITE)
		return "may be written by others than root: chmod go-w";
	if (f->dir_uid != 0)
		return "lies in a folder that does not belong to root";
	if (f->dir_mode & OTHERS_MAY_WRITE)
		return "lies in a folder that others than root may write to: chmod go-w";
	return NULL;
}

/* A name in a policy would make whoever answers DNS the operator. */
static void refuse_name(DiagList *diags, const Target *t, Span span)
{
	if (!t->name.n)
		return;
	Diag *d = diag_add(diags, "E-POLICY", span, "a policy names addresses, not host names: \"%.*s\"",
			   STR_ARG(t->name));

	d->hint = STR("say reach(...) with its addresses, and zone(...) for the names that may be looked up");
}

static void refuse_names(DiagList *diags, const Decls *d)
{
	for (uint32_t i = 0; i < d->reach.n; i++)
		refuse_name(diags, &d->reach.p[i].target, d->reach.p[i].span);
	for (uint32_t i = 0; i < d->deny.n; i++)
		refuse_name(diags, &d->deny.p[i].target, d->deny.p[i].span);
	for (uint32_t i = 0; i < d->listen.n; i++)
		refuse_name(diags, &d->listen.p[i].peers, d->listen.p[i].span);
	for (uint32_t i = 0; i < d->reflect.n; i++) {
		refuse_name(diags, &d->reflect.p[i].src, d->reflect.p[i].span);
		refuse_name(diags, &d->reflect.p[i].dst, d->reflect.p[i].span);
	}
	for (uint32_t i = 0; i < d->approve_reach.n; i++)
		refuse_name(diags, &d->approve_reach.p[i], (Span){ 0, 0 });
	for (uint32_t i = 0; i < d->may_follow.n; i++)
		refuse_name(diags, &d->may_follow.p[i], (Span){ 0, 0 });
	for (uint32_t i = 0; i < d->relay.n; i++)
		refuse_name(diags, &d->relay.p[i], (Span){ 0, 0 });
	for (uint32_t i = 0; i < d->allow_self.n; i++)
		refuse_name(diags, &d->allow_self.p[i], (Span){ 0, 0 });
}

/* What a call may say of itself: words that narrow, whatever stands in the other policies. */
static bool narrows_alone(const Decls *d)
{
	return !(d->spoof.n || d->reflect.n || d->capture.n || d->listen.n || d->param.n || d->zone_set || d->resolvers.n ||
		 d->approve || d->approve_reach.n || d->approve_runs || d->approve_leak || d->may_follow.n || d->relay.n ||
		 d->allow_self.n || d->approve_by_form || d->insecure_dev);
}

bool policy_load(const PolicyFile *f, DeclsReader read, void *ctx, Arena *a, DiagList *diags, Policy *ret_p,
		 Str *ret_why)
{
	const char *fault = owner_fault(f);
	uint32_t before = diags->errors;
	Policy p = { .file = f->path, .text = f->text, .floor = f->system };

	*ret_why = (Str){ 0 };
	if (!fault && f->text.n > LIMIT_SOURCE)
		fault = "is longer than 64 KB";
	if (fault) {
		*ret_why = str_printf(a, "the policy %.*s %s", STR_ARG(f->path), fault);
		return false;
	}
	if (!read(ctx, f->text, a, diags, &p.decls) || diags->errors > before)
		return false;
	refuse_names(diags, &p.decls);
	if (diags->errors > before)
		return false;
	if (f->call && !narrows_alone(&p.decls)) {
		*ret_why = str_printf(a, "%.*s may say budget(), reach(), deny() and output() alone", STR_ARG(f->path));
		return false;
	}
	p.decls.file = f->path;
	*ret_p = p;
	return true;
}

const Ip *policy_resolvers(const Policy *p, uint32_t n, uint32_t *ret_n)
{
	for (uint32_t i = 0; i < n; i++)
		if (p[i].decls.resolvers.n) {
			*ret_n = p[i].decls.resolvers.n;
			return p[i].decls.resolvers.p;
		}
	*ret_n = 0;
	return NULL;
}
