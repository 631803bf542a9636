/* SPDX-License-Identifier: Apache-2.0
 *
 * Skills over MCP, extension io.modelcontextprotocol/skills: folders of instructions that a
 * host may load, each file a resource, with a list of all files and their hashes.
 */
#ifndef SONDE_MCP_SKILLS_H
#define SONDE_MCP_SKILLS_H

#include "mcp/server.h"

#include <stddef.h>

#define SKILLS_EXTENSION "{\"io.modelcontextprotocol/skills\":{\"directoryRead\":true}}"

typedef struct SkillFile {
	const char *uri, *text; /* text: n bytes and a zero */
	size_t n;
	const char *sha256, *mime;
} SkillFile;

typedef struct Skill {
	const char *root;	 /* "skill://NAME" */
	const char *frontmatter; /* of its SKILL.md, as JSON */
	const SkillFile *file;	 /* SKILL.md first */
	unsigned nfiles;
} Skill;

/* This build's; ends with a row without root. */
extern const Skill content_skills[];

/* A file of this build's skills, or NULL. */
const SkillFile *skill_file(const char *uri);

/* skills/list, skills/get and resources/directory/read, for Mcp.methods. */
extern const Method skills_methods[];

#endif
