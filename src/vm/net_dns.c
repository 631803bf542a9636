/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS over a stream (RFC 1035 4.2.2, RFC 7766 8): each message has its length before it.
 */
#include "vm/live_tls.h"

#include "wire/dns.h"

enum { LENGTH = DNS_STREAM_HEAD, MESSAGE_MOST = 65535 };

/* (message) */
bool bi_dns_frame(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	uint8_t *buf;
	Bytes b;

	(void)n;
	if (!vm_to_bytes(vm, args[0], &b))
		return false;
	if (b.n > MESSAGE_MOST)
		return vm_fail(vm, "E-VALUE", "a DNS message has at most %d bytes", MESSAGE_MOST);
	buf = arena_alloc(vm_scratch(vm), LENGTH + b.n);
	put_be16(buf, (uint16_t)b.n);
	memcpy(buf + LENGTH, b.p, b.n);
	*ret = vm_bytes(vm, BYTES(buf, LENGTH + b.n));
	return true;
}

static size_t next_size(const Live *l)
{
	uint8_t head[LENGTH];

	return dns_stream_size(BYTES(head, live_peek(l, 0, head, LENGTH)));
}

static bool is_whole(const Live *l)
{
	size_t n = next_size(l);

	return n && live_readable(l) >= n;
}

static Value take_message(Engine *e, Vm *vm, Live *l)
{
	size_t n = next_size(l);
	uint8_t *buf = arena_alloc(vm_scratch(vm), n);
	Arrival a = { .first = WIRE_DNS, .rx_ns = e->now_ns };

	live_take(e, l, buf, n);
	engine_conn_run(e);
	a.frame = BYTES(buf + LENGTH, n - LENGTH);
	return net_received_packet(e, vm, &a);
}

/* (c, timeout) */
bool bi_dns_read(Vm *vm, const Value *args, uint32_t n, Value *ret)
{
	Engine *e = vm_ctx(vm);
	Live *l = live_self(args[0]);
	int64_t timeout;

	(void)n;
	if (!vm_to_duration(vm, args[1], &timeout))
		return false;
	if (!engine_refresh(e))
		return engine_halt(e, vm);
	int64_t until = ns_later(e->now_ns, timeout > 0 ? timeout : 0);

	for (;;) {
		if (!live_pump(e, l))
			return engine_halt(e, vm);
		if (is_whole(l)) {
			*ret = take_message(e, vm, l);
			return true;
		}
		if (live_ended(l) || e->now_ns >= until)
			return true;
		if (!engine_step(e, until))
			return engine_halt(e, vm);
	}
}
