/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/pcap_lib.h"

#include <dlfcn.h>

/* The functions of libpcap that are used, by their own names. */
#define PCAP_FUNCTIONS(X)                         \
	X(pcap_open_dead)                         \
	X(pcap_compile)                           \
	X(pcap_freecode)                          \
	X(pcap_geterr)                            \
	X(pcap_close)                             \
	X(pcap_offline_filter)                    \
	X(pcap_fopen_offline_with_tstamp_precision) \
	X(pcap_datalink)                          \
	X(pcap_datalink_val_to_name)              \
	X(pcap_next_ex)

static struct {
	bool loaded;
#define FIELD_(name) __typeof__(&name) name;
	PCAP_FUNCTIONS(FIELD_)
#undef FIELD_
} lib;

static char fault_text[PCAP_ERRBUF_SIZE];

static bool take(void *so, const char *name, void *ret_function)
{
	void *p = dlsym(so, name);

	memcpy(ret_function, &p, sizeof p); /* ISO C has no cast from an object pointer to a function's */
	return p != NULL;
}

bool pcap_lib_load(void)
{
	static const char *const names[] = { "libpcap.so.0.8", "libpcap.so.1" };
	void *so = NULL;
	bool ok;

	if (lib.loaded)
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names && !so; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	ok = so != NULL;
#define TAKE_(name) ok = ok && take(so, #name, &lib.name);
	PCAP_FUNCTIONS(TAKE_)
#undef TAKE_
	lib.loaded = ok;
	return ok;
}

static bool need(const char **ret_fault)
{
	*ret_fault = "libpcap is not installed";
	return pcap_lib_load();
}

bool pcap_lib_compile(const char *text, bool ether, struct bpf_program *ret_prog, const char **ret_fault)
{
	pcap_t *p;
	bool ok;

	if (!need(ret_fault))
		return false;
	p = lib.pcap_open_dead(ether ? DLT_EN10MB : DLT_RAW, 262144);
	if (!p)
		return false;
	ok = lib.pcap_compile(p, ret_prog, text, 1, PCAP_NETMASK_UNKNOWN) == 0;
	snprintf(fault_text, sizeof fault_text, "%s", ok ? "" : lib.pcap_geterr(p));
	*ret_fault = fault_text;
	lib.pcap_close(p);
	return ok;
}

void pcap_lib_free(struct bpf_program *prog)
{
	lib.pcap_freecode(prog);
}

bool pcap_lib_run(const struct bpf_insn *code, Bytes frame, uint32_t orig_len)
{
	struct bpf_program prog = { .bf_len = 1, .bf_insns = (struct bpf_insn *)(uintptr_t)code };
	struct pcap_pkthdr head = { .caplen = (bpf_u_int32)frame.n, .len = orig_len };

	return lib.loaded && lib.pcap_offline_filter(&prog, &head, frame.p) != 0;
}

pcap_t *pcap_lib_open(FILE *f, const char **ret_fault)
{
	pcap_t *p;

	if (!need(ret_fault))
		return NULL;
	p = lib.pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, fault_text);
	*ret_fault = fault_text;
	return p;
}

void pcap_lib_close(pcap_t *p)
{
	lib.pcap_close(p);
}

int pcap_lib_link(pcap_t *p)
{
	return lib.pcap_datalink(p);
}

const char *pcap_lib_link_name(int dlt)
{
	const char *name = lib.pcap_datalink_val_to_name(dlt);

	return name ? name : "?";
}

int pcap_lib_next(pcap_t *p, struct pcap_pkthdr **ret_head, const u_char **ret_data)
{
	return lib.pcap_next_ex(p, ret_head, ret_data);
}
