import type { RollUpQuery, RollUpRow } from "../../governance/increments.ts";
import { unpackRows } from "./roll-up-pages.ts";
import type { SummaryStore } from "../../governance/summary-store.ts";
import type { WorkerLink } from "./worker-link.ts";

/** Cells read at a time: one page keeps the worker from writing evidence for a few milliseconds at most. */
const PAGE = 1_000;

/** The main thread's half: reads page after page from the worker. */
export function summaryStore(link: WorkerLink): SummaryStore {
  return {
    read: (query) => readPages(link, query),
    async workspaces() {
      return (await link.request({ operation: "summary.workspaces" }, "workspaces")).workspaces;
    },
  };
}

async function* readPages(link: WorkerLink, query: RollUpQuery): AsyncGenerator<readonly RollUpRow[]> {
  let after = { hour: query.from, labels: "" };
  for (;;) {
    const page = { ...query, after, limit: PAGE };
    const rows = unpackRows((await link.request({ operation: "summary.read", page }, "roll_ups")).rows, query);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = { hour: last.hour, labels: last.labels };
  }
}
