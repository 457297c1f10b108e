import { withQuery } from "../api/client.ts";
import { inWorkspaces } from "../api/session-state.ts";
import type { Decision, DecisionList, Measures } from "../api/types.ts";
import { useResource } from "../api/use-resource.ts";
import { Name } from "../components/text.tsx";
import { humanise } from "../format/amounts.ts";
import { Time } from "../format/time.tsx";

/** Requests that another endpoint answered than the route's first choice. */
export const secondChoices = ({ ended }: Pick<Measures, "ended">): number =>
  ended?.second_choice.total ?? 0;

/** Completes a sentence about the first choice of a route. */
const REASONS: Readonly<Record<string, string>> = {
  failed: "fails",
  slow: "is slow",
  queue_full: "has a full queue",
  ejected: "is ejected",
  rate_limited: "is rate limited",
  unsupported: "does not support the requests",
  policy: "is left out by a policy",
  preference: "is not what the callers prefer",
};

/**
 * "by mistral-medium instead of gpt-5-mini-eu since 13:44, because gpt-5-mini-eu is ejected", of a
 * newest request of the route.
 */
export function ServedInstead({
  route,
  since,
}: {
  readonly route: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}) {
  const begin = (
    <>
      {" "}
      since <Time at={since} short />
    </>
  );
  const list = useResource<DecisionList>(
    withQuery("/v1/decisions", { route, terminal: "completed", limit: 50, ...inWorkspaces() }),
  );
  const lines = list.value?.data ?? [];
  // An ejected first choice gets no call, so any line will do.
  const id = (lines.find(({ attempts }) => attempts > 1) ?? lines[0])?.id;
  const newest = useResource<Decision>(
    id === undefined ? null : withQuery(`/v1/decisions/${encodeURIComponent(id)}`, inWorkspaces()),
  );
  const decision = newest.value;
  if (decision === null || decision.second_choice === null) return begin;
  const { endpoint, skipped, calls, second_choice: reason } = decision;
  const first = skipped[0]?.endpoint ?? calls[0]?.endpoint;
  // Policies and preferences exclude it from the plan.
  const name = first === endpoint ? "its first choice" : <Name of={first} />;
  return (
    <>
      {" "}
      by <Name of={endpoint} /> instead of {name}
      {begin}, because {first === endpoint ? "that" : name} {REASONS[reason] ?? humanise(reason)}
    </>
  );
}
