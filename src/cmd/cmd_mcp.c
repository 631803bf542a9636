/* SPDX-License-Identifier: Apache-2.0
 *
 * sonde mcp: agents use Sonde, over the Model Context Protocol.
 */
#include "cmd/cmd_mcp.h"

#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/mcp_keys.h"
#include "gate/run.h"

#define FRONT(field) offsetof(McpOptions, field)

static const Opt mcp_opts[] = {
	{ "policy", 0, OPT_LIST, "FILE", FRONT(policy), "a policy that narrows further, for all callers; may be repeated" },
	{ "http", 0, OPT_STR, "ADDR:PORT", FRONT(http), "serve Streamable HTTP there, instead of standard input and output" },
	{ "keys", 0, OPT_STR, "FILE", FRONT(keys), "the callers' keys, as `sonde mcp key` keeps them" },
	{ "tls-cert", 0, OPT_STR, "FILE", FRONT(tls_cert), "serve HTTPS with this certificate chain" },
	{ "tls-key", 0, OPT_STR, "FILE", FRONT(tls_key), "and this key" },
	{ "jwks", 0, OPT_STR, "FILE", FRONT(jwks), "accept OAuth tokens that one of these keys has signed" },
	{ "issuer", 0, OPT_STR, "URL", FRONT(issuer), "of these tokens" },
	{ "audience", 0, OPT_STR, "TEXT", FRONT(audience), "that they must be meant for" },
	{ "scope", 0, OPT_STR, "TEXT", FRONT(scope), "that they must have, names with blanks between; sonde:mcp if not given, none if empty" },
	{ "resource", 0, OPT_STR, "URL", FRONT(resource), "by which clients know this server" },
	{ "origin", 0, OPT_LIST, "URL", FRONT(origin), "a web page's origin that may ask; may be repeated" },
	{ "host", 0, OPT_LIST, "NAME", FRONT(host), "a name by which clients may call this server; may be repeated" },
	{ "max-runs", 0, OPT_UINT, "N", FRONT(max_runs), "runs at a time; 8 if not given" },
	{ "max-runs-caller", 0, OPT_UINT, "N", FRONT(max_runs_caller), "runs at a time of one caller; 4 if not given" },
	{ "subject", 0, OPT_STR, "TEXT", FRONT(subject), "key add: this caller is known by a token's subject, not by a key" },
	{ "until", 0, OPT_STR, "DAY", FRONT(until), "key add: the last day that it is good, YYYY-MM-DD" },
	{ "client", 0, OPT_STR, "CLIENT", FRONT(client), "install: claude, codex, vscode or cursor" },
	{ "url", 0, OPT_STR, "URL", FRONT(url), "install: the server is reached there, with a key; else the client starts it" },
	{ "file", 0, OPT_STR, "FILE", FRONT(file), "install: another file than the client's usual one" },
	{ "write", 0, OPT_FLAG, NULL, FRONT(write), "install: put it into the file instead of printing it" },
};

static int run_mcp(const Command *c, const void *options)
{
	const McpOptions *o = options;

	if (o->args.n && strcmp(o->args.v[0], "key") == 0)
		return mcp_key(o);
	if (o->args.n && strcmp(o->args.v[0], "install") == 0)
		return mcp_install(o);
	if (o->args.n)
		return cmd_fail(SONDE_EXIT_USAGE, "mcp %s: there is no such thing; see: sonde %s --help", o->args.v[0], c->name);
	if (o->subject || o->until || o->client || o->url || o->file || o->write)
		return cmd_fail(SONDE_EXIT_USAGE, "--subject and --until are of `sonde mcp key add`; --client, --url, --file and --write of "
						  "`sonde mcp install`");
	if (!o->http && (o->keys || o->tls_cert || o->tls_key || o->jwks || o->issuer || o->audience || o->resource || o->origin.n || o->host.n))
		return cmd_fail(SONDE_EXIT_USAGE, "keys, tokens, TLS, --origin and --host are of a server over HTTP: add --http ADDR:PORT");
	return mcp_serve(o);
}

const Command cmd_mcp = {
	.name = "mcp",
	.args = "[key add NAME | key list | key revoke NAME | install]",
	.summary = "let agents use Sonde: an MCP server over stdio or HTTP",
	.doc = "Speaks the Model Context Protocol on standard input and output, or over Streamable HTTP with --http. What an "
	       "agent runs is held by the gate under the installed policy, which must be there, each --policy and the "
	       "caller's own; it is charged to the caller's session in the ledger, and each call is a line of the log.\n\n"
	       "key add makes an API key for a caller and shows it once; --policy is the caller's own, which narrows further. "
	       "The file (" MCP_KEYS_PATH ", or --keys) has its hash; it may be read by all and is read anew when it changes. "
	       "key revoke takes a caller's keys away, or one by its id in key list.\n\n"
	       "install prints the entry by which a client (--client claude, codex, vscode, cursor) starts this server, or reaches "
	       "it with --url; --write puts it into the client's file, where all else stays as it is. A key never stands in it: "
	       "clients take it from SONDE_MCP_KEY in their environment.",
	.opts = mcp_opts,
	.nopts = sizeof mcp_opts / sizeof mcp_opts[0],
	.max_args = OPT_LIST_MAX,
	.size = sizeof(McpOptions),
	.run = run_mcp,
};
