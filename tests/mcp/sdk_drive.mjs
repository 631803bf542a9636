// SPDX-License-Identifier: Apache-2.0
// Drives a server with a client of the official SDK, whichever major, and prints what came back as one JSON object.
// The plan (first argument): {command, args} or {url, key}, mode (2.x: how the revision is agreed upon), calls.
// The SDK itself holds each structuredContent to its outputSchema and fails the call otherwise.
import { appendFileSync, mkdirSync } from "node:fs";

const kept = ["tools/list", "tools/call"];
const folder = `${process.env.SONDE_BUILD ?? `${import.meta.dirname}/../../build`}/mcp-traffic`;

/* Each answered request for tools is kept as it was said, as traffic.py does; `era()` is known when the first is. */
export function tapped(transport, era) {
  const asks = new Map();
  const send = transport.send.bind(transport);

  transport.send = (m, options) => {
    if (kept.includes(m.method)) asks.set(m.id, m);
    return send(m, options);
  };
  transport.onmessage = ({ id, result, error }) => {
    const ask = asks.get(id);
    if (!ask) return;
    asks.delete(id);
    mkdirSync(folder, { recursive: true });
    appendFileSync(`${folder}/${process.pid}.jsonl`,
      JSON.stringify({ era: era(), method: ask.method, params: ask.params ?? {}, result, error }) + "\n");
  };
  return transport;
}

/* What is worth telling of an error, ours or the SDK's. */
async function attempt(what) {
  try {
    return await what();
  } catch (e) {
    return { thrown: e.message, code: e.code };
  }
}

/* `A handle that an earlier answer gave`: {"$": ["name of the call", "field"]}. */
function filled(args, got) {
  return Object.fromEntries(Object.entries(args).map(([k, v]) => [k, v?.$ ? got[v.$[0]].structuredContent[v.$[1]] : v]));
}

export async function drive(connect) {
  const plan = JSON.parse(process.argv[2]);
  const { client, version } = await connect(plan);
  const said = { version: version(), server: client.getServerVersion(), instructions: client.getInstructions(),
    capabilities: client.getServerCapabilities(), calls: {}, progress: {}, resources: {}, prompts: {} };

  said.tools = (await client.listTools()).tools;
  for (const [name, tool, args] of plan.calls) {
    const heard = [];
    said.calls[name] = await attempt(() => client.callTool({ name: tool, arguments: filled(args, said.calls) },
      ...plan.extra, { timeout: 120000, onprogress: (p) => heard.push(p) }));
    said.progress[name] = heard.length;
  }
  for (const r of (await client.listResources()).resources)
    said.resources[r.uri] = await attempt(() => client.readResource({ uri: r.uri }));
  said.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
  said.builtin = await client.readResource({ uri: "sonde://builtins/ping" });
  said.none = await attempt(() => client.readResource({ uri: "sonde://builtins/none" }));
  said.prompts.list = (await client.listPrompts()).prompts.map((p) => p.name);
  said.prompts.investigate = await client.getPrompt({ name: "investigate", arguments: { symptom: "it hangs" } });
  said.completion = (await client.complete({ ref: { type: "ref/resource", uri: "sonde://builtins/{name}" },
    argument: { name: "name", value: "trace" } })).completion.values;
  await client.close();
  console.log(JSON.stringify(said));
}
