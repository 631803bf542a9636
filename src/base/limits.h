/* SPDX-License-Identifier: Apache-2.0
 *
 * Every bound of Sonde, in one place.  A bound that a program or a peer can
 * reach has an error or a counter of its own.
 */
#ifndef SONDE_BASE_LIMITS_H
#define SONDE_BASE_LIMITS_H

/* ---- text in ---- */
#define LIMIT_SOURCE (64u * 1024)	/* bytes of a program or a policy file */
#define LIMIT_NESTING 64		/* brackets, blocks, operators in one another */
#define LIMIT_TREE 256			/* height of a syntax tree: long chains of operators and elifs */
#define LIMIT_DIAGS 100			/* diagnostics kept of one text */
#define LIMIT_DIAG_TEXT 512		/* bytes of one message */
#define LIMIT_NAME 64			/* bytes of an identifier */

/* ---- checker ---- */
#define LIMIT_CHECK_STEPS 2000000	/* E-COMPLEX above */
#define LIMIT_CHECK_INSTANCES 512
#define LIMIT_STACKS 8			/* layer stacks kept apart for one packet value */
#define LIMIT_INTERVALS 64		/* disjoint intervals of a known int or ip */
#define LIMIT_KNOWN 1024		/* known values of a str, bytes, net, mac, flags, bool */

/* ---- engine ---- */
#define LIMIT_ENGINE_MEMORY (256u * 1024 * 1024)
#define LIMIT_FUEL 100000000ull
#define LIMIT_CALL_DEPTH 64
#define LIMIT_PACKET_LIST 65536		/* packets that one expression may make */
#define LIMIT_FRAME 65549		/* Ether header + the largest IP packet */
#define LIMIT_LAYERS 24			/* layers of one packet */
#define LIMIT_OUTPUT (64u * 1024)	/* bytes of program output kept, settable */
#define LIMIT_PEER_PIECE 512		/* bytes of a peer's text in one printed piece */
#define LIMIT_PEER_TOTAL (16u * 1024)	/* and in a run, with full=True */
#define LIMIT_SNIFF_QUEUE 65536		/* received packets kept since the last mark */
#define LIMIT_OUTSTANDING 65536		/* probes that wait for an answer */
#define LIMIT_CONN_PACKETS 4096	/* segments of one connection that are kept */
#define LIMIT_SEND_BUFFER (16u * 1024 * 1024) /* bytes that one connection queues */
#define LIMIT_STACK_MEMORY (96u * 1024 * 1024) /* of the engine's, for all connections */
#define LIMIT_LISTED 4096		/* late, and unsolicited, packets that one call lists; all are counted */

/* ---- messages and gate ---- */
#define LIMIT_MSG (LIMIT_FRAME + 64u)	/* one engine-gate message */
#define LIMIT_MSG_BATCH (256u * 1024)	/* messages in one write */
#define LIMIT_MANIFEST_ITEMS 4096
#define LIMIT_NAMES 64			/* names looked up for one run */
#define LIMIT_FILTER_TEXT 1024		/* bytes of one capture filter */
#define LIMIT_IFACES 32			/* interfaces opened for one run */
#define LIMIT_OWN_PORTS 4096		/* ports held for one run */
#define LIMIT_START_PORTS 1024		/* of these, taken before the start */
#define LIMIT_IN_FLIGHT 1024		/* frames between EMIT and SENT */
#define LIMIT_REFUSED 16		/* frames refused before the run ends */
#define LIMIT_NEIGH_TRIES 3
#define LIMIT_LEDGER_SESSIONS 256	/* sessions that one day has room for */
#define LIMIT_LEDGER_PEERS 1024		/* destinations counted apart: the least recently used gives way */
#define LIMIT_LOG (256u << 20)		/* bytes of the log of all runs; full, nothing is sent */
#define LIMIT_APPROVAL_LINES 60		/* lines that a person is shown: more can only be refused */
#define LIMIT_APPROVAL (256u * 1024)	/* bytes of a request for approval */
#define LIMIT_REQUESTS 8		/* requests that wait, a user */
#define LIMIT_REQUESTS_SHOWN 128	/* requests that a list shows */
#define LIMIT_APPROVED_RUNS 100	/* runs that one approval may be good for */
#define LIMIT_RECORD (256u * 1024 * 1024)	/* bytes of a recorded run that replay reads */
#define LIMIT_RECORD_STREAM (LIMIT_RECORD - 8u * 1024 * 1024) /* of these, messages of engine and gate */
#define LIMIT_BACKLOG (32u * 1024 * 1024) /* bytes waiting for the engine; FRAMEs beyond are dropped and counted */

/* ---- connections ---- */
#define LIMIT_PMTU_CACHE 64		/* destinations of a stack whose path MTU is remembered */
#define LIMIT_DGRAM_QUEUE 256		/* datagrams of a socket that wait, in either direction */
#define LIMIT_DGRAM_BYTES (256u * 1024)	/* and their bytes */
#define LIMIT_REASM_PACKETS 16		/* packets of a stack that are put together at once */
#define LIMIT_REASM_SOURCE 4		/* of them, of one source */

/* ---- TLS ---- */
#define LIMIT_TLS_SESSIONS 256		/* open at once in one run */
#define LIMIT_TLS_PIECE (16u * 1024)	/* bytes of either kind that one request carries */
#define LIMIT_TLS_SAID (60u * 1024)	/* bytes of an answer: what one piece may become */
#define LIMIT_TLS_NAME 255		/* of the peer, as asked */
#define LIMIT_TLS_ALPN 255		/* bytes of all protocol names with their lengths */
#define LIMIT_TLS_CHAIN 10		/* certificates told of one chain; the others are counted */
#define LIMIT_TLS_NAMES 200		/* names told of one certificate */
#define LIMIT_TLS_TEXT 1024		/* bytes of one text of a certificate */
#define LIMIT_TLS_ROOTS (4u * 1024 * 1024) /* bytes of the trusted certificates */

/* ---- agents (MCP) ---- */
#define LIMIT_MCP_MESSAGE (1024u * 1024) /* bytes of one message of a client */
#define LIMIT_MCP_DEPTH 32		/* arrays and objects in one another */
#define LIMIT_MCP_NAME 256		/* bytes of a method, a tool's name, an id */
#define LIMIT_MCP_BATCH 32		/* messages of one batch (2025-03-26) */
#define LIMIT_MCP_FLIGHTS 64		/* requests of one client under way */
#define LIMIT_MCP_SESSIONS 256		/* clients of the revisions with sessions, over HTTP */
#define LIMIT_MCP_SESSIONS_CALLER 32	/* of them, of one caller: the least recently used gives way */
#define LIMIT_MCP_IDLE 3600		/* s after which an unused session is forgotten */
#define LIMIT_MCP_QUESTIONS 16		/* questions to one client that wait for its answer */
#define LIMIT_MCP_ANSWER_WAIT 300	/* s that an answer is waited for */
#define LIMIT_MCP_SUBSCRIPTIONS 64	/* resources that one client subscribed to */
#define LIMIT_MCP_STATE (64u * 1024)	/* bytes of requestState */
#define LIMIT_MCP_USED_STATES 256	/* requestStates that were good for one use: remembered while they are good */
#define LIMIT_MCP_USED_STATES_CALLER 32	/* of them, of one caller: more he uses after a while */
#define LIMIT_MCP_STATE_AGE 900		/* s that a requestState is good for */
#define LIMIT_MCP_HANDLE_AGE 3600	/* s that a program or a page can be named */
#define LIMIT_MCP_HANDLES_CALLER (4u * 1024 * 1024) /* bytes of one caller's programs and pages */
#define LIMIT_MCP_HANDLES (64u * 1024 * 1024) /* and of all callers' */
#define LIMIT_MCP_CONNECTIONS 512	/* to the HTTP server at a time */
#define LIMIT_MCP_CONNECTIONS_PEER 256	/* of one address, where others than this host reach it */
#define LIMIT_MCP_HEAD (64u * 1024)	/* bytes of memory of one connection, for its head */
#define LIMIT_MCP_HEAD_MS 15000		/* until a new connection's first head is here */
#define LIMIT_MCP_BODY_MS 20000		/* from a head to its whole body */
#define LIMIT_MCP_IDLE_MS 60000		/* from an answer to the next whole request */
#define LIMIT_MCP_QUEUE (4u * 1024 * 1024) /* bytes of an answer that wait for a client to read them */
#define LIMIT_MCP_FILES 8192		/* descriptors of the front */
#define LIMIT_MCP_PAGE 100		/* rows of a list in one answer */
#define LIMIT_MCP_SYMPTOM 4096		/* bytes of an argument of a prompt, but a program */

/* ---- what they run ---- */
#define LIMIT_LAUNCH_PARAMS 32		/* of one program that an agent runs */
#define LIMIT_LAUNCH_VALUE 4096u	/* bytes of one of their values */
#define LIMIT_LAUNCH_LIMITS 4096u	/* bytes of declarations that narrow one run */
#define LIMIT_LAUNCH_JOB (LIMIT_SOURCE + 32u * 1024) /* bytes of all of it */
#define LIMIT_MCP_RUNS 8		/* at a time, unless the operator says other */
#define LIMIT_MCP_RUNS_CALLER 4		/* of one caller */
#define LIMIT_MCP_RUNS_MOST 256		/* that the operator may say */
#define LIMIT_MCP_ANSWER (32u * 1024 * 1024) /* bytes of a run's answer that the front takes */
#define LIMIT_MCP_CHECKS 8		/* programs checked at the same time; others wait */
#define LIMIT_MCP_CHECK_ANSWER (4u * 1024 * 1024) /* bytes */
#define LIMIT_CLIENT_CONFIG (1024u * 1024) /* bytes of a client's file, into which install writes */

#endif
