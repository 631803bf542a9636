/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/hold.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The abstract name: zero byte, tag, family, address, protocol, id. */
static const char tag[] = "sonde-icmp";
enum { TAG = sizeof tag - 1, NAME = 1 + TAG + 1 + 16 + 1 + 2 };

static socklen_t name_put(struct sockaddr_un *un, const Held *h)
{
	Writer w = writer(un->sun_path, sizeof un->sun_path);

	un->sun_family = AF_UNIX;
	wr_u8(&w, 0);
	wr_bytes(&w, BYTES(tag, TAG));
	wr_u8(&w, h->addr.v);
	wr_bytes(&w, BYTES(h->addr.b, 16));
	wr_u8(&w, h->proto);
	wr_be16(&w, h->port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + w.n);
}

static bool name_get(const struct sockaddr_un *un, socklen_t len, Held *ret_h)
{
	Cursor c;
	Held h = { 0 };

	if (len != offsetof(struct sockaddr_un, sun_path) + NAME)
		return false;
	c = cursor(BYTES(un->sun_path, NAME));
	if (cur_u8(&c) != 0 || !bytes_eq(cur_bytes(&c, TAG), BYTES(tag, TAG)))
		return false;
	h.addr.v = cur_u8(&c);
	memcpy(h.addr.b, cur_bytes(&c, 16).p, 16);
	h.proto = cur_u8(&c);
	h.port = cur_be16(&c);
	if (h.proto != (h.addr.v == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return false;
	*ret_h = h;
	return true;
}

static socklen_t in_put(struct sockaddr_storage *ss, const Held *h, int iface)
{
	if (h->addr.v == 4) {
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(h->port) };

		memcpy(&a.sin_addr, h->addr.b, 4);
		memcpy(ss, &a, sizeof a);
		return sizeof a;
	}
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(h->port) };

	memcpy(&a.sin6_addr, h->addr.b, 16);
	if (ip_class(h->addr) == IP_CLASS_LINK_LOCAL)
		a.sin6_scope_id = (uint32_t)iface;
	memcpy(ss, &a, sizeof a);
	return sizeof a;
}

int hold_take(const Held *h, int iface)
{
	bool icmp = h->proto == IPPROTO_ICMP || h->proto == IPPROTO_ICMPV6;
	int domain = icmp ? AF_UNIX : h->addr.v == 4 ? AF_INET : AF_INET6;
	int type = h->proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_un un = { 0 };
	int fd, err;

	if (h->addr.v != 4 && h->addr.v != 6)
		return -EINVAL;
	if (!icmp && h->proto != IPPROTO_TCP && h->proto != IPPROTO_UDP)
		return -EPROTONOSUPPORT;
	fd = socket(domain, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = icmp ? bind(fd, (struct sockaddr *)&un, name_put(&un, h))
		   : bind(fd, (struct sockaddr *)&ss, in_put(&ss, h, iface));
	if (err) {
		err = errno;
		close(fd);
		return -err;
	}
	return fd;
}

bool hold_read(int fd, Held *ret_h)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss, plen = sizeof(int);
	int proto = 0;

	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		return false;
	if (ss.ss_family == AF_UNIX) {
		struct sockaddr_un un;

		memcpy(&un, &ss, sizeof un);
		return name_get(&un, len, ret_h);
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &proto, &plen) ||
	    (proto != IPPROTO_TCP && proto != IPPROTO_UDP))
		return false;
	if (ss.ss_family == AF_INET) {
		struct sockaddr_in a;

		memcpy(&a, &ss, sizeof a);
		*ret_h = (Held){ ip_from(4, (const uint8_t *)&a.sin_addr), (uint8_t)proto, ntohs(a.sin_port) };
	} else if (ss.ss_family == AF_INET6) {
		struct sockaddr_in6 a;

		memcpy(&a, &ss, sizeof a);
		*ret_h = (Held){ ip_from(6, a.sin6_addr.s6_addr), (uint8_t)proto, ntohs(a.sin6_port) };
	} else {
		return false;
	}
	return ret_h->port != 0;
}
