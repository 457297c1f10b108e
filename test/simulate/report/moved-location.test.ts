import { expect, it } from "vitest";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { locationsOf } from "../../../src/simulate/explain/positions.ts";
import { movedLocation } from "../../../src/simulate/report/comparison-report.ts";
import { compiledSources, simulate } from "../small-sides.ts";
import { WHOLE_FILE } from "../settings/whole-file.ts";

function side(text: string) {
  const files = { routes: { path: "routes.yaml", text }, policies: [] };
  const { table, diagnostics } = compileTable(files.routes, { policies: [] });
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return { name: ".", commit: null, table, files, warnings: [] };
}

const PLAN = ["large-b", "large-a", "vectors-a"].map((endpoint) => ({ endpoint }));

it.each([
  [
    "https://alpha.example/v1",
    "https://other.example/v1",
    "    base_url: https://other.example/v1",
  ],
  ["retention: none", "retention: days_30", "  alpha:"],
  ["upstream_model: large-1\n    region", "upstream_model: large-9\n    region", "  - id: large-a"],
  ["default_dimensions: 1536", "default_dimensions: 512", "  vectors:"],
])("a moved destination has the line that moves it: %s", async (from, to, line) => {
  const [base, head] = [side(WHOLE_FILE), side(WHOLE_FILE.replace(from, to))];
  const found = movedLocation(
    PLAN,
    { base: base.table, head: head.table },
    locationsOf(head.files),
  );
  const lines = head.files.routes.text.split("\n");
  expect(lines[(found?.line ?? 0) - 1]).toBe(line);
  const policies = await compiledSources([]);
  const { declared } = await simulate({ ...base, policies }, { ...head, policies });
  const moved = declared.groups.filter(({ kinds }) => kinds.includes("destination_changed"));
  expect(moved.map(({ location }) => lines[(location?.line ?? 0) - 1])).toContain(line);
});

it("an endpoint that did not move has no location", () => {
  const { table, files } = side(WHOLE_FILE);
  expect(movedLocation(PLAN, { base: table, head: table }, locationsOf(files))).toBeNull();
});
