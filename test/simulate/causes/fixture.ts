import { join } from "node:path";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { loadConfiguration } from "../../../src/compile/load.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import type { Side } from "../../../src/simulate/request.ts";
import { compiledSources, simulate } from "../small-sides.ts";

/** One replacement in a file of the example: `routes.yaml`, or a policy's id. */
export type Edit = readonly [file: string, from: string, to: string];

const FIXTURE = join(import.meta.dirname, "../../../docs/examples/simulate/estate/routes.yaml");

/** The example of twelve pull requests with some texts replaced. */
export async function fixtureWith(...edits: readonly Edit[]): Promise<Side> {
  const read = await loadConfiguration(FIXTURE, "routes.yaml");
  const edited = (source: Source): Source => {
    const own = edits.filter(
      ([file]) => source.path === file || source.path.endsWith(`/${file}.rego`),
    );
    const text = own.reduce((all, [, from, to]) => {
      if (!all.includes(from)) throw new Error(`${source.path} does not have: ${from}`);
      return all.replaceAll(from, to);
    }, source.text);
    return { ...source, text };
  };
  const files = { ...read, routes: edited(read.routes), policies: read.policies.map(edited) };
  const { table, diagnostics } = compileTable(files.routes);
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  const policies = await compiledSources(files.policies);
  return { name: "side", commit: null, table, policies, files, warnings: [] };
}

/** Reports by their edits: several tests look at one, each at other lines. None changes it. */
const reports = new Map<string, Promise<SimulationReport>>();

export function simulated(...edits: readonly Edit[]): Promise<SimulationReport> {
  const key = JSON.stringify(edits);
  const report =
    reports.get(key) ??
    Promise.all([fixtureWith(), fixtureWith(...edits)]).then(([base, head]) =>
      simulate(base, head),
    );
  reports.set(key, report);
  return report;
}
