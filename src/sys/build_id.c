/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/build_id.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ID_MOST = 32 };

/* Notes are aligned to four bytes: name, then the hash (elf(5)). */
static size_t align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static bool note_find(const char *p, size_t n, char *out)
{
	while (n >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) h;

		memcpy(&h, p, sizeof h);
		size_t name = sizeof h, desc = name + align4(h.n_namesz), all = desc + align4(h.n_descsz);

		if (all > n)
			return false;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0 &&
		    h.n_descsz <= ID_MOST) {
			for (size_t i = 0; i < h.n_descsz; i++)
				snprintf(out + 2 * i, 3, "%02x", (unsigned)(unsigned char)p[desc + i]);
			return true;
		}
		p += all;
		n -= all;
	}
	return false;
}

/* The first object is the program itself. */
static int first_object(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_NOTE &&
		    note_find((const char *)(info->dlpi_addr + h->p_vaddr), h->p_memsz, out))
			break;
	}
	return 1;
}

const char *build_id(void)
{
	static char id[2 * ID_MOST + 1];

	if (!id[0]) {
		strcpy(id, "unknown");
		dl_iterate_phdr(first_object, id);
	}
	return id;
}
