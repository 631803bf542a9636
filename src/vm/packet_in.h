/* SPDX-License-Identifier: Apache-2.0
 *
 * What the packet files share.
 */
#ifndef SONDE_VM_PACKET_IN_H
#define SONDE_VM_PACKET_IN_H

#include "vm/inside.h"

/* On scratch memory. */
WirePacket *packet_scratch_view(Vm *vm, ObjPacket *p);
/* The packet as it is (or would be) on the wire. */
bool packet_encoded(Vm *vm, ObjPacket *p, WirePacket *ret);
Value packet_extra(ObjPacket *p, unsigned which);
Value packet_name_value(Vm *vm, Bytes name, bool received);
/* Sets a field of a layer whose image may be written; None unsets it.  What the
 * layer borrows lives on scratch memory or in v. */
bool packet_set_field(Vm *vm, WireLayer *l, unsigned field, Value v);
/* Option(kind, data) */
bool packet_option_number(Vm *vm, const Value two[2], Value *ret);

#endif
