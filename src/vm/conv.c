/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions of language.md 3, by tags: addresses out of text, seconds where a
 * duration is due.
 */
#include "vm/inside.h"

#include <math.h>

static Value net_object(Vm *vm, ValTag tag, Net n)
{
	ObjIp6 *o = (ObjIp6 *)heap_obj(&vm->heap, tag, sizeof *o);

	o->net = n;
	return val_of(o);
}

Value vm_ip(Vm *vm, Ip ip)
{
	if (ip.v == 4)
		return (Value){ .w = VAL_W(VAL_IP4), .i = ip4_num(ip) };
	return ip.v == 6 ? net_object(vm, VAL_IP6, (Net){ ip, 128 }) : val_none();
}

Value vm_net(Vm *vm, Net n)
{
	if (n.ip.v == 4)
		return (Value){ .tag = VAL_NET4, .aux = n.bits, .i = ip4_num(n.ip) };
	return n.ip.v == 6 ? net_object(vm, VAL_NET6, n) : val_none();
}

static bool fail_text(Vm *vm, Str s, const char *what)
{
	return vm_fail(vm, "E-VALUE", "\"%.*s\" is no %s", (int)(s.n < 60 ? s.n : 60), s.p, what);
}

bool vm_to_ip(Vm *vm, Value v, Ip *ret)
{
	if (val_is_ip(v)) {
		*ret = val_ip(v);
		return true;
	}
	if (v.tag != VAL_STR)
		return vm_fail_type(vm, "an address", v);
	Str s = str_of(val_str(v));

	return ip_parse(s, ret) || (vm->host.pin && vm->host.pin(vm->host.ctx, s, ret)) ||
	       fail_text(vm, s, "address");
}

bool vm_to_net(Vm *vm, Value v, Net *ret)
{
	if (val_is_net(v)) {
		*ret = val_net(v);
		return true;
	}
	if (val_is_ip(v)) {
		*ret = (Net){ val_ip(v), v.tag == VAL_IP4 ? 32 : 128 };
		return true;
	}
	if (v.tag != VAL_STR)
		return vm_fail_type(vm, "a network", v);
	return net_parse(str_of(val_str(v)), ret) || fail_text(vm, str_of(val_str(v)), "network without host bits");
}

bool vm_to_mac(Vm *vm, Value v, Mac *ret)
{
	if (v.tag == VAL_MAC) {
		*ret = val_to_mac(v);
		return true;
	}
	if (v.tag != VAL_STR)
		return vm_fail_type(vm, "a hardware address", v);
	return mac_parse(str_of(val_str(v)), ret) || fail_text(vm, str_of(val_str(v)), "hardware address");
}

bool vm_to_int(Vm *vm, Value v, int64_t *ret)
{
	if (v.tag != VAL_INT && v.tag != VAL_BOOL && v.tag != VAL_FLAGS)
		return vm_fail_type(vm, "int", v);
	*ret = v.i;
	return true;
}

bool vm_to_num(Vm *vm, Value v, double *ret)
{
	if (v.tag == VAL_FLOAT)
		*ret = v.f;
	else if (v.tag == VAL_INT || v.tag == VAL_BOOL)
		*ret = (double)v.i;
	else
		return vm_fail_type(vm, "a number", v);
	return true;
}

bool vm_to_duration(Vm *vm, Value v, int64_t *ret)
{
	double s;

	if (v.tag == VAL_DURATION) {
		*ret = v.i;
		return true;
	}
	if (v.tag != VAL_FLOAT && v.tag != VAL_INT && v.tag != VAL_BOOL)
		return vm_fail_type(vm, "duration", v);
	return vm_to_num(vm, v, &s) && dur_from_s(vm, s, ret);
}

bool vm_to_bytes(Vm *vm, Value v, Bytes *ret)
{
	if (!val_is_text(v))
		return vm_fail_type(vm, "bytes", v);
	*ret = bytes_of(val_str(v));
	return true;
}

bool vm_to_str(Vm *vm, Value v, Str *ret)
{
	if (v.tag != VAL_STR)
		return vm_fail_type(vm, "str", v);
	*ret = str_of(val_str(v));
	return true;
}

bool vm_to_size(Vm *vm, Value v, int64_t lo, int64_t hi, const char *what, int64_t *ret)
{
	if (!vm_to_int(vm, v, ret))
		return false;
	if (*ret < lo || *ret > hi)
		return vm_fail(vm, "E-VALUE", "%s is %lld..%lld, got %lld", what, (long long)lo, (long long)hi,
			       (long long)*ret);
	return true;
}
