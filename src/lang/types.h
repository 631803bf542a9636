/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts: what the checker knows about a value.  The type is one part of it, next
 * to none-ness, layer stacks, known values and lengths; all travel together
 * through variables, containers and calls.
 *
 * A Fact never changes once others can see it.  Lists, sets and dicts are
 * references, so their contents stand in a Cell, one for each place and call path
 * where one is made; a Cell only grows.
 *
 * Ownership: everything lives in the checker's arena.
 */
#ifndef SONDE_LANG_TYPES_H
#define SONDE_LANG_TYPES_H

#include "deal/manifest.h"
#include "lang/scope.h"
#include "vm/builtins.h"

/* id, how the type is called in messages, owner of its methods and attributes */
#define FACT_KINDS(X)                                                                                        \
	X(NEVER, "nothing", NONE)                                                                            \
	X(ERROR, "error", NONE)                                                                              \
	X(ANY, "any", NONE)                                                                                  \
	X(NONE, "None", NONE)                                                                                \
	X(BOOL, "bool", NONE)                                                                                \
	X(INT, "int", INT)                                                                                   \
	X(FLOAT, "float", FLOAT)                                                                             \
	X(STR, "str", STR)                                                                                   \
	X(BYTES, "bytes", BYTES)                                                                             \
	X(DURATION, "duration", DURATION)                                                                    \
	X(TIME, "time", TIME)                                                                                \
	X(IP, "ip", IP)                                                                                      \
	X(NET, "net", NET)                                                                                   \
	X(MAC, "mac", MAC)                                                                                   \
	X(FLAGS, "flags", FLAGS)                                                                             \
	X(LIST, "list", LIST)                                                                                \
	X(TUPLE, "tuple", TUPLE)                                                                             \
	X(DICT, "dict", DICT)                                                                                \
	X(SET, "set", SET)                                                                                   \
	X(PACKET, "Packet", PACKET)                                                                          \
	X(OPTION, "Option", OPTION)                                                                          \
	X(DNSQR, "DNSQR", DNSQR)                                                                             \
	X(DNSRR, "DNSRR", DNSRR)                                                                             \
	X(SNMPVARBIND, "SNMPvarbind", SNMPVARBIND)                                                           \
	X(ANSWERS, "Answers", ANSWERS)                                                                       \
	X(STATS, "Stats", STATS)                                                                             \
	X(IFACE, "Iface", IFACE)                                                                             \
	X(ROUTE, "Route", ROUTE)                                                                             \
	X(NEIGHBOR, "Neighbor", NEIGHBOR)                                                                    \
	X(TIMES, "Times", TIMES)                                                                             \
	X(EVENT, "Event", EVENT)                                                                             \
	X(TLS, "Tls", TLS)                                                                                   \
	X(CERT, "Cert", CERT)                                                                                \
	X(TIMINGS, "Timings", TIMINGS)                                                                       \
	X(HTTPREPLY, "HttpReply", HTTPREPLY)                                                                 \
	X(CONN, "Conn", CONN)                                                                                \
	X(LISTENER, "Listener", LISTENER)                                                                    \
	X(UDP, "Udp", UDP)                                                                                   \
	X(LOAD, "Load", LOAD)                                                                                \
	X(RESULT, "result", NONE)                                                                            \
	X(FUNC, "function", NONE)                                                                            \
	X(PROTO, "layer type", NONE)                                                                         \
	X(TYPE, "type", NONE)                                                                                \
	X(UNION, "one of several types", NONE)

#define FACT_ENUM_(id, ...) T_##id,
typedef enum FactKind { FACT_KINDS(FACT_ENUM_) T_N } FactKind;

typedef struct Fact Fact;
typedef struct Label Label; /* lang/label.h */
typedef struct Cell Cell;
typedef struct Stack Stack;

/* lo..hi items; LEN_INF: no bound known. */
#define LEN_INF UINT64_MAX
typedef struct Len {
	uint64_t lo, hi;
} Len;

typedef struct Range {
	int64_t lo, hi; /* inclusive */
} Range;

/* The values that a fact may have.  NULL in a Fact: any (TOP).
 * Ranges are sorted and do not overlap, yet neighbours stay apart while there are
 * few: a port that was named by itself is not a port of a range. */
typedef struct Vals {
	uint32_t n;
	union {
		const Range *r;	  /* BOOL INT DURATION FLAGS */
		const double *f;  /* FLOAT */
		const Str *s;	  /* STR BYTES */
		const Target *ip; /* IP: addresses and names */
		const Net *net;
		const Mac *mac;
	};
} Vals;

struct Fact {
	uint8_t kind;		/* FactKind */
	bool none : 1;		/* T?: may be None too */
	bool number : 1;	/* DURATION: may still be the plain number that it started as */
	bool open : 1;		/* TUPLE: any number of items, all like item[0]; LIST: may be a range */
	bool from_fn : 1;	/* FUNC: a def, not a lambda */
	bool taken : 1;		/* IP: unchanged, as .src, .addr or .reporter of an answer gave it */
	uint8_t view;		/* PACKET: p[L] is L, else WIRE_NONE; PROTO: which */
	uint16_t index;		/* TYPE: BuiltinFunc */
	uint16_t one;		/* IP STR: it is the address that this OnePeer stands for; 0: none */
	const WireField *field; /* INT FLAGS: of that header field (names of values) */
	const Vals *vals;
	Len len;    /* STR BYTES TUPLE; ANSWERS: probes */
	uint32_t n; /* items, stacks or alternatives */
	union {
		const Fact *const *item; /* TUPLE, RESULT (fields), UNION, STATS [0], FUNC (captured), ANSWERS
					    [0] probe; CONN UDP LOAD: [0] peer [1] port; LISTENER: [0] peers */
		const Stack *const *stack; /* PACKET */
	};
	Cell *cell;	    /* LIST SET DICT */
	uint64_t gen;	    /* when this reference was made: see facts_cell.c; of a live object: when it was */
	const Node *node;   /* FUNC: LAMBDA or DEF; RESULT: its declaration */
	const Node *origin; /* where an unknown value comes from, for messages */
	const Label *label; /* NULL: clean */
};

/* A field that somebody set in a layer that we build. */
typedef struct FieldFact {
	uint8_t layer; /* index into Stack.id */
	uint8_t field;
	bool maybe; /* set on some ways only */
	const Fact *value;
	const Node *node; /* where it was set */
} FieldFact;

/* One way in which a packet may be made up. */
struct Stack {
	uint64_t must, mustnot; /* WIRE_BITs */
	bool built;		/* made by the program: id and field say all */
	bool payload;		/* built: bytes behind the last layer */
	Len body;		/* built: how many */
	uint8_t n;
	uint8_t id[LIMIT_LAYERS];
	uint32_t nfields;
	const FieldFact *field;
	const Fact *quoted; /* received: the probe's fact, if it may quote one; else NULL */
	bool quote;	    /* an ICMP error's quote: 8 bytes behind the IP header are sure */
	bool of_conn;	    /* built by c.packet(): ICMP errors about it are the connection's */
	const Label *tail;    /* built: of the bytes behind the last layer */
	uint64_t tail_most;   /* of them */
	const Label *content; /* received: of what it holds; NULL: from anybody */
	uint64_t echoes;      /* received: WIRE_BITs of layers whose matched fields are the probe's */
	const Label *echo;    /* their label */
	const struct Stack *probe; /* what it answers, for its ports; NULL: not one */
	/* of a part of a tunnel's stack, while the manifest is made: */
	uint8_t carries; /* what its network layer carries, WIRE_NONE: nothing */
	bool tunnel;	 /* that has another network layer inside */
};

typedef struct RecField {
	Str name;
	const Fact *value;
} RecField;

typedef struct CellSite {
	uint64_t site;
	uint64_t add;
} CellSite;

/* What all objects made at one place (on one call path) may contain. */
struct Cell {
	const Fact *key, *elem; /* T_NEVER: nothing yet */
	VEC(const Fact *) at;	/* items by position, while nobody changed it */
	bool at_known;
	bool record;   /* only literal keys so far */
	bool dict_use; /* used as a dict */
	VEC(RecField) field;
	Len len;	     /* as it was made */
	VEC(CellSite) grows; /* how often each place adds to one object */
	bool shrinks;
	uint8_t counts; /* how often a number put in place of another was a new one */
	bool packets;	/* LIST of packets: made by a layer with a list in a field */
	const Node *made;
	uint32_t read; /* the last walk in which an expression gave it to somebody */
	const Label *shape; /* of membership and order */
	const Label *count; /* of length alone: what stands at each place does not depend on it */
};

extern const char *const fact_kind_names[T_N];
extern const BuiltinOwner fact_owners[T_N];

Len cell_len(const Cell *c);
Len fact_len(const Fact *f);

/* "list[str]?", "(int, ip)", "IP/TCP or IP/ICMP": as a person calls it. */
void fact_text(const Fact *f, Sb *out);
Str fact_str(Arena *a, const Fact *f);
/* "an int", "a list of Packet": with an article. */
Str fact_a(Arena *a, const Fact *f);
/* "IP/UDP" of masks and order. */
void stack_text(const Stack *s, Sb *out);

/* Conn, Listener, Udp, Load: a reference to what goes on in the background. */
static inline bool fact_is_live(const Fact *f)
{
	return owner_is_live(fact_owners[f->kind]);
}

/* Results of which not all is the peer's word: each attribute's row says what it tells. */
static inline bool fact_told_by_row(const Fact *f)
{
	return f->kind == T_TLS || f->kind == T_HTTPREPLY;
}

/* .item is what its union holds. */
static inline bool fact_has_items(const Fact *f)
{
	return f->kind == T_TUPLE || f->kind == T_RESULT || f->kind == T_UNION || f->kind == T_STATS ||
	       f->kind == T_FUNC || f->kind == T_ANSWERS || fact_is_live(f);
}

static inline bool fact_is(const Fact *f, FactKind k)
{
	return f->kind == k;
}

/* Nothing more to say about it: an error was reported, or it never comes to be. */
static inline bool fact_quiet(const Fact *f)
{
	return f->kind == T_ERROR || f->kind == T_NEVER || f->kind == T_ANY;
}

#endif
