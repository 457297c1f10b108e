import type { Capability } from "../../../canon/capability.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import type { Balance } from "../../../canon/table.ts";
import type { DialectFacts } from "../../../dialects/dialect-facts.ts";
import type { Spot } from "../fields.ts";

/** Rows of a routes.yaml before they are written. What several rows of the source have to agree on is collected in them. */
export interface PlannedProvider {
  readonly id: string;
  readonly preset: string | null;
  readonly facts: DialectFacts;
  /** Without what follows. */
  readonly row: JsonObject;
  readonly region: string;
  /** What the rows of the source say, seconds; `null`: a row says nothing, and keeps the default. The longest is written. */
  readonly totals: Set<number | null>;
  readonly firstTokens: Set<number>;
  readonly spots: Spot[];
}

export interface PlannedModel {
  readonly id: string;
  /** Of the model in the source; the id differs where two models have it. */
  readonly name: string;
  readonly operation: ModelOperation;
  /** All that one of its endpoints has. */
  readonly capabilities: Set<Capability>;
  contextWindow: number | null;
  maxOutput: number | null;
  defaultMaxOutput: number | null;
  readonly dimensions: readonly number[];
  readonly defaultDimensions: number | null;
  /** Further keys of the row. */
  readonly rest: JsonObject;
  readonly spots: Spot[];
}

export interface PlannedEndpoint {
  readonly id: string;
  readonly model: PlannedModel;
  readonly provider: PlannedProvider;
  readonly upstream: string;
  readonly region: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly batch: JsonObject | null;
  price: JsonObject | null;
  maxConcurrency: number | null;
  readonly spot: Spot;
}

/** Whether requests for the one can go to the other: the same kind of call, and vectors that can be compared. */
export function canReplace(one: PlannedEndpoint, other: PlannedEndpoint): boolean {
  return (
    one.model.operation === other.model.operation && (one.model.operation !== "embed" || one.model === other.model)
  );
}

/** Shares of a route's endpoints: at most a million each, with six digits. */
export function weightsOf(
  shares: readonly { readonly endpoint: PlannedEndpoint; readonly weight: number }[],
): ReadonlyMap<string, number> {
  const largest = Math.max(...shares.map(({ weight }) => weight));
  const scale = largest > 1_000_000 ? largest / 1_000_000 : 1;
  return new Map(
    shares.map(({ endpoint, weight }) => [endpoint.id, Number((Math.max(0, weight) / scale).toPrecision(6))]),
  );
}

export type PlannedFallback = PlannedEndpoint | { readonly route: string };

export interface PlannedRoute {
  readonly id: string;
  readonly primary: PlannedEndpoint;
  readonly peers: readonly PlannedEndpoint[];
  readonly balance: Balance;
  readonly weights: ReadonlyMap<string, number>;
  readonly fallbacks: readonly PlannedFallback[];
  readonly maxAttempts: number | null;
  /** Only part of other routes: no workspace approves it. */
  readonly internal: boolean;
  readonly spot: Spot;
}

export interface PlannedWorkspace {
  readonly id: string;
  /** Ids of routes. */
  readonly routes: readonly string[];
  readonly labels: readonly string[];
  readonly limits: JsonObject;
  readonly spot: Spot | null;
}

/** A Rego file that says what the source says of requests. */
export interface PlannedPolicy {
  readonly id: string;
  readonly mode: "shadow" | "enforce";
  /** Files below `policies/`, by path. */
  readonly files: ReadonlyMap<string, string>;
}

/** US dollars a million tokens, of dollars a token; without the digits that a binary fraction adds. */
export function perMillion(perToken: number): number {
  return Math.min(1_000_000, Number((Math.max(0, perToken) * 1_000_000).toPrecision(9)));
}
