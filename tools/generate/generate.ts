// Writes every generated file of the repository: schemas and pages from the sources, then what
// tests record of servers and commands (UPDATE_DOCS=1).
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { routesSchema } from "../../src/compile/routes-schema.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { REPORT_SCHEMA } from "../../src/simulate/report/report.ts";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import { ASSERTIONS_SCHEMA } from "../../src/simulate/assertions/schema.ts";
import { withDefinitions } from "./definitions.ts";
import { overlaySchema, partSchema } from "./further-schemas.ts";
import { withNavigationOf } from "./navigation.ts";
import { presetsPage } from "./presets-page.ts";
import { configurationReference, diagnosticsReference } from "./reference.ts";

const ROOT = new URL("../../", import.meta.url);

/**
 * Tests that write what they compare, in an order in which each finds what it reads: the reference
 * is made from the recorded examples.
 */
const RECORDED = [
  ["test/contract/examples.test.ts"],
  [
    "test/chaos/document.test.ts",
    "test/cli/codes",
    "test/dialects/laws/matrix.test.ts",
    "test/docs/api.test.ts",
    "test/docs/decisions.test.ts",
    "test/docs/explain.test.ts",
    "test/docs/policy-lifecycle.long.test.ts",
    "test/docs/pull-requests.long.test.ts",
    "test/docs/simulate.long.test.ts",
    "test/mock/settings.test.ts",
    "test/telemetry/page.test.ts",
  ],
  ["test/docs/reading-order.test.ts"],
];

const schema = routesSchema(Object.keys(DIALECTS).toSorted());
await writeJson("schemas/routes.schema.json", schema);
await writeJson("schemas/routes-part.schema.json", partSchema(schema));
await writeJson("schemas/routes-overlay.schema.json", overlaySchema(schema));
await writeJson("schemas/input.schema.json", POLICY_INPUT_SCHEMA);
await writeJson("schemas/assertions.schema.json", ASSERTIONS_SCHEMA);
await writeJson("schemas/simulation.schema.json", withDefinitions(REPORT_SCHEMA));
await writePage("docs/configuration.md", configurationReference(schema, DIALECTS));
await writePage("docs/diagnostics.md", diagnosticsReference());
await writePage("docs/presets.md", presetsPage());
for (const tests of RECORDED) run("vitest", "run", ...tests);
run("oxfmt", ".");

async function writeJson(path: string, value: object): Promise<void> {
  await writeFile(new URL(path, ROOT), `${JSON.stringify(value, null, 2)}\n`);
}

async function writePage(path: string, text: string): Promise<void> {
  const file = new URL(path, ROOT);
  await writeFile(file, withNavigationOf(await readFile(file, "utf8"), text));
}

/** Runs a program of node_modules; `npm run` has put them on the path. */
function run(program: string, ...argv: readonly string[]): void {
  const { status } = spawnSync(program, argv, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, UPDATE_DOCS: "1" },
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`generate: ${program} ${argv.join(" ")} failed`);
}
