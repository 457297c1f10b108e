import { canonicalJson } from "../../canon/json.ts";
import type { PolicyEvaluation, PolicyInput } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { policyData } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import type { LatentChange, LatentReport, SideLocation } from "../report/report.ts";
import { VIEWS, type View, type OfSides } from "../sample-request.ts";
import { NO_VERDICTS, type LoadedPolicy, type LoadedViews, actingPolicies } from "../views.ts";
import { combinations, inputAt, numberOfCombinations, type Combination } from "./combinations.ts";
import { latentFields } from "./fields.ts";
import { type ChangedAnswer, changedAnswers, denierOf, summaries } from "./changed-answers.ts";
import { policyReads, type TablePair } from "./name-classes.ts";
import { todaysRows, type TodaysRows } from "./todays-rows.ts";

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
 * Changed decisions of policies, by content or data, for rows that no file has yet: an endpoint with
 * another retention, a workspace of another tier. Each changed policy gets every
 * combination of the values that it can distinguish, for one endpoint at a time, on both sides.
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
    for (const combination of combinations(fields, rows, most)) {
      tally.tried += 1;
      const input = inputAt(fields, combination, start);
      answers.push(...answersAt(policy, others, combination, input, today));
    }
    return summaries(fields, answers, BigInt(most) >= all).map(({ answer, ...summary }) => ({
      policy: policy.id,
      view: policy.view,
      direction: answer.direction,
      rule: answer.rule,
      kind: answer.kind,
      ...summary,
      example: inputAt(fields, answer.combination, start),
      location: locationOf(policy.id, answer.rule),
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
    return [{ ...answer, combination, isToday: today[side].has(combination, input) }];
  });
}

function evaluationOf(policy: LoadedPolicy | null, input: PolicyInput): PolicyEvaluation {
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
        if (seen.has(key) || (base === null && head === null) || isSame(base, head, tables))
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

function digestOf(policy: LoadedPolicy | null): string {
  return policy?.single.identity.digest ?? "";
}

function isSame(base: LoadedPolicy | null, head: LoadedPolicy | null, tables: TablePair): boolean {
  if (base === null || head === null || digestOf(base) !== digestOf(head)) return false;
  return dataOf(base, tables.base) === dataOf(head, tables.head);
}

/** The data that a policy reads, as text. */
function dataOf({ single }: LoadedPolicy, table: RoutingTable): string {
  const { approved, regions } = policyData(table);
  const isRead = (path: string): boolean => readsPath(single, path);
  return canonicalJson([
    Object.entries(approved).filter(([name]) => isRead(`data.approved.${name}`)),
    Object.entries(regions).filter(([name]) => isRead(`data.regions.${name}`)),
  ]);
}
