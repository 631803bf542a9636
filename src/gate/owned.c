/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/owned.h"

#include "gate/fpset.h"

void owned_init(Owned *o, Arena *a, uint32_t most)
{
	uint32_t cap = 16;

	while (cap < most * 2)
		cap *= 2;
	*o = (Owned){ .slots = arena_new_n(a, OwnedKey, cap), .mask = cap - 1, .most = most };
}

/* The slot that holds the key, or the free one where it would be. */
static OwnedKey *owned_slot(const Owned *o, uint8_t proto, Ip addr, uint16_t port)
{
	uint64_t h = fp_num(fp_ip(proto, addr), port);

	for (uint32_t i = (uint32_t)h;; i++) {
		OwnedKey *k = &o->slots[i & o->mask];

		if (k->proto == 0 || (k->port == port && k->proto == proto && ip_eq(k->addr, addr)))
			return k;
	}
}

bool owned_add(Owned *o, uint8_t proto, Ip addr, uint16_t port)
{
	OwnedKey *k = owned_slot(o, proto, addr, port);

	if (k->proto)
		return true;
	if (proto == 0 || o->n == o->most)
		return false;
	*k = (OwnedKey){ addr, proto, port };
	o->n++;
	return true;
}

bool owned_has(const Owned *o, uint8_t proto, Ip addr, uint16_t port)
{
	return proto && owned_slot(o, proto, addr, port)->proto;
}
