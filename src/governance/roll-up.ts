import { isOperation } from "../canon/operation.ts";
import { readTime } from "../canon/rfc3339.ts";
import {
  answeredBy,
  shares,
  type AttemptRecord,
  type DecisionRecord,
  type Identifier,
  type OutcomeRecord,
  type ShadowRecord,
} from "../evidence/record.ts";
import { Addition } from "./cell.ts";
import {
  KEPT_MINUTES,
  type Facet,
  type Grouping,
  type Increments,
  type Labels,
} from "./increments.ts";

/** Whole steps since the epoch: `from` is the first one counted, `until` the first one not. */
export interface Window {
  readonly from: number;
  readonly until: number;
  /** Hours, or minutes where they are grouped by. */
  readonly step: typeof HOUR | typeof MINUTE;
}

const DEFAULT_HOURS = 24;
const DEFAULT_MINUTES = 60;
export const MAXIMUM_DAYS = 400;

/** By the hour, one cell a label and hour is added up and shown: no window needs more at a time. */
export const MAXIMUM_HOURLY_DAYS = 31;

/** Later times end in an hour that RFC 3339 cannot write. */
const LAST_INSTANT = Date.UTC(9999, 0, 1);

/** A problem with a parameter, in a sentence for the caller that does not repeat its value. */
interface WindowProblem {
  readonly member: "start" | "end" | "group_by";
  readonly problem: string;
}

/**
 * The hours that touch the time from `start` to `end`, or the minutes where they are grouped by.
 *
 * @param start RFC 3339; `null`: a day before the end, or an hour of minutes.
 * @param end RFC 3339; `null`: now.
 * @param now milliseconds since the epoch.
 */
export function readWindow(
  start: string | null,
  end: string | null,
  now: number,
  time: Grouping["time"],
): Window | WindowProblem {
  const step = time === "minute" ? MINUTE : HOUR;
  const last = end === null ? now : readInstant(end);
  if (last === null) return { member: "end", problem: `end ${NO_INSTANT}` };
  const until = Math.ceil(last / step);
  const span = time === "minute" ? DEFAULT_MINUTES : DEFAULT_HOURS;
  const first = start === null ? (until - span) * step : readInstant(start);
  if (first === null) return { member: "start", problem: `start ${NO_INSTANT}` };
  if (first >= last) return { member: "start", problem: "start must be before end" };
  const from = Math.floor(first / step);
  if (time === "minute" && from < now / MINUTE - KEPT_MINUTES) {
    const problem = "start must be within the last three hours: older counts are by the hour only";
    return { member: "start", problem };
  }
  if (until - from > MAXIMUM_DAYS * 24) {
    return { member: "start", problem: `start must be at most ${MAXIMUM_DAYS} days before end` };
  }
  if (time === "hour" && until - from > MAXIMUM_HOURLY_DAYS * 24) {
    const problem = `group_by hour takes at most ${MAXIMUM_HOURLY_DAYS} days from start to end; give a shorter window, or group by day`;
    return { member: "group_by", problem };
  }
  return { from, until, step };
}

/** The part of a store's query that a window is: facets that have no minutes give whole hours. */
export function windowOf(facet: Facet, { from, until, step }: Window) {
  if (facet === "minute" || step === HOUR) return { facet, from, until };
  const inHours = HOUR / step;
  return { facet, from: Math.floor(from / inHours), until: Math.ceil(until / inHours) };
}

/** After the name of the parameter. */
export const NO_INSTANT =
  "must be a time as RFC 3339 writes it, with a zone and from 1970 to 9998, such as 2026-11-21T00:00:00Z";

/** Milliseconds since the epoch; `null` for a text that names no instant, such as 30 February. */
export function readInstant(text: string): number | null {
  const time = readTime(text);
  return time === null || time < 0 || time > LAST_INSTANT ? null : time;
}

/** The start of a step, RFC 3339. @param at steps since the epoch. @param step milliseconds. */
export function formatStart(at: number, step: number): string {
  return `${new Date(at * step).toISOString().slice(0, 19)}Z`;
}

export const HOUR = 3_600_000;
export const MINUTE = 60_000;

/** The members of a decision that the outcome's counts need. */
export interface DecisionFacts {
  /** Hours since the epoch in which it was decided: both records of a request count there. */
  readonly hour: number;
  /** Minutes since the epoch. */
  readonly minute: number;
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
  const [hour, minute] = [Math.floor(at / HOUR), Math.floor(at / MINUTE)];
  return { hour, minute, workspace, operation, route, keyId, outcome, repeated };
}

const OUTCOME_COUNTER = {
  route: "allowed",
  deny: "denied",
  refuse: "refused",
  answer: "answered",
} as const;

/**
 * Adds the counts of a decision.
 */
export function rollUpDecision(
  increments: Increments,
  decision: DecisionRecord,
  facts: DecisionFacts = decisionFacts(decision),
): void {
  const shadows = decision.shadows ?? [];
  const isAllowed = decision.outcome === "route";
  const request = requestAddition(facts);
  const judgedBy = (records: readonly ShadowRecord[]): Addition => {
    const addition = shadowAddition(records, isAllowed);
    addition.count("judged");
    return addition;
  };
  const judged = shadows.length > 0 ? judgedBy(decision.wouldDeny) : new Addition();
  for (const cell of requestCells(increments, facts)) {
    cell.add(request);
    cell.add(judged);
  }
  if (!isInference(facts)) return;
  const at = (facet: Facet, labels: Labels) =>
    increments.cell(facts.workspace, facet, facts.hour, labels);
  if (decision.outcome === "deny" || decision.outcome === "refuse") {
    const verdict = [decision.policy, decision.constraint, decision.reason];
    at("verdict", verdict).add(request);
    at("denial", [...verdict, facts.route]).add(request);
  }
  for (const { policy, revision } of shadows) {
    const verdicts = decision.wouldDeny.filter(
      (one) => one.policy === policy && one.revision === revision,
    );
    const judgedOfRevision = judgedBy(verdicts);
    at("shadow", [policy, revision]).add(judgedOfRevision);
    at("shadow_route", [policy, revision, facts.route]).add(judgedOfRevision);
    for (const one of verdicts) {
      at("shadow", [policy, revision, one.constraint, one.reason]).add(
        shadowAddition([one], isAllowed),
      );
    }
  }
}

/** Adds the counts of an outcome, in the hour of its decision. */
export function rollUpOutcome(
  increments: Increments,
  facts: DecisionFacts,
  outcome: OutcomeRecord,
): void {
  const { attempts } = outcome;
  const end = endAddition(facts, outcome);
  const usage = usageAddition(outcome);
  const calls = attempts.map(attemptAddition);
  for (const cell of requestCells(increments, facts)) {
    cell.add(end);
    cell.add(usage);
    for (const call of calls) cell.add(call);
  }
  if (!isInference(facts)) return;
  const at = (facet: Facet, labels: Labels) =>
    increments.cell(facts.workspace, facet, facts.hour, labels);
  const answering = answeredBy(outcome);
  const request = requestAddition(facts);
  for (const [labels, part] of answeringParts(outcome, answering, endpointOf)) {
    const cell = at("place", labels);
    cell.add(request);
    cell.add(end);
    cell.add(part === outcome ? usage : usageAddition(part));
  }
  const { keyId, route } = facts;
  const modelOf = (attempt: AttemptRecord | undefined): Labels => [
    keyId,
    route,
    attempt?.model ?? null,
  ];
  const once = new Addition();
  once.count("requests", facts.repeated);
  for (const [labels, part] of answeringParts(outcome, answering, modelOf)) {
    const cell = at("spend", labels);
    cell.add(once);
    cell.add(part === outcome ? usage : usageAddition(part));
  }
  for (const [index, attempt] of attempts.entries()) {
    const call = calls[index];
    if (call !== undefined) at("place", endpointOf(attempt)).add(call);
  }
}

function requestAddition(facts: DecisionFacts): Addition {
  const addition = new Addition();
  addition.count("requests", facts.repeated);
  addition.count(OUTCOME_COUNTER[facts.outcome], facts.repeated);
  return addition;
}

/** Requests of the catalogue, of simulations and of control endpoints are no traffic of models. */
const isInference = ({ operation }: DecisionFacts) => isOperation(operation);

/**
 * Each request counts once in each of these facets. One that the router answers itself counts in
 * `traffic` only, where its operation keeps it apart.
 */
function requestCells(increments: Increments, facts: DecisionFacts) {
  return increments.cellsOf(facts, () => {
    const { workspace, hour, minute, operation, route, keyId } = facts;
    const traffic = increments.cell(workspace, "traffic", hour, [operation, route]);
    if (!isInference(facts)) return [traffic];
    return [
      traffic,
      increments.cell(workspace, "total", hour, []),
      increments.cell(workspace, "key", hour, [keyId]),
      increments.cell(workspace, "minute", minute, [operation, route]),
    ];
  });
}

/**
 * Where a request's answer came from, all endpoints of the same labels once, with the part of the
 * outcome that counts there: the whole of it, but of a batch that several answered the tokens by
 * their calls.
 */
function answeringParts(
  outcome: OutcomeRecord,
  answering: readonly AttemptRecord[],
  labelsOf: (attempt: AttemptRecord | undefined) => Labels,
): readonly (readonly [Labels, OutcomeRecord])[] {
  if (answering.length < 2) {
    const one =
      outcome.attempts.findLast(({ failure }) => failure === null) ?? outcome.attempts.at(-1);
    return [[labelsOf(one), outcome]];
  }
  const endpoints = [
    ...Map.groupBy(answering, (attempt) => JSON.stringify(labelsOf(attempt))).values(),
  ].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    return [{ ...first, calls: [first, ...more].reduce((sum, { calls = 1 }) => sum + calls, 0) }];
  });
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
  return attempt === undefined
    ? [null, null, null]
    : [attempt.provider, attempt.region, attempt.model ?? null];
}

function shadowAddition(shadows: readonly ShadowRecord[], isAllowed: boolean): Addition {
  const addition = new Addition();
  // Records without an effect are older than the shadows member, and do not come here.
  const denies = shadows.some(({ effect }) => effect !== "would_narrow");
  if (denies) addition.count("would_deny");
  if (denies && isAllowed) addition.count("newly_denied");
  if (shadows.some(({ effect }) => effect === "would_narrow")) addition.count("would_narrow");
  if (shadows.some(({ verdict }) => verdict === "indeterminate")) addition.count("indeterminate");
  return addition;
}

/** How a request ended, and how long it took. */
function endAddition(facts: DecisionFacts, outcome: OutcomeRecord): Addition {
  const { terminal, attempts } = outcome;
  const addition = new Addition();
  addition.count("ended", facts.repeated);
  addition.count(`terminal.${terminal}`, facts.repeated);
  const hasFallenBack =
    attempts.length > 1 && new Set(attempts.map(({ endpoint }) => endpoint)).size > 1;
  if (hasFallenBack) addition.count("fell_back");
  if (outcome.secondChoice !== undefined) addition.count(`second_choice.${outcome.secondChoice}`);
  // Denials and refusals take a millisecond and would hide how long answers take; of a request
  // whose process died no time is known.
  if (facts.outcome !== "route" || terminal === "unknown") return addition;
  addition.measure("total", outcome.total);
  addition.measure("router", outcome.router);
  if (outcome.firstByte !== null) addition.measure("first_byte", outcome.firstByte);
  return addition;
}

/** Spend of a request that no other request's calls answered. */
function usageAddition(outcome: OutcomeRecord): Addition {
  const addition = new Addition();
  const isMetered = outcome.inputTokens !== null || outcome.outputTokens !== null;
  if (isMetered) addition.count("metered");
  countCost(addition, isMetered, outcome.costNanoUsd);
  addition.count("input_tokens", outcome.inputTokens ?? 0);
  addition.count("output_tokens", outcome.outputTokens ?? 0);
  addition.count("cache_read_tokens", outcome.cacheReadTokens ?? 0);
  addition.count("reasoning_tokens", outcome.reasoningTokens ?? 0);
  return addition;
}

/** @param cost `null`: unknown. `undefined`: there was nothing to pay, or the record is older. */
function countCost(addition: Addition, isMetered: boolean, cost: number | null | undefined) {
  if (cost === undefined) return;
  if (cost === null) {
    if (!isMetered) addition.count("unpriced_unmetered");
    return;
  }
  addition.count("priced");
  if (!isMetered) addition.count("priced_unmetered");
  addition.count("cost_nano_usd", cost);
}

function attemptAddition({ failure, calls = 1 }: AttemptRecord): Addition {
  const addition = new Addition();
  addition.count("attempts", calls);
  if (failure !== null) addition.count(`failure.${failure}`, calls);
  return addition;
}
