import type { RoutingTable } from "../../canon/table.ts";
import type { ChangeKind } from "../change-kind.ts";
import type { Outcome, PlannedEndpoint, OfSides } from "../sample-request.ts";
import { rowOf } from "../table-rows.ts";

/** Where an endpoint's requests go. */
export interface Destination {
  /** With the port, where it is not the scheme's own. */
  readonly host: string;
  /** Everything that makes it another destination, as text; independent of the endpoint's id. */
  readonly identity: string;
}

/** The destinations of a table's endpoints, by the endpoint's id. */
export type Destinations = ReadonlyMap<string, Destination>;

/**
 * Everything that makes an endpoint another destination for a reviewer: who processes a request,
 * where, under which address and contract. Prices, limits and timeouts are no part of it.
 */
export function destinationsOf({ endpoints, providers, models }: RoutingTable): Destinations {
  return new Map(
    Object.values(endpoints).map(({ id, model, provider, region, dialect, upstreamModel }) => {
      const row = rowOf(providers, provider);
      const identity = JSON.stringify([
        model,
        provider,
        region,
        dialect,
        upstreamModel,
        // Vectors of another length than before are another answer, even from the same model.
        rowOf(models, model)?.defaultDimensions,
        row?.baseUrl,
        row?.network,
        row?.plaintext,
        row?.apiVersion,
        row?.retention,
        row?.trainsOnData,
      ]);
      return [id, { host: hostOf(row?.baseUrl ?? ""), identity }];
    }),
  );
}

/**
 * The host of a provider's address; the address itself where it is no URL, so that two never look
 * alike.
 */
export function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl;
}

/** Effects of a change on one request, in the order of `CHANGE_KINDS`. */
export function changeKinds(
  base: Outcome,
  head: Outcome,
  destinations: OfSides<Destinations>,
): readonly ChangeKind[] {
  const newlyIndeterminate: readonly ChangeKind[] =
    head.indeterminate && !base.indeterminate ? ["indeterminate_new"] : [];
  if (base.denial !== null && head.denial !== null) {
    const [before, after] = [base.denial, head.denial];
    const members = ["policy", "constraint", "reason"] as const;
    return members.every((name) => before[name] === after[name])
      ? newlyIndeterminate
      : ["reason_changed", ...newlyIndeterminate];
  }
  if (head.denial !== null) return ["newly_denied", ...newlyIndeterminate];
  if (base.denial !== null) return ["newly_allowed", ...newlyIndeterminate];
  return [
    ...planChanges(base.plan, head.plan),
    ...elsewhere(base, head, destinations),
    ...editChanges(base, head),
    ...newlyIndeterminate,
  ];
}

function planChanges(
  base: readonly PlannedEndpoint[],
  head: readonly PlannedEndpoint[],
): readonly ChangeKind[] {
  const [before, after] = [idsOf(base), idsOf(head)];
  const [first, firstNow] = [before[0], after[0]];
  const kinds: ChangeKind[] = [];
  if (first !== firstNow) kinds.push("primary_changed");
  if (after.some((id) => id !== firstNow && !before.includes(id))) kinds.push("fallbacks_widened");
  if (before.some((id) => id !== first && !after.includes(id))) kinds.push("fallbacks_narrowed");
  if (kinds.length > 0) return kinds;
  if (before.join("\n") !== after.join("\n")) return ["fallbacks_reordered"];
  return sharingOf(base) === sharingOf(head) ? [] : ["sharing_changed"];
}

function idsOf(plan: readonly PlannedEndpoint[]): readonly string[] {
  return plan.map(({ endpoint }) => endpoint);
}

function sharingOf(plan: readonly PlannedEndpoint[]) {
  return plan.map(({ tier, balance, weight }) => `${tier} ${balance} ${weight}`).join("\n");
}

function elsewhere(
  base: Outcome,
  head: Outcome,
  destinations: OfSides<Destinations>,
): readonly ChangeKind[] {
  const destinationChanged = head.plan.some(
    ({ endpoint }) =>
      base.plan.some((candidate) => candidate.endpoint === endpoint) &&
      destinations.base.get(endpoint)?.identity !== destinations.head.get(endpoint)?.identity,
  );
  return destinationChanged ? ["destination_changed"] : [];
}

function editChanges(base: Outcome, head: Outcome): readonly ChangeKind[] {
  const [before, after] = [base.edits, head.edits];
  const same =
    before?.maxOutputTokens === after?.maxOutputTokens &&
    (before?.stripFields ?? []).join() === (after?.stripFields ?? []).join();
  if (same) return [];
  const stripsLess = (before?.stripFields ?? []).some(
    (field) => after?.stripFields.includes(field) !== true,
  );
  const raisesCeiling =
    (after?.maxOutputTokens ?? Infinity) > (before?.maxOutputTokens ?? Infinity);
  return [
    ...(stripsLess ? (["weaker_obligation"] as const) : []),
    ...(raisesCeiling ? (["higher_ceiling"] as const) : []),
    "edits_changed",
  ];
}
