// SPDX-License-Identifier: Apache-2.0
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { drive, tapped } from "./sdk_drive.mjs";

await drive(async (plan) => {
  const client = new Client({ name: "sdk-1", version: "1" }, { capabilities: {} });
  const transport = plan.url
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.key ? { "x-api-key": plan.key } : {} } })
    : new StdioClientTransport({ command: plan.command, args: plan.args, stderr: "inherit" });
  let version;

  plan.extra = [undefined]; // callTool(params, resultSchema, options)
  const spoken = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (v) => { version = v; spoken?.(v); };
  await client.connect(tapped(transport, () => version));
  return { client, version: () => version };
});
