/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/timer_heap.h"

#include <stddef.h>

static bool before(const Endpoint *a, const Endpoint *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->id < b->id;
}

/* Both are roots without siblings. */
static Endpoint *merge(Endpoint *a, Endpoint *b)
{
	if (!a || !b)
		return a ? a : b;
	if (before(b, a)) {
		Endpoint *t = a;

		a = b;
		b = t;
	}
	b->heap_prev = a;
	b->heap_next = a->heap_child;
	if (b->heap_next)
		b->heap_next->heap_prev = b;
	a->heap_child = b;
	return a;
}

static Endpoint *cut_first(Endpoint **list)
{
	Endpoint *e = *list;

	if (e) {
		*list = e->heap_next;
		e->heap_next = e->heap_prev = NULL;
	}
	return e;
}

/* Siblings into one heap: by pairs from the left, then those from the right. */
static Endpoint *merge_all(Endpoint *list)
{
	Endpoint *pairs = NULL, *root = NULL;

	while (list) {
		Endpoint *a = cut_first(&list), *b = cut_first(&list);
		Endpoint *p = merge(a, b);

		p->heap_next = pairs;
		pairs = p;
	}
	while (pairs) {
		Endpoint *p = cut_first(&pairs);

		root = merge(root, p);
	}
	return root;
}

void timer_heap_add(Endpoint **root, Endpoint *e)
{
	e->heap_child = e->heap_next = e->heap_prev = NULL;
	*root = merge(*root, e);
}

void timer_heap_remove(Endpoint **root, Endpoint *e)
{
	Endpoint *below = merge_all(e->heap_child);

	e->heap_child = NULL;
	if (*root == e) {
		*root = below;
		return;
	}
	if (e->heap_prev->heap_child == e)
		e->heap_prev->heap_child = e->heap_next;
	else
		e->heap_prev->heap_next = e->heap_next;
	if (e->heap_next)
		e->heap_next->heap_prev = e->heap_prev;
	e->heap_next = e->heap_prev = NULL;
	*root = merge(*root, below);
}
