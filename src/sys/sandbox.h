/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process gives up: capabilities, uid, system calls, namespaces, files,
 * the time-stamp counter.
 *
 * Promises relied on: a thread without capabilities in its permitted set and with
 * no_new_privs never gets one again (capabilities(7)); a seccomp filter can't be
 * taken off and holds for what the process becomes (seccomp(2)); Landlock and
 * namespaces likewise; PR_SET_TSC makes rdtsc and rdtscp fault on x86-64 (some
 * hypervisors let them through nevertheless: no promise of Sonde's rests on it);
 * without its vDSO a process has no clock that is no system call.
 *
 * The allow-lists are tables in sandbox.c, a row per call with its reason.
 * Functions return 0 or -errno; none of them is undone.
 */
#ifndef SONDE_SYS_SANDBOX_H
#define SONDE_SYS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- capabilities ---- */

#define SANDBOX_CAP_NET_BIND_SERVICE (UINT64_C(1) << 10)
#define SANDBOX_CAP_NET_ADMIN (UINT64_C(1) << 12)
#define SANDBOX_CAP_NET_RAW (UINT64_C(1) << 13)

/* The effective set. */
uint64_t sandbox_caps(void);

/* Keeps those of `mask` that the process has, as permitted and effective; empties
 * the inheritable, ambient and (where it may) bounding sets; sets no_new_privs.
 * Reads back: -EPERM if more is left than asked. */
int sandbox_caps_keep(uint64_t mask);

/* As root: becomes user `sonde`, or nobody where there is none, and keeps the
 * capabilities of `mask`.  Not root: nothing.  ret_name is who we are then. */
int sandbox_leave_root(uint64_t mask, const char **ret_name);

/* ---- layers of the engine ---- */

#define SANDBOX_LAYERS(X)                                                        \
	X(NAMESPACES, "user, pid, mount and network namespaces of its own")      \
	X(CAPS, "no capability")                                                 \
	X(LANDLOCK, "Landlock: no file, no TCP, no signal or abstract socket outside") \
	X(TSC, "no time-stamp counter, no vDSO")                                 \
	X(SECCOMP, "system calls: read, write, exit_group")

#define SANDBOX_ENUM_(id, text) SANDBOX_##id,
typedef enum SandboxLayer { SANDBOX_LAYERS(SANDBOX_ENUM_) SANDBOX_N } SandboxLayer;

const char *sandbox_layer_text(SandboxLayer l);

/* Flags for proc_fork_ns(): what must be new from the first instruction. */
extern const int sandbox_engine_clone;

/* In the parent, before: notes where the clock pages are, for its children have no
 * /proc of their own. */
int sandbox_prepare(void);

/* Closes the engine in, read from `in`, write to `out` (at most 2 each; -1: none).
 * namespaces: the process came from proc_fork_ns(sandbox_engine_clone).
 * Returns the layers that could not be had, a bit each; the caller decides. */
unsigned sandbox_engine(bool namespaces, const int in[2], const int out[2], bool *ret_tsc_closed);

/* Whether rdtsc faults now.  Where PR_SET_TSC was accepted and it does not, the
 * processor under us ignores CR4.TSD (some hypervisors): no layer that a kernel
 * could give is missing, and no promise rests on it, but results say so. */
bool sandbox_tsc_closed(void);

/* True if this build (sanitizers) needs more calls than the table says. */
bool sandbox_is_widened(void);

/* ---- layers of the TLS process ---- */

/* It becomes another binary on the way: first what needs its parent's rights over
 * namespaces, then, when it has loaded its libraries and reads no file any more, the rest:
 * read and write on `fd` and what an allocator and OpenSSL ask for.  It keeps its clock and
 * the time-stamp counter, which OpenSSL's random numbers take in.
 * Both return the layers that could not be had, a bit each. */
unsigned sandbox_tls_before_exec(bool namespaces);
unsigned sandbox_tls(bool landlock, int fd);

/* ---- layers of a warm checker and its children ---- */

/* In the warm process, after sandbox_prepare(): no capability, no time-stamp counter, no vDSO, and a filter kept ready:
 * write on `fd` and exit_group.  Its children put that on before they read anything foreign,
 * at the cost of one call each.  Both: 0 or -errno. */
int sandbox_checker_prepare(int fd);
int sandbox_checker_child(void);

/* ---- the front of `sonde mcp` ---- */

/* Before it has threads, and when it listens already: no capability, no new file or
 * socket, no other program; files are read below `folders` (ended by NULL; absent ones are
 * passed over), which is where those lie that it reads again; it can't be looked into.  A
 * call that is not on its list fails with EPERM: libraries of others ask for much, and do
 * without.  A kernel without Landlock is the launcher's to refuse. */
int sandbox_front(const char *const *folders);

/* ---- filters of the others ---- */

typedef enum SandboxRole {
	SANDBOX_LOADER, /* look-ups of names and routes, policy */
	SANDBOX_GATE,
	SANDBOX_OPENER,
	SANDBOX_NETD,
	SANDBOX_READER, /* libpcap on one file */
} SandboxRole;

/* no_new_privs and the role's filter: a call outside of it kills the process. */
int sandbox_filter(SandboxRole role);

#endif
