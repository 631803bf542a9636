/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files facts_*.c share.  Nobody else includes it.
 */
#ifndef SONDE_LANG_FACTS_INSIDE_H
#define SONDE_LANG_FACTS_INSIDE_H

#include "base/limits.h"
#include "lang/facts.h"
#include "lang/label.h"
#include "lang/sig.h"


/* What a test found out about a path that is no plain variable: h.addr, r.quoted. */
typedef struct Refine {
	const struct Refine *next;
	const Var *var; /* where the path starts */
	const Node *path;
	const Fact *fact;
	bool loose; /* leads through a list or dict: holds until something changes one */
	bool live;  /* leads through a connection: holds until somebody waits */
} Refine;

/* What is known at a point of the program. */
typedef struct Env {
	const Fact **g; /* module variables */
	const Fact **l; /* the frame's */
	uint32_t nl;
	bool own_g; /* the module's own: may be assigned */
	bool dead;  /* nothing gets here */
	const Refine *refine;
} Env;

/* What is spent in any case. */
typedef struct Least {
	uint64_t packets, bytes, syn, ns;
} Least;

/* Frames sent from the start of the program to here: at most, and at least. */
typedef struct Count {
	uint64_t packets, syn;
	Least least;
} Count;

/* All ways that leave by one door (break, continue, return). */
typedef struct Door {
	Env *env; /* NULL: nobody left */
	Count count;
} Door;

typedef struct Loop {
	struct Loop *up;
	Door brk, cont;
	const Node *target; /* of a for */
	uint64_t since;	    /* f->gen when this round began */
	uint64_t rounds;    /* at most */
} Loop;

typedef struct Frame {
	struct Frame *up;
	const Node *func; /* DEF, LAMBDA or MODULE */
	const Node *call; /* in the caller; NULL: module */
	uint64_t path;	  /* of calls, as a hash */
	Loop *loop;
	Door ret;
	const Fact *value;	     /* what was returned so far */
	const Fact *const *captured; /* of a lambda, by slot behind its parameters */
	bool lib;
} Frame;

struct Facts {
	Arena *a;
	const FactsIn *in;
	Manifest *m;
	Env *env;
	Frame *frame;
	struct Labels *labels;
	Count count;
	Count exit; /* where exit() may have ended it */
	bool exits;
	uint32_t quiet;	 /* > 0: not the last walk of this part: report nothing */
	uint32_t silent; /* > 0: nothing of this is run: no emissions */
	bool grew;	 /* a cell changed in this walk after somebody had read it */
	bool grew_at_all; /* a cell changed */
	bool settled;	  /* FactsStats */
	uint32_t walk;	 /* number of the walk over the whole program */
	uint64_t gen;
	uint32_t steps, fine, instances;
	uint32_t unroll; /* product of the unrolled loops around */
	jmp_buf *complex;
	Map cells;	  /* (node, path, sub) -> Cell */
	Map seen;	  /* (def, types of arguments): instances */
	Map memo;	  /* lib calls */
	uint8_t *reached; /* by node id: a statement that some walk got to */
	uint8_t *called;  /* by node id: a def that was called */
	const Fact **fixed; /* by node id: facts that hold wherever the walk comes from */
	const Fact *top[T_N];
	const Fact *opt[T_N];
	Sigs sigs;
	Diag spare;
	DiagList dump;	  /* where a walk that reports nothing puts its words */
	bool heading;	  /* joining at a loop's head: see env_join_head */
	uint32_t inner;	  /* > 0: the value at hand is an item of the node's */
	const Node *comp; /* the comprehension whose value is being walked */
	Node *stmt;	  /* the statement that is being walked */
	Nodes body;	  /* the block around it, and its place there */
	uint32_t at;
	Span reach_span;  /* start of the text, for new declarations */
};

/* ---- facts.c ---- */
void facts_step(Facts *f, uint32_t n);
/* An error or a warning at a node: at the user's call if the node is lib's. */
Diag *facts_say(Facts *f, const char *code, const Node *n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
Diag *facts_say_at(Facts *f, const char *code, const Node *file, Span span, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
Str facts_source(Facts *f, const Node *n);
/* Sets a fix that replaces the node's text, only where it is the user's text. */
void facts_fix(Facts *f, Diag *d, const Node *n, Str text);
void facts_fix_span(Facts *f, Diag *d, const Node *n, Span span, Str text);
/* A new declaration at the program's head. */
void facts_fix_declare(Facts *f, Diag *d, Str line);
bool facts_in_lib(Facts *f, const Node *n);
/* The innermost call in the user's text. */
const Node *facts_users_node(Facts *f, const Node *n);
const Fact *facts_bad(Facts *f); /* the error fact */

/* ---- facts_make.c ---- */
const Fact *mk(Facts *f, FactKind k);
const Fact *mk_opt(Facts *f, const Fact *x);
const Fact *mk_some(Facts *f, const Fact *x); /* without None */
Fact *mk_copy(Facts *f, const Fact *x);
const Fact *mk_range(Facts *f, FactKind k, int64_t lo, int64_t hi);
const Fact *mk_ranges(Facts *f, FactKind k, const Vals *v);
const Fact *mk_float(Facts *f, double d);
const Fact *mk_str(Facts *f, FactKind k, Str s);
const Fact *mk_vals(Facts *f, FactKind k, const Vals *v);
const Fact *mk_len(Facts *f, FactKind k, Len l);
const Fact *mk_tuple(Facts *f, const Fact *const *item, uint32_t n);
const Fact *mk_pair(Facts *f, const Fact *a, const Fact *b);
const Fact *mk_tuple_of(Facts *f, const Fact *item);
const Fact *mk_list(Facts *f, const Node *n, uint32_t sub, const Fact *elem, Len l);
const Fact *mk_set(Facts *f, const Node *n, uint32_t sub, const Fact *elem, Len l);
const Fact *mk_dict(Facts *f, const Node *n, uint32_t sub, const Fact *key, const Fact *elem, Len l);
const Fact *mk_from(Facts *f, const Fact *x, const Node *origin);
/* x is given to somebody: what its containers hold is read from here on. */
void facts_read_cells(Facts *f, const Fact *x);
/* x as it comes out of a container: an object in it may be older than this round. */
const Fact *mk_aged(Facts *f, const Fact *x);
/* x with other items, as many; x itself if they are its own. */
const Fact *mk_items(Facts *f, const Fact *x, const Fact *const *item);
const Fact *mk_stats(Facts *f, const Fact *item);
Str facts_text_of(Facts *f, const Fact *x); /* the type, for messages */
Str facts_a_text(Facts *f, const Fact *x);

/* ---- facts_join.c ---- */
bool fact_eq(const Fact *a, const Fact *b);
/* The least fact that holds where a or b holds; a itself if b adds nothing. */
const Fact *facts_join(Facts *f, const Fact *a, const Fact *b);
const Fact *facts_widen(Facts *f, const Fact *old, const Fact *now);
/* Each alternative of a union, or the fact itself: i < fact_ways(x). */
uint32_t fact_ways(const Fact *x);
const Fact *fact_way(Facts *f, const Fact *x, uint32_t i);

/* ---- facts_cell.c ---- */
Cell *cell_at(Facts *f, const Node *n, uint32_t sub, FactKind kind);
void cell_elem(Facts *f, Cell *c, const Fact *x);
/* x is put in place of an item; numbers that go on changing are counters. */
void cell_store(Facts *f, Cell *c, const Fact *x);
void cell_key(Facts *f, Cell *c, const Fact *x);
void cell_made(Facts *f, Cell *c, Len l);
/* `ref` got `n` more items at node `at`. */
void cell_grow(Facts *f, const Fact *ref, const Node *at, uint64_t n);
void cell_grew(Facts *f, const Cell *c);
/* How often the current place is reached, at most. */
uint64_t facts_rounds(Facts *f);
void cell_changed(Facts *f, Cell *c); /* positions are no longer known */
void cell_shrinks(Facts *f, Cell *c);
void cell_at_add(Facts *f, Cell *c, uint32_t i, const Fact *x);
const Fact *cell_field(const Cell *c, Str name);
void cell_field_set(Facts *f, Cell *c, Str name, const Fact *x);
void cell_use_as_dict(Facts *f, const Fact *d, const Node *at);
const Fact *cell_values(Facts *f, const Fact *d);

/* ---- facts_env.c ---- */
Env *env_copy(Facts *f, const Env *e);
Env *env_join(Facts *f, Env *a, Env *b); /* may change a; either may be NULL or dead */
/* The state at a loop's head: `head` and what comes back.  An error that came of an
 * earlier round is left out, or it would hide its own cause in the last one. */
Env *env_join_head(Facts *f, const Env *head, Env *back);
bool env_stable(Facts *f, const Env *a, const Env *b);
/* hard: what is still not stable may be anything. */
Env *env_widen(Facts *f, const Env *old, Env *now, bool hard);
const Fact *env_get(Facts *f, const Var *v);
void env_set(Facts *f, const Var *v, const Fact *x);
/* Narrowing: what `path` now is. */
void env_refine(Facts *f, const Node *path, const Fact *x);
const Fact *env_refined(Facts *f, const Node *path);
/* A list, dict or set was changed, or something of which nobody knows what. */
void env_touch(Facts *f);
/* Time passed: what goes on in the background has another state. */
void env_waited(Facts *f);
const Var *facts_path_var(Facts *f, const Node *path);
bool facts_path_eq(const Node *a, const Node *b);
void facts_leave(Facts *f, Door *d);	   /* everything here leaves by that door */
void facts_enter(Facts *f, const Door *d); /* what left by it comes here too */
Count facts_count_max(Count a, Count b);
void facts_count_add(Facts *f, uint64_t packets, uint64_t syn, Least least);
/* What was counted since `was` happens n times. */
void facts_count_rounds(Facts *f, Count was, Len n);
uint64_t facts_sat_add(uint64_t a, uint64_t b);
uint64_t facts_sat_mul(uint64_t a, uint64_t b);
uint64_t facts_sat_sub(uint64_t a, uint64_t b); /* LEN_INF stays it */

/* ---- facts_vals.c ---- */
const Vals *vals_join(Facts *f, FactKind k, const Vals *a, const Vals *b);
bool vals_eq(FactKind k, const Vals *a, const Vals *b);
const Vals *vals_op(Facts *f, BinOp op, const Vals *a, const Vals *b);
const Vals *vals_meet(Facts *f, const Vals *v, int64_t lo, int64_t hi);
const Vals *vals_without(Facts *f, const Vals *v, int64_t x);
bool vals_bounds(const Fact *x, int64_t *ret_lo, int64_t *ret_hi);
bool vals_one(const Fact *x, int64_t *ret_v); /* one number only */
bool fact_one_str(const Fact *x, Str *ret_s);
bool fact_number(const Fact *x, double *ret_d); /* one known int or float */
/* The texts of all known values as str() gives them; NULL: not known or too many. */
const Vals *vals_texts(Facts *f, const Fact *x);
const Vals *vals_concat(Facts *f, const Vals *a, const Vals *b);
const Vals *vals_ip_add(Facts *f, const Vals *ip, const Vals *by, bool minus);
int64_t facts_sat64_add(int64_t a, int64_t b);

/* ---- facts_stmt.c ---- */
void facts_do_body(Facts *f, Nodes body);
void facts_do_stmt(Facts *f, Node *n);
void facts_assign(Facts *f, Node *target, const Fact *x, const Node *value);
/* What a loop over x gives each time, and how often. */
const Fact *facts_iterate(Facts *f, const Fact *x, const Node *at, Len *ret_len);
/* False, with an error: the list may be a range. */
bool facts_changeable(Facts *f, const Fact *list, Node *n);
const Fact *facts_store_add(Facts *f, const Fact *list, const Fact *items, const Node *at);
/* The items one by one where they are known and few; NULL otherwise. */
const Fact *const *facts_items_known(Facts *f, const Fact *x, uint32_t *ret_n);

/* ---- facts_flow.c ---- */
void facts_do_if(Facts *f, Node *n);
void facts_do_while(Facts *f, Node *n);
void facts_do_for(Facts *f, Node *n);
void facts_warn_dropped(Facts *f, Node *n);
void facts_unreached(Facts *f);

/* ---- facts_expr.c ---- */
const Fact *facts_ex(Facts *f, Node *n);
const Fact *facts_ex_fresh(Facts *f, Node *n); /* without what tests said of the path */
const Fact *facts_ex_value(Facts *f, Node *n); /* must not be None: E-NONE */
const Fact *facts_need(Facts *f, const Fact *x, const Node *n);
/* x as a key of a dict or an item of a set: E-TYPE if it can change. */
const Fact *facts_key(Facts *f, const Fact *x, const Node *n);
const Fact *facts_comprehension(Facts *f, Node *n);
const Fact *facts_display(Facts *f, Node *n);
const Fact *facts_fstring(Facts *f, Node *n);

/* ---- facts_fix.c ---- */
/* Offers `if TEST:` around the current statement and those that need it too. */
void facts_fix_guard(Facts *f, Diag *d, const Node *path, Str test);
/* An argument, with the comma that goes with it. */
Span facts_arg_span(const Node *call, const Arg *a);
/* Offers to leave out the keyword argument of that value. */
void facts_fix_drop(Facts *f, Diag *d, const Node *value);
/* A keyword that asks for another form of the whole call.  False: it does not. */
bool facts_fix_keyword(Facts *f, Diag *d, const Node *call, const char *name, const Arg *a);
/* A str where a number, or a duration, is due. */
void facts_fix_number(Facts *f, Diag *d, Node *n, const Fact *x, bool port);
void facts_fix_duration(Facts *f, Diag *d, Node *n, const Fact *x);
/* "SYN-ACK", "ttl-exceeded": what the field calls that value. */
void facts_fix_value(Facts *f, Diag *d, const WireField *field, Str s, Node *n);

/* ---- facts_op.c ---- */
const Fact *facts_binary(Facts *f, BinOp op, const Fact *a, const Fact *b, Node *na, Node *nb,
			 const Node *at);
const Fact *facts_unary(Facts *f, Node *n);

/* ---- facts_compare.c ---- */
const Fact *facts_compare(Facts *f, Node *n);
/* Evaluates n as a condition; env becomes that of true, the result that of false. */
Env *facts_cond(Facts *f, Node *n);
/* Can a and b be equal at all?  Says so if not; checks known strings. */
bool facts_comparable(Facts *f, const Fact *a, const Fact *b, Node *na, Node *nb);
/* Have all values of a and b an order?  depth: 0 */
bool facts_orderable(Facts *f, const Fact *a, const Fact *b, unsigned depth);
bool fact_truth(const Fact *x, bool *ret); /* known truth */
/* x as it is where it is true (or false); NULL: it can't be. */
const Fact *facts_truth_part(Facts *f, const Fact *x, bool truth);

/* ---- facts_call.c ---- */
const Fact *facts_call(Facts *f, Node *n);
const Fact *facts_call_def(Facts *f, Node *def, const Fact **arg, const Node *at);
const Fact *facts_call_fn(Facts *f, const Fact *fn, const Fact **arg, uint32_t n, const Node *at);
/* The same for each of n items. */
const Fact *facts_call_each(Facts *f, const Fact *fn, const Fact **arg, uint32_t n, const Node *at,
			    Len times);

/* ---- facts_builtin.c ---- */
typedef struct CallArgs {
	const Sig *sig;
	const char *name;
	const Fact **arg;  /* by parameter; NULL: left out */
	Node **node;	   /* by parameter */
	const Fact **rest; /* *rest */
	Node **rest_node;
	uint32_t nrest;
	const Arg *kw; /* **more */
	uint32_t nkw;
	const Fact *self;
	const Fact *var[8]; /* type variables: T K V and others */
	char letter[8];
	uint32_t nvar;
} CallArgs;
bool facts_bind_args(Facts *f, Node *n, CallArgs *c);
const Fact *facts_builtin(Facts *f, Node *n, BuiltinFunc which);
const Fact *facts_method(Facts *f, Node *n, const Fact *self);
const Fact *builtin_special(Facts *f, Node *n, BuiltinFunc which, CallArgs *c);
const Fact *method_special(Facts *f, Node *n, BuiltinMethod which, CallArgs *c);

/* ---- facts_fit.c ---- */
/* x as a value of type t: E-TYPE, E-NONE if it isn't; what it then is. */
const Fact *facts_fit(Facts *f, const Fact *x, const SigType *t, Node *n, CallArgs *c, const char *what);
bool facts_fits(Facts *f, const Fact *x, const SigType *t);
const Fact *facts_sig_fact(Facts *f, const SigType *t, const CallArgs *c, const Node *n, uint32_t sub);
const SigType *facts_node_type(Facts *f, const Node *type);
const Fact *facts_to_ip(Facts *f, const Fact *x, Node *n, bool names, const char *what);
const Fact *facts_to_net(Facts *f, const Fact *x, Node *n, const char *what);
const Fact *facts_to_mac(Facts *f, const Fact *x, Node *n, const char *what);
const Fact *facts_to_duration(Facts *f, const Fact *x, Node *n);

/* ---- facts_packet.c ---- */
const Fact *facts_layer_call(Facts *f, Node *n, WireId id);
const Fact *facts_option_call(Facts *f, Node *n, const struct WireOption *o);
const Fact *facts_stack_layers(Facts *f, const Fact *a, const Fact *b, const Node *at);
const Fact *packet_index(Facts *f, const Fact *p, Node *n);
const Fact *facts_packet_attr(Facts *f, const Fact *p, Node *n);
const Fact *facts_packet_with(Facts *f, const Fact *p, WireId layer, Node *target, const Fact *x,
			      Node *value);
const Fact *mk_packet(Facts *f, const Stack *const *s, uint32_t n);
const Fact *facts_any_packet(Facts *f);
/* p with the layer only (or without it): NULL if that can't be. */
const Fact *packet_at_ttl(Facts *f, const Fact *p, const Fact *ttl, Node *n);
const Fact *packet_having(Facts *f, const Fact *p, WireId id, bool has);
const Fact *facts_answer_to(Facts *f, const Fact *probe);
const Fact *facts_as_sent(Facts *f, const Fact *probe);
const Fact *facts_field_fact(Facts *f, WireId id, unsigned field, bool quote, const Node *n);
/* What was set in that field of a stack that we built, or NULL. */
const FieldFact *stack_field(const Stack *s, WireId id, const char *name);
/* The first of some layers in a stack, or WIRE_NONE. */
WireId stack_first(const Stack *s, uint64_t layers);
const Fact *packet_widen(Facts *f, const Fact *x);
const Fact *packet_join(Facts *f, const Fact *a, const Fact *b);
bool stack_eq(const Stack *a, const Stack *b);
/* x as that field's value: checked; *ret_many is how many packets a list of values makes. */
const Fact *facts_field_value(Facts *f, WireId id, unsigned field, const Fact *x, Node *n, Len *ret_many);
const Fact *facts_layer_of(Facts *f, Node *n, WireId id, const Arg *arg, uint32_t nargs);

/* ---- facts_size.c ---- */
/* Bytes of a str (as UTF-8) or bytes. */
Len facts_byte_len(const Fact *x);
/* Bytes from the layer at `from` to the packet's end. */
Len facts_stack_size(const Stack *s, unsigned from);
/* Into how many frames the gate puts it. */
Len facts_stack_frames(const Stack *s, Len size);

/* What one packet of that kind costs: frames, counted as the gate does, and bytes. */
typedef struct Cost {
	Len frames, bytes;
	bool syn, may_syn;
} Cost;
/* Adds what s costs to a packet that may be it. */
void facts_cost_add(Cost *c, const Stack *s, bool first);

/* ---- facts_manifest.c ---- */
/* Sends p `times` times at most (least: at least). */
void facts_emit(Facts *f, const Fact *p, Node *n, Len times);
void facts_note_filter(Facts *f, const Fact *filter, Node *n);
void facts_note_iface(Facts *f, const Fact *iface, Node *n);
void facts_note_local(Facts *f, LocalKind k, const Fact *dst, Node *n);
void manifest_finish(Facts *f);

/* Which versions of IP a destination may have; both, if it is not known. */
void facts_ip_versions(const Fact *dst, bool *ret_v4, bool *ret_v6);

/* ---- facts_conn.c ---- */
/* x.name of a live object. */
const Fact *facts_live_attr(Facts *f, const Fact *x, BuiltinAttr at, Node *n);
/* c.auto_ack = x */
void facts_live_store(Facts *f, const Fact *live, Node *target, const Fact *x, Node *value);

/* ---- facts_names.c ---- */
enum { NEAR_ALL = 640 };

typedef struct Near {
	Str want, best;
	unsigned d;
	char all[NEAR_ALL]; /* what was tried, while there is room */
	unsigned n;
} Near;
void facts_near_try(Near *n, Str name);
/* Adds "did you mean" as a fix of the span. */
void facts_near_fix(Facts *f, Diag *d, const Near *n, const Node *file, Span span);
/* call: of the method, or NULL. */
const Fact *facts_no_attr(Facts *f, Node *n, const Fact *x, const Node *call);
/* A keyword that the call does not take: what it is called here.  False: no habit. */
bool facts_keyword_habit(Facts *f, Diag *d, const Node *call, const CallArgs *c, const Arg *a);
/* The field that people call so, or NULL. */
const char *facts_field_habit(const WireProto *p, Str name);
/* The text of n, in brackets where an operator could tear it apart. */
Str facts_operand(Facts *f, const Node *n);

#endif
