import { withQuery } from "../api/client.ts";
import { inWorkspaces } from "../api/session-state.ts";
import type { Decision, DecisionList, Measures } from "../api/types.ts";
import { useResource } from "../api/use-resource.ts";
import { Name } from "../components/text.tsx";

/** Requests that another endpoint answered than the route's first choice. */
export const secondChoices = ({ ended }: Pick<Measures, "ended">): number =>
  ended?.second_choice.total ?? 0;

/** "by mistral-medium instead of gpt-5-mini-eu", of a newest request of the route. */
export function ServedInstead({ route }: { readonly route: string }) {
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
  if (decision === null || decision.second_choice === null) return null;
  const first = decision.skipped[0]?.endpoint ?? decision.calls[0]?.endpoint;
  return (
    <>
      {" "}
      by <Name of={decision.endpoint} /> instead of <Name of={first} />
    </>
  );
}
