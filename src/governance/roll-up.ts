import type { FailureKind } from "../canon/failure.ts";
import { answeredBy, shares } from "../evidence/answered-by.ts";
import {
  type AttemptRecord,
  type DecisionRecord,
  type OutcomeRecord,
  type ShadowRecord,
  type Terminal,
  type Identifier,
} from "../evidence/record.ts";
import type { Facet, Increments, Labels } from "./increments.ts";
import type { Cell } from "./cell.ts";

export const HOUR = 3_600_000;

/** The members of a decision that the outcome's counts need. */
export interface DecisionFacts {
  /** Hours since the epoch in which it was decided: both records of a request count there. */
  readonly hour: number;
  readonly workspace: Identifier | null;
  readonly operation: DecisionRecord["operation"];
  readonly route: Identifier | null;
  readonly keyId: Identifier | null;
  readonly outcome: DecisionRecord["outcome"];
  /** How many requests it covers. */
  readonly repeated: number;
}

export function decisionFacts(decision: DecisionRecord): DecisionFacts {
  const { at, workspace, operation, route, keyId, outcome, repeated = 1 } = decision;
  return { hour: Math.floor(at / HOUR), workspace, operation, route, keyId, outcome, repeated };
}

const OUTCOME_COUNTER = { route: "allowed", deny: "denied", refuse: "refused", answer: "answered" } as const;

/** A text that is made each time is looked up more slowly than one that is there. */
const TERMINAL_COUNTER = {
  completed: "terminal.completed",
  incomplete: "terminal.incomplete",
  failed: "terminal.failed",
  denied: "terminal.denied",
  refused: "terminal.refused",
  client_closed: "terminal.client_closed",
  unknown: "terminal.unknown",
} as const satisfies { readonly [Kind in Terminal]: `terminal.${Kind}` };

/**
 * Adds what a decision counts for.
 *
 * @param facts those of the decision, or of one that is counted alike
 */
export function rollUpDecision(
  increments: Increments,
  decision: DecisionRecord,
  facts: DecisionFacts = decisionFacts(decision),
): void {
  const shadows = decision.shadows ?? [];
  const isAllowed = decision.outcome === "route";
  for (const cell of requestCells(increments, facts)) {
    cell.count("requests", facts.repeated);
    cell.count(OUTCOME_COUNTER[decision.outcome], facts.repeated);
    if (shadows.length > 0) {
      cell.count("judged");
      countShadow(cell, decision.wouldDeny, isAllowed);
    }
  }
  const at = (facet: Facet, labels: Labels): Cell => increments.cell(facts.workspace, facet, facts.hour, labels);
  if (decision.outcome === "deny" || decision.outcome === "refuse") {
    const cell = at("verdict", [decision.policy, decision.constraint, decision.reason]);
    cell.count("requests", facts.repeated);
    cell.count(OUTCOME_COUNTER[decision.outcome], facts.repeated);
  }
  for (const { policy, revision } of shadows) {
    const own = decision.wouldDeny.filter((one) => one.policy === policy && one.revision === revision);
    for (const cell of [at("shadow", [policy, revision]), at("shadow_route", [policy, revision, facts.route])]) {
      cell.count("judged");
      countShadow(cell, own, isAllowed);
    }
    for (const one of own) {
      countShadow(at("shadow", [policy, revision, one.constraint, one.reason]), [one], isAllowed);
    }
  }
}

/** Adds what an outcome counts for, in the hour of its decision. */
export function rollUpOutcome(increments: Increments, facts: DecisionFacts, outcome: OutcomeRecord): void {
  // A request that another one's calls answered has no calls and tokens of its own: they would be counted twice.
  const attempts = outcome.joined === undefined ? outcome.attempts : [];
  for (const cell of requestCells(increments, facts)) {
    countEnd(cell, facts, outcome);
    for (const attempt of attempts) countAttempt(cell, attempt);
  }
  const answering = answeredBy(outcome);
  for (const [labels, part] of answeringParts(outcome, answering, endpointOf)) {
    const cell = increments.cell(facts.workspace, "place", facts.hour, labels);
    cell.count("requests", facts.repeated);
    cell.count(OUTCOME_COUNTER[facts.outcome], facts.repeated);
    countEnd(cell, facts, part);
  }
  const { keyId, route } = facts;
  const modelOf = (attempt: AttemptRecord | undefined): Labels => [keyId, route, attempt?.model ?? null];
  for (const [labels, part] of answeringParts(outcome, answering, modelOf)) {
    const cell = increments.cell(facts.workspace, "spend", facts.hour, labels);
    cell.count("requests", facts.repeated);
    if (outcome.joined === undefined) countUsage(cell, part);
  }
  for (const attempt of attempts) {
    countAttempt(increments.cell(facts.workspace, "place", facts.hour, endpointOf(attempt)), attempt);
  }
}

/** Each request counts once in each of these facets. */
function requestCells(increments: Increments, facts: DecisionFacts): readonly Cell[] {
  return increments.cellsOf(facts, () => {
    const { workspace, hour, operation, route, keyId } = facts;
    return [
      increments.cell(workspace, "total", hour, []),
      increments.cell(workspace, "traffic", hour, [operation, route]),
      increments.cell(workspace, "key", hour, [keyId]),
    ];
  });
}

/**
 * Where a request's answer came from, all endpoints of the same labels once, with the part of the outcome that counts there: the whole of it, but of a
 * batch that several answered the tokens by their calls.
 */
function answeringParts(
  outcome: OutcomeRecord,
  answering: readonly AttemptRecord[],
  labelsOf: (attempt: AttemptRecord | undefined) => Labels,
): readonly (readonly [Labels, OutcomeRecord])[] {
  if (answering.length < 2) {
    const one = outcome.attempts.findLast(({ failure }) => failure === null) ?? outcome.attempts.at(-1);
    return [[labelsOf(one), outcome]];
  }
  const endpoints = [...Map.groupBy(answering, (attempt) => JSON.stringify(labelsOf(attempt))).values()].flatMap(
    ([first, ...more]) => {
      if (first === undefined) return [];
      return [{ ...first, calls: [first, ...more].reduce((sum, { calls = 1 }) => sum + calls, 0) }];
    },
  );
  const shared = (count: number | null): readonly (number | null)[] =>
    count === null ? endpoints.map(() => null) : shares(count, endpoints);
  const [input, output] = [shared(outcome.inputTokens), shared(outcome.outputTokens)];
  const [cacheRead, reasoning] = [shared(outcome.cacheReadTokens), shared(outcome.reasoningTokens)];
  const cost = outcome.costNanoUsd == null ? null : shared(outcome.costNanoUsd);
  return endpoints.map((endpoint, index) => [
    labelsOf(endpoint),
    {
      ...outcome,
      inputTokens: input[index] ?? null,
      outputTokens: output[index] ?? null,
      cacheReadTokens: cacheRead[index] ?? null,
      reasoningTokens: reasoning[index] ?? null,
      costNanoUsd: cost === null ? outcome.costNanoUsd : (cost[index] ?? null),
    },
  ]);
}

function endpointOf(attempt: AttemptRecord | undefined): Labels {
  return attempt === undefined ? [null, null, null] : [attempt.provider, attempt.region, attempt.model ?? null];
}

function countShadow(cell: Cell, said: readonly ShadowRecord[], isAllowed: boolean): void {
  // Records without an effect are older than the shadows member, and do not come here.
  const denies = said.some(({ effect }) => effect !== "would_narrow");
  if (denies) cell.count("would_deny");
  if (denies && isAllowed) cell.count("newly_denied");
  if (said.some(({ effect }) => effect === "would_narrow")) cell.count("would_narrow");
  if (said.some(({ verdict }) => verdict === "indeterminate")) cell.count("indeterminate");
}

function countEnd(cell: Cell, facts: DecisionFacts, outcome: OutcomeRecord): void {
  const { terminal } = outcome;
  cell.count("ended", facts.repeated);
  cell.count(TERMINAL_COUNTER[terminal], facts.repeated);
  if (outcome.joined === undefined) {
    if (outcome.attempts.length > 1 && new Set(outcome.attempts.map(({ endpoint }) => endpoint)).size > 1) {
      cell.count("fell_back");
    }
    countUsage(cell, outcome);
  }
  // Denials and refusals take a millisecond and would hide how long answers take; of a request whose process died no time is known.
  if (facts.outcome !== "route" || terminal === "unknown") return;
  cell.measure("total", outcome.total);
  cell.measure("router", outcome.router);
  if (outcome.firstByte !== null) cell.measure("first_byte", outcome.firstByte);
}

/** What spend shows of a request that was not answered by another one's calls. */
function countUsage(cell: Cell, outcome: OutcomeRecord): void {
  const isMetered = outcome.inputTokens !== null || outcome.outputTokens !== null;
  if (isMetered) cell.count("metered");
  countCost(cell, isMetered, outcome.costNanoUsd);
  cell.count("input_tokens", outcome.inputTokens ?? 0);
  cell.count("output_tokens", outcome.outputTokens ?? 0);
  cell.count("cache_read_tokens", outcome.cacheReadTokens ?? 0);
  cell.count("reasoning_tokens", outcome.reasoningTokens ?? 0);
}

/** @param cost `null`: unknown. `undefined`: there was nothing to pay, or the record is older. */
function countCost(cell: Cell, isMetered: boolean, cost: number | null | undefined): void {
  if (cost === undefined) return;
  if (cost === null) {
    if (!isMetered) cell.count("unpriced_unmetered");
    return;
  }
  cell.count("priced");
  if (!isMetered) cell.count("priced_unmetered");
  cell.count("cost_nano_usd", cost);
}

function countAttempt(cell: Cell, { failure, calls = 1 }: AttemptRecord): void {
  cell.count("attempts", calls);
  if (failure !== null) cell.count(failureCounter(failure), calls);
}

function failureCounter(failure: FailureKind): `failure.${FailureKind}` {
  return `failure.${failure}`;
}
