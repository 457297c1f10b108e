import {
  endedAt,
  shares,
  type AttemptRecord,
  type DecisionRecord,
  type OutcomeRecord,
} from "../evidence/record.ts";
import type { EndedRequest, RequestObserver } from "../evidence/observer.ts";
import { Counter, Histogram, Reading, type Family } from "./families.ts";

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

/**
 * Counts requests by their evidence. Labels are ids of table and policies, and enum values: never a
 * key, never a client's text.
 */
export class RequestMetrics implements RequestObserver {
  readonly #inFlight = new Map<Operation, number>();

  /** Each holds a bounded number of series. */
  readonly #of = {
    requests: new Counter({
      name: "signalbox_requests",
      help: "Requests that have ended, by outcome. Route none: the request named no route that its workspace may use.",
      labels: ["operation", "route", "terminal", "status_class"],
    }),
    workspaceRequests: new Counter({
      name: "signalbox_workspace_requests",
      help: "Requests that have ended, by workspace. No workspace: no key was accepted.",
      labels: ["workspace", "terminal"],
    }),
    decisions: new Counter({
      name: "signalbox_decisions",
      help: "Decisions: route, deny, refuse (before any decision) or answer (by the router itself).",
      labels: ["operation", "outcome"],
    }),
    denials: new Counter({
      name: "signalbox_denials",
      help: "Requests that were denied, by the constraint that failed first and its reason.",
      labels: ["policy", "constraint", "reason"],
    }),
    refusals: new Counter({
      name: "signalbox_refusals",
      help: "Requests that were refused before a decision, by error code.",
      labels: ["operation", "code"],
    }),
    unrouted: new Counter({
      name: "signalbox_unrouted",
      help: "Answers to requests that match no endpoint: an unknown path or method, a malformed URL. They leave no evidence.",
      labels: ["status"],
    }),
    wouldDeny: new Counter({
      name: "signalbox_shadow_would_deny",
      help: "Times that a constraint of a shadow slot would have denied or narrowed; signalbox_decisions_total is the denominator.",
      labels: ["policy", "constraint", "reason", "verdict"],
    }),
    obligations: new Counter({
      name: "signalbox_obligations",
      help: "Obligations that were applied, or would have been in a shadow slot.",
      labels: ["policy", "obligation", "effect"],
    }),
    attempts: new Counter({
      name: "signalbox_attempts",
      help: "Attempts at endpoints, by kind of failure; empty for successful ones.",
      labels: ["provider", "endpoint", "failure"],
    }),
    shed: new Counter({
      name: "signalbox_shed",
      help: "Attempts that were given up because the concurrency limit was reached and the queue was full or too slow.",
      labels: ["provider", "endpoint"],
    }),
    fallbacks: new Counter({
      name: "signalbox_fallbacks",
      help: "Failed attempts that were followed by one at another endpoint, by the endpoint that failed.",
      labels: ["route", "endpoint", "failure"],
    }),
    secondChoices: new Counter({
      name: "signalbox_second_choices",
      help: "Requests that another endpoint answered than the route's primary or its load-balanced group, by the reason.",
      labels: ["route", "reason"],
    }),
    tokens: new Counter({
      name: "signalbox_tokens",
      help: "Tokens as providers counted them. cache_read is a part of input, reasoning one of output.",
      labels: ["route", "provider", "type"],
    }),
    workspaceTokens: new Counter({
      name: "signalbox_workspace_tokens",
      help: "The same tokens by workspace.",
      labels: ["workspace", "type"],
    }),
    cost: new Counter({
      name: "signalbox_cost_usd",
      help: "US dollars by list price, of requests whose cost is known; an estimate, not a bill.",
      labels: ["route", "provider"],
    }),
    workspaceCost: new Counter({
      name: "signalbox_workspace_cost_usd",
      help: "The same dollars by workspace.",
      labels: ["workspace"],
    }),
    unpriced: new Counter({
      name: "signalbox_unpriced_requests",
      help: "Requests that a provider carried out and whose cost is unknown: no price, or no counts.",
      labels: ["route", "provider"],
    }),
    total: new Histogram(
      {
        name: "signalbox_request_duration_seconds",
        help: "From a request's arrival to its end.",
        labels: ["operation", "terminal"],
        unit: "seconds",
      },
      DURATIONS,
    ),
    firstByte: new Histogram(
      {
        name: "signalbox_first_byte_seconds",
        help: "From a request's arrival to the first byte of its answer, where a provider gave one.",
        labels: ["operation", "route"],
        unit: "seconds",
      },
      DURATIONS,
    ),
    router: new Histogram(
      {
        name: "signalbox_router_seconds",
        help: "The router's own time before a request goes to a provider, or until it is answered without one.",
        labels: ["operation"],
        unit: "seconds",
      },
      OWN_TIMES,
    ),
    attemptTime: new Histogram(
      {
        name: "signalbox_attempt_duration_seconds",
        help: "From an attempt's start to its end; the longest where calls of a batch are reported together.",
        labels: ["provider", "endpoint"],
        unit: "seconds",
      },
      DURATIONS,
    ),
  };

  readonly #leftOut = new Reading(
    "counter",
    {
      name: "signalbox_metrics_left_out",
      help: "Observations that were dropped because their metric has its maximum number of series.",
      labels: [],
    },
    () => [[Object.values(this.#of).reduce((sum, { leftOut }) => sum + leftOut, 0)] as const],
  );

  readonly families: readonly Family[] = [
    ...Object.values(this.#of),
    new Reading(
      "gauge",
      {
        name: "signalbox_requests_in_flight",
        help: "Requests that have begun and not ended.",
        labels: ["operation"],
      },
      () => [...this.#inFlight].map(([operation, count]) => [count, operation] as const),
    ),
    this.#leftOut,
  ];

  began(operation: Operation): void {
    this.#inFlight.set(operation, (this.#inFlight.get(operation) ?? 0) + 1);
  }

  ended(operation: Operation, request: EndedRequest | null): void {
    this.#inFlight.set(operation, (this.#inFlight.get(operation) ?? 1) - 1);
    if (request === null) return;
    const { decision, outcome } = request;
    this.#countDecision(decision);
    this.#countOutcome(decision, outcome);
    this.#countAttempts(decision.route ?? "", outcome.attempts);
    this.#countTokens(decision, outcome);
  }

  unrouted(status: number): void {
    this.#of.unrouted.add(1, String(status));
  }

  #countDecision({
    operation,
    outcome,
    policy,
    constraint,
    reason,
    wouldDeny,
    obligations = [],
  }: DecisionRecord): void {
    this.#of.decisions.add(1, operation, outcome);
    if (outcome === "deny") this.#of.denials.add(1, policy ?? "", constraint ?? "", reason ?? "");
    if (outcome === "refuse") this.#of.refusals.add(1, operation, reason ?? "");
    for (const shadow of wouldDeny) {
      this.#of.wouldDeny.add(
        1,
        shadow.policy,
        shadow.constraint,
        shadow.reason ?? "",
        shadow.verdict,
      );
    }
    for (const one of obligations)
      this.#of.obligations.add(1, one.policy, one.obligation, one.effect);
  }

  #countOutcome({ operation, route, workspace }: DecisionRecord, outcome: OutcomeRecord): void {
    const { terminal, status, total, router, firstByte, secondChoice } = outcome;
    this.#of.requests.add(
      1,
      operation,
      route ?? "",
      terminal,
      STATUS_CLASSES[Math.floor(status / 100)] ?? "",
    );
    this.#of.workspaceRequests.add(1, workspace ?? "", terminal);
    this.#of.total.observe(total / MILLISECONDS, operation, terminal);
    this.#of.router.observe(router / MILLISECONDS, operation);
    if (secondChoice !== undefined) this.#of.secondChoices.add(1, route ?? "", secondChoice);
    if (firstByte !== null)
      this.#of.firstByte.observe(firstByte / MILLISECONDS, operation, route ?? "");
  }

  #countAttempts(route: string, attempts: readonly AttemptRecord[]): void {
    for (const [
      index,
      { provider, endpoint, failure, duration, calls = 1 },
    ] of attempts.entries()) {
      this.#of.attempts.add(calls, provider, endpoint, failure ?? "");
      this.#of.attemptTime.observe(duration / MILLISECONDS, provider, endpoint);
      if (failure === null) continue;
      if (failure === "saturated") this.#of.shed.add(calls, provider, endpoint);
      const next = attempts[index + 1];
      if (next !== undefined && next.endpoint !== endpoint)
        this.#of.fallbacks.add(1, route, endpoint, failure);
    }
  }

  #countTokens({ route, workspace }: DecisionRecord, outcome: OutcomeRecord): void {
    const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens } = outcome;
    const ended = endedAt(outcome);
    const add = (type: string, count: number | null): void => {
      if (count === null) return;
      // One endpoint has it all; several share it.
      if (ended.length <= 1)
        this.#of.tokens.add(count, route ?? "", ended[0]?.provider ?? "", type);
      else {
        for (const [index, share] of shares(count, ended).entries()) {
          this.#of.tokens.add(share, route ?? "", ended[index]?.provider ?? "", type);
        }
      }
      this.#of.workspaceTokens.add(count, workspace ?? "", type);
    };
    add("input", inputTokens);
    add("output", outputTokens);
    add("cache_read", cacheReadTokens);
    add("reasoning", reasoningTokens);
    this.#countCost(route ?? "", ended, outcome.costNanoUsd);
    if (typeof outcome.costNanoUsd === "number") {
      this.#of.workspaceCost.add(outcome.costNanoUsd / NANO, workspace ?? "");
    }
  }

  #countCost(
    route: string,
    ended: readonly AttemptRecord[],
    cost: number | null | undefined,
  ): void {
    const provider = ended[0]?.provider ?? "";
    if (cost === null) this.#of.unpriced.add(1, route, provider);
    else if (cost !== undefined && ended.length <= 1)
      this.#of.cost.add(cost / NANO, route, provider);
    else if (cost !== undefined) {
      for (const [index, share] of shares(cost, ended).entries()) {
        this.#of.cost.add(share / NANO, route, ended[index]?.provider ?? "");
      }
    }
  }
}
