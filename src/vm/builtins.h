/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of what vm/builtins.def lists, and the shape of a row as data.  The
 * rows themselves stand in lang/sig.c (checker, lowering, docs); the VM's tables
 * of functions include the .def again.
 */
#ifndef SONDE_VM_BUILTINS_H
#define SONDE_VM_BUILTINS_H

#include "wire/wire.h"

/* Owner of methods and attributes, and how its type is called in messages. */
#define BUILTIN_OWNERS(X)            \
	X(NONE, "")                  \
	X(INT, "int")                \
	X(FLOAT, "float")            \
	X(STR, "str")                \
	X(BYTES, "bytes")            \
	X(LIST, "list")              \
	X(TUPLE, "tuple")            \
	X(DICT, "dict")              \
	X(SET, "set")                \
	X(DURATION, "duration")      \
	X(TIME, "time")              \
	X(IP, "ip")                  \
	X(NET, "net")                \
	X(MAC, "mac")                \
	X(FLAGS, "flags")            \
	X(PACKET, "Packet")          \
	X(LAYER, "layer")            \
	X(OPTION, "Option")          \
	X(DNSQR, "DNSQR")            \
	X(DNSRR, "DNSRR")            \
	X(SNMPVARBIND, "SNMPvarbind") \
	X(ANSWERS, "Answers")        \
	X(STATS, "Stats")            \
	X(IFACE, "Iface")            \
	X(ROUTE, "Route")            \
	X(NEIGHBOR, "Neighbor")      \
	X(TIMES, "Times")            \
	X(EVENT, "Event")            \
	X(TLS, "Tls")                \
	X(CERT, "Cert")              \
	X(TIMINGS, "Timings")        \
	X(HTTPREPLY, "HttpReply")    \
	X(CONN, "Conn")              \
	X(LISTENER, "Listener")      \
	X(UDP, "Udp")                \
	X(LOAD, "Load")              \
	X(INT_TYPE, "int")     /* int.from_bytes */ \
	X(BYTES_TYPE, "bytes") /* bytes.fromhex */

#define OWNER_ENUM_(id, name) OWNER_##id,
typedef enum BuiltinOwner { BUILTIN_OWNERS(OWNER_ENUM_) OWNER_N } BuiltinOwner;

/* Owners of live objects: references to what goes on in the background. */
static inline bool owner_is_live(BuiltinOwner o)
{
	return o >= OWNER_CONN && o <= OWNER_LOAD;
}

typedef enum BuiltinEffect { EFFECT_NONE, EFFECT_EMIT, EFFECT_WAIT, EFFECT_LOCAL } BuiltinEffect;

#define FUNC(id, ...) BI_##id,
#define METHOD(owner, id, ...)
#define ATTR(owner, id, ...)
typedef enum BuiltinFunc {
#include "vm/builtins.def"
	BI_N
} BuiltinFunc;
#undef FUNC
#undef METHOD

#define FUNC(id, ...)
#define METHOD(owner, id, ...) M_##owner##_##id,
typedef enum BuiltinMethod {
#include "vm/builtins.def"
	M_N
} BuiltinMethod;
#undef METHOD
#undef ATTR

#define METHOD(owner, id, ...)
#define ATTR(owner, id, ...) A_##owner##_##id,
typedef enum BuiltinAttr {
#include "vm/builtins.def"
	A_N
} BuiltinAttr;
#undef FUNC
#undef METHOD
#undef ATTR

typedef struct BuiltinRow {
	const char *name;
	const char *sig; /* of an attribute: its type */
	BuiltinOwner owner;
	WireLabel label;
	BuiltinEffect effect;
	const char *doc;
} BuiltinRow;

#endif
