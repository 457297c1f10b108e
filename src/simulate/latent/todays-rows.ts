import { remembered } from "../remembered.ts";
import type { Candidate } from "../../canon/decision.ts";
import { MODEL_OPERATION_OF } from "../../canon/operation.ts";
import type { PolicyInput } from "../../canon/policy.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import { capabilityApprovals } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { policyInput } from "../../decide/policy-input.ts";
import { isApprovedEndpoint } from "../table-rows.ts";
import { identityOf } from "../decide-sample.ts";
import { PLAIN_SAMPLE } from "../sample-request.ts";
import type { Combination } from "./combinations.ts";
import type { LatentField, LatentRow } from "./name-classes.ts";

/** An endpoint of a route that a workspace may use. */
interface Reach {
  readonly workspace: WorkspaceRow;
  readonly route: RouteRow;
  readonly candidate: Candidate;
}

/** The rows of a table that requests reach, as a policy sees them. */
export interface TodaysRows {
  /**
   * An input of today, which made-up ones are changes of; `null` where no workspace reaches an
   * endpoint.
   */
  readonly start: PolicyInput | null;
  /** Plain requests for the reached rows, each combination once. */
  readonly combinations: readonly Combination[];
  /** Whether a request of today may have the input: then the classes show the change. */
  readonly has: (combination: Combination, input: PolicyInput) => boolean;
}

export function todaysRows(table: RoutingTable, fields: readonly LatentField[]): TodaysRows {
  /** By the values of row fields. */
  const reached = new Map<string, Reach[]>();
  const combinations: Combination[] = [];
  let start: PolicyInput | null = null;
  const keyOf = (combination: Combination): string =>
    combination.filter((_, at) => fields[at]?.row !== "request").join();
  const indices = new Map<string, number>();
  for (const reach of reaches(table)) {
    const { workspace, route, candidate } = reach;
    const input = inputOf(table, reach);
    start ??= input;
    const ids: Readonly<Record<LatentRow, string>> = {
      workspace: workspace.id,
      route: route.id,
      endpoint: `${candidate.endpoint.id} ${candidate.rank}`,
      request: "",
    };
    // The same row has the same value wherever it stands.
    const combination = fields.map((field, at) =>
      remembered(indices, `${at} ${ids[field.row]}`, () => field.indexOf(input)),
    );
    const key = keyOf(combination);
    if (!reached.has(key)) combinations.push(combination);
    remembered(reached, key, () => []).push(reach);
  }
  const has = (combination: Combination, { operation, request: { needs } }: PolicyInput): boolean =>
    (reached.get(keyOf(combination)) ?? []).some(
      ({ workspace, route, candidate }) =>
        route.operations.includes(MODEL_OPERATION_OF[operation]) &&
        needs
          .flatMap((need) => capabilityApprovals(workspace, route, { needs, features: [] }, need))
          .every(({ passes }) => passes(candidate)),
    );
  return { start, combinations, has };
}

function inputOf(table: RoutingTable, { workspace, route, candidate }: Reach): PolicyInput {
  const sample = { ...PLAIN_SAMPLE, workspace: workspace.id, model: route.id };
  const circumstances = { time: sample.time, budget: "unlimited" } as const;
  const identity = identityOf(sample);
  return policyInput(table, workspace, identity, route, sample, null, circumstances, [candidate]);
}

function* reaches(table: RoutingTable): Generator<Reach> {
  const routes = new Map(
    Object.values(table.routes).map((route) => [route, routeCandidates(table, route)]),
  );
  for (const workspace of Object.values(table.workspaces)) {
    for (const [route, candidates] of routes) {
      if (!workspace.approve.routes.includes(route.id)) continue;
      for (const candidate of candidates) {
        if (isApprovedEndpoint(table, workspace, candidate.endpoint))
          yield { workspace, route, candidate };
      }
    }
  }
}
