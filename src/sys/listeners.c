/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/listeners.h"

#include "base/addr.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sort.h"
#include "sys/io.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMORY = 1 << 20, COMM = 64 };

typedef struct Socket {
	Ip addr;
	uint16_t port;
	bool udp;
	uint32_t uid, pid; /* pid 0: not seen */
	uint64_t inode;
} Socket;

typedef struct Seen {
	Socket s[LISTENERS_MOST];
	unsigned n;
	bool more;
} Seen;

/* The kernel prints an address as words of the machine's own byte order. */
static bool read_addr(const char *hex, Ip *ret)
{
	uint8_t b[16];
	size_t n = strlen(hex) / 2;

	if (n != 4 && n != 16)
		return false;
	for (size_t i = 0; i < n; i += 4) {
		uint32_t word;

		if (sscanf(hex + 2 * i, "%8" SCNx32, &word) != 1)
			return false;
		memcpy(b + i, &word, sizeof word);
	}
	*ret = ip_from(n == 4 ? 4 : 6, b);
	return true;
}

static bool read_table(Seen *all, const char *path, bool udp)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		char addr[33];
		unsigned port, state;
		Socket s = { .udp = udp };

		if (sscanf(line, " %*u: %32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x %*s %*s %*s %" SCNu32 " %*s %" SCNu64, addr, &port,
			   &state, &s.uid, &s.inode) != 5)
			continue;
		if (state != (udp ? 7 : 10) || !read_addr(addr, &s.addr)) /* TCP_CLOSE: unconnected; TCP_LISTEN */
			continue;
		s.port = (uint16_t)port;
		if (all->n == LISTENERS_MOST)
			all->more = true;
		else
			all->s[all->n++] = s;
	}
	fclose(f);
	return true;
}

/* The sockets among a process's descriptors are its own. */
static void read_process(Seen *all, uint32_t pid)
{
	char path[64], to[64];
	DIR *d;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/fd", pid);
	d = opendir(path);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t inode;
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);

		if (n <= 0)
			continue;
		to[n] = 0;
		if (sscanf(to, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		for (unsigned i = 0; i < all->n; i++)
			if (all->s[i].inode == inode && !all->s[i].pid)
				all->s[i].pid = pid;
	}
	closedir(d);
}

static bool read_processes(Seen *all)
{
	DIR *d = opendir("/proc");

	if (!d)
		return false;
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t pid;

		if (str_to_u64(str_c(e->d_name), INT32_MAX, &pid))
			read_process(all, (uint32_t)pid);
	}
	closedir(d);
	return true;
}

static size_t comm_of(uint32_t pid, char out[COMM])
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(out, 1, COMM, f);
		fclose(f);
	}
	return n && out[n - 1] == '\n' ? n - 1 : n;
}

static int by_port(const void *a, const void *b)
{
	const Socket *x = a, *y = b;

	if (x->udp != y->udp)
		return x->udp ? 1 : -1;
	return x->port != y->port ? (x->port < y->port ? -1 : 1) : ip_cmp(x->addr, y->addr);
}

static void write_one(Json *j, Arena *a, const Socket *s)
{
	char addr[IP_TEXT], comm[COMM];
	Sb name = sb(a);

	json_open(j, '{');
	json_kstr(j, "proto", s->udp ? STR("udp") : STR("tcp"));
	json_kstr(j, "addr", (Str){ addr, ip_format(s->addr, addr) });
	json_kint(j, "port", s->port);
	json_kint(j, "uid", s->uid);
	json_key(j, "process");
	if (s->pid) {
		escape_line(&name, (Str){ comm, comm_of(s->pid, comm) });
		json_str(j, sb_done(&name));
	} else {
		json_nil(j);
	}
	json_key(j, "pid");
	if (s->pid)
		json_uint(j, s->pid);
	else
		json_nil(j);
	json_close(j, '}');
}

static bool write_all(Seen *all, Arena *a, int fd)
{
	Sb out = sb(a);
	Json j = json(&out);
	bool complete = !all->more;
	Str text;

	sort_items(all->s, all->n, sizeof *all->s, by_port);
	json_open(&j, '{');
	json_key(&j, "listeners");
	json_open(&j, '[');
	for (unsigned i = 0; i < all->n; i++) {
		write_one(&j, a, &all->s[i]);
		complete = complete && all->s[i].pid;
	}
	json_close(&j, ']');
	json_kbool(&j, "complete", complete);
	json_close(&j, '}');
	sb_char(&out, '\n');
	text = sb_done(&out);
	return io_write(fd, str_bytes(text)) == text.n;
}

bool listeners_write(int fd)
{
	Seen *all = calloc(1, sizeof *all);
	void *mem = malloc(MEMORY);
	jmp_buf full;
	Arena a;
	bool ok = false;

	if (all && mem && read_table(all, "/proc/net/tcp", false) && read_table(all, "/proc/net/udp", true)) {
		read_table(all, "/proc/net/tcp6", false); /* absent where there is no IPv6 */
		read_table(all, "/proc/net/udp6", true);
		arena_init(&a, mem, MEMORY, &full);
		ok = read_processes(all) && setjmp(full) == 0 && write_all(all, &a, fd);
	}
	free(mem);
	free(all);
	return ok;
}
