import { seenDimensions } from "../space/levels.ts";
import { perScalar } from "../request-scalars.ts";
import type { Space } from "../space/job-space.ts";
import { readsPath } from "../../policy/policy-set.ts";
import type { Reader } from "../space/readers.ts";
import type { DimensionReport } from "./report.ts";
import { rowOf } from "../table-rows.ts";

/** Dimension → the path of the input at which policies find it. */
const PATHS: Readonly<Record<string, string>> = {
  needs: "input.request.needs",
  ...Object.fromEntries(perScalar((_, { name }) => [name, `input.request.${name}`])),
  environment: "input.key.environment",
  workload: "input.key.workload",
  owner: "input.key.owner",
  budget: "input.budget.remaining",
  key_labels: "input.key.labels",
  time: "input.time",
};

/**
 * The dimensions of a space, and into how many values they collapse. Of sets the names are counted,
 * each of which a request may have or not.
 *
 * @param matters needs and features that distinguish requests: `needs tools`.
 */
export function dimensionReports(
  space: Space,
  matters: ReadonlySet<string>,
): readonly DimensionReport[] {
  const { universe, jobs, readers } = space;
  const operations = [...universe.operations.values()];
  const distinct = (of: (operation: (typeof operations)[number]) => readonly string[]) =>
    new Set(operations.flatMap(of)).size;
  const amount = (kind: string) =>
    [...matters].filter((name) => name.startsWith(`${kind} `)).length;
  const pairs = new Set(jobs.map(({ pair }) => pair));
  const byTable = (name: string, values: number, distinguished: number) =>
    describe(name, values, distinguished, readers, true);
  const sets = [
    byTable(
      "workspaces_and_routes",
      [...pairs].reduce((sum, { members }) => sum + members.length, 0),
      pairs.size,
    ),
    byTable("operation", universe.operations.size, universe.operations.size),
    byTable(
      "needs",
      distinct(({ needs }) => needs),
      amount("needs"),
    ),
    byTable(
      "features",
      distinct(({ features }) => features),
      amount("features"),
    ),
  ];
  return [...sets, ...policyDimensions(space)];
}

/**
 * Of every operation the largest numbers. Of labels the names are counted: sets of n distinguished
 * names are 2ⁿ.
 */
function policyDimensions({ universe, sides, readers }: Space): readonly DimensionReport[] {
  const found = new Map<string, { values: number; distinguished: number }>();
  for (const [operation, part] of universe.operations) {
    const levelReaders = sides.map(({ table, projectionOf }) => ({
      table,
      projection: projectionOf(operation),
    }));
    for (const { name, values, distinguished } of seenDimensions(universe, part, levelReaders)) {
      const counts = found.get(name) ?? { values: 0, distinguished: 0 };
      found.set(name, {
        values: Math.max(counts.values, values),
        distinguished: Math.max(counts.distinguished, Math.ceil(distinguished)),
      });
    }
  }
  return [...found].map(([name, { values, distinguished }]) =>
    describe(name, values, distinguished, readers, false),
  );
}

function describe(
  name: string,
  values: number,
  distinguished: number,
  readers: readonly Reader[],
  byTable: boolean,
): DimensionReport {
  const path = rowOf(PATHS, name);
  const paths = [path ?? [], name === "time" ? "input.local_time" : []].flat();
  const reading = readers.filter((reader) => paths.some((one) => readsPath(reader, one)));
  const names = [...new Set(reading.map((reader) => reader.name))].toSorted();
  const inspecting = reading.find(({ inspects }) => inspects.length > 0);
  return {
    name,
    values,
    distinguished,
    read_by: [...(byTable ? ["table"] : []), ...names],
    reason:
      inspecting === undefined || distinguished < values
        ? null
        : `${inspecting.name.replace(":", " ")} reads inside of strings: ${inspecting.inspects.join(", ")}`,
  };
}
