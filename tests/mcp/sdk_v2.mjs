// SPDX-License-Identifier: Apache-2.0
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { drive, tapped } from "./sdk_drive.mjs";

await drive(async (plan) => {
  const client = new Client({ name: "sdk-2", version: "1" }, { capabilities: {}, versionNegotiation: { mode: plan.mode } });
  const transport = plan.url
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.key ? { authorization: `Bearer ${plan.key}` } : {} } })
    : new StdioClientTransport({ command: plan.command, args: plan.args, stderr: "inherit" });

  plan.extra = []; // callTool(params, options)
  await client.connect(tapped(transport, () => client.getNegotiatedProtocolVersion()));
  return { client, version: () => client.getNegotiatedProtocolVersion() };
});
