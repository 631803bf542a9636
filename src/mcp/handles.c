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
	char caller[64], session[64];
	uint32_t principal;
	int64_t until_s;
	size_t n;
	char text[];
} Handle;

typedef struct Handles {
	pthread_mutex_t lock;
	Handle *first;
	size_t bytes;
} Handles;

struct Handles *handles_new(void)
{
	Handles *all = calloc(1, sizeof *all);

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void drop(Handles *all, Handle **at)
{
	Handle *h = *at;

	*at = h->next;
	all->bytes -= h->n;
	free(h);
}

void handles_free(struct Handles *all)
{
	if (!all)
		return;
	while (all->first)
		drop(all, &all->first);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static bool is_of(const Handle *h, const Caller *c)
{
	return h->principal == c->principal && strcmp(h->caller, c->name) == 0 && strcmp(h->session, c->session) == 0;
}

/* What is old goes, then the caller's oldest beyond its share. */
static void make_room(Handles *all, const Caller *c, size_t n)
{
	int64_t now = aside_now_s();
	unsigned count = 0;
	size_t bytes = n;

	for (Handle **at = &all->first; *at;) {
		bool mine = is_of(*at, c);

		if (mine) {
			count++;
			bytes += (*at)->n;
		}
		if ((*at)->until_s < now || (mine && (count >= HANDLES_CALLER || bytes > LIMIT_MCP_HANDLES_CALLER)))
			drop(all, at);
		else
			at = &(*at)->next;
	}
	while (all->first && all->bytes + n > LIMIT_MCP_HANDLES) {
		Handle **at = &all->first;

		while ((*at)->next)
			at = &(*at)->next;
		drop(all, at);
	}
}

bool handle_keep(Call *c, const char *prefix, const char *text, char ret_name[HANDLE_TEXT])
{
	Handles *all = c->mcp->handles;
	size_t n = strlen(text) + 1;
	char random[33];
	Handle *h;

	if (n > LIMIT_MCP_HANDLES_CALLER || strlen(prefix) > 6 || !aside_random(random, 16))
		return false;
	h = malloc(sizeof *h + n);
	if (!h)
		return false;
	*h = (Handle){ .principal = c->caller->principal, .until_s = aside_now_s() + LIMIT_MCP_HANDLE_AGE, .n = n };
	memcpy(h->caller, c->caller->name, sizeof h->caller);
	memcpy(h->session, c->caller->session, sizeof h->session);
	memcpy(h->text, text, n);
	snprintf(h->name, sizeof h->name, "%.6s_%s", prefix, random);
	memcpy(ret_name, h->name, HANDLE_TEXT);
	pthread_mutex_lock(&all->lock);
	make_room(all, c->caller, n);
	h->next = all->first;
	all->first = h;
	all->bytes += n;
	pthread_mutex_unlock(&all->lock);
	return true;
}

char *handle_text(Call *c, const char *name)
{
	Handles *all = c->mcp->handles;
	char *text = NULL;

	pthread_mutex_lock(&all->lock);
	for (const Handle *h = all->first; h && !text; h = h->next)
		if (is_of(h, c->caller) && strcmp(h->name, name) == 0 && h->until_s >= aside_now_s())
			text = strdup(h->text);
	pthread_mutex_unlock(&all->lock);
	return text;
}
