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
	{ "resource", 0, OPT_STR, "URL", FRONT(resource), "by which clients know this server" },
	{ "origin", 0, OPT_LIST, "URL", FRONT(origin), "a web page's origin that may ask; may be repeated" },
	{ "host", 0, OPT_LIST, "NAME", FRONT(host), "a name by which clients may call this server; may be repeated" },
	{ "max-runs", 0, OPT_UINT, "N", FRONT(max_runs), "runs at a time; 8 if not given" },
	{ "max-runs-caller", 0, OPT_UINT, "N", FRONT(max_runs_caller), "runs at a time of one caller; 4 if not given" },
	{ "subject", 0, OPT_STR, "TEXT", FRONT(subject), "key add: this caller is known by a token's subject, not by a key" },
	{ "until", 0, OPT_STR, "DAY", FRONT(until), "key add: the last day that it is good, YYYY-MM-DD" },
};

static int run_mcp(const Command *c, const void *options)
{
	const McpOptions *o = options;

	if (o->args.n && strcmp(o->args.v[0], "key") == 0)
		return mcp_key(o);
	if (o->args.n)
		return cmd_fail(SONDE_EXIT_USAGE, "mcp %s: there is no such thing; see: sonde %s --help", o->args.v[0], c->name);
	return mcp_serve(o);
}

const Command cmd_mcp = {
	.name = "mcp",
	.args = "[key add NAME | key list | key revoke NAME]",
	.summary = "let agents use Sonde: an MCP server over stdio or HTTP",
	.doc = "Speaks the Model Context Protocol on standard input and output, or over Streamable HTTP with --http. What an "
	       "agent runs is held by the gate under the installed policy, which must be there, each --policy and the "
	       "caller's own; it is charged to the caller's session in the ledger, and each call is a line of the log.\n\n"
	       "key add makes an API key for a caller and shows it once; --policy is the caller's own, which narrows further. "
	       "The file (" MCP_KEYS_PATH ", or --keys) has its hash; it may be read by all and is read anew when it changes. "
	       "key revoke takes a caller's keys away, or one by its id in key list.",
	.opts = mcp_opts,
	.nopts = sizeof mcp_opts / sizeof mcp_opts[0],
	.max_args = OPT_LIST_MAX,
	.size = sizeof(McpOptions),
	.run = run_mcp,
};
