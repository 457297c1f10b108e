import type { SummaryStore } from "../../governance/increments.ts";
import type { PostgresLink } from "./link.ts";
import { readRollUp, rollUpPages } from "../rows/roll-up-rows.ts";
import { readText } from "../rows/row.ts";
import type { RollUpFolder } from "./roll-up-folder.ts";

/** Cells read at a time, so that no statement is long. */
const PAGE = 2_000;

const CELLS = `
SELECT hour, labels, cell FROM signalbox.roll_ups
WHERE workspace = $1 AND facet = $2 AND (hour, labels) > ($3, $4) AND hour < $5 ORDER BY hour, labels LIMIT ${PAGE}`;

/**
 * From one workspace to the next by the index: looking at all cells would take as long as reading
 * them.
 */
const WORKSPACES = `
WITH RECURSIVE found AS (
  (SELECT workspace FROM signalbox.roll_ups ORDER BY workspace LIMIT 1)
  UNION ALL
  SELECT (SELECT following.workspace FROM signalbox.roll_ups AS following
    WHERE following.workspace > found.workspace ORDER BY following.workspace LIMIT 1)
  FROM found WHERE found.workspace IS NOT NULL)
SELECT workspace FROM found WHERE workspace IS NOT NULL ORDER BY workspace`;

/** Hourly counts. What was written before a call is counted first. */
export function postgresSummary(link: PostgresLink, folder: RollUpFolder): SummaryStore {
  return {
    async *read(query) {
      await folder.foldAll();
      const { workspace, facet, until } = query;
      yield* rollUpPages(query, PAGE, async ({ hour, labels }) => {
        const rows = await link.query(CELLS, [workspace ?? "", facet, hour, labels, until]);
        return rows.map((row) => ({ workspace, facet, ...readRollUp(row) }));
      });
    },
    async workspaces() {
      await folder.foldAll();
      const names = (await link.query(WORKSPACES)).map((row) => readText(row, "workspace"));
      return names.map((name) => (name === "" ? null : name));
    },
  };
}
