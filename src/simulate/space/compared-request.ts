import type { ProviderPreferences } from "../../canon/preferences.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { candidatesWithin } from "../../decide/ceiling.ts";
import { requestedRoute } from "../../decide/decide.ts";
import { applyPreferences } from "../../decide/narrow.ts";
import { Trace } from "../../decide/trace.ts";
import { identityOf } from "../decide-sample.ts";
import type { SampleRequest } from "../sample-request.ts";

const LISTS = ["order", "only", "ignore", "region"] as const;

/**
 * The request whose reach in base is compared with the reach of a request in head: without names that base does not have. Where the caller takes no fallback
 * and has no order of its own that base knows, with every candidate: a route that is reordered gives it another candidate, and no more than it may reach
 * anyway. `null`: the request itself.
 */
export function comparedRequest(table: RoutingTable, sample: SampleRequest, isMisnamed: boolean): SampleRequest | null {
  const takesOne = sample.preferences?.allow_fallbacks === false;
  if (!isMisnamed && !takesOne) return null;
  const known = isMisnamed ? withKnownNames(table, sample) : sample;
  // Base would take the same candidate first; with all of them the route's primary may lack what the request needs, which refuses it.
  if (!takesOne || (isMisnamed && known.preferences?.order !== undefined)) return known;
  const { order: _order, sort: _sort, allow_fallbacks: _one, ...preferences } = sample.preferences ?? {};
  return withKnownNames(table, { ...sample, preferences });
}

/** The request without the providers and regions that a table does not have for it; a list of nothing else is left out. */
function withKnownNames(table: RoutingTable, sample: SampleRequest): SampleRequest {
  const requested = requestedRoute(table, identityOf(sample), sample.model, sample.operation);
  if ("reason" in requested || sample.preferences === null) return sample;
  const candidates = candidatesWithin(table, requested.workspace, requested.route);
  const isKnown = (preferences: ProviderPreferences): boolean => {
    const trace = new Trace();
    applyPreferences(table, requested.workspace, preferences, candidates, trace);
    return trace.denial?.reason !== "unknown_preference";
  };
  const { order: _order, only: _only, ignore: _ignore, region: _region, ...others } = sample.preferences;
  const lists = LISTS.map((member) => {
    const names = (sample.preferences?.[member] ?? []).filter((name) => isKnown({ [member]: [name] }));
    return names.length === 0 ? {} : { [member]: names };
  });
  return { ...sample, preferences: Object.assign({}, others, ...lists) };
}
