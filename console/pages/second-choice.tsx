import { isObject, member, withQuery } from "../api/client.ts";
import { inWorkspaces } from "../api/session-state.ts";
import type { Decision, DecisionList, Measures } from "../api/types.ts";
import { useResource } from "../api/use-resource.ts";
import { Name } from "../components/text.tsx";

/**
 * Requests that another endpoint answered than the route's first choice; 0 of a server that does
 * not record it.
 */
export function secondChoices({ ended }: Pick<Measures, "ended">): number {
  const total = member(member(ended, "second_choice"), "total");
  return typeof total === "number" ? total : 0;
}

interface Skipped {
  readonly endpoint: string;
  readonly reason: string;
}

/** Candidates before the one that answered which were not called, and why. */
export function skippedOf(decision: Decision): readonly Skipped[] {
  const skipped = member(decision, "skipped");
  if (!Array.isArray(skipped)) return [];
  return skipped.flatMap((each: unknown) => {
    const [endpoint, reason] = [member(each, "endpoint"), member(each, "reason")];
    return isObject(each) && typeof endpoint === "string" && typeof reason === "string"
      ? [{ endpoint, reason }]
      : [];
  });
}

/** Why another endpoint answered than the first choice; `null`: it did, or none. */
export function secondChoiceOf(decision: Decision): string | null {
  const reason = member(decision, "second_choice");
  return typeof reason === "string" ? reason : null;
}

/** "by mistral-medium instead of gpt-5-mini-eu", of a newest request of the route. */
export function ServedInstead({ route }: { readonly route: string }) {
  const list = useResource<DecisionList>(
    withQuery("/v1/decisions", { route, terminal: "completed", limit: 50, ...inWorkspaces() }),
  );
  const lines = list.value?.data ?? [];
  // Of an ejected first choice no call is made, so that every line is as good.
  const id = (lines.find(({ attempts }) => attempts > 1) ?? lines[0])?.id;
  const newest = useResource<Decision>(
    id === undefined ? null : withQuery(`/v1/decisions/${encodeURIComponent(id)}`, inWorkspaces()),
  );
  const decision = newest.value;
  if (decision === null || secondChoiceOf(decision) === null) return null;
  const first = skippedOf(decision)[0]?.endpoint ?? decision.calls[0]?.endpoint;
  return (
    <>
      {" "}
      by <Name of={decision.endpoint} /> instead of <Name of={first} />
    </>
  );
}
