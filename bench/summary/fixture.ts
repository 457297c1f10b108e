import {
  type DecisionRecord,
  type OutcomeRecord,
  asIdentifier,
  type Identifier,
} from "../../src/evidence/record.ts";

/**
 * A realistic configuration: 5 workspaces, 6 keys each, 20 routes, 40 endpoints of 10 models with 5
 * providers in 4 regions.
 */
export const WORKSPACES = names("workspace", 5);
const ROUTES = names("route", 20);
const ENDPOINTS = names("endpoint", 40);
const SHADOWS = [{ policy: asIdentifier("eu-residency"), revision: asIdentifier("r4") }];
const REASONS = [
  "REGION_NOT_APPROVED",
  "RETENTION_NOT_APPROVED",
  "CAPABILITY_NOT_APPROVED",
  "model_not_found",
].map((name) => asIdentifier(name));

function names(kind: string, count: number): readonly Identifier[] {
  return Array.from({ length: count }, (_, index) => asIdentifier(`${kind}-${index + 1}`));
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("bench: an empty list");
  return item;
}

/**
 * One request: 3 % denied, 3 % refused, 5 % falling back, 4 % that a shadow would deny; answers
 * take 200 ms to 20 s.
 */
export function request(
  id: number,
  at: number,
  workspace: Identifier,
  random: () => number,
): { readonly decision: DecisionRecord; readonly outcome: OutcomeRecord } {
  const route = Math.floor(random() * ROUTES.length);
  const fate = random();
  const outcome = fate < 0.03 ? "deny" : fate < 0.06 ? "refuse" : "route";
  const requestId = asIdentifier(`req_${id.toString(16).padStart(32, "0")}`);
  const reason = outcome === "route" ? null : pick(REASONS, random);
  const decision: DecisionRecord = {
    requestId,
    at,
    workspace,
    keyId: asIdentifier(`${workspace}-key-${1 + Math.floor(random() * 6)}`),
    environment: asIdentifier("production"),
    operation: route < 16 ? "chat.completions" : route < 18 ? "embeddings" : "rerank",
    route: ROUTES[route] ?? null,
    outcome,
    tableRevision: asIdentifier("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    plan: [asIdentifier("endpoint-1"), asIdentifier("endpoint-2")],
    policy: outcome === "deny" ? asIdentifier("approvals") : null,
    policyRevision: null,
    constraint: outcome === "deny" ? asIdentifier("region_approved") : null,
    reason,
    wouldDeny:
      random() < 0.04
        ? [
            {
              policy: asIdentifier("eu-residency"),
              revision: asIdentifier("r4"),
              constraint: asIdentifier("region"),
              reason: asIdentifier("REGION_UNKNOWN"),
              verdict: "fail",
              effect: "would_deny",
            },
          ]
        : [],
    shadows: SHADOWS,
    obligations: [],
    needs: ["tools"],
    features: [],
    stream: true,
    context: "to_4k",
    maxOutput: "to_1k",
    reasoningEffort: "unspecified",
    retryCount: 0,
    clientRequestDigest: null,
  };
  const total = outcome === "route" ? 200 * 100 ** random() : 1;
  const attempt = (
    number: number,
    failure: "overloaded" | null,
  ): OutcomeRecord["attempts"][number] => ({
    endpoint: ENDPOINTS[number] ?? asIdentifier("none"),
    provider: asIdentifier(`provider-${1 + (number % 5)}`),
    region: asIdentifier(`region-${1 + (number % 4)}`),
    model: asIdentifier(`model-${1 + (number % 10)}`),
    failure,
    status: 200,
    duration: total,
    simulated: false,
    translated: false,
  });
  const attempts =
    outcome !== "route"
      ? []
      : random() < 0.05
        ? [attempt(2 * route, "overloaded"), attempt(2 * route + 1, null)]
        : [attempt(2 * route, null)];
  return {
    decision,
    outcome: {
      requestId,
      at: at + total,
      status: 200,
      terminal: outcome === "route" ? "completed" : outcome === "deny" ? "denied" : "refused",
      finish: asIdentifier("stop"),
      attempts,
      stripped: [],
      losses: [],
      inputTokens: Math.floor(random() * 4_000),
      outputTokens: Math.floor(random() * 1_000),
      cacheReadTokens: 0,
      reasoningTokens: 0,
      firstByte: total / 5,
      total,
      router: 0.2 + random(),
    },
  };
}

/** The same numbers in every run (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
