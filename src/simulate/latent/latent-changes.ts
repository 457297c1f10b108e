import { canonicalJson } from "../../canon/json.ts";
import type { PolicyEvaluation, PolicyInput, PolicyObligation } from "../../canon/policy.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import { policyData } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import type { LatentChange, LatentReport, SideLocation } from "../report/report.ts";
import { type OfSides, PLAIN_SAMPLE, type View, VIEWS } from "../sample-request.ts";
import { actingPolicies, type LoadedPolicy, type LoadedViews, NO_VERDICTS } from "../views.ts";
import {
  latentFields,
  type LatentField,
  type LatentRow,
  policyReads,
  type TablePair,
} from "./fields.ts";
import { remembered } from "../remembered.ts";
import type { Candidate } from "../../canon/decision.ts";
import { MODEL_OPERATION_OF } from "../../canon/operation.ts";
import { capabilityApprovals } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { policyInput } from "../../decide/policy-input.ts";
import { isApprovedEndpoint } from "../table-rows.ts";
import { identityOf } from "../decide-sample.ts";

/** Inputs that are evaluated on both sides for one policy, and for all policies of a run. */
const MOST_OF_POLICY = 20_000;
const MOST_OF_RUN = 60_000;

/**
 * A policy that acts in a view with another content or other data than on the other side; `null`
 * where a side has none.
 */
interface ChangedPolicy extends OfSides<LoadedPolicy | null> {
  readonly id: string;
  readonly view: View;
}

/** Where a rule of a policy stands. */
export type RuleLocation = (policy: string, rule: string) => SideLocation | null;

/**
 * Changed decisions of policies, by content or data, for rows that no file has yet: an endpoint
 * with another retention, a workspace of another tier. Each changed policy gets every combination
 * of the values that it can distinguish, for one endpoint at a time, on both sides.
 *
 * @returns `null` where no policy changed, or the table has no workspace that reaches an endpoint.
 */
export function latentChanges(
  views: OfSides<LoadedViews>,
  tables: TablePair,
  locationOf: RuleLocation,
): LatentReport | null {
  const changed = changedPolicies(views, tables);
  if (changed.length === 0) return null;
  const tally = { tried: 0, of: 0n, complete: true };
  const inspecting = new Map<string, readonly string[]>();
  const changes = changed.flatMap((policy): readonly LatentChange[] => {
    const contents = [policy.base?.rules, policy.head?.rules].flatMap((rules) => rules ?? []);
    const reads = policyReads(contents);
    if (reads.inspects.length > 0) inspecting.set(policy.id, reads.inspects);
    const fields = latentFields(reads, tables);
    const today = {
      base: todaysRows(tables.base, fields),
      head: todaysRows(tables.head, fields),
    };
    const { start, combinations: rows } = today.head.start === null ? today.base : today.head;
    if (start === null) return [];
    const most = Math.min(MOST_OF_POLICY, MOST_OF_RUN - tally.tried);
    const all = numberOfCombinations(fields);
    tally.of += all;
    if (all > BigInt(most)) tally.complete = false;
    const others = changed.filter(({ id, view }) => id !== policy.id && view === policy.view);
    const answers: ChangedAnswer[] = [];
    for (const combination of triedCombinations(fields, rows, most)) {
      tally.tried += 1;
      const input = inputAt(fields, combination, start);
      answers.push(...answersAt(policy, others, combination, input, today));
    }
    return summaries(fields, answers, BigInt(most) >= all).map(({ combination, ...summary }) => ({
      policy: policy.id,
      view: policy.view,
      ...summary,
      example: inputAt(fields, combination, start),
      location: locationOf(policy.id, summary.rule),
    }));
  });
  return {
    complete: tally.complete,
    tried: tally.tried,
    of: String(tally.of),
    changes,
    ...(inspecting.size > 0 && {
      looks_into_names: [...inspecting].map(([policy, calls]) => ({ policy, calls })),
    }),
  };
}

function answersAt(
  policy: ChangedPolicy,
  others: readonly ChangedPolicy[],
  combination: Combination,
  input: PolicyInput,
  today: OfSides<TodaysRows>,
): readonly ChangedAnswer[] {
  const found = changedAnswers(
    evaluationOf(policy.base, input),
    evaluationOf(policy.head, input),
    input,
  );
  return found.flatMap((answer): readonly ChangedAnswer[] => {
    // The side that passes: its requests show the change, where the input is one of theirs.
    const side = answer.direction === "weaker" ? "head" : "base";
    const isRefused = others.some(
      (other) => denierOf(evaluationOf(other[side], input), input) !== null,
    );
    // A rule that moved into another policy refuses as before.
    if (answer.kind === "constraint" && isRefused) return [];
    return [{ ...answer, combination, isPossibleToday: today[side].has(combination, input) }];
  });
}

function evaluationOf(policy: LoadedPolicy | null, input: PolicyInput) {
  return policy?.single.evaluate(input) ?? NO_VERDICTS;
}

/** In the order of ids; a policy that changes as declared is not repeated as if promoted. */
function changedPolicies(views: OfSides<LoadedViews>, tables: TablePair): readonly ChangedPolicy[] {
  const seen = new Set<string>();
  return VIEWS.flatMap((view) => {
    const [before, after] = [actingIn(views.base, view), actingIn(views.head, view)];
    return [...new Set([...before.keys(), ...after.keys()])]
      .toSorted()
      .flatMap((id): readonly ChangedPolicy[] => {
        const [base, head] = [before.get(id) ?? null, after.get(id) ?? null];
        const key = JSON.stringify([id, digestOf(base), digestOf(head)]);
        if (seen.has(key) || (base === null && head === null) || isSamePolicy(base, head, tables))
          return [];
        seen.add(key);
        return [{ id, view, base, head }];
      });
  });
}

/** Policies that act in a view, by id; a removal acts by its absence. */
function actingIn(views: LoadedViews, view: View): ReadonlyMap<string, LoadedPolicy> {
  const acting = actingPolicies(views)[view].flatMap((position) => views.policies[position] ?? []);
  return new Map(
    acting.flatMap((policy) =>
      policy.rules === null ? [] : [[policy.single.identity.id, policy] as const],
    ),
  );
}

function digestOf(policy: LoadedPolicy | null) {
  return policy?.single.identity.digest ?? "";
}

function isSamePolicy(
  base: LoadedPolicy | null,
  head: LoadedPolicy | null,
  tables: TablePair,
): boolean {
  if (base === null || head === null || digestOf(base) !== digestOf(head)) return false;
  return dataOf(base, tables.base) === dataOf(head, tables.head);
}

/** The data that a policy reads, as text. */
function dataOf({ single }: LoadedPolicy, table: RoutingTable): string {
  const { approved, regions } = policyData(table);
  const isRead = (path: string) => readsPath(single, path);
  return canonicalJson([
    Object.entries(approved).filter(([name]) => isRead(`data.approved.${name}`)),
    Object.entries(regions).filter(([name]) => isRead(`data.regions.${name}`)),
  ]);
}

/** An index of a value for each field. */
type Combination = readonly number[];

function numberOfCombinations(fields: readonly LatentField[]) {
  return fields.reduce((number, { values }) => number * BigInt(values.length), 1n);
}

/**
 * Every combination of values; where there are more than may be tried, those that differ from a row
 * of today in one value, then in two.
 *
 * @param today combinations of rows that are there.
 */
function* triedCombinations(
  fields: readonly LatentField[],
  today: readonly Combination[],
  most: number,
): Generator<Combination> {
  if (numberOfCombinations(fields) <= BigInt(most)) {
    yield* product(fields);
    return;
  }
  const seen = new Set<string>();
  for (const combination of nearToday(fields, today)) {
    if (seen.size >= most) return;
    const key = combination.join();
    if (seen.has(key)) continue;
    seen.add(key);
    yield combination;
  }
}

/** The last field changes first. */
function* product(fields: readonly LatentField[]): Generator<Combination> {
  const [first, ...others] = fields;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const index of first.values.keys())
    for (const rest of product(others)) yield [index, ...rest];
}

function* nearToday(
  fields: readonly LatentField[],
  today: readonly Combination[],
): Generator<Combination> {
  for (const row of today) yield* changedFrom(fields, row, 0);
  for (const row of today) {
    for (const [at, { values }] of fields.entries()) {
      for (const index of values.keys()) yield* changedFrom(fields, row.with(at, index), at + 1);
    }
  }
}

/** Those that differ in one value at most, at a position or after it. */
function* changedFrom(
  fields: readonly LatentField[],
  row: Combination,
  from: number,
): Generator<Combination> {
  for (const [at, { values }] of fields.entries()) {
    if (at >= from) for (const index of values.keys()) yield row.with(at, index);
  }
}

function inputAt(fields: readonly LatentField[], combination: Combination, start: PolicyInput) {
  return fields.reduce((input, field, at) => field.apply(input, combination[at] ?? 0), start);
}

/** An endpoint of a route that a workspace may use. */
interface Reach {
  readonly workspace: WorkspaceRow;
  readonly route: RouteRow;
  readonly candidate: Candidate;
}

type TodaysRows = ReturnType<typeof todaysRows>;

/** The rows of a table that requests reach, as a policy sees them. */
function todaysRows(table: RoutingTable, fields: readonly LatentField[]) {
  /** By the values of row fields. */
  const reached = new Map<string, Reach[]>();
  const combinations: Combination[] = [];
  let start: PolicyInput | null = null;
  const keyOf = (combination: Combination) =>
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
  /** Whether a request of today may have the input: then the classes show the change. */
  const has = (combination: Combination, { operation, request: { needs } }: PolicyInput) =>
    (reached.get(keyOf(combination)) ?? []).some(
      ({ workspace, route, candidate }) =>
        route.operations.includes(MODEL_OPERATION_OF[operation]) &&
        needs
          .flatMap((need) => capabilityApprovals(workspace, route, { needs, features: [] }, need))
          .every(({ passes }) => passes(candidate)),
    );
  return {
    /**
     * An input of today, which made-up ones are changes of; `null` where no workspace reaches an
     * endpoint.
     */
    start,
    /** Plain requests for the reached rows, each combination once. */
    combinations,
    has,
  };
}

function inputOf(table: RoutingTable, { workspace, route, candidate }: Reach) {
  const sample = { ...PLAIN_SAMPLE, workspace: workspace.id, model: route.id };
  const now = { time: sample.time, budget: "unlimited" } as const;
  return policyInput(table, workspace, identityOf(sample), route, sample, null, now, [candidate]);
}

function* reaches(table: RoutingTable): Generator<Reach> {
  for (const workspace of Object.values(table.workspaces)) {
    for (const route of Object.values(table.routes)) {
      if (!workspace.approve.routes.includes(route.id)) continue;
      for (const candidate of routeCandidates(table, route)) {
        if (isApprovedEndpoint(table, workspace, candidate.endpoint))
          yield { workspace, route, candidate };
      }
    }
  }
}

/** One made-up input for which a policy decides otherwise than before. */
interface ChangedAnswer extends Pick<LatentChange, "direction" | "rule" | "kind"> {
  readonly combination: Combination;
  /** Whether a request of today may have the input. */
  readonly isPossibleToday: boolean;
}

/** Differences between the answers of both sides about the only candidate of an input. */
function changedAnswers(
  base: PolicyEvaluation,
  head: PolicyEvaluation,
  input: PolicyInput,
): readonly Pick<ChangedAnswer, "direction" | "rule" | "kind">[] {
  const [before, after] = [denierOf(base, input), denierOf(head, input)];
  if (before !== null && after !== null) return [];
  if (before !== null) return [{ direction: "weaker", rule: before, kind: "constraint" }];
  if (after !== null) return [{ direction: "stricter", rule: after, kind: "constraint" }];
  const removed = base.obligations.filter((one) => !isRetained(one, head.obligations));
  const gained = head.obligations.filter((one) => !isRetained(one, base.obligations));
  return [
    ...removed.map(
      ({ name }) => ({ direction: "weaker", rule: name, kind: "obligation" }) as const,
    ),
    ...gained.map(
      ({ name }) => ({ direction: "stricter", rule: name, kind: "obligation" }) as const,
    ),
  ];
}

/** The first constraint that refuses the input's candidate; `null` where none does. */
function denierOf({ verdicts }: PolicyEvaluation, { candidates }: PolicyInput): string | null {
  const denies = ({ verdict, effect, failing }: PolicyEvaluation["verdicts"][number]) =>
    verdict === "indeterminate" ||
    (verdict === "fail" &&
      (effect === "gate" || candidates.every(({ id }) => failing.includes(id))));
  return verdicts.find(denies)?.constraint ?? null;
}

/**
 * Whether the other side obliges to the same, or to more. A preference for a region obliges to
 * nothing.
 */
function isRetained(one: PolicyObligation, others: readonly PolicyObligation[]): boolean {
  if (one.kind === "prefer_region") return true;
  return others.some((other) =>
    one.kind === "max_output_tokens"
      ? other.kind === one.kind && other.value <= one.value
      : other.kind === one.kind && other.value === one.value,
  );
}

/**
 * Changed answers that no request of today shows, by rule and direction. Where requests of today
 * show a change of the same rule, only answers with a value that those requests lack are left: the
 * others repeat that change.
 *
 * @param whole whether every combination was tried.
 */
function summaries(
  fields: readonly LatentField[],
  answers: readonly ChangedAnswer[],
  whole: boolean,
) {
  const groups = Map.groupBy(answers, ({ direction, kind, rule }) =>
    JSON.stringify([direction, kind, rule]),
  );
  return [...groups.values()].flatMap((all) => {
    const shown = fields.map(
      (_, at) =>
        new Set(all.flatMap((one) => (one.isPossibleToday ? (one.combination[at] ?? 0) : []))),
    );
    const differsToday = all.some(({ isPossibleToday }) => isPossibleToday);
    const isFutureOnly = ({ combination }: ChangedAnswer) =>
      !differsToday ||
      fields.some(
        ({ row }, at) => row !== "request" && shown[at]?.has(combination[at] ?? 0) === false,
      );
    const latent = all.filter((one) => !one.isPossibleToday && isFutureOnly(one));
    const [first] = latent;
    if (first === undefined) return [];
    const { isPossibleToday: _isToday, ...answer } = first;
    const met = fields.map(
      (_, at) => new Set(latent.map(({ combination }) => combination[at] ?? 0)),
    );
    const inBox = met.reduce((number, values) => number * values.size, 1);
    const changed = all.filter(({ combination }) =>
      met.every((values, at) => values.has(combination[at] ?? 0)),
    );
    return [
      {
        ...answer,
        where: fields.flatMap(({ path, values }, at) => {
          const indices = met[at] ?? new Set();
          if (indices.size === values.length) return [];
          return [
            { path, values: values.flatMap((names, index) => (indices.has(index) ? names : [])) },
          ];
        }),
        every: whole && inBox === changed.length,
        combinations: latent.length,
      },
    ];
  });
}
