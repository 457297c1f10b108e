import { withQuery } from "../api/client.ts";
import { hasScope, inWorkspaces } from "../api/session-state.ts";
import type { EndpointHealth, Health, Summary } from "../api/types.ts";
import { useResource } from "../api/use-resource.ts";
import type { Tone } from "../components/text.tsx";
import { counted, humanise, milliseconds, whole } from "../format/amounts.ts";
import { CLOCK, formatTime } from "../format/time.tsx";
import { FOREIGN_FAILURES } from "./foreign-failures.ts";
import { groupLabel } from "./group-label.ts";
import { STEPS, useNow } from "./window.ts";

/** The health of an endpoint, which is `failing` where it is healthy though calls fail. */
export interface EndpointState extends EndpointHealth {
  /** The fault, and when it gets calls again. */
  readonly trouble: string;
}

const TONES: Readonly<Record<string, Tone>> = { healthy: "good", failing: "widen" };

/** @param state `null` where it is not known. */
export const stateTone = (state: string | null): Tone =>
  state === null ? "quiet" : (TONES[state] ?? "stop");

/**
 * Endpoints as the answering process has them, with their calls of this hour and the one before:
 * the API counts endpoints by whole hours.
 *
 * @param every milliseconds between polls.
 */
export function useHealth(every?: number) {
  const hour = 1_000 * STEPS.hour;
  const start = new Date((Math.floor(useNow() / hour) - 1) * hour);
  const pathOf = (path: string, query: object): string | null =>
    hasScope("governance:read") ? withQuery(path, { ...query, ...inWorkspaces() }) : null;
  const health = useResource<Health>(pathOf("/v1/health", {}), every);
  const { value } = useResource<Summary>(
    pathOf("/v1/governance/summary", {
      start: start.toISOString(),
      group_by: "provider,region,model",
    }),
    30_000,
  );
  const stateOf = (endpoint: EndpointHealth): EndpointState => {
    const { total = 0, failed: kinds = {} } =
      value?.groups.find(({ group }) =>
        (["provider", "region", "model"] as const).every(
          (name) => groupLabel(group, name) === endpoint[name],
        ),
      )?.ended?.attempts ?? {};
    const failed = Object.entries(kinds).reduce(
      (sum, [kind, count]) => (FOREIGN_FAILURES.has(kind) ? sum : sum + count),
      0,
    );
    return endpoint.state === "healthy" && failed > 0
      ? {
          ...endpoint,
          state: "failing",
          trouble: `${whole(failed)} of ${counted(total, "call")} since ${formatTime(start, CLOCK)}`,
        }
      : { ...endpoint, trouble: troubleOf(endpoint) };
  };
  return {
    ...health,
    value: health.value && { ...health.value, endpoints: health.value.endpoints.map(stateOf) },
  };
}

function troubleOf({ state, failure, consecutive_failures, retry_in_ms }: EndpointHealth): string {
  const times = consecutive_failures > 1 ? ` ${whole(consecutive_failures)} times in a row` : "";
  const parts = [
    ...(failure === null ? [] : [`${humanise(failure)}${times}`]),
    ...(retry_in_ms !== null && retry_in_ms > 0
      ? [`tried again in ${milliseconds(retry_in_ms)}`]
      : []),
    ...(state === "half_open" ? ["the next call tries it again"] : []),
  ];
  return parts.join(", ");
}
