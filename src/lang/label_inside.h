/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files label*.c share.  Nobody else includes it.
 */
#ifndef SONDE_LANG_LABEL_INSIDE_H
#define SONDE_LANG_LABEL_INSIDE_H

#include "lang/facts_inside.h"

/* When whoever waited did so last for these peers: Fact.gen's time. */
typedef struct Waited {
	const Label *on;
	uint64_t last;
} Waited;

/* A load that ends with the run. */
typedef struct OpenLoad {
	const Fact *load;
	const Node *at;
} OpenLoad;

typedef struct ToldSite ToldSite;

struct Labels {
	Map sets, joins, origins, sites;
	VEC(const Label *) set; /* by id */
	VEC(Origin) origin;
	VEC(Site) site;
	VEC(OnePeer) sym;
	const Fact **value; /* by node id: what it was when it was last evaluated */
	const Node **set_by;	/* by Var: what it was last set to */
	const Node **set_by_fn; /* by node id of a def: what it last returned */
	const Label *called; /* what the functions told that the running built-in called */
	const Node *stops; /* the generator that any() or all() leaves as soon as it knows */
	Map draws;	    /* node of a random draw -> Label of how often it was made */

	/* where we are */
	const Label *pc;
	const Label *cont, *brk, *ret, *ended; /* ways that left: what follows depends on them */
	const Label *may_end;		       /* what may have ended the run before */
	const Node *may_end_at;

	/* what was found out */
	const Label *peers;   /* all that the program sends to */
	uint32_t peers_read;  /* the last walk that asked for them */
	const Label *all_reach; /* peers reached by what depends on all sites */
	VEC(Waited) waited;   /* in this walk */
	VEC(OpenLoad) loads;
	uint64_t wait_ns;     /* how long it may wait in all */
	const Node *wait_at;  /* the first place */
	const Node *end_paid; /* what may end the run matters to others: where */
	LabelCost *cost;      /* by node id; NULL: there are none */
	ToldSite **told;      /* by node id of a call that prints; NULL: there are none */
	const Label *told_all, *told_sent, *told_error;
};

/* A growing set of numbers, sorted. */
typedef struct IdSet {
	uint16_t v[LABEL_ORIGINS + LABEL_SITES];
	uint16_t n;
	bool full;
} IdSet;

/* All that an expression told when it was last evaluated. */
const Label *label_deep_of(Facts *f, const Node *n);
/* The join over the arguments of a call. */
const Label *label_args(Facts *f, const Node *call, const Label *(*of)(Facts *f, const Node *n));
/* Of a packet that came; of all that answers. */
const Label *label_content(Facts *f, const Stack *s);
const Label *label_answers(Facts *f, const Fact *answers);
/* Where a load is whose length others decide; NULL: there is none. */
const Node *label_loads_cut(Facts *f);
/* Who was waited for since then. */
const Label *label_waited_since(Facts *f, uint64_t gen);
/* Of an emission that l chose: statistics count it. */
void label_told_sent(Facts *f, const Label *l);
/* Of an error that l tells about. */
void label_told_error(Facts *f, const Label *l);
void label_told_finish(Facts *f, LabelMarks *marks);
/* x is the value of n: may its evaluation have been an error instead? */
void label_may_fail(Facts *f, const Node *n, const Fact *x);

#endif
