import { isOperation } from "../../src/canon/operation.ts";
import { HOUR } from "../../src/governance/roll-up.ts";
import type { AttemptRecord, DecisionRecord, OutcomeRecord } from "../../src/evidence/record.ts";
import type { ShadowCountReport } from "../../src/governance/shadow-report.ts";
import type { RecordedRequest } from "./random-records.ts";

/** Numbers of one set of requests, and their raw latencies. */
export interface Counted {
  readonly group: Readonly<Record<string, string | null>>;
  readonly counts: Record<string, number>;
  readonly latencies: {
    readonly total: number[];
    readonly first_byte: number[];
    readonly router: number[];
  };
}

export interface Counts {
  readonly totals: Counted;
  readonly groups: readonly Counted[];
}

const ENDPOINT = ["provider", "region", "model"];
const VERDICT = ["policy", "constraint", "reason_code"];
/** Each is of another facet, so that two of them are counted at the request's models. */
const SPEND = ["key", "route", "model"];

/**
 * The summary as its documentation says it, counted record by record, with nothing but what the
 * records hold.
 */
export function countAll(
  requests: readonly RecordedRequest[],
  workspace: string | null | readonly string[],
  window: { readonly from: number; readonly until: number },
  dimensions: readonly string[],
): Counts {
  const all = requests.filter(({ decision }) => {
    const hour = Math.floor(decision.at / HOUR);
    return (
      [workspace].flat().includes(decision.workspace) && hour >= window.from && hour < window.until
    );
  });
  const own = all.filter(isInference);
  const totals = emptyCounted({});
  for (const request of own) countRequest(totals, request, true);
  const groups = new Map<string, Counted>();
  const groupAt = (
    decision: DecisionRecord,
    labels: Readonly<Record<string, string | null>>,
  ): Counted => {
    const group = Object.fromEntries(
      dimensions.map((name) => [
        name,
        name === "day" || name === "hour" ? timeOf(decision, name) : (labels[name] ?? null),
      ]),
    );
    const key = JSON.stringify(group);
    const known = groups.get(key) ?? emptyCounted(group);
    groups.set(key, known);
    return known;
  };
  if (SPEND.filter((name) => dimensions.includes(name)).length > 1) {
    for (const request of own) {
      const { keyId, route, workspace: id } = request.decision;
      const labels = (attempt: AttemptRecord | undefined) => ({
        key: keyId,
        route,
        workspace: id,
        model: attempt?.model ?? null,
      });
      countAnswers(request, groupAt, labels);
    }
  } else if (dimensions.some((name) => ENDPOINT.includes(name))) {
    for (const request of own) countEndpoints(request, groupAt);
  } else if (dimensions.some((name) => VERDICT.includes(name))) {
    countVerdicts(own, dimensions, groupAt);
  } else if (dimensions.length > 0) {
    for (const request of dimensions.includes("operation") ? all : own) {
      const { operation, route, keyId, workspace: id } = request.decision;
      countRequest(
        groupAt(request.decision, { operation, route, key: keyId, workspace: id }),
        request,
        true,
      );
    }
  }
  return { totals, groups: [...groups.values()] };
}

const isInference = ({ decision }: RecordedRequest): boolean => isOperation(decision.operation);

function emptyCounted(group: Counted["group"]): Counted {
  return { group, counts: {}, latencies: { total: [], first_byte: [], router: [] } };
}

function count({ counts }: Counted, name: string, amount: number | boolean = 1): void {
  counts[name] = (counts[name] ?? 0) + Number(amount);
}

function timeOf({ at }: DecisionRecord, unit: "day" | "hour"): string {
  const text = new Date(at).toISOString();
  return unit === "day" ? text.slice(0, 10) : `${text.slice(0, 13)}:00:00Z`;
}

const OUTCOMES = { route: "allowed", deny: "denied", refuse: "refused", answer: "answered" };

function countRequest(
  counted: Counted,
  { decision, outcome }: RecordedRequest,
  withShadow: boolean,
): void {
  const requests = decision.repeated ?? 1;
  count(counted, "requests", requests);
  count(counted, OUTCOMES[decision.outcome], requests);
  if (withShadow && (decision.shadows ?? []).length > 0) {
    count(counted, "judged");
    countSaid(counted, decision, decision.wouldDeny);
  }
  if (outcome === null) count(counted, "running", requests);
  else countEnd(counted, decision, outcome);
  if (outcome !== null) for (const attempt of outcome.attempts) countAttempt(counted, attempt);
}

function countSaid(
  counted: Counted,
  decision: DecisionRecord,
  said: DecisionRecord["wouldDeny"],
): void {
  const denies = said.some(({ effect }) => effect === "would_deny");
  count(counted, "would_deny", denies);
  count(counted, "newly_denied", denies && decision.outcome === "route");
  count(
    counted,
    "would_narrow",
    said.some(({ effect }) => effect === "would_narrow"),
  );
  count(
    counted,
    "indeterminate",
    said.some(({ verdict }) => verdict === "indeterminate"),
  );
}

function countEnd(counted: Counted, decision: DecisionRecord, outcome: OutcomeRecord): void {
  count(counted, `terminal ${outcome.terminal}`, decision.repeated ?? 1);
  count(counted, "fallbacks", new Set(outcome.attempts.map(({ endpoint }) => endpoint)).size > 1);
  if (outcome.secondChoice !== undefined) count(counted, `second choice ${outcome.secondChoice}`);
  count(counted, "input", outcome.inputTokens ?? 0);
  count(counted, "output", outcome.outputTokens ?? 0);
  count(counted, "cache_read", outcome.cacheReadTokens ?? 0);
  count(counted, "reasoning", outcome.reasoningTokens ?? 0);
  const isCounted = outcome.inputTokens !== null || outcome.outputTokens !== null;
  const cost = outcome.costNanoUsd;
  count(counted, "cost", cost ?? 0);
  count(counted, "priced", typeof cost === "number");
  count(counted, "unpriced", cost === null || (cost === undefined && isCounted));
  count(counted, "counted_requests", outcome.inputTokens !== null || outcome.outputTokens !== null);
  if (decision.outcome !== "route" || outcome.terminal === "unknown") return;
  counted.latencies.total.push(outcome.total);
  counted.latencies.router.push(outcome.router);
  if (outcome.firstByte !== null) counted.latencies.first_byte.push(outcome.firstByte);
}

function countAttempt(counted: Counted, { failure, calls = 1 }: AttemptRecord): void {
  count(counted, "attempts", calls);
  if (failure !== null) count(counted, `failed ${failure}`, calls);
}

type GroupAt = (
  decision: DecisionRecord,
  labels: Readonly<Record<string, string | null>>,
) => Counted;

/** A request counts where it was answered from, its calls where they were made. */
function countEndpoints(request: RecordedRequest, groupAt: GroupAt): void {
  const { decision, outcome } = request;
  if (outcome === null) return;
  const labels = (attempt: AttemptRecord | undefined) => ({
    workspace: decision.workspace,
    provider: attempt?.provider ?? null,
    region: attempt?.region ?? null,
    model: attempt?.model ?? null,
  });
  countAnswers(request, groupAt, labels);
  for (const attempt of outcome.attempts) countAttempt(groupAt(decision, labels(attempt)), attempt);
}

function countAnswers(
  { decision, outcome }: RecordedRequest,
  groupAt: GroupAt,
  labels: (attempt: AttemptRecord | undefined) => Readonly<Record<string, string | null>>,
): void {
  if (outcome === null) return;
  const well = outcome.attempts.filter(({ failure }) => failure === null);
  const isAnswered = outcome.terminal === "completed" || outcome.terminal === "incomplete";
  const tried = new Map<string, { readonly attempt: AttemptRecord; calls: number }>();
  for (const attempt of isAnswered ? well : []) {
    const key = JSON.stringify(labels(attempt));
    const known = tried.get(key) ?? { attempt, calls: 0 };
    known.calls += attempt.calls ?? 1;
    tried.set(key, known);
  }
  const counted = [...tried.values()];
  const whole = { attempt: well.at(-1) ?? outcome.attempts.at(-1), calls: 1 };
  const all = counted.length > 0 ? counted : [whole];
  const sum = all.reduce((total, { calls }) => total + calls, 0);
  let before = 0;
  for (const { attempt, calls } of all) {
    const share = (value: number | null): number | null =>
      value === null
        ? null
        : Math.floor((value * (before + calls)) / sum) - Math.floor((value * before) / sum);
    const group = groupAt(decision, labels(attempt));
    count(group, "requests", decision.repeated ?? 1);
    count(group, OUTCOMES[decision.outcome], decision.repeated ?? 1);
    countEnd(group, decision, {
      ...outcome,
      inputTokens: share(outcome.inputTokens),
      outputTokens: share(outcome.outputTokens),
      cacheReadTokens: share(outcome.cacheReadTokens),
      reasoningTokens: share(outcome.reasoningTokens),
      ...(outcome.costNanoUsd === undefined ? {} : { costNanoUsd: share(outcome.costNanoUsd) }),
    });
    before += calls;
  }
}

function countVerdicts(
  requests: readonly RecordedRequest[],
  dimensions: readonly string[],
  groupAt: GroupAt,
): void {
  for (const { decision } of requests) {
    const { outcome, policy, constraint, reason, route, workspace } = decision;
    if (outcome !== "deny" && outcome !== "refuse") continue;
    const group = groupAt(decision, {
      policy,
      constraint,
      reason_code: reason,
      route,
      workspace,
    });
    count(group, "requests", decision.repeated ?? 1);
    count(group, OUTCOMES[outcome], decision.repeated ?? 1);
  }
  // Verdicts of shadows are not stored by these.
  if (dimensions.includes("route") || dimensions.includes("workspace")) return;
  const perPolicy = dimensions.every(
    (name) => name === "policy" || name === "day" || name === "hour",
  );
  const judges = new Map<Counted, Set<string>>();
  for (const { decision } of requests) {
    for (const { policy, revision } of decision.shadows ?? []) {
      const own = decision.wouldDeny.filter(
        (one) => one.policy === policy && one.revision === revision,
      );
      const lines = perPolicy ? [own] : own.map((one) => [one]);
      for (const said of lines) {
        const group = groupAt(decision, {
          policy,
          constraint: said[0]?.constraint ?? null,
          reason_code: said[0]?.reason ?? null,
        });
        countSaid(group, decision, said);
        const judge = judges.get(group) ?? new Set();
        judge.add(`${policy} ${revision}`);
        judges.set(group, judge);
      }
    }
  }
  for (const [group, revisions] of judges) {
    for (const { decision } of requests) {
      const { day, hour } = group.group;
      if (day !== undefined && day !== timeOf(decision, "day")) continue;
      if (hour !== undefined && hour !== timeOf(decision, "hour")) continue;
      for (const { policy, revision } of decision.shadows ?? []) {
        if (revisions.has(`${policy} ${revision}`)) count(group, "judged");
      }
    }
  }
}

/**
 * A report of a revision in shadow, counted record by record. @param only the one workspace that is
 * named; `null`: all are.
 */
export function countShadowReport(
  requests: readonly RecordedRequest[],
  policy: string,
  revision: string,
  only: string | null,
): ShadowCountReport {
  const zero = { judged: 0, would_deny: 0, newly_denied: 0, would_narrow: 0, indeterminate: 0 };
  const totals = { ...zero };
  const lists = {
    by_constraint: new Map<string, typeof zero>(),
    by_route: new Map<string, typeof zero>(),
    by_workspace: new Map<string, typeof zero>(),
  };
  const lineOf = (list: keyof typeof lists, labels: object): typeof zero => {
    const key = JSON.stringify(labels);
    const line = lists[list].get(key) ?? { ...zero };
    lists[list].set(key, line);
    return line;
  };
  for (const { decision } of requests.filter(isInference)) {
    const isOf = (one: { policy: string; revision: string }) =>
      one.policy === policy && one.revision === revision;
    if (!(decision.shadows ?? []).some(isOf)) continue;
    const own = decision.wouldDeny.filter(isOf);
    const isNamed = only === null || decision.workspace === only;
    const lines = [
      { line: totals, said: own },
      { line: lineOf("by_route", { route: isNamed ? decision.route : null }), said: own },
      {
        line: lineOf("by_workspace", { workspace: isNamed ? decision.workspace : null }),
        said: own,
      },
      ...own.map((one) => ({
        line: lineOf("by_constraint", { constraint: one.constraint, reason: one.reason }),
        said: [one],
      })),
    ];
    for (const { line, said } of lines) {
      const denies = said.some(({ effect }) => effect === "would_deny");
      line.judged += 1;
      line.would_deny += Number(denies);
      line.newly_denied += Number(denies && decision.outcome === "route");
      line.would_narrow += Number(said.some(({ effect }) => effect === "would_narrow"));
      line.indeterminate += Number(said.some(({ verdict }) => verdict === "indeterminate"));
    }
  }
  const listed = (name: keyof typeof lists) =>
    [...lists[name]].map(([labels, sums]) => ({ ...JSON.parse(labels), ...sums }));
  return {
    ...totals,
    by_constraint: listed("by_constraint").map(({ judged: _judged, ...line }) => line),
    by_route: listed("by_route"),
    judged_without_route: 0,
    by_workspace: listed("by_workspace"),
  };
}
