/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/tcp.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[TCP_STATE_N] = {
#define ROW(id, name) [TCP_##id] = (name),
	TCP_STATES(ROW)
#undef ROW
};

static const struct {
	const char *state, *text;
} errors[TCP_ERR_N] = {
#define ROW(id, state, text) [TCP_ERR_##id] = { (state), (text) },
	TCP_ERRORS(ROW)
#undef ROW
};

static const struct {
	const char *name, *text;
} events[TCP_EV_N] = {
#define ROW(id, name, text) [TCP_EV_##id] = { (name), (text) },
	TCP_EVENTS(ROW)
#undef ROW
};

const char *tcp_state_name(TcpState s)
{
	return s < TCP_STATE_N ? state_names[s] : "?";
}

const char *tcp_error_text(TcpError e)
{
	return e < TCP_ERR_N ? errors[e].text : "?";
}

const char *tcp_event_name(TcpEventKind k)
{
	return k < TCP_EV_N ? events[k].name : "?";
}

const char *tcp_public_state(const TcpConn *c)
{
	if (c->error)
		return errors[c->error].state;
	switch (c->state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECEIVED:
	case TCP_LISTEN:
		return "connecting";
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT: /* we can still send; that no more comes is what eof says */
		return "established";
	case TCP_FIN_WAIT_1:
	case TCP_FIN_WAIT_2:
	case TCP_CLOSING:
	case TCP_LAST_ACK:
		return "closing";
	default:
		return "closed";
	}
}

static int number_text(const TcpEvent *e, char which, char *buf, size_t cap)
{
	uint32_t v = which == 'a' ? e->a : e->b;

	if (e->kind == TCP_EV_STATE)
		return snprintf(buf, cap, "%s", tcp_state_name((TcpState)v));
	return snprintf(buf, cap, "%u", v);
}

int tcp_event_text(const TcpEvent *e, char *buf, unsigned cap)
{
	const char *t = e->kind < TCP_EV_N ? events[e->kind].text : "?";
	unsigned n = 0;

	for (; *t; t++) {
		char piece[24] = { *t };

		if (*t == '%')
			number_text(e, *++t, piece, sizeof piece);
		for (const char *p = piece; *p; p++, n++) {
			if (n + 1 < cap)
				buf[n] = *p;
		}
	}
	if (cap)
		buf[n < cap ? n : cap - 1] = 0;
	return (int)n;
}
