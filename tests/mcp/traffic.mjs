// SPDX-License-Identifier: Apache-2.0
// Holds calls of tools against the schemas that tools/list gave, by a validator that is not ours (ajv).
// stdin: {"tools": [...], "calls": [{"tool", "args", "result"}]}; says each fault and exits 1 if there is one.
import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";

const { tools, calls } = JSON.parse(readFileSync(0, "utf8"));
const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true, strictRequired: true, allErrors: true });
const faults = [];
const rows = new Map();
for (const tool of tools) {
	rows.set(tool.name, { input: ajv.compile(tool.inputSchema), output: ajv.compile(tool.outputSchema), good: 0 });
	for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
		if (typeof tool.annotations?.[hint] !== "boolean") faults.push(`${tool.name}: no ${hint}`);
}
for (const { tool, args, result } of calls) {
	const row = rows.get(tool);
	const said = `${tool} ${JSON.stringify(args)}`;
	if (!row) {
		faults.push(`${said}: no such tool`);
		continue;
	}
	if (!row.input(args) && !result.isError) faults.push(`${said}: taken, though ${ajv.errorsText(row.input.errors)}`);
	if (!Array.isArray(result.content) || !result.content.every((b) => b.type === "text" && typeof b.text === "string"))
		faults.push(`${said}: content is no list of texts`);
	if (result.structuredContent !== undefined && !row.output(result.structuredContent))
		faults.push(`${said}: ${ajv.errorsText(row.output.errors)}`);
	if (result.structuredContent === undefined && !result.isError) faults.push(`${said}: no structuredContent`);
	if (!result.isError) row.good++;
}
for (const [name, row] of rows) if (!row.good) faults.push(`${name}: no test called it with success`);
console.log(faults.length ? faults.join("\n") : `${calls.length} calls of ${rows.size} tools conform`);
process.exit(faults.length ? 1 : 0);
