/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/handles.h"

#include "base/limits.h"
#include "mcp/aside.h"
#include "mcp/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Handle {
	struct Handle *next; /* newest first */
	char name[HANDLE_TEXT];
	int64_t until_s;
	size_t n; /* bytes, with this head */
	char text[];
} Handle;

/* A caller, as long as he has any. */
typedef struct Owner {
	struct Owner *next;
	Caller who;
	Handle *first;
	unsigned count;
	size_t bytes;
} Owner;

typedef struct Handles {
	pthread_mutex_t lock;
	Owner *first;
	size_t bytes;
} Handles;

struct Handles *handles_new(void)
{
	Handles *all = calloc(1, sizeof *all);

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void drop(Handles *all, Owner *o, Handle **at)
{
	Handle *h = *at;

	*at = h->next;
	o->count--;
	o->bytes -= h->n;
	all->bytes -= h->n;
	free(h);
}

static void drop_oldest(Handles *all, Owner *o)
{
	Handle **at = &o->first;

	while ((*at)->next)
		at = &(*at)->next;
	drop(all, o, at);
}

void handles_free(struct Handles *all)
{
	Owner *next;

	if (!all)
		return;
	for (Owner *o = all->first; o; o = next) {
		next = o->next;
		while (o->first)
			drop(all, o, &o->first);
		free(o);
	}
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static Owner *owner_find(const Handles *all, const Caller *c)
{
	for (Owner *o = all->first; o; o = o->next)
		if (strcmp(o->who.name, c->name) == 0 && strcmp(o->who.session, c->session) == 0)
			return o;
	return NULL;
}

/* Found or made; NULL: no memory. */
static Owner *owner_of(Handles *all, const Caller *c)
{
	Owner *o = owner_find(all, c);

	if (!o && (o = calloc(1, sizeof *o))) {
		o->who = *c;
		o->next = all->first;
		all->first = o;
	}
	return o;
}

static void forget_old(Handles *all)
{
	int64_t now = aside_now_s();

	for (Owner **at = &all->first; *at;) {
		Owner *o = *at;

		for (Handle **h = &o->first; *h;)
			if ((*h)->until_s < now)
				drop(all, o, h);
			else
				h = &(*h)->next;
		if (o->first) {
			at = &o->next;
		} else {
			*at = o->next;
			free(o);
		}
	}
}

/* The caller's oldest gives way beyond his share; beyond the room of all, the oldest of who
 * has most: nobody pushes out who has less than he. */
static void make_room(Handles *all, Owner *o, size_t n)
{
	while (o->first && (o->count >= HANDLES_CALLER || o->bytes + n > LIMIT_MCP_HANDLES_CALLER))
		drop_oldest(all, o);
	while (all->bytes + n > LIMIT_MCP_HANDLES) {
		Owner *most = all->first;

		for (Owner *one = most; one; one = one->next)
			if (one->bytes > most->bytes)
				most = one;
		drop_oldest(all, most);
	}
}

bool handle_keep(Call *c, const char *prefix, const char *text, char ret_name[HANDLE_TEXT])
{
	Handles *all = c->mcp->handles;
	size_t n = strlen(text) + 1, whole = sizeof(Handle) + n;
	char random[33];
	Handle *h;
	Owner *o;

	if (whole > LIMIT_MCP_HANDLES_CALLER || strlen(prefix) > 6 || !aside_random(random, 16))
		return false;
	h = malloc(whole);
	if (!h)
		return false;
	*h = (Handle){ .until_s = aside_now_s() + LIMIT_MCP_HANDLE_AGE, .n = whole };
	memcpy(h->text, text, n);
	snprintf(h->name, sizeof h->name, "%.6s_%s", prefix, random);
	memcpy(ret_name, h->name, HANDLE_TEXT);
	pthread_mutex_lock(&all->lock);
	forget_old(all);
	o = owner_of(all, c->caller);
	if (o) {
		make_room(all, o, whole);
		h->next = o->first;
		o->first = h;
		o->count++;
		o->bytes += whole;
		all->bytes += whole;
	}
	pthread_mutex_unlock(&all->lock);
	if (!o)
		free(h);
	return o;
}

char *handle_text(Call *c, const char *name)
{
	Handles *all = c->mcp->handles;
	char *text = NULL;

	pthread_mutex_lock(&all->lock);
	const Owner *o = owner_find(all, c->caller);

	for (const Handle *h = o ? o->first : NULL; h && !text; h = h->next)
		if (strcmp(h->name, name) == 0 && h->until_s >= aside_now_s())
			text = strdup(h->text);
	pthread_mutex_unlock(&all->lock);
	return text;
}
