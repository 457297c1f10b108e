import type { EvidenceEntry } from "../../src/evidence/evidence-store.ts";
import { ask, type Answer } from "./ask.ts";
import type { Column } from "./columns.ts";
import { fateOf, type Undamaged } from "./judge.ts";
import { healthyRoute, spareRoute, type Cell } from "./routes.ts";

/** A cell and what became of it. */
export interface Played {
  readonly cell: Cell;
  readonly answer: Answer;
}

/** Works through a list, so many at once, in its order. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    // One iterator for all: each takes the next free item.
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

/** The undamaged answers of a column. */
export async function undamagedOf(url: string, key: string, column: Column): Promise<Undamaged> {
  const [own, spare] = await Promise.all([
    ask(url, key, column, healthyRoute(column)),
    ask(url, key, column, spareRoute(column)),
  ]);
  return { own, spare };
}

/** Everything that the records of a cell's request say otherwise than its client saw it. */
export function recordProblems(
  { cell, answer }: Played,
  entries: readonly EvidenceEntry[],
): readonly string[] {
  const [entry] = entries;
  if (entry === undefined || entries.length !== 1) return [`${entries.length} decision records`];
  const { decision, outcome } = entry;
  if (outcome === null) return ["no outcome record"];
  const problems: string[] = [];
  const fate = fateOf(cell, answer);
  const terminal = fate === "answered" || fate === "saved" ? "completed" : "failed";
  if (decision.outcome !== "route") problems.push(`the decision says ${decision.outcome}`);
  if (outcome.terminal !== terminal)
    problems.push(`recorded as ${outcome.terminal}, seen as ${terminal}`);
  if (outcome.status !== answer.status)
    problems.push(`recorded status ${outcome.status}, seen ${answer.status}`);
  const own = outcome.attempts.filter(({ endpoint }) => endpoint === cell.id);
  const spare = outcome.attempts.filter(({ endpoint }) => endpoint !== cell.id);
  if (own.length === 0 && spare.length === 0) problems.push("no attempt recorded");
  if (!cell.hasFallback && spare.length > 0)
    problems.push("an endpoint that is not the route's was tried");
  const answered = outcome.attempts.filter(({ failure }) => failure === null);
  if (answered.length !== (terminal === "completed" ? 1 : 0))
    problems.push(`${answered.length} attempts succeeded`);
  if (fate === "saved" && spare.length === 0) problems.push("without a saved answer");
  if (fate === "broken stream" && spare.length > 0)
    problems.push("a fallback after the client had seen output");
  // The caller's own mistake is the same mistake everywhere.
  const isRefusal = cell.fault.settings.includes("400");
  if (isRefusal && spare.length > 0) problems.push("a fallback for the caller's own mistake");
  // The simulated provider refuses settings that it cannot obey with a 400: such a cell would test
  // nothing.
  if (!isRefusal && own.some(({ status }) => status === 400))
    problems.push("the simulated provider refused the settings");
  return problems;
}
