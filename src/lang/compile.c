/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/compile.h"

#include "base/limits.h"
#include "lang/decl.h"
#include "lang/parse.h"

void compile_lib(const CompileIn *in, CompileLib *ret)
{
	*ret = (CompileLib){ .diags.a = in->a, .sound = true };
	ast_init(&ret->ast, in->a);
	vec_push(in->a, &ret->ast.files, (AstFile){ 0 });
	for (uint32_t i = 0; i < in->nlib; i++)
		ret->sound &= parse_file(&ret->ast, in->lib[i].name, in->lib[i].text, true, &ret->diags);
	if (ret->sound)
		scope_lib(&ret->ast, &ret->diags, &ret->scopes);
	ret->ast.n_ahead = ret->ast.n_nodes;
}

static bool parse_all(const CompileIn *in, Compiled *c)
{
	bool ok;

	if (in->ahead) {
		c->ast = in->ahead->ast;
		c->ast.a = c->ast.syms.a = c->ast.syms.map.a = in->a;
		c->lib_diags = in->ahead->diags;
		c->lib_diags.a = in->a;
		parse_file_at(&c->ast, 0, in->name, in->text, false, &c->diags);
		return c->ast.files.p[0].whole && in->ahead->sound;
	}
	ast_init(&c->ast, in->a);
	parse_file(&c->ast, in->name, in->text, false, &c->diags);
	ok = c->ast.files.p[0].whole;
	for (uint32_t i = 0; i < in->nlib; i++)
		ok &= parse_file(&c->ast, in->lib[i].name, in->lib[i].text, true, &c->lib_diags);
	return ok;
}

static Str params_there(Arena *a, const Scopes *s)
{
	Sb out = sb(a);

	for (uint32_t i = 0; i < s->params.n; i++)
		sb_printf(&out, "%s%.*s", i ? " " : "there is: ", STR_ARG(s->params.p[i]->param.sym->text));
	return sb_done(&out);
}

/* The caller's values: each must have its param, and be of its type. */
static bool check_params(const CompileIn *in, Compiled *c)
{
	uint32_t before = c->diags.errors;

	for (uint32_t i = 0; i < in->nparam; i++) {
		const Node *param = NULL;
		Str text = in->param[i].value;
		Const value;

		for (uint32_t k = 0; k < c->scopes.params.n; k++)
			if (str_eq(c->scopes.params.p[k]->param.sym->text, in->param[i].name))
				param = c->scopes.params.p[k];
		if (!param)
			diag_add(&c->diags, "E-PARAM", (Span){ 0, 0 }, "the program has no param `%.*s`",
				 STR_ARG(in->param[i].name))->hint = params_there(in->a, &c->scopes);
		else if (!lower_param_value(in->a, param, text, &value))
			diag_add(&c->diags, "E-PARAM", param->span, "\"%.*s\" is no value of param `%.*s`: it is to be of type %.*s",
				 STR_ARG(text), STR_ARG(in->param[i].name), STR_ARG(param->param.type->type.sym->text));
	}
	return c->diags.errors == before;
}

static void compile_passes(const CompileIn *in, Compiled *c)
{
	if (!parse_all(in, c))
		return;
	if (in->ahead)
		scope_program(&c->ast, &in->ahead->scopes, &c->diags, &c->scopes);
	else
		scope_run(&c->ast, &c->diags, &c->lib_diags, &c->scopes);
	decl_read(in->a, &c->ast.files.p[0], DECL_PROGRAM, &c->diags, &c->manifest.decls);
	c->manifest.decls.file = in->name;
	if (!check_params(in, c))
		return;
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		if (str_is(str_c(c->diags.v.p[i].code), "E-RECURSION") ||
		    str_is(str_c(c->diags.v.p[i].code), "E-COMPLEX"))
			return; /* calls are walked in place */
	LabelMarks marks = { 0 };
	FactsIn facts = { .a = in->a,
			  .ast = &c->ast,
			  .scopes = &c->scopes,
			  .param = in->param,
			  .nparam = in->nparam,
			  .relay = in->relay,
			  .nrelay = in->nrelay,
			  .diags = &c->diags,
			  .lib_diags = &c->lib_diags,
			  .marks = &marks,
			  .settle = in->settle };

	if (!facts_run(&facts, &c->manifest, &c->stats) || c->diags.errors || c->lib_diags.errors)
		return;
	LowerIn lower = { .a = in->a,
			  .ast = &c->ast,
			  .scopes = &c->scopes,
			  .param = in->param,
			  .nparam = in->nparam,
			  .manifest = &c->manifest,
			  .marks = &marks,
			  .diags = &c->diags };

	c->program = lower_run(&lower);
}

bool compile(const CompileIn *in, Compiled *ret)
{
	size_t mark = arena_mark(in->a);
	jmp_buf *outer = in->a->full;
	jmp_buf full;

	*ret = (Compiled){ .diags.a = in->a, .lib_diags.a = in->a };
	in->a->full = &full;
	if (setjmp(full) == 0) {
		compile_passes(in, ret);
	} else {
		arena_reset(in->a, mark);
		*ret = (Compiled){ .diags.a = in->a, .lib_diags.a = in->a };
		diag_add(&ret->diags, "E-COMPLEX", (Span){ 0, 0 },
			 "checking this program needs more memory than there is")
			->hint = STR("take it apart into several programs");
	}
	in->a->full = outer;
	diag_sort(&ret->diags);
	return ret->program != NULL && ret->diags.errors == 0;
}

void compile_render(const Compiled *c, Str name, Sb *out)
{
	for (uint32_t i = 0; i < c->diags.v.n; i++)
		diag_render(&c->diags.v.p[i], name, c->ast.files.n ? c->ast.files.p[0].text : STR(""), out);
	for (uint32_t i = 0; i < c->lib_diags.v.n; i++)
		diag_render(&c->lib_diags.v.p[i], STR("lib"), STR(""), out);
}
