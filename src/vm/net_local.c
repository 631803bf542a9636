/* SPDX-License-Identifier: Apache-2.0
 *
 * interfaces, routes, route, neighbors: this host as the gate told it before the
 * start.
 */
#include "vm/engine_inside.h"

#define IFACE_FIELD(name)    p[A_IFACE_##name - A_IFACE_name]
#define ROUTE_FIELD(name)    p[A_ROUTE_##name - A_ROUTE_dst]
#define NEIGHBOR_FIELD(name) p[A_NEIGHBOR_##name - A_NEIGHBOR_addr]

static Value mac_value(uint64_t mac)
{
	Mac m = { { 0 } };

	bits_put(m.b, 0, 48, mac);
	return mac ? val_mac(m) : val_none();
}

static Net net_of(Ip ip, uint8_t bits)
{
	Net n = { ip, bits };

	for (unsigned i = bits; i < 8 * ip_len(ip); i++)
		bits_put(n.ip.b, i, 1, 0);
	return n;
}

static Value iface_name(Engine *e, Vm *vm, uint16_t index)
{
	const HostIface *i = engine_iface(e, index);

	return vm_str(vm, i ? i->name : STR("?"));
}

static Value iface_result(Engine *e, Vm *vm, const HostIface *i)
{
	ObjResult *r = vm_result(vm, OWNER_IFACE);
	Value *p = r->p;
	ObjList *addrs = vm_list(vm, 2), *nets = vm_list(vm, 2);

	for (uint32_t k = 0; k < e->addr.n; k++)
		if (e->addr.p[k].iface == i->index) {
			vm_push(vm, addrs, vm_ip(vm, e->addr.p[k].ip));
			vm_push(vm, nets, vm_net(vm, net_of(e->addr.p[k].ip, e->addr.p[k].bits)));
		}
	IFACE_FIELD(name) = vm_str(vm, i->name);
	IFACE_FIELD(index) = val_int(i->index);
	IFACE_FIELD(mac) = mac_value(i->mac);
	IFACE_FIELD(mtu) = val_int(i->mtu);
	IFACE_FIELD(up) = val_bool(i->up);
	IFACE_FIELD(addrs) = val_of(addrs);
	IFACE_FIELD(nets) = val_of(nets);
	return val_of(r);
}

bool bi_interfaces(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	ObjList *l = vm_list(vm, e->iface.n);

	(void)args;
	(void)n;
	for (uint32_t i = 0; i < e->iface.n; i++)
		vm_push(vm, l, iface_result(e, vm, &e->iface.p[i]));
	*ret = val_of(l);
	return true;
}

static Value route_result(Engine *e, Vm *vm, const HostRoute *r, uint32_t mtu)
{
	ObjResult *o = vm_result(vm, OWNER_ROUTE);
	Value *p = o->p;
	const HostIface *i = engine_iface(e, r->iface);

	ROUTE_FIELD(dst) = vm_net(vm, r->net);
	ROUTE_FIELD(gateway) = r->gw.v ? vm_ip(vm, r->gw) : val_none();
	ROUTE_FIELD(iface) = iface_name(e, vm, r->iface);
	ROUTE_FIELD(src) = r->src.v ? vm_ip(vm, r->src) : val_none();
	ROUTE_FIELD(mtu) = val_int(mtu ? mtu : i ? i->mtu : 0);
	return val_of(o);
}

bool bi_routes(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	ObjList *l = vm_list(vm, e->route.n);

	(void)args;
	(void)n;
	for (uint32_t i = 0; i < e->route.n; i++)
		vm_push(vm, l, route_result(e, vm, &e->route.p[i], 0));
	*ret = val_of(l);
	return true;
}

/* The row by which the kernel's answer came about: the longest prefix. */
static const HostRoute *route_row(const Engine *e, Ip dst)
{
	const HostRoute *best = NULL;

	for (uint32_t i = 0; i < e->route.n; i++) {
		const HostRoute *r = &e->route.p[i];

		if (net_has(r->net, dst) && (!best || r->net.bits > best->net.bits ||
					     (r->net.bits == best->net.bits && r->metric < best->metric)))
			best = r;
	}
	return best;
}

bool bi_route(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Ip dst;

	(void)n;
	if (!vm_to_ip(vm, args[0], &dst))
		return false;
	const HostRoute *row = route_row(e, dst);
	const Route *answer = engine_route(e, dst);
	if (!answer)
		return engine_halt(e, vm);
	if (!answer->ok && !row)
		return true;
	HostRoute r = row ? *row : (HostRoute){ .net = { dst, (uint8_t)(8 * ip_len(dst)) } };
	if (answer->ok) {
		r.gw = answer->gw;
		r.src = answer->src;
		r.iface = answer->iface;
	}
	*ret = route_result(e, vm, &r, answer->ok ? answer->mtu : 0);
	return true;
}

bool bi_neighbors(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	ObjList *l = vm_list(vm, e->neigh.n);

	(void)args;
	(void)n;
	for (uint32_t i = 0; i < e->neigh.n; i++) {
		const HostNeigh *h = &e->neigh.p[i];
		ObjResult *o = vm_result(vm, OWNER_NEIGHBOR);
		Value *p = o->p;

		NEIGHBOR_FIELD(addr) = vm_ip(vm, h->ip);
		NEIGHBOR_FIELD(mac) = mac_value(h->mac);
		NEIGHBOR_FIELD(iface) = iface_name(e, vm, h->iface);
		NEIGHBOR_FIELD(state) = vm_str(vm, h->state);
		vm_push(vm, l, val_of(o));
	}
	*ret = val_of(l);
	return true;
}
