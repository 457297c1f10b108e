import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import { listText } from "../../../terminal/amounts.ts";

/** What a reviewer should know besides what requests meet, as sentences without a full stop. */
export function notesOf(cause: CauseReport): readonly string[] {
  return [...titleNotes(cause), ...hostNotes(cause), ...trainingNotes(cause), ...assertionNotes(cause)];
}

/** A title may promise what the change breaks, and no program can judge that. */
function titleNotes({ gains, routes, entries, renames }: CauseReport): readonly string[] {
  if (renames.length > 0) return [];
  const changed = new Set(
    entries.flatMap(({ kind, subject, change }) => (kind === "route" && change === "changed" ? [subject] : [])),
  );
  if (gains.length === 0) return [];
  return routes.flatMap(({ id, title }) =>
    changed.has(id) && title !== id ? [`the title of ${id} says "${title}"`] : [],
  );
}

/** Who is reached is a host, whatever its row is called. */
function hostNotes({ gains, entries }: CauseReport): readonly string[] {
  const added = new Set(
    entries.flatMap(({ kind, subject, change }) => (kind === "provider" && change === "added" ? [subject] : [])),
  );
  const hosts = new Map(
    gains.flatMap(({ provider, host }) => (added.has(provider) ? [[provider, host] as const] : [])),
  );
  return [...hosts].map(([provider, host]) => `${provider} is ${host}`);
}

function trainingNotes({ gains }: CauseReport): readonly string[] {
  const training = gains.filter(({ trains_on_data: trains }) => trains).map(({ provider }) => provider);
  return training.length === 0 ? [] : [`${listText([...new Set(training)])} trains on data`];
}

function assertionNotes({ entries }: CauseReport): readonly string[] {
  const removed = entries.filter(({ kind, change }) => kind === "assertion" && change !== "added");
  return removed.length === 0 ? [] : ["later changes are checked by the new assertions, and this change is too"];
}
