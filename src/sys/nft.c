/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules are tables of small steps, a row per nf_tables expression; libnftnl
 * writes the attributes.  Each change is one batch: all or nothing.
 */
#include "sys/nft.h"

#include <errno.h>
#include <netinet/in.h> /* before the kernel's, which then leave its names alone */
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>

enum { NFT_BUF = 64 * 1024, BEFORE_CONNTRACK = -300 };
static const char chain_name[] = "input";

struct Nft {
	struct mnl_socket *nl;
	uint32_t seq;
	bool made;
	char table[NFT_NAME];
	_Alignas(struct nlmsghdr) char buf[NFT_BUF];
};

Nft *nft_open(uint32_t number)
{
	Nft *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	snprintf(n->table, sizeof n->table, "sonde-%u", number);
	n->nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (n->nl && mnl_socket_bind(n->nl, 0, MNL_SOCKET_AUTOPID) == 0)
		return n;
	nft_close(n);
	return NULL;
}

void nft_close(Nft *n)
{
	if (!n)
		return;
	if (n->nl)
		mnl_socket_close(n->nl);
	free(n);
}

const char *nft_table_name(const Nft *n)
{
	return n->table;
}

/* ---- batches ---- */

typedef struct Batch {
	Nft *n;
	struct mnl_nlmsg_batch *b;
	uint32_t last; /* sequence number of the last message */
} Batch;

static bool batch_begin(Batch *b, Nft *n)
{
	*b = (Batch){ .n = n, .b = mnl_nlmsg_batch_start(n->buf, NFT_BUF / 2) };
	if (!b->b)
		return false;
	nftnl_batch_begin(mnl_nlmsg_batch_current(b->b), ++n->seq);
	mnl_nlmsg_batch_next(b->b);
	return true;
}

static struct nlmsghdr *batch_msg(Batch *b, uint16_t type, uint16_t flags)
{
	b->last = ++b->n->seq;
	return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(b->b), type, NFPROTO_INET, flags, b->last);
}

/* The kernel answers before sendto() returns: errors as they come, an ACK for
 * the last message, which asked for one. */
static int batch_answer(Nft *n, uint32_t last)
{
	_Alignas(struct nlmsghdr) char buf[8192];
	int err = 0;
	bool acked = false;

	for (;;) {
		ssize_t got = recv(mnl_socket_get_fd(n->nl), buf, sizeof buf, MSG_DONTWAIT);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(nlh) < sizeof *e)
				continue;
			if (e->error && !err)
				err = e->error;
			acked = acked || (!e->error && nlh->nlmsg_seq == last);
		}
	}
	return err ? err : acked ? 0 : -EIO;
}

static int batch_commit(Batch *b, struct nlmsghdr *last)
{
	Nft *n = b->n;
	ssize_t r;
	int err = 0;

	last->nlmsg_flags |= NLM_F_ACK;
	nftnl_batch_end(mnl_nlmsg_batch_current(b->b), ++n->seq);
	mnl_nlmsg_batch_next(b->b);
	r = mnl_socket_sendto(n->nl, mnl_nlmsg_batch_head(b->b), mnl_nlmsg_batch_size(b->b));
	if (r < 0)
		err = -errno;
	mnl_nlmsg_batch_stop(b->b);
	return err ? err : batch_answer(n, b->last);
}

/* ---- what the table holds ---- */

/* nft's numbers of data types, for listings: 6 bits each in a concatenation. */
enum { TYPE_IP4 = 7, TYPE_IP6 = 8, TYPE_PROTO = 12, TYPE_PORT = 13, TYPE_ICMP = 14, TYPE_ICMP6 = 29 };

typedef struct SetRow {
	const char *name;
	uint32_t key_type, key_len;
	const uint8_t *fixed; /* one-byte elements that never change; ends with 0 */
} SetRow;

enum { SET_OWN4, SET_OWN6, SET_ECHO4, SET_ECHO6, SET_ERRORS4, SET_ERRORS6, SET_N };

/* RFC 792: unreachable, source quench, redirect, time exceeded, parameter problem */
static const uint8_t errors4[] = { 3, 4, 5, 11, 12, 0 };
/* RFC 4443: unreachable, too big, time exceeded, parameter problem */
static const uint8_t errors6[] = { 1, 2, 3, 4, 0 };

static const SetRow sets[SET_N] = {
	[SET_OWN4] = { "own4", TYPE_IP4 << 12 | TYPE_PROTO << 6 | TYPE_PORT, 12, NULL },
	[SET_OWN6] = { "own6", TYPE_IP6 << 12 | TYPE_PROTO << 6 | TYPE_PORT, 24, NULL },
	[SET_ECHO4] = { "echo4", TYPE_IP4 << 6 | TYPE_PORT, 8, NULL },
	[SET_ECHO6] = { "echo6", TYPE_IP6 << 6 | TYPE_PORT, 20, NULL },
	[SET_ERRORS4] = { "errors4", TYPE_ICMP, 1, errors4 },
	[SET_ERRORS6] = { "errors6", TYPE_ICMP6, 1, errors6 },
};

typedef enum StepKind { STEP_END, STEP_META, STEP_NET, STEP_TH, STEP_IS, STEP_IN } StepKind;

typedef struct Step {
	StepKind kind;
	uint8_t a;   /* META: key; NET, TH: offset; IS: the byte; IN: the set */
	uint8_t len; /* NET, TH: bytes */
	uint8_t reg; /* 32-bit register, counted from 0 */
} Step;

#define FAMILY(f) { STEP_META, NFT_META_NFPROTO, 1, 0 }, { STEP_IS, f, 1, 0 }
#define PROTO(p) { STEP_META, NFT_META_L4PROTO, 1, 0 }, { STEP_IS, p, 1, 0 }
#define TH_IS(off, v) { STEP_TH, off, 1, 0 }, { STEP_IS, v, 1, 0 }
#define TH_IN(off, set) { STEP_TH, off, 1, 0 }, { STEP_IN, set, 0, 0 }

enum {
	ICMP_HEAD = 8,			 /* an error's own header; the quote follows */
	Q4 = ICMP_HEAD, Q4_TH = Q4 + 20, /* quoted IPv4 header without options */
	Q6 = ICMP_HEAD, Q6_TH = Q6 + 40,
	STEPS = 14
};

static const Step rules[][STEPS] = {
	/* to an own TCP or UDP port */
	{ FAMILY(NFPROTO_IPV4), { STEP_NET, 16, 4, 0 }, { STEP_META, NFT_META_L4PROTO, 1, 1 },
	  { STEP_TH, 2, 2, 2 }, { STEP_IN, SET_OWN4, 0, 0 } },
	{ FAMILY(NFPROTO_IPV6), { STEP_NET, 24, 16, 0 }, { STEP_META, NFT_META_L4PROTO, 1, 4 },
	  { STEP_TH, 2, 2, 5 }, { STEP_IN, SET_OWN6, 0, 0 } },
	/* an error that quotes a packet from an own port */
	{ FAMILY(NFPROTO_IPV4), PROTO(IPPROTO_ICMP), TH_IN(0, SET_ERRORS4), TH_IS(Q4, 0x45),
	  { STEP_TH, Q4 + 12, 4, 0 }, { STEP_TH, Q4 + 9, 1, 1 }, { STEP_TH, Q4_TH, 2, 2 },
	  { STEP_IN, SET_OWN4, 0, 0 } },
	{ FAMILY(NFPROTO_IPV6), PROTO(IPPROTO_ICMPV6), TH_IN(0, SET_ERRORS6), { STEP_TH, Q6 + 8, 16, 0 },
	  { STEP_TH, Q6 + 6, 1, 4 }, { STEP_TH, Q6_TH, 2, 5 }, { STEP_IN, SET_OWN6, 0, 0 } },
	/* an error that quotes an echo request with an own id */
	{ FAMILY(NFPROTO_IPV4), PROTO(IPPROTO_ICMP), TH_IN(0, SET_ERRORS4), TH_IS(Q4 + 9, IPPROTO_ICMP),
	  { STEP_TH, Q4 + 12, 4, 0 }, { STEP_TH, Q4_TH + 4, 2, 1 }, { STEP_IN, SET_ECHO4, 0, 0 } },
	{ FAMILY(NFPROTO_IPV6), PROTO(IPPROTO_ICMPV6), TH_IN(0, SET_ERRORS6), TH_IS(Q6 + 6, IPPROTO_ICMPV6),
	  { STEP_TH, Q6 + 8, 16, 0 }, { STEP_TH, Q6_TH + 4, 2, 4 }, { STEP_IN, SET_ECHO6, 0, 0 } },
};

/* ---- expressions ---- */

static uint32_t reg(uint8_t i)
{
	return NFT_REG32_00 + i;
}

static struct nftnl_expr *expr_payload(uint32_t base, const Step *s)
{
	struct nftnl_expr *e = nftnl_expr_alloc("payload");

	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, s->a);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, s->len);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, reg(s->reg));
	return e;
}

static struct nftnl_expr *expr_net(const Step *s)
{
	return expr_payload(NFT_PAYLOAD_NETWORK_HEADER, s);
}

static struct nftnl_expr *expr_th(const Step *s)
{
	return expr_payload(NFT_PAYLOAD_TRANSPORT_HEADER, s);
}

static struct nftnl_expr *expr_meta(const Step *s)
{
	struct nftnl_expr *e = nftnl_expr_alloc("meta");

	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, s->a);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, reg(s->reg));
	return e;
}

static struct nftnl_expr *expr_is(const Step *s)
{
	struct nftnl_expr *e = nftnl_expr_alloc("cmp");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, reg(s->reg));
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
	nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, &s->a, 1);
	return e;
}

static struct nftnl_expr *expr_in(const Step *s)
{
	struct nftnl_expr *e = nftnl_expr_alloc("lookup");

	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, reg(s->reg));
	nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, sets[s->a].name);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SET_ID, (uint32_t)s->a + 1);
	return e;
}

static struct nftnl_expr *expr_drop(void)
{
	struct nftnl_expr *e = nftnl_expr_alloc("immediate");

	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, NF_DROP);
	return e;
}

/* ---- making the table ---- */

static void put_table(Batch *b, uint16_t type, uint16_t flags, uint32_t table_flags)
{
	struct nftnl_table *t = nftnl_table_alloc();

	nftnl_table_set_str(t, NFTNL_TABLE_NAME, b->n->table);
	if (table_flags)
		nftnl_table_set_u32(t, NFTNL_TABLE_FLAGS, table_flags);
	nftnl_table_nlmsg_build_payload(batch_msg(b, type, flags), t);
	nftnl_table_free(t);
}

static struct nftnl_set *set_new(const Nft *n, const SetRow *row, uint32_t id)
{
	struct nftnl_set *s = nftnl_set_alloc();

	nftnl_set_set_str(s, NFTNL_SET_TABLE, n->table);
	nftnl_set_set_str(s, NFTNL_SET_NAME, row->name);
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_ID, id);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, row->key_type);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, row->key_len);
	return s;
}

static void elem_add(struct nftnl_set *s, const void *key, uint32_t len)
{
	struct nftnl_set_elem *e = nftnl_set_elem_alloc();

	nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, key, len);
	nftnl_set_elem_add(s, e);
}

static void put_sets(Batch *b)
{
	for (uint32_t i = 0; i < SET_N; i++) {
		struct nftnl_set *s = set_new(b->n, &sets[i], i + 1);

		nftnl_set_nlmsg_build_payload(batch_msg(b, NFT_MSG_NEWSET, NLM_F_CREATE), s);
		mnl_nlmsg_batch_next(b->b);
		for (const uint8_t *v = sets[i].fixed; v && *v; v++)
			elem_add(s, v, 1);
		if (sets[i].fixed) {
			nftnl_set_elems_nlmsg_build_payload(batch_msg(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE), s);
			mnl_nlmsg_batch_next(b->b);
		}
		nftnl_set_free(s);
	}
}

static void put_chain(Batch *b)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, b->n->table);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chain_name);
	nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter");
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_PRE_ROUTING);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, BEFORE_CONNTRACK);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	nftnl_chain_nlmsg_build_payload(batch_msg(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE), c);
	mnl_nlmsg_batch_next(b->b);
	nftnl_chain_free(c);
}

static struct nlmsghdr *put_rule(Batch *b, const Step *steps)
{
	static struct nftnl_expr *(*const make[])(const Step *) = {
		[STEP_META] = expr_meta, [STEP_NET] = expr_net, [STEP_TH] = expr_th,
		[STEP_IS] = expr_is,	 [STEP_IN] = expr_in,
	};
	struct nftnl_rule *r = nftnl_rule_alloc();
	struct nlmsghdr *nlh;

	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, b->n->table);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain_name);
	nftnl_rule_set_u32(r, NFTNL_RULE_FAMILY, NFPROTO_INET);
	for (const Step *s = steps; s->kind != STEP_END; s++)
		nftnl_rule_add_expr(r, make[s->kind](s));
	nftnl_rule_add_expr(r, nftnl_expr_alloc("counter"));
	nftnl_rule_add_expr(r, expr_drop());
	nlh = batch_msg(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	nftnl_rule_nlmsg_build_payload(nlh, r);
	mnl_nlmsg_batch_next(b->b);
	nftnl_rule_free(r);
	return nlh;
}

static int table_make(Nft *n)
{
	Batch b;
	struct nlmsghdr *last = NULL;
	int err;

	if (!batch_begin(&b, n))
		return -ENOMEM;
	put_table(&b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, NFT_TABLE_F_OWNER);
	mnl_nlmsg_batch_next(b.b);
	put_sets(&b);
	put_chain(&b);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		last = put_rule(&b, rules[i]);
	err = batch_commit(&b, last);
	n->made = n->made || !err;
	return err;
}

/* ---- what is owned ---- */

/* The set that a held thing belongs to, and its key there: fields padded to 4 bytes. */
static int held_key(const Held *h, uint8_t key[24])
{
	bool icmp = h->proto == IPPROTO_ICMP || h->proto == IPPROTO_ICMPV6;
	Writer w = writer(key, 24);

	wr_bytes(&w, BYTES(h->addr.b, ip_len(h->addr)));
	if (!icmp) {
		wr_u8(&w, h->proto);
		wr_zeros(&w, 3);
	}
	wr_be16(&w, h->port);
	wr_zeros(&w, 2);
	if (h->addr.v == 4)
		return icmp ? SET_ECHO4 : SET_OWN4;
	return icmp ? SET_ECHO6 : SET_OWN6;
}

static struct nlmsghdr *put_elems(Batch *b, int set, const Held *h, size_t count, bool add)
{
	struct nftnl_set *s = set_new(b->n, &sets[set], 0);
	struct nlmsghdr *nlh = NULL;
	uint8_t key[24];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (held_key(&h[i], key) == set) {
			elem_add(s, key, sets[set].key_len);
			n++;
		}
	if (n) {
		nlh = batch_msg(b, add ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM, add ? NLM_F_CREATE : 0);
		nftnl_set_elems_nlmsg_build_payload(nlh, s);
		mnl_nlmsg_batch_next(b->b);
	}
	nftnl_set_free(s);
	return nlh;
}

int nft_own(Nft *n, const Held *h, size_t count, bool add)
{
	Batch b;
	struct nlmsghdr *last = NULL;
	int err = n->made || !add ? 0 : table_make(n);

	if (err || !n->made)
		return err;
	if (!batch_begin(&b, n))
		return -ENOMEM;
	for (int set = SET_OWN4; set <= SET_ECHO6; set++) {
		struct nlmsghdr *nlh = put_elems(&b, set, h, count, add);

		last = nlh ? nlh : last;
	}
	if (!last) {
		mnl_nlmsg_batch_stop(b.b);
		return -EINVAL;
	}
	return batch_commit(&b, last);
}

/* ---- asking ---- */

static int count_cb(const struct nlmsghdr *nlh, void *arg)
{
	uint64_t *packets = arg;
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (r && nftnl_rule_nlmsg_parse(nlh, r) == 0) {
		struct nftnl_expr_iter *it = nftnl_expr_iter_create(r);
		struct nftnl_expr *e;

		while ((e = nftnl_expr_iter_next(it)))
			if (strcmp(nftnl_expr_get_str(e, NFTNL_EXPR_NAME), "counter") == 0)
				*packets += nftnl_expr_get_u64(e, NFTNL_EXPR_CTR_PACKETS);
		nftnl_expr_iter_destroy(it);
	}
	if (r)
		nftnl_rule_free(r);
	return MNL_CB_OK;
}

static int ask(Nft *n, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	uint32_t seq = nlh->nlmsg_seq;
	unsigned port = mnl_socket_get_portid(n->nl);
	int run;

	if (mnl_socket_sendto(n->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t got = mnl_socket_recvfrom(n->nl, n->buf, NFT_BUF);

		if (got < 0)
			return -errno;
		run = mnl_cb_run(n->buf, (size_t)got, seq, port, cb, arg);
		if (run < 0)
			return -errno;
	} while (run > 0);
	return 0;
}

int nft_dropped(Nft *n, uint64_t *ret_packets)
{
	struct nftnl_rule *r;
	struct nlmsghdr *nlh;

	*ret_packets = 0;
	if (!n->made)
		return 0;
	r = nftnl_rule_alloc();
	if (!r)
		return -ENOMEM;
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, n->table);
	nlh = nftnl_nlmsg_build_hdr(n->buf, NFT_MSG_GETRULE, NFPROTO_INET, NLM_F_DUMP, ++n->seq);
	nftnl_rule_nlmsg_build_payload(nlh, r);
	nftnl_rule_free(r);
	return ask(n, nlh, count_cb, ret_packets);
}

static int there_cb(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	*(bool *)arg = true;
	return MNL_CB_OK;
}

static int table_is_there(Nft *n, bool *ret_there)
{
	struct nftnl_table *t = nftnl_table_alloc();
	struct nlmsghdr *nlh;
	int err;

	*ret_there = false;
	if (!t)
		return -ENOMEM;
	nftnl_table_set_str(t, NFTNL_TABLE_NAME, n->table);
	nlh = nftnl_nlmsg_build_hdr(n->buf, NFT_MSG_GETTABLE, NFPROTO_INET, NLM_F_ACK, ++n->seq);
	nftnl_table_nlmsg_build_payload(nlh, t);
	nftnl_table_free(t);
	err = ask(n, nlh, there_cb, ret_there);
	return err == -ENOENT ? 0 : err;
}

int nft_remove(Nft *n)
{
	Batch b;
	bool there;
	int err;

	if (!n->made)
		return 0;
	if (!batch_begin(&b, n))
		return -ENOMEM;
	put_table(&b, NFT_MSG_DELTABLE, 0, 0);
	struct nlmsghdr *last = mnl_nlmsg_batch_current(b.b);
	mnl_nlmsg_batch_next(b.b);
	err = batch_commit(&b, last);
	if (err && err != -ENOENT)
		return err;
	err = table_is_there(n, &there);
	if (!err && there)
		err = -EEXIST;
	n->made = n->made && err;
	return err;
}
