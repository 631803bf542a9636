/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels: what a value tells, and about whose packets (guardrails.md 5).
 *
 * A Label has two parts.  What the value is made of: a level (measured, content)
 * and its origins, the peers whose packets went into it.  And what chose it: the
 * decision sites (tests, loops' go-on tests) on whose outcome it depends.  NULL is
 * the label of what is clean and was chosen by nobody.
 *
 * Labels are interned: equal ones are the same pointer.  They only grow, like
 * cells, so loops and walks reach their fixpoint.
 *
 * label.c has the proof of what all this is for.  Ownership: the checker's arena.
 */
#ifndef SONDE_LANG_LABEL_H
#define SONDE_LANG_LABEL_H

#include "lang/label_marks.h"
#include "lang/types.h"
#include "vm/program.h"

typedef struct Facts Facts;
struct CallArgs;
typedef struct Label Label;
typedef struct Env Env;

/* Whose packets: an address, a range of them, a name, this host's resolver (neither
 * name nor address), or the one address that a name of the program stands for (sym).
 * Of content also at which endpoint. */
typedef struct Origin {
	Target peer;
	uint16_t sym;  /* number of a OnePeer, or 0 */
	uint16_t addr; /* number of the same origin without endpoint */
	uint8_t proto; /* ORIGIN_ADDR: no endpoint */
	int32_t port;  /* ORIGIN_NO_PORT: the protocol has none, or it is not one */
} Origin;

enum { ORIGIN_ADDR = 255, ORIGIN_NO_PORT = -1, ORIGIN_PORTS = -2 };
enum { LABEL_ORIGINS = 16, LABEL_SITES = 64, ONE_MOST = 256 };

struct Label {
	uint32_t id;
	uint8_t level; /* WireLabel: CLEAN (no origins), MEASURED, CONTENT */
	bool any;      /* from anybody */
	bool all;      /* on all sites */
	uint16_t no, ns;
	const uint16_t *origin; /* sorted numbers */
	const uint16_t *site;
};

/* An address that is one, though not known which: of a loop over a network, or the
 * peer of a verb's call.  It stands for itself while it is bound, for `ground` else. */
typedef struct OnePeer {
	uint64_t key;
	const Label *ground;
	uint64_t since; /* f->gen when it was bound; 0: never */
	const struct Frame *frame;
	bool bound;
	bool verb; /* the peer of a verb's call, while that runs */
} OnePeer;

/* A place where the run's way is chosen, on one path of calls. */
typedef struct Site {
	const Node *node, *user; /* user: the same in the user's text */
	uint64_t key;
	const Label *why;   /* what is looked at */
	const Label *reach; /* peers whose packets the outcome may change */
	const Node *to;	    /* where it does, in the user's text */
} Site;

typedef struct Labels Labels;

/* ---- label.c: sets ---- */

void labels_init(Facts *f);
const Label *label_join(Facts *f, const Label *a, const Label *b);
const Label *label_of(Facts *f, WireLabel level, uint16_t origin);
const Label *label_any(Facts *f, WireLabel level);
const Label *label_site(Facts *f, uint16_t site);
/* The site of that key, like `like`, at which `why` is decided on. */
const Label *label_site_of(Facts *f, uint64_t key, const Site *like, const Label *why);
const Label *label_all_sites(Facts *f);
/* l without the sites of `known`. */
const Label *label_minus_sites(Facts *f, const Label *l, const Label *known);
/* Only what it is made of. */
const Label *label_parts(Facts *f, const Label *l);
/* The same origins at another level; what chose it counts as part of it. */
const Label *label_made(Facts *f, const Label *l, WireLabel level);
/* x with a label more. */
const Fact *label_add(Facts *f, const Fact *x, const Label *l);
const Fact *label_set(Facts *f, const Fact *x, const Label *l);
uint16_t label_origin(Facts *f, Origin o);
const Origin *label_origin_at(const Facts *f, uint16_t id);
/* The peers of l as addresses, and whether that is one address, the same in both. */
const Label *label_peers(Facts *f, const Label *l);
bool label_own(Facts *f, const Label *l, const Label *peers);

/* ---- label_value.c: what values carry ---- */

/* What an expression was when it was last evaluated, or NULL. */
const Fact *label_seen(const Facts *f, const Node *n);

/* All that x and everything in it tells. */
const Label *label_deep(Facts *f, const Fact *x);
/* What a comparison tells, whose operands were just evaluated. */
const Label *label_compare(Facts *f, const Node *n);
/* Content of the addresses that dst may be, at the endpoint of `like`. */
const Label *label_targets(Facts *f, const Fact *dst, Origin like);
/* What its truth, length, order and membership tell. */
const Label *label_shape(Facts *f, const Fact *x);
const Label *label_stack(Facts *f, const Stack *s);
/* At the end of facts_ex(): x is the value of n. */
const Fact *label_value(Facts *f, Node *n, const Fact *x, const Label *outer);
const Label *label_begin(Facts *f); /* at its begin: `outer` */
/* What n is, as a test found out. */
const Fact *label_note(Facts *f, const Node *n, const Fact *x);
/* What a test found out about a path that was just evaluated. */
const Fact *label_refined(Facts *f, const Node *path, const Fact *x);
/* An item that came out of c. */
const Fact *label_item(Facts *f, const Fact *c, const Fact *x);
/* What an operator gives for a and b. */
const Fact *label_binary(Facts *f, const Fact *a, const Fact *b, const Fact *x);
/* What the index of a target tells that was just evaluated. */
const Label *label_index(Facts *f, const Node *target);
/* x was made of `was` by a conversion. */
const Fact *label_like(Facts *f, const Fact *was, const Fact *x);
/* A field of a packet: x is its value in stack s. */
const Fact *label_field(Facts *f, const Stack *s, WireId id, unsigned field, const Fact *x);
const Fact *label_packet_attr(Facts *f, BuiltinAttr at, const Fact *p, const Fact *x);
const Label *label_answer(Facts *f, const Stack *probe); /* content of what answers it */
const Label *label_echo(Facts *f, const Stack *probe);	 /* of fields that must equal the probe's */
const Fact *label_answers_attr(Facts *f, const Fact *self, BuiltinAttr at, const Fact *x);
/* What a verb gives as that field of its result: believed. */
const Fact *label_result_field(Facts *f, const Fact *x, const ResultItem *decl, const Node *call, uint32_t i);
/* The contents of c changed in a way that l tells about. */
void label_touch(Facts *f, Cell *c, const Label *l);
/* How many items the arguments have. */
const Label *label_args_shape(Facts *f, const struct CallArgs *c);
/* What a function that a built-in called gave; as a type that was called. */
const Fact *label_called(Facts *f, const Fact *x);
const Fact *label_of_type(Facts *f, const Fact *x, const Fact *const *arg, uint32_t n);
/* The answer of sr1: whether it came is measured. */
const Fact *label_sr1(Facts *f, const Fact *what, const Fact *probe, const Fact *x);
/* What a verb returns, outside of lib. */
const Fact *label_from_verb(Facts *f, const Node *def, const Fact *const *arg, const Fact *x);
void label_method(Facts *f, BuiltinMethod which, const struct CallArgs *c);

/* ---- label_conn.c: live objects ---- */

/* What comes from the other end of a live object. */
const Label *label_live(Facts *f, const Fact *x);
/* v is that attribute of x; what a method of self gave. */
/* Of a result whose rows say what each attribute tells. */
const Fact *label_told_attr(Facts *f, const Fact *x, BuiltinAttr at, const Fact *v);
const Fact *label_live_attr(Facts *f, const Fact *x, BuiltinAttr at, const Fact *v);
const Fact *label_live_method(Facts *f, const Fact *self, const Node *call, const Fact *x);
/* The program waited until l let it go on. */
void label_waited(Facts *f, const Label *l);
/* A load begins; bounded: it ends by itself. */
void label_load(Facts *f, const Node *at, const Fact *x, bool bounded);

/* ---- label_one.c: one address that is not known ---- */

/* x as the name at that node is set to it (verb: as the peer of the call there). */
const Fact *label_one(Facts *f, const Node *name, const Fact *x, bool verb);
/* One of these addresses, nobody knows which: whoever connected at that call. */
const Fact *label_accepted(Facts *f, const Node *call, const Fact *peers);
/* x, or a label, as it is read out of c. */
const Fact *label_read(Facts *f, const Fact *c, const Fact *x);
const Label *label_read_label(Facts *f, const Fact *c, const Label *l);
/* l without names that are not a verb's peer. */
const Label *label_flat(Facts *f, const Label *l);
/* What leaves a function, or a verb with that peer. */
const Fact *label_frame_end(Facts *f, const struct Frame *frame, const Fact *x);
const Fact *label_verb_end(Facts *f, const Fact *peer, const Fact *x);

/* ---- label_flow.c: where the run is ---- */

typedef struct LabelScope {
	const Label *pc, *cont, *brk, *ret;
} LabelScope;

typedef enum LabelDoor { LEFT_BREAK, LEFT_CONTINUE, LEFT_RETURN, LEFT_EXIT } LabelDoor;

/* What chose that we are here. */
const Label *label_pc(const Facts *f);
/* What a test that facts_cond() just evaluated tells. */
const Label *label_test(Facts *f, Node *test);
/* A decision on l at a node: what depends on its outcome. */
const Label *label_decide(Facts *f, const Node *at, const Label *l);
/* We are on one of the ways that l chooses; gives what to come back to. */
const Label *label_enter(Facts *f, const Label *l);
/* The same for a test with both its ways: if one can't be, nothing is decided. */
const Label *label_branch(Facts *f, Node *test, const Env *yes, const Env *no);
/* A built-in calls fn, which stands at a node, as often as `times` tells. */
const Label *label_calls(Facts *f, const Fact *fn, const Node *at, const Label *times);
void label_back(Facts *f, const Label *before);
void label_left(Facts *f, LabelDoor d);
void label_loop_begin(Facts *f, LabelScope *s);
const Label *label_round(Facts *f, const LabelScope *s);
void label_loop_end(Facts *f, const LabelScope *s);
void label_func_begin(Facts *f, LabelScope *s);
void label_func_end(Facts *f, const LabelScope *s);
/* The generator that any() or all() leaves as soon as it knows. */
void label_stops_at(Facts *f, const Node *n);
bool label_stops(const Facts *f, const Node *n);
/* Something that l tells about may end the run here. */
void label_may_end(Facts *f, const Node *at, const Label *l);
void labels_walk_begin(Facts *f);

/* ---- label_emit.c: what leaves ---- */

/* send, sr, sr1: the packets of list or packet `what`, all like `probe`. */
/* until: after at most how many packets an answer may end it; 0: none does. */
void label_emit(Facts *f, Node *call, const Fact *what, const Fact *probe, uint64_t until);
/* A call on a live object, or the one that makes it (opens): all that is given goes to its peer. */
void label_live_call(Facts *f, Node *call, const Fact *live, const struct CallArgs *c, bool opens);
/* It cuts off what the object still sends. */
void label_cut(Facts *f, Node *call, const Fact *live);
/* An attribute of it is set. */
void label_live_set(Facts *f, Node *target, const Fact *live, const Fact *x, const Node *value);
/* sr(stop=): the function's answer ends the wait. */
void label_stop(Facts *f, const Fact *fn, const Fact *result);
/* Something waits d here, `times` times. */
void label_waits(Facts *f, const Node *at, const Fact *d, uint64_t times);
/* Other arguments of a built-in that sends or waits. */
void label_wait(Facts *f, Node *call, BuiltinFunc which, const struct CallArgs *c);
/* A verb is called from the user's text: its arguments are paid or refused here. */
/* A function of lib that the user's text calls. */
bool label_is_verb(Facts *f, const Node *def);
/* The parameter that says whom a verb sends to, or -1. */
int label_peer_param(const Node *def);
void label_verb(Facts *f, Node *call, Node *def, const Fact **arg, Node *const *node);
/* ---- label_told.c: what is printed ---- */

/* A call of print() or table(). */
void label_told(Facts *f, const Node *call, BuiltinFunc which, const struct CallArgs *c);
/* print as a value: nobody knows where it is called. */
void label_told_anywhere(Facts *f);

/* ---- label_explain.c: why ---- */

/* "line 2: sr1(..) -> line 3: x -> line 4: send(..)": how l got to `from`, and on to `to`. */
Str label_path(Facts *f, const Node *from, const Label *l, const Node *to);
void label_set_by(Facts *f, const Var *v, const Node *value);
void label_returned(Facts *f, const Node *def, const Node *value);

void labels_finish(Facts *f, LabelMarks *ret_marks);
/* All that the program sends to: what `now()` may have waited for. */
const Label *labels_peers(Facts *f);

#endif
