/* SPDX-License-Identifier: Apache-2.0
 *
 * One request over HTTP and its answer: what the connection's thread and the handler's
 * share.  The answer is one JSON object if it comes first, a stream of events from the
 * first message before it on.
 */
#ifndef SONDE_MCP_HTTP_EXCHANGE_H
#define SONDE_MCP_HTTP_EXCHANGE_H

#include "mcp/http_head.h"
#include "mcp/rpc.h"

#include <pthread.h>


typedef struct Exchange {
	Link link; /* first: the dispatcher's view of it */
	struct Exchange *next, **prev; /* all that are not freed yet */
	struct Mcp *mcp;
	Caller caller;
	HttpHead head;
	HttpPair pair[HTTP_HEADERS];
	char *texts; /* of the headers */
	RpcHttp http;
	char *body;
	size_t have; /* bytes of it */

	pthread_mutex_t lock; /* of what follows */
	unsigned refs;
	int wake_fd; /* readable: there is something to look at */
	bool open;   /* the answer is a stream */
	bool done;   /* status, session and what is queued are all */
	bool gone;   /* nobody reads it any more */
	char *queue; /* what is to be written */
	size_t queue_n, queue_cap;
	int status;
	char session_id[64];
} Exchange;

/* With one reference; NULL: no memory or descriptors.  Headers are copied. */
Exchange *exchange_new(struct Mcp *m, const HttpHead *head, const Caller *who);
void exchange_get(Exchange *x);
void exchange_put(Exchange *x);

/* Handles what came: at once where that takes no time, else on a thread of its own. */
void exchange_start(Exchange *x);

typedef enum ExchangeStep { EXCHANGE_ANSWER, EXCHANGE_STREAM, EXCHANGE_GONE } ExchangeStep;

/* Waits until it is known how to answer; `sock` is watched for the client's end. */
ExchangeStep exchange_wait(Exchange *x, int sock);

/* Bytes of the stream, at most cap: 0 at its end, -1 if the client has gone.  Says
 * something now and then also if there is nothing to say. */
ssize_t exchange_read(Exchange *x, int sock, char *buf, size_t cap);

/* Nobody reads any more: what is under way is cancelled. */
void exchange_gone(Exchange *x);

/* Those of callers who are not good any more are gone. */
void exchange_check(bool (*good)(void *ctx, const Caller *who), void *ctx);

/* Waits until all are answered and freed; false: some are not, after that time. */
bool exchange_drain(int timeout_ms);

#endif
