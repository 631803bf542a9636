/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets as values: built by `IP(dst=d)/TCP(dport=80)`, or received.
 *
 * One object holds a stack of wire layers; it never changes.  `p[TCP]` is an
 * object of the layers from TCP inwards, so what follows a layer is at hand.
 * A received packet keeps its bytes and is parsed when somebody looks.
 *
 * Ownership: a packet copies what it is made of into one block of the heap.
 */
#ifndef SONDE_VM_PACKET_H
#define SONDE_VM_PACKET_H

#include "vm/vm.h"

/* A received (or sent) frame that starts with header `first`; copied.
 * flags: OP_RECEIVED, OP_SENT. */
ObjPacket *packet_from_frame(Vm *vm, Bytes frame, WireId first, uint8_t flags);
/* Layers and payload as they are; copied. */
ObjPacket *packet_from_wire(Vm *vm, const WirePacket *w, uint8_t flags);
/* Decodes a frame that nobody looked at yet: afterwards p->layer is there. */
void packet_parse(Vm *vm, ObjPacket *p);
/* A view of p for wire_build and matching: borrowed from p. */
void packet_view(Vm *vm, ObjPacket *p, WirePacket *ret);

/* The bytes as on the wire: `frame` if it has one, else what wire_build gives
 * (on scratch memory). */
bool packet_bytes(Vm *vm, ObjPacket *p, Bytes *ret);

/* Sets p.extra[PX_*]. */
void packet_set_extra(Vm *vm, ObjPacket *p, unsigned which, Value v);

/* The packets of a value that send and sr take: a packet or a list of packets. */
bool packet_each(Vm *vm, Value v, bool (*f)(Vm *vm, ObjPacket *p, uint32_t i, void *ctx), void *ctx);

/* ---- operations of the language ---- */

bool packet_make(Vm *vm, const WireProto *proto, const uint8_t *fields, const Value *args, uint32_t n, Value *ret);
bool packet_option_make(Vm *vm, const WireProto *proto, const WireOption *row, const Value *args, uint32_t n, Value *ret);
bool packet_stack(Vm *vm, Value a, Value b, Value *ret); /* a / b */
bool packet_has(Vm *vm, ObjPacket *p, WireId id);
bool packet_layer(Vm *vm, ObjPacket *p, WireId id, Value *ret); /* E-LAYER if it has none */
bool packet_attr(Vm *vm, ObjPacket *p, Str name, Value *ret);
/* p with a changed field; layer WIRE_NONE: the outermost that has it. */
bool packet_with(Vm *vm, ObjPacket *p, WireId layer, Str name, Value v, Value *ret);
/* From the IP or ARP header on, as bytes(p) gives them: on scratch memory. */
bool packet_wire_bytes(Vm *vm, ObjPacket *p, Bytes *ret);
uint32_t packet_len(Vm *vm, ObjPacket *p);
/* One field as a value. */
Value packet_field(Vm *vm, const WireLayer *l, unsigned field, bool received);

#endif
