/* SPDX-License-Identifier: Apache-2.0
 *
 * One request under way: who asks, in which revision, and the ways back to him while
 * it lasts.  Handlers of methods and tools see nothing else of transport and protocol,
 * so one handler serves all revisions.
 *
 * A call lives on one thread, its handler's; JSON values are jansson's and counted.
 */
#ifndef SONDE_MCP_CALL_H
#define SONDE_MCP_CALL_H

#include "base/sha256.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Revisions of the protocol, oldest first; from ERA_2026_07_28 on it is stateless. */
typedef enum Era { ERA_2025_03_26, ERA_2025_06_18, ERA_2025_11_25, ERA_2026_07_28, ERA_N } Era;

const char *era_name(Era e);

/* Who asks.  `session` is who pays in the ledger ("mcp alice", "uid 1000"). */
typedef struct Caller {
	char name[64];
	char session[64];
	Hash row; /* of the file of keys, by which he came over HTTP */
} Caller;

struct Mcp; /* mcp/server.h: what all calls share */

typedef struct Call Call;
struct Call {
	struct Mcp *mcp;
	const Caller *caller;
	Era era;
	const char *method;
	json_t *params;      /* borrowed, an object, never NULL */
	json_t *client_caps; /* borrowed, an object: what the client said it can */
	int cancel_fd;       /* becomes readable when nobody waits for the answer any more; -1: never */
	bool pending;        /* an input was asked for that is not there yet: the handler returns, with anything */
	struct CallInside *inside; /* the dispatcher's */
};

bool call_cancelled(const Call *c);

/* notifications/progress, if the request asked for it; must grow from one to the next.
 * total < 0: unknown.  False: nobody listens any more. */
bool call_progress(Call *c, double progress, double total, const char *message);

/* notifications/message, if this client wants that level. */
bool call_log(Call *c, const char *level, const char *logger, json_t *data_stolen);

/* True if the client said it can show a form and return what its user put in. */
bool call_can_elicit(const Call *c);

/* Asks the client's user: the ElicitResult {"action": .., "content": ..} (new), or NULL.
 * Of a stateless client the answer comes with a repeated request: NULL then with
 * c->pending set, and the handler returns at once.  `key` names the question within the
 * request; `state` (may be NULL, stolen) is given back by call_state() when it comes
 * again, integrity-protected and bound to caller and request; an answer to a question
 * that has one counts only beside it, so that nobody answers what he was not asked. */
json_t *call_elicit(Call *c, const char *key, const char *message, json_t *schema_stolen, json_t *state_stolen);
json_t *call_state(const Call *c); /* borrowed; NULL: a first attempt */
/* Uses the state up: true the first time that it is shown to be.  For what an answer may
 * bring about only once, as an approval. */
bool call_state_once(Call *c);

/* The same for any request of the server's to its client (sampling/createMessage, roots/list). */
json_t *call_ask(Call *c, const char *key, const char *method, json_t *params_stolen, json_t *state_stolen);

/* A JSON-RPC error as the handler's answer: returns NULL after setting it. */
json_t *call_error(Call *c, int code, const char *message, json_t *data_stolen);
/* There is no resource of this URI: in each revision's own code. */
json_t *call_no_resource(Call *c, const char *uri);

#endif
