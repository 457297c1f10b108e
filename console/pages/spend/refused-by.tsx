import { withQuery } from "../../api/client.ts";
import { inWorkspaces } from "../../api/session-state.ts";
import type { Budget, DecisionLine, DecisionList } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";

/** Decisions of one reason that are read at most. */
const MOST = 100;

export type RefusedBy = (budget: Budget) => readonly DecisionLine[];

/**
 * The requests that each budget refused in its window, the newest first.
 *
 * @param start of the search, RFC 3339; `null`: no budget refused a request.
 */
export function useRefusedBy(start: string | null): RefusedBy {
  const pathOf = (reason: string): string | null =>
    start === null
      ? null
      : withQuery("/v1/decisions", {
          outcome: "refuse",
          reason,
          start,
          limit: MOST,
          ...inWorkspaces(),
        });
  const lines = [
    useResource<DecisionList>(pathOf("budget_exhausted"), 60_000),
    useResource<DecisionList>(pathOf("exceeds_remaining_budget"), 60_000),
  ]
    .flatMap(({ value }) => value?.data ?? [])
    .toSorted((left, right) => right.at.localeCompare(left.at));
  return (budget) => lines.filter((line) => isRefusalBy(budget, line));
}

const isRefusalBy = (budget: Budget, { at, workspace, key, limit }: DecisionLine): boolean =>
  limit?.measure === "usd" &&
  workspace === budget.workspace &&
  `usd/${limit.per}` === budget.name &&
  (limit.subject === "key" ? key : null) === budget.key &&
  Date.parse(at) >= Date.parse(budget.window_start);

/** How many, since when, and the last; a spent budget refuses where none is known. */
export function RefusedTimes({ of }: { readonly of: readonly DecisionLine[] }) {
  if (of.length === 0) return <>refuses now</>;
  const count = of.reduce((sum, { repeated }) => sum + repeated, 0);
  return (
    <>
      {of.length < MOST ? null : "at least "}
      {whole(count)} refused since <Time at={of.at(-1)?.at} short />, last{" "}
      <Time at={of[0]?.at} short seconds />
    </>
  );
}
