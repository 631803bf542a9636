/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-ins that this folder implements: Python's, output, statistics, and
 * what makes and reads packets.  Rows of builtins.def that stand in none of these
 * lists are the host's (VmHost).
 */
#ifndef SONDE_VM_PY_H
#define SONDE_VM_PY_H

#include "vm/inside.h"

#define VM_FUNCS(X)                                                                                       \
	/* py_out.c, py_stats.c */                                                                        \
	X(print) X(table) X(exit) X(summarize) X(count_by)                                                \
	/* packet_make.c */                                                                               \
	X(l3) X(echo) X(option)                                                                           \
	/* py_num.c */                                                                                    \
	X(abs) X(bool) X(chr) X(divmod) X(float) X(hex) X(int) X(ord) X(round) X(randint) X(random_bytes) X(fill) \
	/* py_conv.c */                                                                                   \
	X(bytes) X(ip) X(mac) X(net) X(repr) X(str)                                                       \
	/* py_seq.c */                                                                                    \
	X(all) X(any) X(dict) X(enumerate) X(filter) X(len) X(list) X(map) X(max) X(min) X(range)         \
	X(reversed) X(set) X(sorted) X(sum) X(tuple) X(zip)                                               \
	/* py_struct.c */                                                                                 \
	X(pack) X(unpack)

#define VM_TEXT_METHODS(X, O)                                                                             \
	X(O, count) X(O, endswith) X(O, find) X(O, index) X(O, join) X(O, ljust) X(O, lower) X(O, lstrip) \
	X(O, partition) X(O, removeprefix) X(O, removesuffix) X(O, replace) X(O, rfind) X(O, rjust)       \
	X(O, rstrip) X(O, split) X(O, splitlines) X(O, startswith) X(O, strip) X(O, upper)

#define VM_METHODS(X)                                                                                     \
	/* py_conv.c */                                                                                   \
	X(INT_TYPE, from_bytes) X(BYTES_TYPE, fromhex) X(INT, to_bytes) X(INT, bit_length)                \
	X(FLOAT, is_integer) X(NET, hosts)                                                                \
	/* py_text.c, py_text_case.c */                                                                   \
	VM_TEXT_METHODS(X, STR) VM_TEXT_METHODS(X, BYTES)                                                 \
	X(STR, capitalize) X(STR, center) X(STR, encode) X(STR, expandtabs) X(STR, isalnum)               \
	X(STR, isalpha) X(STR, isascii) X(STR, isdecimal) X(STR, isdigit) X(STR, isnumeric)               \
	X(STR, islower) X(STR, isprintable) X(STR, isspace) X(STR, isupper) X(STR, rindex)                \
	X(STR, rpartition) X(STR, rsplit) X(STR, swapcase) X(STR, title) X(STR, zfill)                    \
	X(BYTES, decode) X(BYTES, hex)                                                                    \
	/* py_coll.c */                                                                                   \
	X(LIST, append) X(LIST, clear) X(LIST, copy) X(LIST, count) X(LIST, extend) X(LIST, index)        \
	X(LIST, insert) X(LIST, pop) X(LIST, remove) X(LIST, reverse) X(LIST, sort)                       \
	X(TUPLE, count) X(TUPLE, index)                                                                   \
	X(DICT, clear) X(DICT, copy) X(DICT, get) X(DICT, items) X(DICT, keys) X(DICT, pop)               \
	X(DICT, popitem) X(DICT, setdefault) X(DICT, update) X(DICT, values)                              \
	X(SET, add) X(SET, clear) X(SET, copy) X(SET, difference) X(SET, discard) X(SET, intersection)    \
	X(SET, isdisjoint) X(SET, issubset) X(SET, issuperset) X(SET, pop) X(SET, remove)                 \
	X(SET, symmetric_difference) X(SET, union) X(SET, update)                                         \
	/* packet_attr.c */                                                                               \
	X(PACKET, summary) X(PACKET, show) X(PACKET, hex) X(PACKET, haslayer) X(PACKET, getlayer)         \
	X(PACKET, copy) X(LAYER, option) X(LAYER, summary) X(LAYER, show)

#define VM_ATTRS(X)                                                                                       \
	/* py_conv.c */                                                                                   \
	X(DURATION, s) X(DURATION, ms) X(DURATION, us) X(DURATION, ns) X(TIME, s) X(TIME, ns)             \
	X(IP, version) X(IP, packed) X(IP, is_private) X(IP, is_loopback) X(IP, is_link_local)            \
	X(IP, is_multicast) X(NET, network_address) X(NET, broadcast_address) X(NET, prefixlen)           \
	X(NET, num_addresses) X(FLAGS, value)                                                             \
	/* packet_attr.c */                                                                               \
	X(PACKET, src) X(PACKET, dst) X(PACKET, ttl) X(PACKET, time) X(PACKET, rtt) X(PACKET, iface)      \
	X(PACKET, layers) X(PACKET, frame) X(PACKET, payload) X(PACKET, quoted) X(PACKET, fragments)      \
	X(PACKET, warnings) X(LAYER, payload) X(LAYER, name)                                              \
	X(OPTION, name) X(OPTION, kind) X(OPTION, value) X(OPTION, data)                                  \
	X(DNSQR, qname) X(DNSQR, qtype) X(DNSQR, qclass) X(DNSQR, name) X(DNSQR, type)                    \
	X(DNSRR, name) X(DNSRR, rrname) X(DNSRR, type) X(DNSRR, rclass) X(DNSRR, ttl) X(DNSRR, rdata)     \
	X(DNSRR, addr)                                                                                    \
	X(SNMPVARBIND, oid) X(SNMPVARBIND, type) X(SNMPVARBIND, value) X(SNMPVARBIND, number)             \
	X(SNMPVARBIND, data)

#define PROTOTYPE_(id) BuiltinFn bi_##id;
VM_FUNCS(PROTOTYPE_)
#undef PROTOTYPE_
#define PROTOTYPE_(owner, id) BuiltinFn m_##owner##_##id;
VM_METHODS(PROTOTYPE_)
#undef PROTOTYPE_
#define PROTOTYPE_(owner, id) AttrFn a_##owner##_##id;
VM_ATTRS(PROTOTYPE_)
#undef PROTOTYPE_

#define BUILTIN(id) bool bi_##id(Vm *vm, const Value *args, uint32_t n, Value *ret)
#define METHOD_OF(owner, id) bool m_##owner##_##id(Vm *vm, const Value *args, uint32_t n, Value *ret)
#define ATTR_OF(owner, id) bool a_##owner##_##id(Vm *vm, Value self, Value *ret)
/* For what does not look at the number of arguments: the verifier did. */
#define FIXED ((void)n)

/* The items of `*rest`. */
bool rest_items(Vm *vm, Value v, const Value **ret_p, uint32_t *ret_n);
/* Sorts n values in place, stable, absent ones last; key: a function or None. */
bool sort_values(Vm *vm, Value *p, uint32_t n, Value key, bool reverse);
/* dict.update: a dict, or pairs. */
bool dict_update(Vm *vm, ObjDict *d, Value from);
/* An int out of text as int() reads it, surrounded by blanks. */
bool text_to_int(Vm *vm, Str s, int64_t base, int64_t *ret);
/* Number v in n bytes, most significant first unless little. */
bool put_int_bytes(Vm *vm, int64_t v, int64_t n, bool little, bool is_signed, uint8_t *out);
bool get_int_bytes(Vm *vm, Bytes b, bool little, bool is_signed, int64_t *ret);
/* int 0..255, with whether a peer chose it. */
bool to_byte(Vm *vm, Value v, uint8_t *ret);

#endif
