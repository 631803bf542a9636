/* SPDX-License-Identifier: Apache-2.0
 *
 * The VM's side of builtins.def: rows as data, the functions behind them, and
 * which row a name means for each owner.
 *
 * Functions of this folder stand in py.h's lists; what needs a network is the
 * host's (VmHost.func and kin) and wins where both have a row.
 */
#include "vm/inside.h"
#include "vm/py.h"

#include "base/map.h"

#define METHOD(owner, id, ...)
#define ATTR(owner, id, ...)
#define FUNC(id, name, sig, label, effect, doc) \
	{ name, sig, OWNER_NONE, LABEL_##label, EFFECT_##effect, doc },
static const BuiltinRow func_rows[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD

#define FUNC(id, ...)
#define METHOD(owner, id, name, sig, label, effect, doc) \
	{ name, sig, OWNER_##owner, LABEL_##label, EFFECT_##effect, doc },
static const BuiltinRow method_rows[] = {
#include "vm/builtins.def"
};
#undef METHOD
#undef ATTR

#define METHOD(owner, id, ...)
#define ATTR(owner, id, name, type, label, doc) { name, type, OWNER_##owner, LABEL_##label, EFFECT_NONE, doc },
static const BuiltinRow attr_rows[] = {
#include "vm/builtins.def"
};
#undef FUNC
#undef METHOD
#undef ATTR

#define ROW_(id) [BI_##id] = bi_##id,
static BuiltinFn *const own_funcs[BI_N] = { VM_FUNCS(ROW_) };
#undef ROW_
#define ROW_(owner, id) [M_##owner##_##id] = m_##owner##_##id,
static BuiltinFn *const own_methods[M_N] = { VM_METHODS(ROW_) };
#undef ROW_
#define ROW_(owner, id) [A_##owner##_##id] = a_##owner##_##id,
static AttrFn *const own_attrs[A_N] = { VM_ATTRS(ROW_) };
#undef ROW_

const BuiltinRow *builtin_func_row(BuiltinFunc id)
{
	return &func_rows[id];
}

const BuiltinRow *builtin_method_row(BuiltinMethod id)
{
	return &method_rows[id];
}

const BuiltinRow *builtin_attr_row(BuiltinAttr id)
{
	return &attr_rows[id];
}

BuiltinFn *vm_row_func(const Vm *vm, BuiltinFunc id)
{
	BuiltinFn *f = vm->host.func ? vm->host.func[id] : NULL;

	return f ? f : own_funcs[id];
}

BuiltinFn *vm_row_method(const Vm *vm, BuiltinMethod id)
{
	BuiltinFn *f = vm->host.method ? vm->host.method[id] : NULL;

	return f ? f : own_methods[id];
}

AttrFn *vm_row_attr(const Vm *vm, BuiltinAttr id)
{
	AttrFn *f = vm->host.attr ? vm->host.attr[id] : NULL;

	return f ? f : own_attrs[id];
}

static void fill_names(const Program *p, const Map *names, const BuiltinRow *row, uint32_t n, uint16_t *ret)
{
	for (uint32_t r = 0; r < n; r++) {
		const uint64_t *i = map_get(names, str_bytes(str_c(row[r].name)));

		if (i)
			ret[(uint32_t)row[r].owner * p->nname + *i] = (uint16_t)(r + 1);
	}
}

void tables_init(Vm *vm)
{
	const Program *p = vm->prog;

	vm->attr_row = arena_new_n(vm->a, uint16_t, (size_t)OWNER_N * p->nname);
	vm->method_row = arena_new_n(vm->a, uint16_t, (size_t)OWNER_N * p->nname);
	Map names = { .a = vm->a };

	for (uint32_t i = 0; i < p->nname; i++)
		*map_put(&names, str_bytes(p->name[i])) = i;
	fill_names(p, &names, attr_rows, A_N, vm->attr_row);
	fill_names(p, &names, method_rows, M_N, vm->method_row);
	vm->result_type = arena_new_n(vm->a, ResultType, OWNER_N);
	for (unsigned o = OWNER_ANSWERS; o <= OWNER_HTTPREPLY; o++) {
		ResultField *f = arena_new_n(vm->a, ResultField, A_N);
		uint16_t n = 0;

		for (unsigned r = 0; r < A_N; r++)
			if (attr_rows[r].owner == o)
				f[n++] = (ResultField){ str_c(attr_rows[r].name), str_c(attr_rows[r].sig),
							(uint8_t)attr_rows[r].label };
		vm->result_type[o] = (ResultType){ .n = n, .unpacks = o == OWNER_ANSWERS ? 2 : 0, .field = f };
	}
#define OWNER_NAME_(id, text) vm->result_type[OWNER_##id].name = STR(text);
	BUILTIN_OWNERS(OWNER_NAME_)
#undef OWNER_NAME_
}
