/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/tcp_buf.h"

#include "tcpip/ip_packet.h"

struct ByteBlock {
	ByteBlock *next;
	uint8_t b[POOL_PAGE_BYTES - sizeof(void *)];
};

enum { BLOCK = sizeof(((ByteBlock *)0)->b) };

/* The block that holds byte `at` (counted from the head block's first), remembered. */
static ByteBlock *find(ByteChain *c, uint32_t at, ChainPlace place, uint32_t *ret_in)
{
	ByteBlock *b = c->head;
	uint32_t base = 0;

	for (int i = 0; i < 2; i++) {
		if (c->at[i] && c->at_off[i] <= at && c->at_off[i] >= base) {
			b = c->at[i];
			base = c->at_off[i];
		}
	}
	while (at - base >= BLOCK) {
		b = b->next;
		base += BLOCK;
	}
	c->at[place] = b;
	c->at_off[place] = base;
	*ret_in = at - base;
	return b;
}

static bool grow(Pool *p, ByteChain *c)
{
	ByteBlock *b = pool_take(p, POOL_PAGE);

	if (!b)
		return false;
	b->next = NULL;
	if (c->tail)
		c->tail->next = b;
	else
		c->head = b;
	c->tail = b;
	c->blocks++;
	return true;
}

/* Blocks up to `end` bytes; how many bytes there is room for in fact. */
static uint32_t reserve(Pool *p, ByteChain *c, uint32_t end)
{
	uint64_t need = (uint64_t)c->head_off + end;

	while ((uint64_t)c->blocks * BLOCK < need && grow(p, c))
		;
	uint64_t room = (uint64_t)c->blocks * BLOCK;

	return room >= need ? end : (uint32_t)(room - c->head_off);
}

size_t chain_write(Pool *p, ByteChain *c, uint32_t off, Bytes b)
{
	uint32_t end = off + (uint32_t)b.n, room = b.n ? reserve(p, c, end) : off;

	if (room <= off)
		return 0;
	uint32_t n = room - off;

	for (uint32_t done = 0; done < n;) {
		uint32_t in;
		ByteBlock *k = find(c, c->head_off + off + done, CHAIN_BACK, &in);
		uint32_t part = n - done < BLOCK - in ? n - done : BLOCK - in;

		memcpy(k->b + in, b.p + done, part);
		done += part;
	}
	if (c->bytes < off + n)
		c->bytes = off + n;
	return n;
}

uint64_t chain_copy(ByteChain *c, uint32_t off, uint8_t *dst, size_t n, ChainPlace place, uint64_t sum)
{
	for (size_t done = 0; done < n;) {
		uint32_t in;
		ByteBlock *k = find(c, c->head_off + off + (uint32_t)done, place, &in);
		size_t part = n - done < BLOCK - in ? n - done : BLOCK - in;

		memcpy(dst + done, k->b + in, part);
		done += part;
	}
	/* Summed as a whole: a block may end between the two bytes of a word. */
	return ip_csum_add(sum, BYTES(dst, n));
}

size_t chain_same(ByteChain *c, uint32_t off, Bytes b)
{
	size_t done = 0;

	while (done < b.n) {
		uint32_t in;
		ByteBlock *k = find(c, c->head_off + off + (uint32_t)done, CHAIN_FRONT, &in);

		if (k->b[in] != b.p[done])
			break;
		done++;
	}
	return done;
}

static void forget_block(ByteChain *c, const ByteBlock *b)
{
	for (int i = 0; i < 2; i++) {
		if (c->at[i] == b)
			c->at[i] = NULL;
		else
			c->at_off[i] -= BLOCK;
	}
}

void chain_drop(Pool *p, ByteChain *c, uint32_t n)
{
	c->head_off += n;
	c->bytes -= n;
	/* Nothing stored: nothing kept, also of a block begun. */
	while (c->head && (c->head_off >= BLOCK || c->bytes == 0)) {
		ByteBlock *b = c->head;

		forget_block(c, b);
		c->head = b->next;
		if (!c->head)
			c->tail = NULL;
		c->blocks--;
		c->head_off = c->bytes ? c->head_off - BLOCK : 0;
		pool_give(p, POOL_PAGE, b);
	}
}

void chain_clear(Pool *p, ByteChain *c)
{
	chain_drop(p, c, c->bytes);
}
