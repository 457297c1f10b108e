import {
  endedAt,
  shares,
  type AttemptRecord,
  type DecisionRecord,
  type OutcomeRecord,
} from "../evidence/record.ts";
import type { EndedRequest } from "../evidence/observer.ts";
import { Counter, Histogram, reading, type Family } from "./families.ts";

/** Seconds. An answer of a model takes from milliseconds (a refusal) to minutes (reasoning). */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];

/** Seconds of the router's own: a millisecond is much. */
const OWN_TIMES = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const MILLISECONDS = 1_000;

/** Billionths in a US dollar. */
const NANO = 1_000_000_000;

/** By the first digit of a status. */
const STATUS_CLASSES = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx", "7xx", "8xx", "9xx"];

type Operation = DecisionRecord["operation"];

export type RequestMetrics = ReturnType<typeof requestMetrics>;

/**
 * Counts requests by their evidence. Labels are ids of table and policies, and enum values: never a
 * key, never a client's text.
 */
export function requestMetrics() {
  const inFlight = new Map<Operation, number>();
  /** Each holds a bounded number of series. */
  const of = {
    requests: new Counter(
      "signalbox_requests",
      "Requests that have ended, by outcome. Route none: the request named no route that its workspace may use.",
      ["operation", "route", "terminal", "status_class"],
    ),
    workspaceRequests: new Counter(
      "signalbox_workspace_requests",
      "Requests that have ended, by workspace. No workspace: no key was accepted.",
      ["workspace", "terminal"],
    ),
    decisions: new Counter(
      "signalbox_decisions",
      "Decisions: route, deny, refuse (before any decision) or answer (by the router itself).",
      ["operation", "outcome"],
    ),
    denials: new Counter(
      "signalbox_denials",
      "Requests that were denied, by the constraint that failed first and its reason.",
      ["policy", "constraint", "reason"],
    ),
    refusals: new Counter(
      "signalbox_refusals",
      "Requests that were refused before a decision, by error code.",
      ["operation", "code"],
    ),
    unrouted: new Counter(
      "signalbox_unrouted",
      "Answers to requests that match no endpoint: an unknown path or method, a malformed URL. They leave no evidence.",
      ["status"],
    ),
    wouldDeny: new Counter(
      "signalbox_shadow_would_deny",
      "Times that a constraint of a shadow slot would have denied or narrowed; signalbox_decisions_total is the denominator.",
      ["policy", "constraint", "reason", "verdict"],
    ),
    obligations: new Counter(
      "signalbox_obligations",
      "Obligations that were applied, or would have been in a shadow slot.",
      ["policy", "obligation", "effect"],
    ),
    attempts: new Counter(
      "signalbox_attempts",
      "Attempts at endpoints, by kind of failure; empty for successful ones.",
      ["provider", "endpoint", "failure"],
    ),
    shed: new Counter(
      "signalbox_shed",
      "Attempts that were given up because the concurrency limit was reached and the queue was full or too slow.",
      ["provider", "endpoint"],
    ),
    fallbacks: new Counter(
      "signalbox_fallbacks",
      "Failed attempts that were followed by one at another endpoint, by the endpoint that failed.",
      ["route", "endpoint", "failure"],
    ),
    secondChoices: new Counter(
      "signalbox_second_choices",
      "Requests that another endpoint answered than the route's primary or its load-balanced group, by the reason.",
      ["route", "reason"],
    ),
    tokens: new Counter(
      "signalbox_tokens",
      "Tokens as providers counted them. cache_read is a part of input, reasoning one of output.",
      ["route", "provider", "type"],
    ),
    workspaceTokens: new Counter("signalbox_workspace_tokens", "The same tokens by workspace.", [
      "workspace",
      "type",
    ]),
    cost: new Counter(
      "signalbox_cost_usd",
      "US dollars by list price, of requests whose cost is known; an estimate, not a bill.",
      ["route", "provider"],
    ),
    workspaceCost: new Counter("signalbox_workspace_cost_usd", "The same dollars by workspace.", [
      "workspace",
    ]),
    unpriced: new Counter(
      "signalbox_unpriced_requests",
      "Requests that a provider carried out and whose cost is unknown: no price, or no counts.",
      ["route", "provider"],
    ),
    total: new Histogram(
      "signalbox_request_duration_seconds",
      "From a request's arrival to its end.",
      ["operation", "terminal"],
      DURATIONS,
    ),
    firstByte: new Histogram(
      "signalbox_first_byte_seconds",
      "From a request's arrival to the first byte of its answer, where a provider gave one.",
      ["operation", "route"],
      DURATIONS,
    ),
    router: new Histogram(
      "signalbox_router_seconds",
      "The router's own time before a request goes to a provider, or until it is answered without one.",
      ["operation"],
      OWN_TIMES,
    ),
    attemptTime: new Histogram(
      "signalbox_attempt_duration_seconds",
      "From an attempt's start to its end; the longest where calls of a batch are reported together.",
      ["provider", "endpoint"],
      DURATIONS,
    ),
  };
  const dropped = reading(
    "counter",
    "signalbox_metrics_left_out",
    "Observations that were dropped because their metric has its maximum number of series.",
    [],
    () => [[Object.values(of).reduce((sum, counted) => sum + counted.dropped, 0)]],
  );
  const families: readonly Family[] = [
    ...Object.values(of),
    reading(
      "gauge",
      "signalbox_requests_in_flight",
      "Requests that have begun and not ended.",
      ["operation"],
      () => [...inFlight].map(([operation, count]) => [count, operation]),
    ),
    dropped,
  ];

  function countDecision({
    operation,
    outcome,
    policy,
    constraint,
    reason,
    wouldDeny,
    obligations = [],
  }: DecisionRecord) {
    of.decisions.add(1, operation, outcome);
    if (outcome === "deny") of.denials.add(1, policy ?? "", constraint ?? "", reason ?? "");
    if (outcome === "refuse") of.refusals.add(1, operation, reason ?? "");
    for (const shadow of wouldDeny) {
      of.wouldDeny.add(1, shadow.policy, shadow.constraint, shadow.reason ?? "", shadow.verdict);
    }
    for (const one of obligations) of.obligations.add(1, one.policy, one.obligation, one.effect);
  }

  function countOutcome({ operation, route, workspace }: DecisionRecord, outcome: OutcomeRecord) {
    const { terminal, status, total, router, firstByte, secondChoice } = outcome;
    of.requests.add(
      1,
      operation,
      route ?? "",
      terminal,
      STATUS_CLASSES[Math.floor(status / 100)] ?? "",
    );
    of.workspaceRequests.add(1, workspace ?? "", terminal);
    of.total.observe(total / MILLISECONDS, operation, terminal);
    of.router.observe(router / MILLISECONDS, operation);
    if (secondChoice !== undefined) of.secondChoices.add(1, route ?? "", secondChoice);
    if (firstByte !== null) of.firstByte.observe(firstByte / MILLISECONDS, operation, route ?? "");
  }

  function countAttempts(route: string, attempts: readonly AttemptRecord[]) {
    for (const [
      index,
      { provider, endpoint, failure, duration, calls = 1 },
    ] of attempts.entries()) {
      of.attempts.add(calls, provider, endpoint, failure ?? "");
      of.attemptTime.observe(duration / MILLISECONDS, provider, endpoint);
      if (failure === null) continue;
      if (failure === "saturated") of.shed.add(calls, provider, endpoint);
      const next = attempts[index + 1];
      if (next !== undefined && next.endpoint !== endpoint)
        of.fallbacks.add(1, route, endpoint, failure);
    }
  }

  function countTokens({ route, workspace }: DecisionRecord, outcome: OutcomeRecord) {
    const {
      inputTokens,
      outputTokens,
      cacheReadTokens,
      reasoningTokens,
      costNanoUsd: cost,
    } = outcome;
    const ended = endedAt(outcome);
    const add = (type: string, count: number | null) => {
      if (count === null) return;
      for (const [share, provider] of portions(count, ended))
        of.tokens.add(share, route ?? "", provider, type);
      of.workspaceTokens.add(count, workspace ?? "", type);
    };
    add("input", inputTokens);
    add("output", outputTokens);
    add("cache_read", cacheReadTokens);
    add("reasoning", reasoningTokens);
    if (cost === null) of.unpriced.add(1, route ?? "", ended[0]?.provider ?? "");
    if (typeof cost !== "number") return;
    for (const [share, provider] of portions(cost, ended))
      of.cost.add(share / NANO, route ?? "", provider);
    of.workspaceCost.add(cost / NANO, workspace ?? "");
  }

  return {
    families,
    began(operation: Operation): void {
      inFlight.set(operation, (inFlight.get(operation) ?? 0) + 1);
    },
    ended(operation: Operation, request: EndedRequest | null): void {
      inFlight.set(operation, (inFlight.get(operation) ?? 1) - 1);
      if (request === null) return;
      const { decision, outcome } = request;
      countDecision(decision);
      countOutcome(decision, outcome);
      countAttempts(decision.route ?? "", outcome.attempts);
      countTokens(decision, outcome);
    },
    unrouted(status: number): void {
      of.unrouted.add(1, String(status));
    },
  };
}

/** How much of a count each provider has. */
function portions(
  count: number,
  ended: readonly AttemptRecord[],
): readonly (readonly [share: number, provider: string])[] {
  if (ended.length === 0) return [[count, ""]];
  return shares(count, ended).map((share, index) => [share, ended[index]?.provider ?? ""]);
}
