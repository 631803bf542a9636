/* SPDX-License-Identifier: Apache-2.0 */
#include "tcpip/pmtu.h"

#include "base/units.h"

enum {
	PROBES_MOST = 3,   /* RFC 8899 5.1.2: MAX_PROBES */
	TIMEOUTS_MOST = 2, /* RFC 4821 7.7 wants more than one, so that no single loss counts */
	TIMEOUTS_BASE = 4, /* of what BASE_PLPMTU takes: outages are common, paths below it are not */
	BASE = 1200,	   /* RFC 8899 5.1.2 */
	CLOSE_ENOUGH = 16, /* bytes that a further probe would not be worth */
};
#define RAISE_NS (600 * NS_PER_S) /* RFC 8899 5.1.1: PMTU_RAISE_TIMER; RFC 1191 6.3 */

/* Sizes that links have: RFC 1191 7's plateaus and what tunnels leave of 1500. */
static const uint16_t common[] = { 68,	 296,  508,  576,  1006, 1200, 1280, 1340, 1380, 1400, 1420, 1440,
				   1460, 1480, 1492, 1500, 2002, 4352, 8166, 9000, 17914, 32000, 65535 };

/* RFC 1191 7, table 7-1. */
static const uint16_t plateaus[] = { 68, 296, 508, 1006, 1492, 2002, 4352, 8166, 17914, 32000, 65535 };

/* Where to go when a path swallows what is larger (RFC 8899 5.1.2: BASE_PLPMTU), and
 * when it swallows that too. */
static const uint16_t rungs[] = { 68, 296, 576, BASE };

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The largest of a rising table below n, 0: none. */
static uint32_t below(const uint16_t *t, size_t count, uint32_t n)
{
	uint32_t found = 0;

	for (size_t i = 0; i < count && t[i] < n; i++)
		found = t[i];
	return found;
}

uint32_t pmtu_plateau(uint32_t n)
{
	uint32_t p = below(plateaus, COUNT(plateaus), n);

	return p ? p : PMTU_LEAST_V4;
}

static uint32_t rung_below(const Pmtu *p, uint32_t n)
{
	uint32_t r = below(rungs, COUNT(rungs), n);

	return r < p->least ? p->least : r;
}

void pmtu_init(Pmtu *p, uint8_t v, uint32_t link_mtu, uint32_t cached, int64_t now_ns)
{
	*p = (Pmtu){ .v = v,
		     .least = v == 4 ? PMTU_LEAST_V4 : PMTU_LEAST_V6,
		     .link = link_mtu,
		     .size = link_mtu,
		     .high = link_mtu,
		     .raise_ns = now_ns + RAISE_NS };
	if (cached && cached < link_mtu)
		p->size = p->high = cached < p->least ? p->least : cached;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void pmtu_bounds(Pmtu *p, uint32_t least, uint32_t most)
{
	p->link = smaller(p->link, most);
	p->size = smaller(p->size, most);
	p->high = smaller(p->high, most);
	if (p->least < least)
		p->least = least;
}

static void set_size(Pmtu *p, uint32_t size)
{
	if (p->size != size)
		p->changes++;
	p->size = size;
}

static void complete(Pmtu *p, int64_t now_ns)
{
	p->state = PMTU_COMPLETE;
	p->raise_ns = now_ns + RAISE_NS;
}

/* ---- the search ---- */

/* A size between what works and what does not: of those that links have, the middle one. */
static uint32_t candidate(const Pmtu *p)
{
	uint32_t found[COUNT(common)], n = 0;

	if (!p->high_failed)
		return p->high > p->size ? p->high : 0;
	for (size_t i = 0; i < COUNT(common); i++)
		if (common[i] > p->size && common[i] <= p->high)
			found[n++] = common[i];
	if (n)
		return found[n / 2];
	return p->high - p->size >= CLOSE_ENOUGH ? p->size + (p->high - p->size + 1) / 2 : 0;
}

uint32_t pmtu_probe_size(Pmtu *p, int64_t now_ns)
{
	if (p->probing)
		return 0;
	if (p->state == PMTU_COMPLETE && now_ns >= p->raise_ns && p->size < p->link) {
		p->state = PMTU_SEARCH;
		p->high = p->link;
		p->high_failed = false;
		p->tries = 0;
	}
	if (p->state != PMTU_SEARCH)
		return 0;
	uint32_t size = p->tries ? p->probe : candidate(p);
	if (!size)
		complete(p, now_ns);
	return size;
}

void pmtu_probe_sent(Pmtu *p, uint32_t size)
{
	p->probing = true;
	p->probe = size;
	p->probes++;
}

static void probe_failed(Pmtu *p, uint32_t high)
{
	p->probing = false;
	p->tries = 0;
	p->high = high;
	p->high_failed = true;
}

void pmtu_probe_lost(Pmtu *p, int64_t now_ns)
{
	if (!p->probing)
		return;
	p->probing = false;
	p->probes_lost++;
	if (++p->tries >= PROBES_MOST)
		probe_failed(p, p->probe - 1);
	if (p->high <= p->size)
		complete(p, now_ns);
}

static void probe_arrived(Pmtu *p, int64_t now_ns)
{
	p->probing = false;
	p->tries = 0;
	set_size(p, p->probe);
	if (p->size >= p->high)
		complete(p, now_ns);
}

void pmtu_acked(Pmtu *p, uint32_t size, uint32_t snd_una, int64_t now_ns)
{
	if (size > p->acked)
		p->acked = size;
	if (size > rung_below(p, p->size))
		p->timeouts = 0;
	/* RFC 5927 7.2: the connection went on, so the claim was false or is out of date */
	if (p->claimed && (int32_t)(snd_una - p->claimed_seq) > 0)
		p->claimed = 0;
	if (p->probing && size >= p->probe)
		probe_arrived(p, now_ns);
	if (p->state == PMTU_HOLE)
		p->state = PMTU_SEARCH;
}

/* ---- becoming smaller ---- */

static void shrink(Pmtu *p, uint32_t size)
{
	set_size(p, size);
	p->claimed = 0;
	p->timeouts = 0;
	p->tries = 0;
	p->probing = false;
	/* what arrived once no longer does: RFC 5927's maxsizeacked is of this path */
	if (p->acked > size)
		p->acked = size;
}

/* A router's word is the path's MTU, so there is nothing to search above it until the
 * path may have changed. */
static bool believe(Pmtu *p, uint32_t claimed, int64_t now_ns)
{
	shrink(p, claimed);
	p->high = claimed;
	complete(p, now_ns);
	return true;
}

/* RFC 4821 7.7.  Whether it is a hole or an outage shows when the smaller ones arrive:
 * then the old size is the first to be tried. */
static bool fall(Pmtu *p)
{
	uint32_t size = rung_below(p, p->size);

	if (size == p->size)
		return false;
	if (p->state != PMTU_HOLE) {
		p->high = p->size;
		p->high_failed = false;
	}
	shrink(p, size);
	p->holes++;
	p->state = PMTU_HOLE;
	return true;
}

bool pmtu_timeout(Pmtu *p, uint32_t size, int64_t now_ns)
{
	if (p->claimed && size > p->claimed)
		return believe(p, p->claimed, now_ns);
	if (size <= rung_below(p, p->size) || size > p->size)
		return false;
	return ++p->timeouts >= (p->size > BASE ? TIMEOUTS_MOST : TIMEOUTS_BASE) && fall(p);
}

bool pmtu_too_big(Pmtu *p, uint32_t claimed, uint32_t quoted_len, uint32_t seq, int64_t now_ns)
{
	if (claimed == 0 && p->v == 4)
		claimed = pmtu_plateau(quoted_len);
	if (claimed < p->least) {
		if (p->v == 6) /* RFC 8201 4: such a message is discarded */
			return false;
		claimed = p->least; /* RFC 1191 3 */
	}
	if (claimed >= p->size) { /* RFC 8899 4.6.2: of use if it is about the probe */
		if (p->probing && claimed < p->probe) {
			probe_failed(p, claimed);
			p->high_failed = false; /* but a size that a router says will pass */
		}
		return false;
	}
	p->too_big++;
	/* RFC 5927 7.2: what contradicts larger segments that arrived must be borne out by a timeout */
	if (claimed >= p->acked)
		return believe(p, claimed, now_ns);
	p->claimed = claimed;
	p->claimed_seq = seq;
	return false;
}

bool pmtu_follow(Pmtu *p, uint32_t size, int64_t now_ns)
{
	if (size < p->least)
		size = p->least;
	return size < p->size && believe(p, size, now_ns);
}

/* ---- cache ---- */

uint32_t pmtu_cache_get(const PmtuCache *c, Ip dst, int64_t now_ns)
{
	for (size_t i = 0; i < LIMIT_PMTU_CACHE; i++)
		if (c->row[i].mtu && ip_eq(c->row[i].dst, dst))
			return now_ns - c->row[i].at_ns < RAISE_NS ? c->row[i].mtu : 0;
	return 0;
}

void pmtu_cache_put(PmtuCache *c, Ip dst, uint32_t mtu, int64_t now_ns)
{
	PmtuCacheRow *to = &c->row[0];

	for (size_t i = 0; i < LIMIT_PMTU_CACHE; i++) {
		PmtuCacheRow *r = &c->row[i];

		if (r->mtu && ip_eq(r->dst, dst)) {
			to = r;
			break;
		}
		if (to->mtu && (!r->mtu || r->at_ns < to->at_ns))
			to = r;
	}
	*to = (PmtuCacheRow){ dst, mtu, now_ns };
}
