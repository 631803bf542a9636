// SPDX-License-Identifier: Apache-2.0
// Holds all that the tests' clients and the real server said about tools (traffic.py, sdk_drive.mjs) against the schemas of
// tools/list, by a validator that is not ours (ajv).  A tool that no test called with success is a fault.
//   node traffic.mjs FOLDER     the last line is "N passed, N failed", one for each tool and one for the lists
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import Ajv2020 from "ajv/dist/2020.js";

// What the text sums up instead of repeating it, being long; and what its form says: a peer's words stand in a block of
// their own with where they are from, a place in a program is its line and column, a warning's evidence is one peer's, its layer goes without saying.
const SUMMED_UP = {
  run_program: ["stats", "manifest", "results", "notes", "approval", "results_left_out"],
  check_program: ["manifest", "sha256"],
  language_help: ["topic"],
};
const BY_FORM = ["label", "from", "to", "peers", "layer"];
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

function lines(folder) {
  try {
    return readdirSync(folder).flatMap((f) => readFileSync(`${folder}/${f}`, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l)));
  } catch (e) {
    if (e.code !== "ENOENT") throw e;
    return [];
  }
}

const WHEN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
// What each answer with a verdict has, whatever it is; tools/list has no room to say all of it.
const FINDING = {
  remediation_hint: (v) => typeof v === "string",
  next_steps: (v) => Array.isArray(v) && v.every((step) => step && typeof step === "string"),
  vantage: (v) => typeof v.host === "string" && Object.values(v).every((w) => w && typeof w === "string"),
  window: (v) => WHEN.test(v.start) && v.seconds >= 0,
  bounds_used: (v) => ["packets", "bytes", "syn"].every((name) => Number.isInteger(v[name])) && v.packets <= v.max_packets,
};

/* Every text, number and truth in a value, with its name; what is in a list has none. */
function leaves(v, name = "") {
  if (v === null || BY_FORM.includes(name)) return [];
  if (name === "evidence" && typeof v === "string" && !/^[ !#-;=-~]{1,200}$/.test(v)) return []; // a peer's words within a warning
  if (v.code === "E-INTERRUPTED") return []; // in words
  if (typeof v !== "object") return [[name, v]];
  return Object.entries(v).flatMap(([key, one]) =>
    key === "origin" && v.label !== "content" ? [] : leaves(one, Array.isArray(v) ? "" : key));
}

/* As the text may say it: blanks as they fall, numbers with six digits or all; evidence beside its name. */
function stands([name, leaf], text, named) {
  const before = named && name ? `${name} ` : "";
  if (typeof leaf === "boolean" && !before) return true; // in words
  if (typeof leaf === "number") return [leaf, Number(leaf.toPrecision(6))].some((n) => text.includes(before + n));
  return text.includes((before + leaf).replace(/\s+/g, " ").trim());
}

/* RFC 8785: whose numbers and texts are JSON.stringify's, and whose order is sort()'s. */
function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical)}]`;
  if (v === null || typeof v !== "object") return JSON.stringify(v);
  return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`)}}`;
}

function findingId(tool, inputs, { window, verdict, evidence, exit, output }) {
  if (tool === "run_program") [verdict, evidence] = [exit, output];
  return "f-" + createHash("sha256").update(canonical({ tool, inputs, window, verdict, evidence })).digest("hex").slice(0, 16);
}

const said = lines(process.argv[2]);
const lists = said.filter((m) => m.method === "tools/list" && m.result);
const calls = said.filter((m) => m.method === "tools/call");
const faults = new Map([["tools/list", []]]);
const rows = new Map();

/* The same tools to everybody, but for what a revision does not have. */
function learn({ era, result }) {
  const wrong = faults.get("tools/list");
  if (!Array.isArray(result.tools) || !result.tools.length) return wrong.push("a list without tools");
  for (const tool of result.tools) {
    const known = rows.get(tool.name);
    const { outputSchema, title, ...rest } = tool;
    if (known && !isDeepStrictEqual(known.rest, rest)) wrong.push(`${tool.name}: not the same to everybody`);
    if (!known) rows.set(tool.name, { rest, good: 0 });
    if (!known) faults.set(tool.name, []);
    const row = rows.get(tool.name);
    if (era < "2025-06-18" ? outputSchema : !outputSchema) wrong.push(`${tool.name}: outputSchema in ${era}`);
    if (outputSchema && row.outputSchema && !isDeepStrictEqual(row.outputSchema, outputSchema)) wrong.push(`${tool.name}: two outputSchemas`);
    if (outputSchema) row.outputSchema = outputSchema;
    for (const hint of HINTS) if (typeof tool.annotations?.[hint] !== "boolean") wrong.push(`${tool.name}: no ${hint}`);
  }
  if (rows.size !== result.tools.length) wrong.push(`${result.tools.length} tools, and others to others`);
}

function compile() {
  const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true, strictRequired: true, allErrors: true });
  for (const [name, row] of rows)
    try {
      row.input = ajv.compile(row.rest.inputSchema);
      row.output = ajv.compile(row.outputSchema);
    } catch (e) {
      faults.get("tools/list").push(`${name}: ${e.message}`);
      row.input = row.output = () => true;
    }
  return ajv;
}

/* What is wrong with one call. */
function judge(row, { era, params, result, error }, ajv) {
  const args = params.arguments ?? {};
  if (error && params.requestState !== undefined) return []; // a state that fails verification
  if (error) return [`a protocol error, where the tool's own is due: ${error.message}`];
  if (result.resultType === "input_required") return [];
  const wrong = [];
  const { content, structuredContent: s, isError } = result;
  if (!Array.isArray(content) || !content.length || !content.every((b) => b.type === "text" && typeof b.text === "string" && b.text))
    return ["content is no list of texts"];
  if (!isError && !row.input(args)) wrong.push(`taken, though ${ajv.errorsText(row.input.errors)}`);
  if (s === undefined && !isError && era >= "2025-06-18") wrong.push("no structuredContent");
  if (s !== undefined && era < "2025-06-18") wrong.push(`structuredContent in ${era}`);
  if (s === undefined) return wrong;
  if (!row.output(s)) wrong.push(ajv.errorsText(row.output.errors));
  if (s.finding_id !== undefined && s.finding_id !== findingId(params.name, args, s)) wrong.push("finding_id is not of call and answer");
  if (s.verdict !== undefined)
    for (const [name, fits] of Object.entries(FINDING))
      if (s[name] === undefined || !fits(s[name])) wrong.push(`${name} is not as it is to be`);
  const text = content.map((b) => b.text).join(" ").replace(/\s+/g, " ");
  for (const [key, v] of Object.entries(s))
    if (!SUMMED_UP[params.name]?.includes(key))
      for (const leaf of leaves(v, key))
        if (!stands(leaf, text, key === "evidence")) wrong.push(`${key}: ${leaf.join(" ").trim()} is not in the text`);
  return wrong;
}

lists.forEach(learn);
if (!lists.length) faults.get("tools/list").push(`no tools/list in ${process.argv[2]}`);
const ajv = compile();
for (const call of calls) {
  const row = rows.get(call.params.name);
  if (!row) {
    if (!call.error) faults.get("tools/list").push(`${call.params.name} was called and is in no list`);
    continue;
  }
  const wrong = judge(row, call, ajv);
  if (!wrong.length && call.result && !call.result.isError && call.result.resultType !== "input_required") row.good++;
  for (const w of wrong) faults.get(call.params.name).push(`${call.era} ${JSON.stringify(call.params.arguments)?.slice(0, 200)}: ${w}`);
}
for (const [name, row] of rows) if (!row.good) faults.get(name).push("no test called it with success");
for (const [name, wrong] of faults) for (const w of wrong.slice(0, 20)) console.log(`${name}: ${w}`);
console.log(`${calls.length} calls, ${lists.length} lists, ${rows.size} tools`);
const failed = [...faults.values()].filter((w) => w.length).length;
console.log(`${faults.size - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
