/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"

#include <stdio.h>

typedef struct VersionOptions {
	CmdArgs args;
} VersionOptions;

static int run_version(const Command *c, const void *options)
{
	(void)c;
	(void)options;
	printf("sonde %s\n", SONDE_VERSION);
	return SONDE_EXIT_OK;
}

const Command cmd_version = {
	.name = "version",
	.args = "",
	.summary = "print the version",
	.doc = "",
	.size = sizeof(VersionOptions),
	.run = run_version,
};
