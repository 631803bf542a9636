// SPDX-License-Identifier: Apache-2.0
// A subscription of the official SDK's client (2.x); says how it ended. The plan (first argument): {command, args}, whose
// process gets SIGTERM, or {url}, whose server somebody else ends after "listening".
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const plan = JSON.parse(process.argv[2]);
const client = new Client({ name: "sdk-2", version: "1" }, { capabilities: {}, versionNegotiation: { mode: { pin: "2026-07-28" } } });
const transport = plan.url ? new StreamableHTTPClientTransport(new URL(plan.url))
  : new StdioClientTransport({ command: plan.command, args: plan.args, stderr: "inherit" });
const faults = [];

client.onerror = (e) => faults.push(e.message);
await client.connect(transport);
const subscription = await client.listen({ toolsListChanged: true });
console.log("listening");
if (transport.pid) process.kill(transport.pid, "SIGTERM");
console.log(JSON.stringify({ closed: await subscription.closed, faults }));
process.exit(0);
