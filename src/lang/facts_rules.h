/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for built-ins whose signature does not say enough: facts_builtin.c,
 * facts_python.c, facts_method.c.
 */
#ifndef SONDE_LANG_FACTS_RULES_H
#define SONDE_LANG_FACTS_RULES_H

#include "lang/facts_inside.h"

typedef const Fact *BuiltinRule(Facts *f, Node *n, BuiltinFunc which, CallArgs *c);

BuiltinRule b_abs, b_bool, b_bytes, b_count_by, b_dict, b_divmod, b_enumerate, b_int, b_ip, b_len, b_list,
	b_map, b_max, b_pack, b_randint, b_random_bytes, b_range, b_round, b_sorted, b_str, b_sum,
	b_summarize, b_zip, b_connect, b_listen;

/* ---- facts_conn.c ---- */

/* ---- facts_tls.c ---- */

BuiltinRule b_url, b_said, b_dns_read;

/* c.start_tls(): what it tells beyond what its arguments' labels say. */
void facts_start_tls(Facts *f, Node *n, CallArgs *c);

/* A method of a live object. */
const Fact *m_live(Facts *f, Node *n, BuiltinMethod which, CallArgs *c);

bool facts_fit_args(Facts *f, CallArgs *c);
const Fact *facts_ret_of(Facts *f, const CallArgs *c, const Node *n);
/* What a list's items are ordered or counted by: the key's result, or they themselves. */
/* The key of each of n items: of `elem` by the function c->arg[i], or itself. */
const Fact *facts_key_of(Facts *f, CallArgs *c, uint32_t i, const Fact *elem, Len n);
void facts_check_order(Facts *f, const Fact *k, Node *n);
/* Items of x; T_NEVER for a list that nothing was put into. */
const Fact *facts_items_len(Facts *f, const Fact *x, Node *at, Len *l);

#endif
