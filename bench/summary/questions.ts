import { DIMENSIONS, readGrouping } from "../../src/governance/increments.ts";
import { summarise } from "../../src/governance/summarise.ts";
import { HOUR } from "../../src/governance/roll-up.ts";
import { shadowCountReport } from "../../src/governance/shadow-report.ts";
import type { Store } from "../../src/store/port.ts";
import { DAYS, FROM, RECORDS, UNTIL } from "./cells.ts";
import { WORKSPACES } from "./fixture.ts";

/** Queries every grouping and prints how long it takes. Returns the slowest, milliseconds. */
export async function queryAll(
  store: Store,
  filled: { readonly cells: number; readonly bytes: number },
): Promise<number> {
  console.log(
    `${DAYS} days of ${RECORDS.toLocaleString("en")} requests: ${filled.cells.toLocaleString("en")} cells, ${(filled.bytes / 1_000_000).toFixed(0)} MB`,
  );
  const times: number[] = [];
  const families = [
    "",
    ...DIMENSIONS,
    "operation,route,day",
    "provider,region,model",
    "provider,hour",
    "policy,constraint,reason_code",
  ];
  for (const names of families) times.push(await query(store, names));
  times.push(await queryRevision(store));
  return Math.max(...times);
}

/** Of one workspace, until the answer is text. */
function query(store: Store, names: string): Promise<number> {
  const grouping = readGrouping(names === "" ? [] : names.split(","), "summary");
  if ("problem" in grouping) throw new Error(grouping.problem);
  return best(names === "" ? "(totals)" : names, async () => {
    const found = await summarise(
      (facet) =>
        store.summary.read({ workspace: WORKSPACES[0] ?? null, facet, from: FROM, until: UNTIL }),
      grouping,
    );
    return JSON.stringify(found).length > 0 ? found.groups.length : 0;
  });
}

/** Verdicts of a revision in shadow in all workspaces. */
function queryRevision(store: Store): Promise<number> {
  return best("a revision in shadow", async () => {
    const revisionQuery = { policy: "eu-residency", revision: 4, firstSeen: FROM * HOUR };
    const reader = { workspace: WORKSPACES[0] ?? "", seesAll: true };
    const report = await shadowCountReport(store.summary, revisionQuery, reader, UNTIL * HOUR);
    return report.by_route.length;
  });
}

/**
 * Best of seven, milliseconds. Other work on the machine makes it longer, nothing makes it shorter.
 */
async function best(name: string, work: () => Promise<number>): Promise<number> {
  const taken: number[] = [];
  const computed: number[] = [];
  let groups = 0;
  for (let round = 0; round < 7; round += 1) {
    const began = performance.now();
    const cpu = process.cpuUsage();
    groups = await work();
    taken.push(performance.now() - began);
    const { user, system } = process.cpuUsage(cpu);
    computed.push((user + system) / 1_000);
  }
  const shortest = Math.min(...taken);
  const cpu = Math.min(...computed);
  console.log(
    `  ${name.padEnd(32)}${shortest.toFixed(0).padStart(5)} ms  CPU ${cpu.toFixed(0)} ms  ${groups} groups`,
  );
  return shortest;
}
