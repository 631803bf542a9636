/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a hostile author: as a program, as lib, as a policy.  What parses must
 * format to the same tree, and to itself a second time; names and declarations of
 * what parses must resolve without a crash.
 */
#include "lang/decl.h"
#include "lang/fmt.h"
#include "lang/parse.h"
#include "lang/scope.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[256 << 20];

static Str dump(Ast *ast, uint32_t file)
{
	Sb b = sb(ast->a);

	ast_dump(ast->files.p[file].module, &b);
	return sb_done(&b);
}

static void layout(Arena *a, const Ast *ast, Str tree)
{
	Sb once = sb(a), twice = sb(a);
	DiagList d = { .a = a };
	Ast *again = arena_new(a, Ast);

	fmt_file(a, &ast->files.p[0], &once);
	Str text = sb_done(&once);

	if (text.n > 60000) /* blanks may make it longer than a program may be */
		return;
	ast_init(again, a);
	if (!parse_file(again, (Str){ 0 }, text, ast->files.p[0].lib, &d) || !str_eq(dump(again, 0), tree))
		abort();
	fmt_file(a, &again->files.p[0], &twice);
	if (!str_eq(sb_done(&twice), text))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Str text = { (const char *)data, size };
	Arena a;
	Decls decls;
	Scopes scopes;

	arena_init(&a, memory, sizeof memory, NULL);
	DiagList d = { .a = &a }, lib_d = { .a = &a };
	Ast *ast = arena_new(&a, Ast);

	decl_policy(text, &a, &d, &decls);
	d = (DiagList){ .a = &a };
	ast_init(ast, &a);
	bool lib = size % 2;

	if (parse_file(ast, (Str){ 0 }, text, lib, &d)) {
		layout(&a, ast, dump(ast, 0));
		scope_run(ast, &d, &lib_d, &scopes);
		decl_read(&a, &ast->files.p[0], DECL_PROGRAM, &d, &decls);
	} else if (!d.errors) {
		abort();
	}
	Sb out = sb(&a);

	for (uint32_t i = 0; i < d.v.n; i++)
		diag_render(&d.v.p[i], STR("fuzz"), text, &out);
	return 0;
}
