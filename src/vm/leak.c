/* SPDX-License-Identifier: Apache-2.0
 *
 * The leak meter (guardrails.md 5; lang/label.c says what it bounds and why).
 *
 * The checker found which decisions and which fields let answers of one peer show in
 * what another gets; METER and METERN stand there and count, whichever way it goes.
 * The run ends before a sum above the bound could show.
 */
#include "vm/inside.h"

#include "base/exits.h"

/* Where the run ended is one of as many places as packets were sent, and one more. */
static uint64_t end_bits(const Vm *vm)
{
	return bits_for((vm->host.sent ? vm->host.sent(vm->host.ctx) : 0) + vm->sending + 1);
}

uint64_t vm_leak_used(const Vm *vm)
{
	bool end = vm->prog->leak_end == LEAK_END_PAID || (vm->prog->leak_end == LEAK_END_EARLY && vm->err.exit);

	return vm->leak + (end ? end_bits(vm) : 0);
}

bool vm_may_send(const Vm *vm)
{
	uint64_t end = vm->prog->leak_end == LEAK_END_PAID
			       ? bits_for((vm->host.sent ? vm->host.sent(vm->host.ctx) : 0) + 2)
			       : 0;

	return vm->leak + end <= vm->host.leak;
}

static bool spent(Vm *vm)
{
	return vm_stop(vm, SONDE_EXIT_BUDGET, "E-LEAK",
		       "leak is spent: here what one peer gets would depend by %llu bits on what others sent, and the "
		       "bound is %llu; declare budget(leak=%llu) if that is meant",
		       (unsigned long long)vm_leak_used(vm), (unsigned long long)vm->host.leak,
		       bits_for(vm_leak_used(vm)) < 63
			       ? 1ull << bits_for(vm_leak_used(vm))
			       : (unsigned long long)vm_leak_used(vm));
}

bool leak_pay(Vm *vm, uint64_t bits, unsigned reflect)
{
	vm->leak += bits;
	if (reflect) {
		vm->reflected[reflect - 1] += bits;
		if (vm->reflected[reflect - 1] > (uint64_t)vm->prog->reflect_max[reflect - 1])
			return vm_stop(vm, SONDE_EXIT_BUDGET, "E-LEAK",
				       "a reflect() of the program allows %lld bits; this would be %llu",
				       (long long)vm->prog->reflect_max[reflect - 1],
				       (unsigned long long)vm->reflected[reflect - 1]);
	}
	return vm_leak_used(vm) <= vm->host.leak || spent(vm);
}

static uint64_t packet_bits(Vm *vm, Value p, uint64_t bits)
{
	if (bits != METER_PACKET)
		return bits;
	/* a packet has its bytes, what c.send() takes its own */
	return p.tag == VAL_PACKET ? (uint64_t)packet_len(vm, val_packet(p)) * 8
	       : val_is_text(p)	   ? (uint64_t)p.o->n * 8
				   : bits;
}

bool leak_pay_packets(Vm *vm, Value p, uint64_t bits, unsigned reflect)
{
	bool list = p.tag == VAL_LIST;
	uint64_t sum = list ? 0 : packet_bits(vm, p, bits);

	for (uint32_t i = 0; list && i < p.o->n; i++)
		sum += packet_bits(vm, val_list(p)->p[i], bits);
	/* that these leave is one more place where the run may end */
	vm->sending = list ? p.o->n : 1;
	bool ok = leak_pay(vm, sum, reflect);

	vm->sending = 0;
	return ok;
}
