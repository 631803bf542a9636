/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions that a program calls by name, and the attributes of what they make:
 * bytes, addresses, durations, times.
 */
#include "vm/py.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

BUILTIN(str)
{
	FIXED;
	*ret = text_value(vm, args[0]);
	return true;
}

BUILTIN(repr)
{
	Sbuf b = sbuf(vm);

	FIXED;
	text_repr(&b, args[0], TEXT_DEPTH);
	*ret = sbuf_done(&b, VAL_STR);
	return true;
}

/* ---- bytes ---- */

bool to_byte(Vm *vm, Value v, uint8_t *ret)
{
	if (v.tag != VAL_INT && v.tag != VAL_BOOL)
		return vm_fail_type(vm, "numbers 0..255", v);
	if (v.i < 0 || v.i > 255)
		return vm_fail(vm, "E-VALUE", "a byte is 0..255, got %lld", (long long)v.i);
	*ret = (uint8_t)v.i;
	return true;
}

static bool bytes_of_items(Vm *vm, Value items, Value *ret)
{
	Value it[3], x;
	Sbuf b = sbuf(vm);
	uint8_t c = 0;

	if (!iter_begin(vm, items, it))
		return false;
	while (iter_next(vm, it, &x)) {
		size_t at = b.n;

		if (!to_byte(vm, x, &c))
			return false;
		sbuf_char(&b, (char)c);
		if (x.vf & VF_PEER)
			sbuf_mark(&b, at);
	}
	vm_charge(vm, b.n);
	if (vm->err.set)
		return false;
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

static bool bytes_of_text(Vm *vm, ObjStr *s, Value *ret)
{
	Sbuf b = sbuf(vm);

	sbuf_obj(&b, s);
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

static bool bytes_zero(Vm *vm, int64_t n, Value *ret)
{
	Sbuf b = sbuf(vm);

	if (n < 0 || n > LIMIT_ENGINE_MEMORY / 2)
		return vm_fail(vm, "E-VALUE", "a number of bytes below 0 or too large");
	sbuf_fill(&b, 0, (size_t)n);
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

BUILTIN(bytes)
{
	Value v = args[0];
	Bytes data;
	Ip ip;
	Mac mac;

	FIXED;
	switch ((ValTag)v.tag) {
	case VAL_INT:
	case VAL_BOOL:
		return bytes_zero(vm, v.i, ret);
	case VAL_STR:
		return bytes_of_text(vm, val_str(v), ret);
	case VAL_BYTES:
		*ret = v;
		return true;
	case VAL_PACKET:
	case VAL_RECORD:
		if (!packet_wire_bytes(vm, val_packet(v), &data))
			return false;
		*ret = val_packet(v)->h.bits & OP_RECEIVED ? vm_bytes_peer(vm, data) : vm_bytes(vm, data);
		return true;
	case VAL_IP4:
	case VAL_IP6:
		ip = val_ip(v);
		*ret = vm_bytes(vm, BYTES(ip.b, ip_len(ip)));
		return true;
	case VAL_MAC:
		mac = val_to_mac(v);
		*ret = vm_bytes(vm, BYTES(mac.b, 6));
		return true;
	case VAL_OPTION:
		*ret = vm_bytes(vm, BYTES(val_option(v)->data, v.o->n));
		return true;
	default:
		return bytes_of_items(vm, v, ret);
	}
}

METHOD_OF(BYTES_TYPE, fromhex)
{
	Str s;
	Sbuf b = sbuf(vm);

	FIXED;
	if (!vm_to_str(vm, args[0], &s))
		return false;
	for (size_t i = 0; i < s.n;) {
		if (isspace((unsigned char)s.p[i])) {
			i++;
			continue;
		}
		char pair[3] = { s.p[i], i + 1 < s.n ? s.p[i + 1] : 0, 0 };

		if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
			return vm_fail(vm, "E-VALUE", "no pair of hex digits at position %zu", i);
		sbuf_char(&b, (char)strtol(pair, NULL, 16));
		i += 2;
	}
	if (str_marked(val_str(args[0])))
		sbuf_mark(&b, 0);
	*ret = sbuf_done(&b, VAL_BYTES);
	return true;
}

/* ---- ints and bytes ---- */

bool put_int_bytes(Vm *vm, int64_t v, int64_t n, bool little, bool is_signed, uint8_t *out)
{
	bool fits = is_signed ? n >= 8 || (n > 0 && v >= -(INT64_C(1) << (8 * n - 1)) &&
					   v < INT64_C(1) << (8 * n - 1)) ||
					(n == 0 && v == 0) :
				v >= 0 && (n >= 8 || v < INT64_C(1) << (8 * n));

	if (!fits)
		return vm_fail(vm, "E-OVERFLOW", "%lld does not fit %lld %s bytes", (long long)v, (long long)n,
			       is_signed ? "signed" : "unsigned");
	for (int64_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)(i < 8 ? (uint64_t)v >> (8 * i) : v < 0 ? 0xff : 0);

		out[little ? i : n - 1 - i] = byte;
	}
	return true;
}

bool get_int_bytes(Vm *vm, Bytes b, bool little, bool is_signed, int64_t *ret)
{
	uint64_t v = 0;
	uint8_t top = b.n ? b.p[little ? b.n - 1 : 0] : 0, fill = is_signed && top & 0x80 ? 0xff : 0;

	for (size_t i = 0; i < b.n; i++) {
		uint8_t byte = b.p[little ? b.n - 1 - i : i];

		/* More than 8 bytes: all in front must be sign. */
		if (b.n - i > 8 && byte != fill)
			return vm_fail(vm, "E-OVERFLOW", "the number does not fit 64 bits");
		v = v << 8 | byte;
	}
	if (b.n < 8 && fill)
		v |= ~UINT64_C(0) << (8 * b.n);
	if (b.n >= 8 && (v >> 63) != (fill ? 1u : 0u))
		return vm_fail(vm, "E-OVERFLOW", "the number does not fit 64 bits");
	*ret = (int64_t)v;
	return true;
}

static bool byte_order(Vm *vm, Value v, bool *ret_little)
{
	Str s;

	if (!vm_to_str(vm, v, &s))
		return false;
	*ret_little = str_is(s, "little");
	return *ret_little || str_is(s, "big") || vm_fail(vm, "E-VALUE", "byteorder is \"big\" or \"little\"");
}

METHOD_OF(INT_TYPE, from_bytes)
{
	Value data = args[0];
	bool little;
	int64_t v;

	FIXED;
	if (!byte_order(vm, args[1], &little))
		return false;
	if (data.tag == VAL_STR)
		return vm_fail_type(vm, "bytes", data);
	if (data.tag != VAL_BYTES && !bytes_of_items(vm, args[0], &data))
		return false;
	if (!get_int_bytes(vm, bytes_of(val_str(data)), little, val_truth(args[2]), &v))
		return false;
	*ret = val_int(v);
	ret->vf = str_marked(val_str(data)) ? VF_PEER : 0;
	return true;
}

METHOD_OF(INT, to_bytes)
{
	uint8_t out[1024];
	int64_t v, len;
	bool little;

	FIXED;
	if (!vm_to_int(vm, args[0], &v) || !vm_to_size(vm, args[1], 0, sizeof out, "the length", &len) ||
	    !byte_order(vm, args[2], &little) || !put_int_bytes(vm, v, len, little, val_truth(args[3]), out))
		return false;
	*ret = args[0].vf & VF_PEER ? vm_bytes_peer(vm, BYTES(out, (size_t)len)) : vm_bytes(vm, BYTES(out, (size_t)len));
	return true;
}

METHOD_OF(INT, bit_length)
{
	int64_t v;

	FIXED;
	if (!vm_to_int(vm, args[0], &v))
		return false;
	uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	*ret = val_int(size ? 64 - __builtin_clzll(size) : 0);
	return true;
}

METHOD_OF(FLOAT, is_integer)
{
	double f;

	FIXED;
	if (!vm_to_num(vm, args[0], &f))
		return false;
	*ret = val_bool(isfinite(f) && f == floor(f));
	return true;
}

/* ---- addresses ---- */

static bool ip_of_bytes(Vm *vm, Bytes b, Ip *ret)
{
	if (b.n != 4 && b.n != 16)
		return vm_fail(vm, "E-VALUE", "an address has 4 or 16 bytes, not %zu", b.n);
	*ret = ip_from(b.n == 4 ? 4 : 6, b.p);
	return true;
}

BUILTIN(ip)
{
	Ip ip;

	FIXED;
	if (args[0].tag == VAL_INT) {
		if (args[0].i < 0 || args[0].i > UINT32_MAX)
			return vm_fail(vm, "E-VALUE", "an IPv4 address is 0..2^32-1");
		ip = ip4((uint32_t)args[0].i);
	} else if (args[0].tag == VAL_BYTES) {
		if (!ip_of_bytes(vm, bytes_of(val_str(args[0])), &ip))
			return false;
	} else if (!vm_to_ip(vm, args[0], &ip)) {
		return false;
	}
	*ret = vm_ip(vm, ip);
	return true;
}

BUILTIN(net)
{
	Net net;

	FIXED;
	if (!vm_to_net(vm, args[0], &net))
		return false;
	*ret = vm_net(vm, net);
	return true;
}

BUILTIN(mac)
{
	Mac mac;

	FIXED;
	if (args[0].tag == VAL_INT) {
		if (args[0].i < 0 || args[0].i >= INT64_C(1) << 48)
			return vm_fail(vm, "E-VALUE", "a hardware address is 0..2^48-1");
		*ret = (Value){ .w = VAL_W(VAL_MAC), .i = args[0].i };
		return true;
	}
	if (args[0].tag == VAL_BYTES) {
		if (args[0].o->n != 6)
			return vm_fail(vm, "E-VALUE", "a hardware address has 6 bytes, not %u", args[0].o->n);
		memcpy(mac.b, val_str(args[0])->p, 6);
	} else if (!vm_to_mac(vm, args[0], &mac)) {
		return false;
	}
	*ret = val_mac(mac);
	return true;
}

ATTR_OF(IP, version)
{
	(void)vm;
	*ret = val_int(self.tag == VAL_IP4 ? 4 : 6);
	return true;
}

ATTR_OF(IP, packed)
{
	Ip ip = val_ip(self);

	*ret = vm_bytes(vm, BYTES(ip.b, ip_len(ip)));
	return true;
}

/* What RFC 6890 keeps from the Internet, as far as ip_class does not know it. */
ATTR_OF(IP, is_private)
{
	static const char *const nets[] = { "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
					    "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
					    "203.0.113.0/24", "fc00::/7", "2001:db8::/32", "100::/64" };
	Ip ip = val_ip(self);
	IpClass c = ip_class(ip);
	Net net;

	(void)vm;
	*ret = val_bool(c == IP_CLASS_UNSPECIFIED || c == IP_CLASS_LOOPBACK || c == IP_CLASS_LINK_LOCAL ||
			c == IP_CLASS_RESERVED || c == IP_CLASS_BROADCAST);
	for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++)
		if (net_parse(str_c(nets[i]), &net) && net_has(net, ip))
			*ret = val_bool(true);
	return true;
}

static bool is_class(Value self, IpClass c, Value *ret)
{
	*ret = val_bool(ip_class(val_ip(self)) == c);
	return true;
}

ATTR_OF(IP, is_loopback)
{
	(void)vm;
	return is_class(self, IP_CLASS_LOOPBACK, ret);
}

ATTR_OF(IP, is_link_local)
{
	(void)vm;
	return is_class(self, IP_CLASS_LINK_LOCAL, ret);
}

ATTR_OF(IP, is_multicast)
{
	(void)vm;
	return is_class(self, IP_CLASS_MULTICAST, ret);
}

ATTR_OF(NET, network_address)
{
	*ret = vm_ip(vm, val_net(self).ip);
	return true;
}

ATTR_OF(NET, broadcast_address)
{
	Ip first, last;

	net_range(val_net(self), &first, &last);
	*ret = vm_ip(vm, last);
	return true;
}

ATTR_OF(NET, prefixlen)
{
	(void)vm;
	*ret = val_int(val_net(self).bits);
	return true;
}

ATTR_OF(NET, num_addresses)
{
	int64_t n;

	if (!val_len(vm, self, &n))
		return false;
	*ret = val_int(n);
	return true;
}

METHOD_OF(NET, hosts)
{
	int64_t count;
	Net net;
	Ip ip;
	ObjList *l = vm_list(vm, 0);

	FIXED;
	if (!vm_to_net(vm, args[0], &net) || !val_len(vm, args[0], &count))
		return false;
	bool inner = net.ip.v == 4 && net.bits < 31;

	if (count - (inner ? 2 : 0) > LIMIT_PACKET_LIST)
		return vm_fail(vm, "E-VALUE", "more than %d addresses", LIMIT_PACKET_LIST);
	for (int64_t i = inner ? 1 : 0; i < count - (inner ? 1 : 0) && ip_add(net.ip, i, &ip); i++)
		vm_push(vm, l, vm_ip(vm, ip));
	vm_charge(vm, (uint64_t)count);
	*ret = val_of(l);
	return true;
}

/* ---- durations, times, flags ---- */

static bool ns_as(Value self, double unit, Value *ret)
{
	*ret = val_float(val_absent(self) ? NAN : (double)self.i / unit);
	return true;
}

ATTR_OF(DURATION, s)
{
	(void)vm;
	return ns_as(self, 1e9, ret);
}

ATTR_OF(DURATION, ms)
{
	(void)vm;
	return ns_as(self, 1e6, ret);
}

ATTR_OF(DURATION, us)
{
	(void)vm;
	return ns_as(self, 1e3, ret);
}

ATTR_OF(DURATION, ns)
{
	(void)vm;
	return ns_as(self, 1, ret);
}

ATTR_OF(TIME, s)
{
	(void)vm;
	return ns_as(self, 1e9, ret);
}

ATTR_OF(TIME, ns)
{
	(void)vm;
	return ns_as(self, 1, ret);
}

ATTR_OF(FLAGS, value)
{
	(void)vm;
	*ret = val_int(self.i);
	ret->vf = self.vf & VF_PEER;
	return true;
}
