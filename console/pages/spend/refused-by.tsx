import { useEffect, useState } from "preact/hooks";
import { call, withQuery } from "../../api/client.ts";
import { inEveryWorkspace, inWorkspaces } from "../../api/session-state.ts";
import type { Budget, Decision, DecisionLine, DecisionList } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";

/** Decisions of one reason that are read at most. */
const MOST = 100;

export type RefusedBy = (budget: Budget) => readonly DecisionLine[];

/**
 * The requests that each budget refused in its window, the newest first. Lists of decisions have no
 * limit, so that of the newest decision stands for all of its key.
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
  const byKey = Map.groupBy(lines, ({ workspace, key }) => `${workspace} ${key}`);
  const newest = [...byKey.values()].flatMap(([line]) => line?.id ?? []);
  const [decisions, setDecisions] = useState<readonly Decision[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    void Promise.all(
      newest.map((id) =>
        call<Decision>(withQuery(`/v1/decisions/${id}`, inEveryWorkspace()), { signal }),
      ),
    ).then((results) => {
      if (!signal.aborted)
        setDecisions(results.flatMap((result) => (result.ok ? result.value : [])));
    });
    return () => controller.abort();
  }, [newest.join(" ")]);
  return (budget) =>
    decisions
      .filter((decision) => isRefusalBy(budget, decision))
      .flatMap(({ workspace, key }) => byKey.get(`${workspace} ${key}`) ?? [])
      .filter(({ at }) => Date.parse(at) >= Date.parse(budget.window_start));
}

const isRefusalBy = (budget: Budget, { workspace, key, limit }: Decision): boolean =>
  limit?.measure === "usd" &&
  workspace === budget.workspace &&
  `usd/${limit.per}` === budget.name &&
  (limit.subject === "key" ? key : null) === budget.key;

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
