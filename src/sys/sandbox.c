/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sandbox.h"

#include "sys/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- capabilities ---- */

static int caps_get(struct __user_cap_data_struct d[2])
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &h, d) ? -errno : 0;
}

static int caps_set(uint64_t mask)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted = (uint32_t)(mask >> (32 * i));
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

uint64_t sandbox_caps(void)
{
	struct __user_cap_data_struct d[2] = { 0 };

	if (caps_get(d))
		return 0;
	return (uint64_t)d[1].effective << 32 | d[0].effective;
}

/* What execve() could give is nothing.  Needs CAP_SETPCAP, which a binary with file
 * capabilities lacks: there no_new_privs does the same. */
static void bounding_empty(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int sandbox_caps_keep(uint64_t mask)
{
	struct __user_cap_data_struct d[2];
	uint64_t have = sandbox_caps() & mask, left;
	int r;

	bounding_empty();
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	r = caps_set(have);
	if (r)
		return r;
	r = caps_get(d);
	if (r)
		return r;
	left = (uint64_t)(d[1].effective | d[1].permitted | d[1].inheritable) << 32 |
	       (d[0].effective | d[0].permitted | d[0].inheritable);
	return left == have ? 0 : -EPERM;
}

/* From the file alone: the name services would load libraries and ask networks. */
static bool user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *p;
	bool found = false;

	if (!f)
		return false;
	while (!found && (p = fgetpwent(f)))
		if (strcmp(p->pw_name, name) == 0 && p->pw_uid != 0) {
			*ret_uid = p->pw_uid;
			*ret_gid = p->pw_gid;
			found = true;
		}
	fclose(f);
	return found;
}

int sandbox_leave_root(uint64_t mask, const char **ret_name)
{
	uid_t uid = 65534;
	gid_t gid = 65534;

	*ret_name = "the caller";
	if (geteuid() != 0)
		return 0;
	*ret_name = "sonde";
	if (!user_find("sonde", &uid, &gid)) {
		*ret_name = "nobody";
		user_find("nobody", &uid, &gid);
	}
	bounding_empty(); /* while CAP_SETPCAP is there */
	if (mask && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	if (sandbox_is_widened()) /* a sanitizer looks for leaks by tracing its own process */
		prctl(PR_SET_DUMPABLE, 1);
	return mask ? caps_set(mask) : 0;
}

/* ---- Landlock ---- */

/* Newer kernels know more rights than the headers that we are built with. */
struct landlock_attr {
	uint64_t fs, net, scoped;
};

static int landlock_allow(long ruleset, const char *folder)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
						   .parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	long r;

	if (rule.parent_fd < 0)
		return 0; /* what is not there can't be read */
	r = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
	close(rule.parent_fd);
	return (int)r;
}

/* But for reading files below these folders; NULL: none. */
static int landlock_deny_all(const char *const *readable)
{
	static const struct {
		int abi;
		unsigned fs_bits; /* rights 0..fs_bits-1 exist */
		uint64_t net, scoped;
		size_t size;
	} abis[] = {
		{ 1, 13, 0, 0, 8 }, { 2, 14, 0, 0, 8 },	 { 3, 15, 0, 0, 8 },
		{ 4, 15, 3, 0, 16 }, { 5, 16, 3, 0, 16 }, { 6, 16, 3, 3, 24 },
	};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	size_t row = abi > 6 ? 5 : (size_t)(abi - 1);

	if (abi < 1)
		return -ENOSYS;
	struct landlock_attr a = { .fs = (UINT64_C(1) << abis[row].fs_bits) - 1,
				   .net = abis[row].net,
				   .scoped = abis[row].scoped };
	long fd = syscall(SYS_landlock_create_ruleset, &a, abis[row].size, 0);
	if (fd < 0)
		return -errno;
	for (int bad = 0; readable && *readable; readable++)
		if ((bad = landlock_allow(fd, *readable))) {
			close((int)fd);
			return bad;
		}
	long r = syscall(SYS_landlock_restrict_self, fd, 0);
	int err = errno;
	close((int)fd);
	return r ? -err : 0;
}

/* ---- engine ---- */

const int sandbox_engine_clone = CLONE_NEWUSER | CLONE_NEWPID;

const char *sandbox_layer_text(SandboxLayer l)
{
#define TEXT_(id, text) [SANDBOX_##id] = (text),
	static const char *const texts[] = { SANDBOX_LAYERS(TEXT_) };
#undef TEXT_

	return l < SANDBOX_N ? texts[l] : "?";
}

static int tsc_off(void)
{
#if defined(__x86_64__)
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) ? -errno : 0;
#else
	return 0; /* no counter that a process could be kept from; nothing promised */
#endif
}

#if defined(__x86_64__)
static sigjmp_buf tsc_faulted;

static void on_tsc_fault(int sig)
{
	siglongjmp(tsc_faulted, sig);
}
#endif

bool sandbox_tsc_closed(void)
{
#if defined(__x86_64__)
	struct sigaction fault = { .sa_handler = on_tsc_fault }, before;
	bool closed = true;

	sigaction(SIGSEGV, &fault, &before);
	if (sigsetjmp(tsc_faulted, 1) == 0) {
		__asm__ volatile("rdtsc" ::: "eax", "edx");
		closed = false;
	}
	sigaction(SIGSEGV, &before, NULL);
	return closed;
#else
	return false;
#endif
}

/* The kernel's clock pages: [vvar] is a clock to read, [vdso] the code that reads it. */
static struct {
	uintptr_t from, to;
} clock_map[8];
static size_t clock_maps;

int sandbox_prepare(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	if (!f)
		return -errno;
	clock_maps = 0;
	while (fgets(line, sizeof line, f) && clock_maps < sizeof clock_map / sizeof *clock_map)
		if ((strstr(line, "[vvar") || strstr(line, "[vdso]")) &&
		    sscanf(line, "%lx-%lx", &clock_map[clock_maps].from, &clock_map[clock_maps].to) == 2)
			clock_maps++;
	fclose(f);
	return 0;
}

static int vdso_off(void)
{
	if (sandbox_is_widened()) /* a sanitizer's runtime asks for the time */
		return 0;
	for (size_t i = 0; i < clock_maps; i++)
		if (munmap((void *)clock_map[i].from, clock_map[i].to - clock_map[i].from))
			return -errno;
	return clock_maps ? 0 : -ENOENT;
}

unsigned sandbox_engine(bool namespaces, const int in[2], const int out[2], bool *ret_tsc_closed)
{
	unsigned missing = 0;

	/* the costly ones here, in the child's own time */
	if (namespaces && unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS))
		missing |= 1u << SANDBOX_NAMESPACES;
	if (sandbox_caps_keep(0))
		missing |= 1u << SANDBOX_CAPS;
	if (namespaces && landlock_deny_all(NULL))
		missing |= 1u << SANDBOX_LANDLOCK;
	if (tsc_off() || vdso_off())
		missing |= 1u << SANDBOX_TSC;
	*ret_tsc_closed = sandbox_tsc_closed();
	if (sandbox_engine_filter(in, out))
		missing |= 1u << SANDBOX_SECCOMP;
	return missing;
}

/* ---- a checker ---- */

int sandbox_checker_prepare(int fd)
{
	int r = sandbox_caps_keep(0);

	if (!r)
		r = sandbox_checker_filter(fd);
	if (!r)
		r = tsc_off();
	return r ? r : vdso_off();
}

/* ---- the TLS process ---- */

unsigned sandbox_tls_before_exec(bool namespaces)
{
	unsigned missing = 0;

	if (!namespaces || unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS))
		missing |= 1u << SANDBOX_NAMESPACES;
	if (sandbox_caps_keep(0))
		missing |= 1u << SANDBOX_CAPS;
	return missing;
}

unsigned sandbox_tls(bool landlock, int fd)
{
	unsigned missing = 0;

	if (sandbox_caps_keep(0)) /* execve() gave none; read back */
		missing |= 1u << SANDBOX_CAPS;
	if (landlock && landlock_deny_all(NULL))
		missing |= 1u << SANDBOX_LANDLOCK;
	if (sandbox_tls_filter(fd))
		missing |= 1u << SANDBOX_SECCOMP;
	return missing;
}

/* ---- the front ---- */

int sandbox_front(const char *const *folders)
{
	int r = sandbox_caps_keep(0);

	if (!r && !sandbox_is_widened() && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		r = -errno;
	if (!r)
		r = landlock_deny_all(folders);
	return r && r != -ENOSYS && r != -EOPNOTSUPP ? r : sandbox_front_filter();
}
