/* SPDX-License-Identifier: Apache-2.0
 *
 * Program output: pieces of text with a peer's text quoted, compact tables of
 * results, and results as JSON (guardrails.md 7, language.md 8).
 */
#include "vm/out.h"

#include "base/escape.h"
#include "base/json.h"
#include "deal/whence.h"

enum { LINE_WIDTH = 100, LIST_SHOWN = 20, COLUMNS_MAX = 64, CELL_MAX = 60, JSON_DEPTH = 8 };

/* ---- what is told ---- */

/* Nobody said what it tells: everything, of everybody. */
static const ProgTold everything = { .level = LABEL_CONTENT, .head = LABEL_CONTENT, .any = true };

const ProgTold *out_told(const Vm *vm, uint32_t i)
{
	if (!vm->told)
		return &everything;
	return &vm->told[i < vm->n_told ? i : vm->n_told - 1u];
}

OutShown out_shown(const Vm *vm, const ProgTold *told)
{
	if (!vm->host.measurements || told->level != LABEL_CONTENT)
		return OUT_ALL;
	return told->head == LABEL_CONTENT ? OUT_NOT : OUT_HEAD;
}

void out_instead_text(const ProgTold *told, Sb *out)
{
	sb_cstr(out, WHENCE_INSTEAD);
	if (told->any || !told->n)
		sb_cstr(out, "anybody");
	for (uint16_t i = 0; i < told->n; i++) {
		sb_cstr(out, i ? ", " : "");
		if (!told->origin[i].name.n && !told->origin[i].lo.v)
			sb_cstr(out, "this host's resolver");
		else
			target_text(&told->origin[i], out);
	}
	sb_char(out, '>');
}

void out_instead(Sbuf *b, const ProgTold *told)
{
	size_t mark = arena_mark(&b->vm->scratch);
	Sb out = sb(&b->vm->scratch);

	out_instead_text(told, &out);
	sbuf_add(b, sb_done(&out));
	arena_reset(&b->vm->scratch, mark);
}

static bool hides(const Vm *vm, const ResultType *t, uint32_t field)
{
	return vm->hide && (field >= t->n || t->field[field].label == LABEL_CONTENT);
}

/* ---- the sink ---- */

static void emit(Vm *vm, Str s, const ProgTold *told, bool peer)
{
	uint64_t room = vm->host.output_limit - vm->out_n;

	if (s.n > room) {
		/* No half characters, no half escapes. */
		size_t n = peer ? 0 : (size_t)room;

		while (n && ((uint8_t)s.p[n] & 0xc0) == 0x80)
			n--;
		vm->out_cut += s.n - n;
		vm->out_n = n < s.n ? vm->host.output_limit : vm->out_n;
		s.n = n;
	} else {
		vm->out_n += s.n;
	}
	if (s.n && vm->host.out)
		vm->host.out(vm->host.ctx, s, told, peer);
}

static void emit_peer(Vm *vm, Str s, const ProgTold *told, bool full)
{
	Arena *a = &vm->scratch;
	size_t mark = arena_mark(a), most = full ? LIMIT_PEER_TOTAL : LIMIT_PEER_PIECE;
	size_t room = vm->peer_n < LIMIT_PEER_TOTAL ? (size_t)(LIMIT_PEER_TOTAL - vm->peer_n) : 0;
	size_t n = s.n < most ? s.n : most;
	Sb out = sb(a);

	n = n < room ? n : room;
	vm->peer_n += n;
	sb_char(&out, '"');
	escape_peer(&out, BYTES(s.p, n));
	sb_char(&out, '"');
	emit(vm, sb_done(&out), told, true);
	arena_reset(a, mark);
	if (n < s.n) {
		Str more = str_printf(a, " (+%zu bytes)", s.n - n);

		emit(vm, more, told, false);
		arena_reset(a, mark);
	}
}

void out_value(Vm *vm, const ObjStr *s, const ProgTold *told, bool full)
{
	size_t at = 0;

	for (uint32_t i = 0; i < s->n_marks; i++) {
		Mark m = s->marks[i];

		emit(vm, (Str){ s->p + at, m.from - at }, told, false);
		emit_peer(vm, (Str){ s->p + m.from, m.to - m.from }, told, full);
		at = m.to;
	}
	emit(vm, (Str){ s->p + at, s->h.n - at }, told, false);
}

/* ---- JSON of results ---- */

static void json_value(Vm *vm, Json *j, Value v, int depth);

static void json_text(Vm *vm, Json *j, Value v)
{
	Sbuf b = sbuf(vm);

	text_str(&b, v);
	json_str(j, (Str){ b.p, b.n });
	sbuf_drop(&b);
}

static void json_instead(Vm *vm, Json *j)
{
	Sbuf b = sbuf(vm);

	out_instead(&b, vm->hidden);
	json_str(j, (Str){ b.p, b.n });
	sbuf_drop(&b);
}

static void json_items(Vm *vm, Json *j, const Value *p, uint32_t n, int depth)
{
	json_open(j, '[');
	for (uint32_t i = 0; i < n; i++)
		json_value(vm, j, p[i], depth);
	json_close(j, ']');
}

static void json_dict(Vm *vm, Json *j, const ObjDict *d, int depth)
{
	DictEntry *e;

	json_open(j, '{');
	for (uint32_t at = 0; (e = dict_next(d, &at));) {
		Value k = text_value(vm, e->k);

		json_key(j, val_str(k)->p);
		json_value(vm, j, e->v, depth);
	}
	json_close(j, '}');
}

static void json_result(Vm *vm, Json *j, const ObjResult *r, int depth)
{
	json_open(j, '{');
	for (uint32_t i = 0; i < r->h.n; i++) {
		bool hidden = hides(vm, r->type, i);
		char key[LIMIT_NAME + 1];
		Str name = r->type->field[i].name;
		size_t n = name.n < LIMIT_NAME ? name.n : LIMIT_NAME;

		memcpy(key, name.p, n);
		key[n] = 0;
		json_key(j, key);
		if (hidden)
			json_instead(vm, j);
		else
			json_value(vm, j, r->p[i], depth);
	}
	json_close(j, '}');
}

static void json_set(Vm *vm, Json *j, const ObjDict *d, int depth)
{
	DictEntry *e;

	json_open(j, '[');
	for (uint32_t at = 0; (e = dict_next(d, &at));)
		json_value(vm, j, e->k, depth);
	json_close(j, ']');
}

static void json_value(Vm *vm, Json *j, Value v, int depth)
{
	ObjList *l;

	if (depth <= 0) {
		json_nil(j);
		return;
	}
	vm_charge(vm, 2);
	switch ((ValTag)v.tag) {
	case VAL_UNSET:
	case VAL_NONE:
		json_nil(j);
		break;
	case VAL_BOOL:
		json_bool(j, v.i != 0);
		break;
	case VAL_INT:
		json_int(j, v.i);
		break;
	case VAL_FLOAT:
		json_num(j, v.f);
		break;
	case VAL_DURATION:
	case VAL_TIME:
		json_seconds(j, v.i);
		break;
	case VAL_LIST:
		json_items(vm, j, val_list(v)->p, v.o->n, depth - 1);
		break;
	case VAL_TUPLE:
		json_items(vm, j, val_tuple(v)->p, v.o->n, depth - 1);
		break;
	case VAL_RANGE:
		if (val_range(v)->count <= LIMIT_PACKET_LIST && iter_list(vm, v, &l))
			json_items(vm, j, l->p, l->h.n, depth - 1);
		else
			json_nil(j);
		break;
	case VAL_DICT:
		json_dict(vm, j, val_dict(v), depth - 1);
		break;
	case VAL_SET:
		json_set(vm, j, val_dict(v), depth - 1);
		break;
	case VAL_RESULT:
		json_result(vm, j, val_result(v), depth - 1);
		break;
	default:
		json_text(vm, j, v);
		break;
	}
}

static void report(Vm *vm, const ObjResult *r, const ProgTold *told)
{
	size_t mark = arena_mark(&vm->scratch);
	Sb out = sb(&vm->scratch);
	Json j = json(&out);

	json_result(vm, &j, r, JSON_DEPTH);
	vm->host.result(vm->host.ctx, vm_line(vm), r->type->name, sb_done(&out), told);
	arena_reset(&vm->scratch, mark);
}

/* A live object as it is now: what it has but for its logs. */
static void report_live(Vm *vm, Value v, const ProgTold *told)
{
	size_t mark = arena_mark(&vm->scratch);
	BuiltinOwner owner = owner_of(v);
	Sb out = sb(&vm->scratch);
	Json j = json(&out);

	json_open(&j, '{');
	for (unsigned i = 0; i < A_N; i++) {
		const BuiltinRow *row = builtin_attr_row((BuiltinAttr)i);
		AttrFn *f = vm_row_attr(vm, (BuiltinAttr)i);
		Value x = val_none();

		if (row->owner != owner || !f || strstr(row->sig, "[Packet]") || strstr(row->sig, "[Event]"))
			continue;
		f(vm, v, &x);
		json_key(&j, row->name);
		json_value(vm, &j, x, JSON_DEPTH);
	}
	json_close(&j, '}');
	vm->host.result(vm->host.ctx, vm_line(vm), vm->result_type[owner].name, sb_done(&out), told);
	arena_reset(&vm->scratch, mark);
}

bool out_rows(Value v, const Value **ret_p, uint32_t *ret_n)
{
	if (v.tag == VAL_LIST)
		*ret_p = val_list(v)->p;
	else if (v.tag == VAL_TUPLE)
		*ret_p = val_tuple(v)->p;
	else
		return false;
	*ret_n = v.o->n;
	return true;
}

/* A list of results of one type. */
bool out_is_results(Value v)
{
	const Value *p;
	uint32_t n;

	if (!out_rows(v, &p, &n) || !n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (p[i].tag != VAL_RESULT || val_result(p[i])->type != val_result(p[0])->type)
			return false;
	return true;
}

void out_result(Vm *vm, Value v, const ProgTold *told)
{
	const Value *p;
	uint32_t n;

	if (!vm->host.result)
		return;
	if (v.tag == VAL_RESULT)
		report(vm, val_result(v), told);
	else if (v.tag == VAL_NATIVE)
		report_live(vm, v, told);
	else if (out_is_results(v) && out_rows(v, &p, &n))
		for (uint32_t i = 0; i < n; i++)
			report(vm, val_result(p[i]), told);
}

/* ---- a single result: `name value` pairs, lists on lines of their own ---- */

static bool is_listed(Value v)
{
	return v.tag == VAL_LIST || v.tag == VAL_TUPLE || v.tag == VAL_DICT || v.tag == VAL_SET ||
	       v.tag == VAL_RESULT;
}

static void cell_text(Sbuf *b, Value v)
{
	const Value *p;
	uint32_t n;

	if (!out_rows(v, &p, &n) || v.tag == VAL_TUPLE) {
		if (v.tag == VAL_RESULT)
			text_repr(b, v, TEXT_DEPTH);
		else
			text_str(b, v);
		return;
	}
	sbuf_char(b, '[');
	for (uint32_t i = 0; i < n && i < LIST_SHOWN; i++) {
		if (i)
			sbuf_cstr(b, ", ");
		text_repr(b, p[i], TEXT_DEPTH / 2);
	}
	if (n > LIST_SHOWN)
		sbuf_printf(b, ", ... %u more", n - LIST_SHOWN);
	sbuf_char(b, ']');
}

static void field_text(Sbuf *b, const ObjResult *r, uint32_t i)
{
	if (hides(b->vm, r->type, i))
		out_instead(b, b->vm->hidden);
	else
		cell_text(b, r->p[i]);
}

bool text_result(Sbuf *b, ObjResult *r)
{
	size_t col = r->type->name.n;

	sbuf_add(b, r->type->name);
	for (uint32_t i = 0; i < r->h.n; i++) {
		if (is_listed(r->p[i]))
			continue;
		Sbuf cell = sbuf(b->vm);

		cell.show = b->show;
		sbuf_add(&cell, r->type->field[i].name);
		sbuf_char(&cell, ' ');
		field_text(&cell, r, i);
		ObjStr *s = val_str(sbuf_done(&cell, VAL_STR));
		bool wrap = col + 2 + s->n_cp > LINE_WIDTH;

		sbuf_cstr(b, wrap ? "\n  " : "  ");
		sbuf_obj(b, s);
		col = (wrap ? 0 : col) + 2 + s->n_cp;
	}
	for (uint32_t i = 0; i < r->h.n; i++) {
		if (!is_listed(r->p[i]) || (!hides(b->vm, r->type, i) && !val_truth(r->p[i])))
			continue;
		sbuf_cstr(b, "\n  ");
		sbuf_add(b, r->type->field[i].name);
		sbuf_char(b, ' ');
		field_text(b, r, i);
	}
	return true;
}

/* ---- tables ---- */

typedef struct Table {
	Vm *vm;
	const Value *row;
	uint32_t n_rows;
	Str col[COLUMNS_MAX];
	uint32_t n_cols;
	Value *cell; /* strs, row by row; UNSET: empty */
	uint32_t width[COLUMNS_MAX];
	bool number[COLUMNS_MAX]; /* right-aligned */
	bool used[COLUMNS_MAX];
} Table;

static void add_col(Table *t, Str name)
{
	if (t->n_cols < COLUMNS_MAX)
		t->col[t->n_cols++] = name;
}

static void cols_named(Table *t, Str names)
{
	for (size_t i = 0, from; i < names.n;) {
		while (i < names.n && (names.p[i] == ' ' || names.p[i] == ','))
			i++;
		for (from = i; i < names.n && names.p[i] != ' ' && names.p[i] != ',';)
			i++;
		if (i > from)
			add_col(t, (Str){ names.p + from, i - from });
	}
}

/* All columns: those of the first row, which the others share. */
static void cols_of(Table *t, Value first)
{
	DictEntry *e;

	if (first.tag == VAL_RESULT) {
		const ResultType *type = val_result(first)->type;

		for (uint32_t i = 0; i < type->n; i++)
			add_col(t, type->field[i].name);
	} else if (first.tag == VAL_DICT) {
		for (uint32_t at = 0; (e = dict_next(val_dict(first), &at));)
			if (e->k.tag == VAL_STR)
				add_col(t, str_of(val_str(e->k)));
	} else if (first.tag == VAL_TUPLE || first.tag == VAL_LIST) {
		for (uint32_t i = 0; i < first.o->n; i++)
			add_col(t, str_printf(&t->vm->scratch, "%u", i));
	} else {
		add_col(t, (Str){ "", 0 });
	}
}

static bool row_value(Vm *vm, Value row, Str col, Value *ret)
{
	const Value *p;
	uint32_t n;
	uint64_t at;
	DictEntry *e;

	if (!col.n) {
		*ret = row;
		return true;
	}
	if (out_rows(row, &p, &n)) {
		*ret = str_to_u64(col, UINT32_MAX, &at) && at < n ? p[at] : val_unset();
		return true;
	}
	if (row.tag == VAL_DICT) {
		if (!dict_find(vm, val_dict(row), vm_str(vm, col), &e))
			return false;
		*ret = e ? e->v : val_unset();
		return true;
	}
	return val_attr_named(vm, row, col, ret);
}

/* A result's field of that name; another column of results is left out with the fields. */
static bool column_hidden(const Vm *vm, Value row, Str col)
{
	if (!vm->hide)
		return false;
	const ResultType *t = row.tag == VAL_RESULT ? val_result(row)->type : NULL;
	uint32_t i = 0;

	while (t && i < t->n && !str_eq(t->field[i].name, col))
		i++;
	return !t || hides(vm, t, i);
}

static bool is_number(Value v)
{
	return v.tag == VAL_INT || v.tag == VAL_FLOAT || v.tag == VAL_DURATION;
}

static void hide_cell(Table *t, uint32_t c, Value *cell)
{
	Sbuf b = sbuf(t->vm);

	out_instead(&b, t->vm->hidden);
	t->used[c] = true;
	*cell = sbuf_done(&b, VAL_STR);
	uint32_t w = val_str(*cell)->n_cp;

	t->width[c] = w < CELL_MAX ? w : CELL_MAX;
}

static bool fill_cells(Table *t)
{
	Vm *vm = t->vm;

	t->cell = heap_block(&vm->heap, (size_t)t->n_rows * t->n_cols * sizeof(Value));
	for (uint32_t r = 0; r < t->n_rows; r++) {
		for (uint32_t c = 0; c < t->n_cols; c++) {
			Value *cell = &t->cell[r * t->n_cols + c], v;

			if (column_hidden(vm, t->row[r], t->col[c])) {
				hide_cell(t, c, cell);
				continue;
			}
			if (!row_value(vm, t->row[r], t->col[c], &v))
				return false;
			bool empty = v.tag <= VAL_NONE || val_absent(v) || (is_listed(v) && !val_truth(v));

			t->used[c] |= !empty;
			if (!empty)
				t->number[c] = is_number(v);
			Sbuf b = sbuf(vm);

			b.show = true;
			if (v.tag != VAL_UNSET)
				cell_text(&b, v);
			*cell = sbuf_done(&b, VAL_STR);
			uint32_t w = val_str(*cell)->n_cp + (val_str(*cell)->n_marks ? 2 : 0);

			w = w < CELL_MAX ? w : CELL_MAX;
			t->width[c] = w > t->width[c] ? w : t->width[c];
		}
	}
	return true;
}

static void put_cell(Sbuf *b, const ObjStr *s, uint32_t width, bool right, bool last)
{
	uint32_t n = s->n_cp + (s->n_marks ? 2 : 0), pad = n < width ? width - n : 0;

	if (right)
		sbuf_fill(b, ' ', pad);
	sbuf_obj(b, s);
	if (!right && !last)
		sbuf_fill(b, ' ', pad);
}

static void put_row(Table *t, Sbuf *b, const Value *cells)
{
	bool first = true;
	uint32_t last = 0;

	for (uint32_t c = 0; c < t->n_cols; c++)
		last = t->used[c] ? c : last;
	for (uint32_t c = 0; c < t->n_cols; c++) {
		if (!t->used[c])
			continue;
		if (!first)
			sbuf_cstr(b, "  ");
		first = false;
		put_cell(b, val_str(cells[c]), t->width[c], t->number[c], c == last);
	}
}

/* Columns that are empty in all rows are left out, unless somebody named them. */
bool out_table(Vm *vm, Value rows, Str columns, Sbuf *b)
{
	Table *t = arena_new(&vm->scratch, Table);
	Value head[COLUMNS_MAX];
	ObjList *l;

	t->vm = vm;
	if (!out_rows(rows, &t->row, &t->n_rows)) {
		if (!iter_list(vm, rows, &l))
			return false;
		t->row = l->p;
		t->n_rows = l->h.n;
	}
	cols_named(t, columns);
	bool named = t->n_cols > 0, titled = named;

	if (!named && t->n_rows) {
		cols_of(t, t->row[0]);
		titled = t->row[0].tag == VAL_RESULT || t->row[0].tag == VAL_DICT;
	}
	if (!fill_cells(t))
		return false;
	for (uint32_t c = 0; c < t->n_cols; c++) {
		t->used[c] |= named;
		head[c] = vm_str(vm, t->col[c]);
		if (titled && t->width[c] < val_str(head[c])->n_cp)
			t->width[c] = val_str(head[c])->n_cp;
	}
	if (titled)
		put_row(t, b, head);
	for (uint32_t r = 0; r < t->n_rows; r++) {
		if (titled || r)
			sbuf_char(b, '\n');
		put_row(t, b, &t->cell[r * t->n_cols]);
	}
	heap_free(&vm->heap, t->cell, (size_t)t->n_rows * t->n_cols * sizeof(Value));
	return true;
}
