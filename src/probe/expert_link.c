/* SPDX-License-Identifier: Apache-2.0
 *
 * Ethernet, VLAN tags and ARP: who is who on the link.
 */
#include "probe/expert_inside.h"

enum {
	LINK_HEADER = 14,
	SHORTEST = 60, /* IEEE 802.3: what is shorter is padded */
	TAG = 4,
	TYPE_8021Q = 0x8100,
	ARP_REPLY = 2,
	CLAIMS_MANY = 3, /* addresses that one MAC answers for before it is told */
};

typedef struct MacText {
	char s[MAC_TEXT];
} MacText;

static MacText mac_text(const uint8_t *p)
{
	MacText t;
	Mac m;

	memcpy(m.b, p, sizeof m.b);
	mac_format(m, t.s);
	return t;
}

static uint64_t mac_num(const uint8_t *p)
{
	return (uint64_t)get_be16(p) << 32 | get_be32(p + 2);
}

static MacText num_text(uint64_t mac)
{
	uint8_t b[6];

	bits_put(b, 0, 48, mac);
	return mac_text(b);
}

static bool is_own(const Expert *e, const uint8_t *mac)
{
	for (uint32_t i = 0; i < e->own_macs; i++)
		if (memcmp(e->own_mac[i].b, mac, 6) == 0)
			return true;
	return false;
}

/* ---- Ethernet ---- */

/* RFC 1042: padding is zero; what else is there was in the sender's memory before. */
static void check_padding(Expert *e, const ExpertFrame *f)
{
	const uint8_t *end = f->frame.p + f->frame.n, *p = f->id->packet.p + f->id->packet.n;
	size_t most = SHORTEST + (get_be16(f->frame.p + 12) == TYPE_8021Q ? TAG : 0);
	size_t n = (size_t)(end - p), odd = 0;

	if (f->frame.n > most)
		return;
	for (size_t i = 0; i < n; i++)
		odd += p[i] != 0;
	if (odd)
		EXPERT_SAY(e, WARN_PADDING, f->id->src, "from %s: %zu of %zu bytes", expert_ip_text(f->id->src).s, odd, n);
}

static void check_addresses(Expert *e, const ExpertFrame *f)
{
	const uint8_t *dst = f->frame.p, *src = dst + 6;
	IpText ip = expert_ip_text(f->id->src);

	if (src[0] & 1)
		EXPERT_SAY(e, WARN_GROUP_SOURCE, f->id->src, "%s sends as %s", ip.s, mac_text(src).s);
	if (f->to_ours && f->id->v && dst[0] & 1)
		EXPERT_SAY(e, WARN_LINK_BROADCAST, f->id->src, "%s sends to %s", ip.s, mac_text(dst).s);
}

static void check_tag(Expert *e, const ExpertFrame *f)
{
	uint16_t vid = get_be16(f->frame.p + LINK_HEADER) & 0xfff;

	/* VID 0 is only a priority (IEEE 802.1Q 9.6) */
	if (get_be16(f->frame.p + 12) == TYPE_8021Q && vid && !e->tagged && !f->third_party)
		EXPERT_SAY(e, WARN_VLAN, f->id->src, "from %s: VLAN %u", expert_ip_text(f->id->src).s, vid);
}

/* A neighbour's packets come from one hardware address. */
static void check_mac(Expert *e, const ExpertFrame *f)
{
	uint64_t mac = mac_num(f->frame.p + 6);
	bool is_new;
	Note *n = f->from_link && f->id->v && !f->third_party
			  ? expert_note(e, NOTE_MAC, f->id->src, 0, &is_new)
			  : NULL;

	if (!n)
		return;
	if (!is_new && n->v != mac)
		EXPERT_SAY(e, WARN_MAC_CHANGED, f->id->src, "%s: from %s, then from %s", expert_ip_text(f->id->src).s,
			   num_text(n->v).s, num_text(mac).s);
	n->v = mac;
}

/* ---- ARP, RFC 826 ---- */

/* One that answers for many addresses. */
static void check_claims(Expert *e, Ip ip, const uint8_t *mac)
{
	bool is_new;
	Note *n = expert_note(e, NOTE_CLAIMS, WARN_NOBODY, mac_num(mac), &is_new);

	if (n && ++n->n >= CLAIMS_MANY)
		EXPERT_SAY(e, WARN_PROXY_ARP, ip, "%s answers for %s, the %uth address", mac_text(mac).s,
			   expert_ip_text(ip).s, n->n);
}

/* RFC 5227: two hardware addresses that claim one IP address. */
static void check_claim(Expert *e, const PacketId *id, const uint8_t *mac)
{
	bool is_new;
	Note *n = expert_note(e, NOTE_ARP, id->src, 0, &is_new);

	if (!n)
		return;
	if (!is_new && n->v != mac_num(mac))
		EXPERT_SAY(e, WARN_ARP_DUP, id->src, "%s is at %s and at %s", expert_ip_text(id->src).s,
			   num_text(n->v).s, mac_text(mac).s);
	else if (is_new && id->kind == ARP_REPLY)
		check_claims(e, id->src, mac);
	n->v = mac_num(mac);
}

static void check_arp(Expert *e, const ExpertFrame *f)
{
	const PacketId *id = f->id;
	const uint8_t *mac = id->packet.p + 8;
	IpText ip = expert_ip_text(id->src);

	if (!ip4_num(id->src)) /* RFC 5227 2.1.1: a probe claims nothing */
		return;
	if (f->from_ours) {
		if (!is_own(e, mac))
			EXPERT_SAY(e, WARN_OURS_CLAIMED, id->src, "%s says that it has our %s", mac_text(mac).s, ip.s);
		return;
	}
	if (f->first == WIRE_ETHER && memcmp(f->frame.p + 6, mac, 6) != 0)
		EXPERT_SAY(e, WARN_ARP_SENDER, id->src, "%s says that %s is at %s", mac_text(f->frame.p + 6).s, ip.s,
			   mac_text(mac).s);
	check_claim(e, id, mac);
}

void expert_link(Expert *e, const ExpertFrame *f)
{
	if (f->first == WIRE_ETHER && f->frame.n >= LINK_HEADER + TAG) {
		check_padding(e, f);
		check_addresses(e, f);
		check_tag(e, f);
		check_mac(e, f);
	}
	if (f->id->v == 0)
		check_arp(e, f);
}
