/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a running program: 16 bytes, a tag and a number or a pointer.
 *
 * The VM is dynamic: each operation looks at the tags and converts where
 * language.md 3 says so (a str that meets an ip is read as one, a number where a
 * duration is due means seconds).  The checker proves before the run that this
 * can't fail; the VM's safety never rests on the checker.
 *
 * A plain int has nothing but its tag in `w`, so that fast paths test one word.
 * An int out of a packet also says which field it is (for names: == "echo-reply")
 * and that a peer chose it (VF_PEER), which chr() and bytes() hand on to text.
 *
 * Ownership: objects belong to the heap (vm/heap.h) and live while they are
 * reachable from registers; built-ins may hold raw pointers, since nothing is
 * freed while one runs.
 */
#ifndef SONDE_VM_VALUE_H
#define SONDE_VM_VALUE_H

#include "base/addr.h"
#include "base/units.h"
#include "wire/wire.h"

/* id, the type's name in messages.  Before VAL_IP6: no pointer in it. */
#define VAL_TAGS(X)              \
	X(UNSET, "nothing")      \
	X(NONE, "None")          \
	X(BOOL, "bool")          \
	X(INT, "int")            \
	X(FLOAT, "float")        \
	X(DURATION, "duration")  \
	X(TIME, "time")          \
	X(FLAGS, "flags")        \
	X(IP4, "ip")             \
	X(NET4, "net")           \
	X(MAC, "mac")            \
	X(PROTO, "layer type")   \
	X(ITER, "iterator")      \
	X(IP6, "ip")             \
	X(NET6, "net")           \
	X(STR, "str")            \
	X(BYTES, "bytes")        \
	X(LIST, "list")          \
	X(TUPLE, "tuple")        \
	X(DICT, "dict")          \
	X(SET, "set")            \
	X(RANGE, "range")        \
	X(PACKET, "Packet")      \
	X(RECORD, "record")      \
	X(OPTION, "Option")      \
	X(RESULT, "result")      \
	X(FN, "function")        \
	X(NATIVE, "object")

#define VAL_ENUM_(id, text) VAL_##id,
typedef enum ValTag { VAL_TAGS(VAL_ENUM_) VAL_N } ValTag;

/* Bits of Value.vf */
enum {
	VF_PEER = 1,  /* int: a peer chose it */
	VF_FIELD = 2, /* int, flags: `proto` and `field` say of which field */
};

typedef struct Obj Obj;
typedef struct Vm Vm;

typedef struct Value {
	union {
		uint64_t w; /* all that stands beside the number */
		struct {
			uint8_t tag;   /* ValTag */
			uint8_t vf;
			uint8_t proto; /* WireId, with VF_FIELD; VAL_PROTO: which */
			uint8_t field;
			uint32_t aux;  /* NET4: prefix length; ITER: kind */
		};
	};
	union {
		int64_t i;  /* int, bool, duration and time (ns), flags, IP4 (host order), MAC (48 bits) */
		double f;
		Obj *o;
	};
} Value;

/* ---- objects ---- */

struct Obj {
	Obj *next;    /* of all objects, for the sweep */
	uint8_t tag;  /* ValTag */
	uint8_t mark;
	uint8_t size_class;
	uint8_t bits; /* per kind: see below */
	uint32_t n;   /* per kind: see below */
};

/* [from, to) in bytes: characters that a peer chose (guardrails.md 7). */
typedef struct Mark {
	uint32_t from, to;
} Mark;

/* str (UTF-8) and bytes; n: bytes.  Immutable. */
typedef struct ObjStr {
	Obj h;
	uint32_t n_cp;    /* code points; of bytes: n */
	uint32_t n_marks; /* sorted, apart */
	uint64_t hash;    /* 0: not computed yet */
	Mark *marks;
	char p[];         /* a zero byte stands behind */
} ObjStr;

typedef struct ObjList { /* n: items */
	Obj h;
	uint32_t cap;
	Value *p;
} ObjList;

typedef struct ObjTuple { /* n: items */
	Obj h;
	Value p[];
} ObjTuple;

typedef struct DictEntry {
	Value k, v; /* k UNSET: deleted */
	uint64_t hash;
} DictEntry;

/* dict and set, in order of insertion; n: entries alive. */
typedef struct ObjDict {
	Obj h;
	uint32_t used;     /* entries in e[], deleted ones included */
	uint32_t cap;      /* of e[] */
	uint32_t n_index;  /* a power of two, or 0 */
	uint32_t *index;   /* 0: free, else entry + 1 */
	DictEntry *e;
} ObjDict;

typedef struct ObjRange {
	Obj h;
	int64_t start, step;
	int64_t count;
} ObjRange;

typedef struct ObjIp6 {
	Obj h;
	Net net; /* VAL_IP6: bits unused */
} ObjIp6;

/* A packet, built or received, or a part of one (`IP()`, `p[TCP]`); n: layers.
 * bits: OP_*. */
typedef struct ObjPacket {
	Obj h;
	uint8_t first;      /* of a frame that is not parsed yet: its WireId */
	uint16_t iface;     /* index; 0: none */
	int64_t time, rtt;  /* NS_NONE: none */
	uint64_t id;        /* the engine's own number of this packet; 0: none */
	Bytes frame;        /* received or sent: all of it */
	Bytes payload, padding;
	const char *reason;
	Obj *extra;         /* ObjTuple or NULL: quoted, fragments, warnings (PX_*); OP_LAYER: ObjPacket */
	uint8_t *blob;      /* one heap block: layers, images, variable fields, frame */
	size_t blob_n;
	WireLayer *layer;
} ObjPacket;

enum {
	OP_LAZY = 1,     /* only `frame` is there yet: packet_parse() */
	OP_RECEIVED = 2, /* a peer chose its bytes */
	OP_SENT = 4,     /* as it left */
	OP_LAYER = 8,    /* p[L]: layers of the packet that `extra` is */
	OP_ECHO = 16,    /* Echo(): becomes ICMPv6 behind IPv6 */
	OP_CONN = 32,    /* c.packet(): its answers are segments alone */
};
enum { PX_QUOTED, PX_FRAGMENTS, PX_WARNINGS, PX_N };

/* DNSQR, DNSRR, ...: one layer with role ROLE_RECORD, an element of a list. */
typedef ObjPacket ObjRecord;

/* An option of a header; n: bytes of data.  bits: OP_RECEIVED */
typedef struct ObjOption {
	Obj h;
	const WireOption *row;  /* NULL: unknown kind */
	const WireProto *proto; /* NULL: made by Option(), not of a layer yet */
	uint16_t kind;
	uint8_t data[];
} ObjOption;

/* Fields of a result type: of lib's `result` declarations and of results.def. */
typedef struct ResultField {
	Str name;
	Str type;
	uint8_t label; /* WireLabel */
} ResultField;

typedef struct ResultType {
	Str name;
	uint16_t n;
	uint8_t unpacks; /* `ans, unans = res` takes the first fields; 0: it does not unpack */
	const ResultField *field;
} ResultType;

typedef struct ObjResult { /* n: fields */
	Obj h;
	const ResultType *type;
	Value p[];
} ObjResult;

/* A def or a lambda; n: captured values. */
typedef struct ObjFn {
	Obj h;
	uint32_t fn; /* index into Program.fn */
	Value captured[];
} ObjFn;

/* A live object of the host (connection, load, listener): `owner` is its row set
 * in builtins.def; n: values kept for it. */
typedef struct ObjNative {
	Obj h;
	uint16_t owner;
	void *data; /* the host's */
	Value p[];
} ObjNative;

/* ---- making values that need no heap ---- */

#define VAL_W(t) ((uint64_t)(t))

_Static_assert(sizeof(Value) == 16, "values are copied all the time");

static inline Value val_tag(ValTag t)
{
	return (Value){ .w = VAL_W(t) };
}
static inline Value val_unset(void)
{
	return (Value){ 0 };
}
static inline Value val_none(void)
{
	return val_tag(VAL_NONE);
}
static inline Value val_int(int64_t i)
{
	return (Value){ .w = VAL_W(VAL_INT), .i = i };
}
static inline Value val_bool(bool b)
{
	return (Value){ .w = VAL_W(VAL_BOOL), .i = b };
}
static inline Value val_float(double f)
{
	return (Value){ .w = VAL_W(VAL_FLOAT), .f = f };
}
static inline Value val_duration(int64_t ns)
{
	return (Value){ .w = VAL_W(VAL_DURATION), .i = ns };
}
static inline Value val_time(int64_t ns)
{
	return (Value){ .w = VAL_W(VAL_TIME), .i = ns };
}
static inline Value val_mac(Mac m)
{
	return (Value){ .w = VAL_W(VAL_MAC), .i = (int64_t)bits_get(m.b, 0, 48) };
}
static inline Value val_proto(WireId id)
{
	return (Value){ .tag = VAL_PROTO, .proto = (uint8_t)id };
}
static inline Value val_obj(Obj *o)
{
	return (Value){ .w = VAL_W(o->tag), .o = o };
}
#define val_of(ptr) val_obj(&(ptr)->h)

static inline bool val_is_obj(Value v)
{
	return v.tag >= VAL_IP6;
}
static inline bool val_is_none(Value v)
{
	return v.tag == VAL_NONE;
}
/* Left out by the caller, or None. */
static inline bool val_left_out(Value v)
{
	return v.tag <= VAL_NONE;
}
static inline bool val_is_ip(Value v)
{
	return v.tag == VAL_IP4 || v.tag == VAL_IP6;
}
static inline bool val_is_net(Value v)
{
	return v.tag == VAL_NET4 || v.tag == VAL_NET6;
}
static inline bool val_is_text(Value v)
{
	return v.tag == VAL_STR || v.tag == VAL_BYTES;
}

static inline ObjStr *val_str(Value v)
{
	return (ObjStr *)v.o;
}
static inline ObjList *val_list(Value v)
{
	return (ObjList *)v.o;
}
static inline ObjTuple *val_tuple(Value v)
{
	return (ObjTuple *)v.o;
}
static inline ObjDict *val_dict(Value v)
{
	return (ObjDict *)v.o;
}
static inline ObjRange *val_range(Value v)
{
	return (ObjRange *)v.o;
}
static inline ObjPacket *val_packet(Value v)
{
	return (ObjPacket *)v.o;
}
static inline ObjOption *val_option(Value v)
{
	return (ObjOption *)v.o;
}
static inline ObjResult *val_result(Value v)
{
	return (ObjResult *)v.o;
}
static inline ObjFn *val_fn(Value v)
{
	return (ObjFn *)v.o;
}
static inline ObjNative *val_native(Value v)
{
	return (ObjNative *)v.o;
}

static inline Str str_of(const ObjStr *s)
{
	return (Str){ s->p, s->h.n };
}
static inline Bytes bytes_of(const ObjStr *s)
{
	return BYTES(s->p, s->h.n);
}

/* Addresses out of values: ip, net, mac only (text: vm_to_ip and kin). */
static inline Ip val_ip(Value v)
{
	return v.tag == VAL_IP4 ? ip4((uint32_t)v.i) : ((ObjIp6 *)v.o)->net.ip;
}
static inline Net val_net(Value v)
{
	if (v.tag == VAL_NET4)
		return (Net){ .ip = ip4((uint32_t)v.i), .bits = (uint8_t)v.aux };
	return ((ObjIp6 *)v.o)->net;
}
static inline Mac val_to_mac(Value v)
{
	Mac m = { { 0 } };

	bits_put(m.b, 0, 48, (uint64_t)v.i);
	return m;
}

#endif
