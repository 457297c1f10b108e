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
export class TodaysRows {
  readonly #table: RoutingTable;
  readonly #fields: readonly LatentField[];
  /** By the values of row fields. */
  readonly #reached = new Map<string, Reach[]>();
  readonly #combinations: Combination[] = [];
  #start: PolicyInput | null = null;

  constructor(table: RoutingTable, fields: readonly LatentField[]) {
    this.#table = table;
    this.#fields = fields;
    for (const reach of reaches(table)) {
      const input = this.#inputOf(reach);
      this.#start ??= input;
      const combination = this.#combinationOf(reach, input);
      const key = this.#keyOf(combination);
      const known = this.#reached.get(key);
      if (known !== undefined) known.push(reach);
      else {
        this.#reached.set(key, [reach]);
        this.#combinations.push(combination);
      }
    }
  }

  /**
   * An input of today, which made-up ones are changes of; `null` where no workspace reaches an
   * endpoint.
   */
  get start(): PolicyInput | null {
    return this.#start;
  }

  /** Plain requests for what is reached, each combination once. */
  get combinations(): readonly Combination[] {
    return this.#combinations;
  }

  /**
   * Whether a request of today may have the input: then a comparison of requests has shown what
   * becomes of it.
   */
  has(combination: Combination, { operation, request: { needs } }: PolicyInput): boolean {
    const rows = this.#reached.get(this.#keyOf(combination)) ?? [];
    return rows.some(
      ({ workspace, route, candidate }) =>
        route.operations.includes(MODEL_OPERATION_OF[operation]) &&
        needs
          .flatMap((need) => capabilityApprovals(workspace, route, { needs, features: [] }, need))
          .every(({ passes }) => passes(candidate)),
    );
  }

  #keyOf(combination: Combination): string {
    return combination.filter((_, at) => this.#fields[at]?.row !== "request").join();
  }

  #combinationOf({ workspace, route, candidate }: Reach, input: PolicyInput): Combination {
    const ids: Readonly<Record<LatentRow, string>> = {
      workspace: workspace.id,
      route: route.id,
      endpoint: `${candidate.endpoint.id} ${candidate.rank}`,
      request: "",
    };
    return this.#fields.map((field, at) => this.#indexOf(field, at, ids[field.row], input));
  }

  readonly #indices = new Map<string, number>();

  /** The same row has the same value wherever it stands. */
  #indexOf(field: LatentField, at: number, row: string, input: PolicyInput): number {
    const key = `${at} ${row}`;
    return remembered(this.#indices, key, () => field.indexOf(input));
  }

  #inputOf({ workspace, route, candidate }: Reach): PolicyInput {
    const sample = { ...PLAIN_SAMPLE, workspace: workspace.id, model: route.id };
    const circumstances = { time: sample.time, budget: "unlimited" } as const;
    return policyInput(
      this.#table,
      workspace,
      identityOf(sample),
      route,
      sample,
      null,
      circumstances,
      [candidate],
    );
  }
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
