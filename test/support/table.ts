import type { Identity } from "../../src/canon/identity.ts";
import { deepFreeze } from "../../src/canon/json.ts";
import type {
  PolicyContract,
  PolicyInput,
  PolicySet,
  PolicyVerdict,
} from "../../src/canon/policy.ts";
import type { RequestShape } from "../../src/canon/request.ts";
import type {
  Approvals,
  EndpointRow,
  ModelRow,
  ProviderRow,
  RouteRow,
  RoutingTable,
  WorkspaceRow,
} from "../../src/canon/table.ts";

import { DIALECTS, isDialectName } from "../../src/dialects/table.ts";
import type { DialectFacts } from "../../src/dialects/dialect.ts";

/**
 * Small tables for tests of the core: every row has a sensible default and a test says only what it
 * is about.
 */
export function provider(id: string, more: Partial<ProviderRow> = {}): ProviderRow {
  return {
    id,
    dialect: "openai-chat",
    baseUrl: `https://${id}.example/v1`,
    // Upstreams of tests stand on this machine.
    ...(more.baseUrl?.startsWith("http://") === true ? { network: "private" } : {}),
    apiVersion: null,
    region: "eu-west",
    auth: { kind: "none" },
    retention: "none",
    trainsOnData: false,
    timeouts: { connect: 1_000, firstByte: 2_000, idle: 2_000, firstToken: 5_000, total: 10_000 },
    queue: { size: 0, wait: 1_000 },
    health: {
      consecutiveFailures: 5,
      failureRatio: 0.5,
      minimumCalls: 20,
      window: 30_000,
      ejection: 10_000,
      longestEjection: 300_000,
      probe: null,
    },
    maxConcurrency: 50,
    flags: [],
    betas: [],
    ...more,
  };
}

export function model(id: string, more: Partial<ModelRow> = {}): ModelRow {
  return {
    id,
    operations: ["generate"],
    contextWindow: 100_000,
    maxOutputTokens: 8_000,
    defaultMaxOutputTokens: null,
    capabilities: ["tools", "json_schema"],
    dimensions: [],
    defaultDimensions: more.dimensions?.at(-1) ?? null,
    moderationCategories: null,
    signatureFamily: null,
    reasoning: null,
    refuses: [],
    accepts: [],
    ...more,
  };
}

export function endpoint(id: string, more: Partial<EndpointRow> = {}): EndpointRow {
  const { dialect = "openai-chat" } = more;
  const facts: DialectFacts | null = isDialectName(dialect) ? DIALECTS[dialect] : null;
  return {
    id,
    model: "m",
    provider: "p",
    region: "eu-west",
    dialect: "openai-chat",
    upstreamModel: `upstream-${id}`,
    price: { input: 1, output: 2, request: 0 },
    maxConcurrency: null,
    batch: { inputs: facts?.maxBatch ?? null, tokens: null },
    capabilities: ["json_schema", "tools"],
    features: facts?.features.toSorted() ?? [],
    nativeFeatures: facts === null ? [] : [...facts.features, ...facts.optional].toSorted(),
    ...more,
  };
}

export function route(
  id: string,
  primary: string,
  fallbacks: readonly string[],
  more: Partial<RouteRow> = {},
): RouteRow {
  return {
    id,
    title: "",
    primary,
    fallbacks,
    tiers: [primary, ...fallbacks].map((each) => ({
      endpoints: [each],
      balance: "order",
      weights: [1],
    })),
    // Each endpoint once: what is tried again is tested where it is meant.
    maxAttempts: 1 + fallbacks.length,
    maxEjectedShare: 0.5,
    hedgeAfter: null,
    onGap: "deny",
    unknownFields: "reject",
    emulateSchema: false,
    operations: ["generate"],
    ...more,
  };
}

export function workspace(
  id: string,
  approve: Partial<Approvals> = {},
  more: Partial<WorkspaceRow> = {},
): WorkspaceRow {
  return {
    id,
    tier: "standard",
    labels: [],
    defaultModerationRoute: null,
    limits: {
      requestsPerMinute: null,
      tokensPerMinute: null,
      concurrency: null,
      budget: null,
      perKey: null,
    },
    approve: {
      routes: ["r"],
      regions: ["eu-west", "us-east"],
      providers: ["p", "q"],
      capabilities: ["tools", "json_schema"],
      dimensions: [],
      contextWindow: null,
      ...approve,
    },
    ...more,
  };
}

interface Rows {
  readonly providers?: readonly ProviderRow[];
  readonly models?: readonly ModelRow[];
  readonly endpoints?: readonly EndpointRow[];
  readonly routes?: readonly RouteRow[];
  readonly workspaces?: readonly WorkspaceRow[];
}

export function table(rows: Rows = {}): RoutingTable {
  return deepFreeze({
    version: 1,
    revision: "a".repeat(64),
    regionGroups: dictionary([
      ["eu", ["eu-west"]],
      ["us", ["us-east"]],
    ]),
    providers: byId(rows.providers ?? [provider("p"), provider("q", { region: "us-east" })]),
    models: byId(rows.models ?? [model("m")]),
    endpoints: byId(
      rows.endpoints ?? [endpoint("a"), endpoint("b", { provider: "q", region: "us-east" })],
    ),
    routes: byId(rows.routes ?? [route("r", "a", ["b"])]),
    workspaces: byId(rows.workspaces ?? [workspace("w")]),
    policies: { dir: "policies", initialMode: {} },
    vocabulary: { environments: ["production"], workloads: ["web"], labels: ["eu"] },
  });
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Record<string, Row> {
  return dictionary(rows.map((row) => [row.id, row]));
}

function dictionary<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  const made: Record<string, Value> = Object.create(null);
  for (const [name, value] of entries) made[name] = value;
  return made;
}

export const identity: Identity = {
  workspace: "w",
  keyId: "k1",
  scopes: new Set(["inference"]),
  environment: "production",
  workload: "web",
  labels: [],
  expiresAt: Number.MAX_SAFE_INTEGER,
};

export function shape(more: Partial<RequestShape> = {}): RequestShape {
  return {
    operation: "chat.completions",
    needs: [],
    features: [],
    stream: false,
    context: "to_1k",
    maxOutput: "unspecified",
    reasoningEffort: "unspecified",
    signatureFamilies: [],
    dimensions: null,
    ...more,
  };
}

type FakeVerdict = Partial<Omit<PolicyVerdict, "policy">> & {
  readonly id: string;
  readonly slot?: "enforced" | "candidate";
};

/** A policy set with given answers that remembers its questions. */
export function fakePolicies(
  verdicts: (input: PolicyInput) => readonly FakeVerdict[] = () => [],
): PolicySet & { readonly requested: PolicyInput[] } {
  const requested: PolicyInput[] = [];
  const contract: PolicyContract = {
    contract: 1,
    id: "fake",
    title: "fake",
    owners: [],
    operations: ["chat.completions"],
    constraints: [],
    obligations: [],
  };
  return {
    requested,
    id: "5e7".padEnd(16, "0"),
    policies: [
      { identity: { id: "fake", revision: 1, digest: "d".repeat(64), slot: "enforced" }, contract },
    ],
    readsTime: false,
    readsBudget: false,
    zones: [],
    evaluate(input) {
      requested.push(input);
      return {
        obligations: [],
        verdicts: verdicts(input).map(({ id, slot, ...verdict }) => ({
          policy: { id, revision: 1, digest: "d".repeat(64), slot: slot ?? "enforced" },
          constraint: "c",
          effect: "gate",
          verdict: "pass",
          reason: verdict.verdict === undefined || verdict.verdict === "pass" ? null : "NOT_OK",
          failing: [],
          ...verdict,
        })),
      };
    },
  };
}
