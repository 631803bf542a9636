/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 1024 };

Str files_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *buf = malloc(1 << 20);
	size_t n = f && buf ? fread(buf, 1, 1 << 20, f) : 0;

	if (f)
		fclose(f);
	return (Str){ buf, n };
}

Str files_lines(Arena *a, Str text, const char *key)
{
	Sb b = sb(a);
	size_t n = strlen(key);

	for (size_t i = 0, end; i < text.n; i = end + 1) {
		for (end = i; end < text.n && text.p[end] != '\n'; end++)
			;
		if (end - i >= n && memcmp(text.p + i, key, n) == 0) {
			sb_str(&b, (Str){ text.p + i + n, end - i - n });
			sb_char(&b, '\n');
		}
	}
	return sb_done(&b);
}

uint64_t files_number(Arena *a, Str text, const char *key, uint64_t otherwise)
{
	Str s = files_lines(a, text, key);

	return s.n ? strtoull(s.p, NULL, 10) : otherwise;
}

unsigned files_list(const char *path, char **ret, unsigned n, unsigned cap)
{
	struct stat st;
	size_t len = strlen(path);

	if (stat(path, &st) != 0)
		return n;
	if (!S_ISDIR(st.st_mode)) {
		if (n < cap && len > 6 && strcmp(path + len - 6, ".sonde") == 0)
			ret[n++] = strdup(path);
		return n;
	}
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		char sub[4096];

		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof sub, "%s/%s", path, e->d_name);
		n = files_list(sub, ret, n, cap);
	}
	if (d)
		closedir(d);
	return n;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

void files_sort(char **paths, unsigned n)
{
	qsort(paths, n, sizeof *paths, by_name);
}

int files_each(char **in, int n, bool (*one)(const char *path))
{
	static char *paths[FILES];
	unsigned found = 0, failed = 0;

	for (int i = 0; i < n; i++)
		found = files_list(in[i], paths, found, FILES);
	files_sort(paths, found);
	for (unsigned i = 0; i < found; i++) {
		failed += !one(paths[i]);
		free(paths[i]);
	}
	printf("%u passed, %u failed\n", found - failed, failed);
	return failed || !found;
}

Str files_with_secret(Arena *a, Str pattern, unsigned s)
{
	Sb b = sb(a);

	for (size_t i = 0; i < pattern.n; i++) {
		const char *p = pattern.p + i;

		if (*p != '{') {
			sb_char(&b, *p);
			continue;
		}
		if (p[1] == 'x')
			sb_printf(&b, "%02x", s);
		else
			sb_printf(&b, "%u", s + (p[2] == '+' ? (unsigned)atoi(p + 3) : 0));
		while (i < pattern.n && pattern.p[i] != '}')
			i++;
	}
	return sb_done(&b);
}
