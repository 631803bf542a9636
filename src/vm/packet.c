/* SPDX-License-Identifier: Apache-2.0
 *
 * Packet objects: made of wire packets or frames, parsed when somebody looks.
 */
#include "vm/packet_in.h"

#include "wire/dns.h"

static size_t round16(size_t n)
{
	return (n + 15) / 16 * 16;
}

/* Where b stands in the frame, or -1. */
static int64_t within(Bytes frame, Bytes b)
{
	if (!frame.n || !b.p || b.p < frame.p || b.p > frame.p + frame.n || b.n > (size_t)(frame.p + frame.n - b.p))
		return -1;
	return b.p - frame.p;
}

static size_t copied_size(Bytes frame, Bytes b)
{
	return within(frame, b) >= 0 ? 0 : round16(b.n);
}

static size_t reason_size(const WirePacket *w)
{
	return w->reason ? strlen(w->reason) + 1 : 0;
}

static size_t blob_size(const WirePacket *w)
{
	size_t n = round16(w->n * sizeof(WireLayer)) + round16(w->frame.n) + copied_size(w->frame, w->payload) +
		   copied_size(w->frame, w->padding) + round16(reason_size(w));

	for (unsigned i = 0; i < w->n; i++) {
		n += copied_size(w->frame, BYTES(w->layer[i].image, w->layer[i].proto->fixed));
		for (unsigned k = 0; k < w->layer[i].proto->nvars; k++)
			n += copied_size(w->frame, w->layer[i].var[k]);
	}
	return n;
}

static uint8_t *put(uint8_t **at, const void *p, size_t n)
{
	uint8_t *to = *at;

	if (n)
		memcpy(to, p, n);
	*at += round16(n);
	return to;
}

/* b in the new block: inside the copied frame, or a copy of its own. */
static Bytes moved(uint8_t **at, Bytes old_frame, Bytes new_frame, Bytes b)
{
	int64_t off = within(old_frame, b);

	if (!b.n)
		return (Bytes){ 0 };
	return off >= 0 ? BYTES(new_frame.p + off, b.n) : BYTES(put(at, b.p, b.n), b.n);
}

/* Fills p with a copy of w; w may borrow from p's old block. */
static void fill(Vm *vm, ObjPacket *p, const WirePacket *w)
{
	size_t size = blob_size(w);
	uint8_t *blob = heap_block(&vm->heap, size), *at = blob;
	Bytes old = w->frame;

	p->layer = (WireLayer *)(void *)put(&at, w->layer, w->n * sizeof(WireLayer));
	p->frame = BYTES(put(&at, old.p, old.n), old.n);
	p->payload = moved(&at, old, p->frame, w->payload);
	p->padding = moved(&at, old, p->frame, w->padding);
	for (unsigned i = 0; i < w->n; i++) {
		WireLayer *l = &p->layer[i];

		Bytes image = moved(&at, old, p->frame, BYTES(l->image, l->proto->fixed));

		/* of a received layer it is where the header stands in the frame; nobody writes there */
		l->image = image.n ? (uint8_t *)(uintptr_t)image.p : at;
		for (unsigned k = 0; k < l->proto->nvars; k++)
			l->var[k] = moved(&at, old, p->frame, l->var[k]);
	}
	p->reason = w->reason ? (char *)put(&at, w->reason, reason_size(w)) : NULL;
	heap_free(&vm->heap, p->blob, p->blob_n);
	p->blob = blob;
	p->blob_n = size;
	p->h.n = w->n;
	vm_charge(vm, size / 64);
}

static ObjPacket *packet_new(Vm *vm, ValTag tag, uint8_t flags)
{
	ObjPacket *p = (ObjPacket *)heap_obj(&vm->heap, tag, sizeof *p);

	p->h.bits = flags;
	p->time = p->rtt = NS_NONE;
	return p;
}

ObjPacket *packet_from_wire(Vm *vm, const WirePacket *w, uint8_t flags)
{
	bool record = w->n == 1 && w->layer[0].proto->role == ROLE_RECORD;
	ObjPacket *p = packet_new(vm, record ? VAL_RECORD : VAL_PACKET, flags);

	fill(vm, p, w);
	return p;
}

ObjPacket *packet_from_frame(Vm *vm, Bytes frame, WireId first, uint8_t flags)
{
	ObjPacket *p = packet_new(vm, VAL_PACKET, flags | OP_LAZY);

	p->first = (uint8_t)first;
	p->blob_n = frame.n ? frame.n : 1;
	p->blob = heap_block(&vm->heap, p->blob_n);
	if (frame.n)
		memcpy(p->blob, frame.p, frame.n);
	p->frame = BYTES(p->blob, frame.n);
	vm_charge(vm, frame.n / 64);
	return p;
}

void packet_parse(Vm *vm, ObjPacket *p)
{
	size_t mark = arena_mark(&vm->scratch);

	if (!(p->h.bits & OP_LAZY))
		return;
	WirePacket *w = arena_take(&vm->scratch, sizeof *w);

	wire_parse(p->frame, (WireId)p->first, &vm->scratch, w);
	p->h.bits &= (uint8_t)~OP_LAZY;
	fill(vm, p, w);
	arena_reset(&vm->scratch, mark);
}

void packet_view(Vm *vm, ObjPacket *p, WirePacket *ret)
{
	packet_parse(vm, p);
	/* field by field: the layers that it has not are not worth clearing */
	ret->n = (uint8_t)p->h.n;
	ret->payload = p->payload;
	ret->padding = p->padding;
	ret->frame = p->frame;
	ret->reason = p->reason;
	for (uint32_t i = 0; i < p->h.n; i++)
		ret->layer[i] = p->layer[i];
}

/* p[L] -> the packet that it is of. */
static ObjPacket *whole(ObjPacket *p)
{
	return p->h.bits & OP_LAYER ? (ObjPacket *)p->extra : p;
}

WirePacket *packet_scratch_view(Vm *vm, ObjPacket *p)
{
	WirePacket *w = arena_new(&vm->scratch, WirePacket);

	packet_view(vm, p, w);
	return w;
}

/* The packet as it is on the wire, or would be: frame and layers with offsets. */
bool packet_encoded(Vm *vm, ObjPacket *p, WirePacket *ret)
{
	WirePacket *w = packet_scratch_view(vm, p);

	*ret = *w;
	if (w->frame.n)
		return true;
	Bytes frame = { 0 };
	const char *why = wire_build(w, &vm->scratch, &frame, ret);

	ret->frame = frame;
	return !why || vm_fail(vm, "E-FRAME", "%s", why);
}

bool packet_bytes(Vm *vm, ObjPacket *p, Bytes *ret)
{
	WirePacket *w = arena_new(&vm->scratch, WirePacket);

	if (!packet_encoded(vm, whole(p), w))
		return false;
	*ret = w->frame;
	return true;
}

bool packet_wire_bytes(Vm *vm, ObjPacket *p, Bytes *ret)
{
	ObjPacket *all = whole(p);
	WirePacket *w = arena_new(&vm->scratch, WirePacket);
	size_t from = 0;

	packet_parse(vm, all);
	if (p->h.tag == VAL_RECORD) {
		*ret = wire_record_build(&p->layer[0], &vm->scratch);
		return true;
	}
	if (!packet_encoded(vm, all, w))
		return false;
	if (p != all) {
		size_t at = (size_t)(p->layer - all->layer);

		from = at < w->n ? w->layer[at].off : 0;
	} else {
		for (unsigned i = 0; i < w->n && w->layer[i].proto->role == ROLE_LINK; i++)
			from = i + 1 < w->n ? w->layer[i + 1].off : w->layer[i].off + w->layer[i].len;
		/* A frame that is nothing but link headers: all of it. */
		if (w->n == 1 && !w->payload.n && w->layer[0].proto->role == ROLE_LINK)
			from = 0;
	}
	*ret = bytes_slice(w->frame, from, w->frame.n - w->padding.n);
	return true;
}

uint32_t packet_len(Vm *vm, ObjPacket *p)
{
	size_t mark = arena_mark(&vm->scratch);
	Bytes b = { 0 };

	packet_wire_bytes(vm, p, &b);
	arena_reset(&vm->scratch, mark);
	return (uint32_t)b.n;
}

void packet_set_extra(Vm *vm, ObjPacket *p, unsigned which, Value v)
{
	if (!p->extra)
		p->extra = &vm_tuple(vm, PX_N)->h;
	((ObjTuple *)p->extra)->p[which] = v;
}

Value packet_extra(ObjPacket *p, unsigned which)
{
	p = whole(p);
	return p->extra ? ((ObjTuple *)p->extra)->p[which] : val_none();
}

bool packet_each(Vm *vm, Value v, bool (*f)(Vm *vm, ObjPacket *p, uint32_t i, void *ctx), void *ctx)
{
	if (v.tag == VAL_PACKET)
		return f(vm, whole(val_packet(v)), 0, ctx);
	if (v.tag != VAL_LIST && v.tag != VAL_TUPLE)
		return vm_fail_type(vm, "a packet or a list of packets", v);
	for (uint32_t i = 0; i < v.o->n; i++) {
		Value x = v.tag == VAL_LIST ? val_list(v)->p[i] : val_tuple(v)->p[i];

		if (x.tag != VAL_PACKET)
			return vm_fail_type(vm, "a list of packets", x);
		if (!f(vm, whole(val_packet(x)), i, ctx))
			return false;
	}
	return true;
}

/* ---- layers ---- */

static int find_layer(const ObjPacket *p, WireId id)
{
	for (uint32_t i = 0; i < p->h.n; i++)
		if (p->layer[i].proto->id == id)
			return (int)i;
	return -1;
}

/* Raw is what stands behind the last header, whether or not a layer says so. */
bool packet_has(Vm *vm, ObjPacket *p, WireId id)
{
	packet_parse(vm, p);
	return find_layer(p, id) >= 0 || (id == WIRE_RAW && p->payload.n > 0);
}

static void raw_layer(Vm *vm, ObjPacket *p, Value *ret)
{
	size_t mark = arena_mark(&vm->scratch);
	WirePacket *w = arena_new(&vm->scratch, WirePacket);

	w->n = 1;
	wire_layer_init(&w->layer[0], wire_proto(WIRE_RAW), &vm->scratch);
	wire_set_bytes(&w->layer[0], 0, p->payload);
	*ret = val_of(packet_from_wire(vm, w, p->h.bits & OP_RECEIVED));
	arena_reset(&vm->scratch, mark);
}

bool packet_layer(Vm *vm, ObjPacket *p, WireId id, Value *ret)
{
	packet_parse(vm, p);
	int at = find_layer(p, id);

	if (at < 0 && id == WIRE_RAW && p->payload.n) {
		raw_layer(vm, p, ret);
		return true;
	}
	if (at < 0)
		return vm_fail(vm, "E-LAYER", "the packet has no %s layer", wire_proto(id)->name);
	ObjPacket *v = packet_new(vm, VAL_PACKET, (uint8_t)((p->h.bits & ~OP_ECHO) | OP_LAYER));

	v->h.n = p->h.n - (uint32_t)at;
	v->layer = p->layer + at;
	v->payload = p->payload;
	v->reason = p->reason;
	v->time = p->time;
	v->rtt = p->rtt;
	v->iface = p->iface;
	v->id = p->id;
	v->extra = &whole(p)->h;
	*ret = val_of(v);
	return true;
}
