import { numbered, remembered, type Numbered } from "../remembered.ts";
import type { PolicyEvaluation, PolicyInput, PolicyVerdict } from "../../canon/policy.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import type { SinglePolicy } from "../../policy/policy-set.ts";
import type { UsageTally } from "../compare/simulation-tally.ts";
import { combination, leafOf, relabelling, type Diagrams, type Node } from "./diagrams.ts";
import { policyDiagram, type OperationDiagrams } from "./policy-diagrams.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { LoadedSide, SideOutcomes } from "../decide-sample.ts";
import type { Level, PolicyOnly } from "../space/levels.ts";
import { ambiguousNames, policyReader, projectionFor } from "../space/readers.ts";
import { actingPolicies } from "../views.ts";

/**
 * The joint result of several policies, without anything that no decision shows: a
 * denial without the verdicts that come after it, or the candidates that are left and the
 * obligations on them. So ten policies that may each deny have eleven results and not a thousand.
 * The same order as `decide/verdicts.ts`: filters, then gates, then obligations.
 */
type Folded =
  /** Before anything has closed. */
  | { readonly kind: "open"; readonly filtered: Filtered }
  | { readonly kind: "denied"; readonly by: string; readonly indeterminate: boolean }
  | { readonly kind: "routed"; readonly filtered: Filtered; readonly edits: Edits };

interface Filtered {
  /** Ids of candidates that filters leave out, sorted. */
  readonly failing: readonly string[];
  /** The first filter that leaves something out; it is named where nothing is left. */
  readonly first: string;
}

interface Edits {
  readonly maximum: number | null;
  /** Sorted. */
  readonly strips: readonly string[];
  readonly regions: readonly string[];
}

const NO_EDITS: Edits = { maximum: null, strips: [], regions: [] };

/**
 * Folds diagrams of single policies, whose leaves are evaluations, into one whose leaves are
 * results.
 */
function verdictFold(diagrams: Diagrams, evaluations: Numbered<PolicyEvaluation>) {
  const results = numbered<Folded>();
  const numberOf = (folded: Folded) => results.numberOf(JSON.stringify(folded), () => folded);
  const joining = (join: (state: Folded, evaluation: PolicyEvaluation) => Folded) =>
    combination(diagrams, (state, policy) => {
      const folded = results.at(state);
      const joined = join(folded, evaluations.at(policy));
      return joined === folded ? state : numberOf(joined);
    });
  const [filter, close, oblige] = [joining(filteredBy), joining(closedBy), joining(obligedBy)];
  const start = leafOf(numberOf({ kind: "open", filtered: { failing: [], first: "" } }));
  /** By the candidates of the request. */
  const ends = new Map<string, (node: Node) => Node>();
  const endFor = (candidates: readonly string[]) =>
    remembered(ends, candidates.toSorted().join("\n"), () =>
      relabelling(diagrams, (number) => {
        const folded = results.at(number);
        if (folded.kind !== "open") return number;
        const { filtered } = folded;
        return numberOf(
          candidates.every((id) => filtered.failing.includes(id))
            ? { kind: "denied", by: filtered.first, indeterminate: false }
            : { kind: "routed", filtered: { ...filtered, first: "" }, edits: NO_EDITS },
        );
      }),
    );
  /** The candidates that filters leave out. @param policies roots, in the order of the policies. */
  const filters = (policies: readonly Node[]) => policies.reduce(filter, start);
  return {
    at: (number: number) => results.at(number),
    filters,
    /** @param candidates ids of those that are evaluated. */
    results(policies: readonly Node[], candidates: readonly string[]): Node {
      const closed = policies.reduce(close, filters(policies));
      return policies.reduce(oblige, endFor(candidates)(closed));
    },
  };
}

function filteredBy(state: Folded, { verdicts }: PolicyEvaluation): Folded {
  if (state.kind !== "open") return state;
  const failed = verdicts.filter(
    ({ effect, verdict }) => effect === "filter" && verdict === "fail",
  );
  const [first] = failed;
  if (first === undefined) return state;
  const failing = new Set([
    ...state.filtered.failing,
    ...failed.flatMap((verdict) => verdict.failing),
  ]);
  const firstName = state.filtered.failing.length > 0 ? state.filtered.first : nameOf(first);
  return { kind: "open", filtered: { failing: [...failing].toSorted(), first: firstName } };
}

function closedBy(state: Folded, { verdicts }: PolicyEvaluation): Folded {
  const indeterminate = verdicts.some(({ verdict }) => verdict === "indeterminate");
  if (state.kind === "denied") {
    return indeterminate && !state.indeterminate ? { ...state, indeterminate: true } : state;
  }
  const closing = verdicts.find((verdict) => closes(verdict, state.filtered.failing));
  return closing === undefined ? state : { kind: "denied", by: nameOf(closing), indeterminate };
}

/** Same rule as `decide/verdicts.ts`, for the candidates that no filter has excluded. */
function closes({ verdict, effect, failing }: PolicyVerdict, filtered: readonly string[]): boolean {
  if (verdict === "pass") return false;
  if (verdict === "indeterminate" || effect === "gate") return true;
  return effect === "require_all" && hasUnfiltered(failing, filtered);
}

function obligedBy(state: Folded, { obligations }: PolicyEvaluation): Folded {
  if (state.kind !== "routed" || obligations.length === 0) return state;
  let { maximum, strips, regions } = state.edits;
  for (const { kind, value } of obligations) {
    if (kind === "max_output_tokens") maximum = Math.min(maximum ?? Infinity, value);
    else if (kind === "strip_field") strips = [...new Set([...strips, value])].toSorted();
    else if (!regions.includes(value)) regions = [...regions, value];
  }
  return { ...state, edits: { maximum, strips, regions } };
}

/** The parts of a verdict that a denial shows. */
function nameOf({ policy, constraint, reason }: PolicyVerdict) {
  return `${policy.id}\n${constraint}\n${reason ?? ""}`;
}

/**
 * Notes the verdicts of every policy of a side, over all requests of states that the
 * table does not deny.
 *
 * @param ignoresKept whether nothing is noted of content that head keeps from base: it has the
 * names of head's own, but shows nothing about head's files.
 */
export function diagramUsage(
  side: SideDiagrams,
  { diagrams, pairs }: OperationDiagrams,
  ignoresKept: boolean,
) {
  const { fold, evaluations, acting, views } = side;
  const noted = views.policies.map(() => new Set<Node>());

  const noteVerdicts = (tally: UsageTally, root: Node) => {
    for (const leaf of diagrams.below(root).leaves) {
      for (const { policy, constraint, verdict, reason, effect } of evaluations.at(leaf).verdicts) {
        const name = `${policy.id}/${constraint}`;
        if (verdict === "pass") tally.passed.add(name);
        else if (verdict === "fail") tally.failed.add(name);
        else tally.indeterminate.add(name);
        if (verdict === "fail" && reason !== null) tally.reasons.add(`${name}/${reason}`);
        // A filtered candidate is gone and a failed gate denies, for all other verdicts.
        const isCertain =
          verdict === "indeterminate" || (verdict === "fail" && effect !== "require_all");
        if (isCertain) tally.effective.add(policy.id);
      }
    }
  };

  /** Effects that depend on the filtered candidates, or act on requests that are not denied. */
  const hasEffect = (
    { contract, identity }: SinglePolicy,
    root: Node,
    { input: { candidates }, policies }: StateVerdicts,
  ): boolean => {
    const among = (identity.slot === "enforced" ? acting.declared : acting.all).map(
      (index) => policies[index] ?? 0,
    );
    const meets = (
      results: Node,
      test: (result: Folded, evaluation: PolicyEvaluation) => boolean,
    ) =>
      diagrams.below(pairs.of(results, root)).leaves.some((leaf) => {
        const [result, evaluation] = pairs.at(leaf);
        return test(fold.at(result), evaluations.at(evaluation));
      });
    const deniesRequests = () =>
      meets(fold.filters(among), (result, { verdicts }) => {
        const filtered = result.kind === "denied" ? [] : result.filtered.failing;
        const isEmpty = candidates.every(({ id }) => filtered.includes(id));
        return verdicts.some(
          ({ effect, verdict, failing }) =>
            effect === "require_all" &&
            verdict === "fail" &&
            (isEmpty || hasUnfiltered(failing, filtered)),
        );
      });
    const changesRequests = () => {
      const ids = candidates.map(({ id }) => id);
      return meets(fold.results(among, ids), (result, { obligations }) => {
        if (result.kind !== "routed") return false;
        const { filtered, edits } = result;
        const passing = candidates.filter(({ id }) => !filtered.failing.includes(id));
        return obligations.some(
          ({ kind, value }) =>
            kind === "strip_field" ||
            (kind === "max_output_tokens" && edits.maximum === value) ||
            (kind === "prefer_region" &&
              passing.some(({ region }) => side.regionsOf(value).includes(region))),
        );
      });
    };
    return (
      (contract.constraints.some(({ effect }) => effect === "require_all") && deniesRequests()) ||
      (contract.obligations.length > 0 && changesRequests())
    );
  };

  return {
    note(tally: UsageTally, verdicts: StateVerdicts): void {
      for (const [index, { single, isKept }] of views.policies.entries()) {
        const root = verdicts.policies[index];
        if (root === undefined || (ignoresKept && isKept)) continue;
        const ofPolicy = noted[index];
        if (ofPolicy?.has(root) === false) {
          ofPolicy.add(root);
          noteVerdicts(tally, root);
        }
        const { id } = single.identity;
        if (!tally.effective.has(id) && hasEffect(single, root, verdicts)) tally.effective.add(id);
      }
    },
    /** A new tally begins: note everything again. */
    forget(): void {
      for (const roots of noted) roots.clear();
    },
  };
}

function hasUnfiltered(failing: readonly string[], filtered: readonly string[]) {
  return failing.some((id) => !filtered.includes(id));
}

/** Verdicts of a side's policies on the requests of one state. */
export interface StateVerdicts {
  readonly input: PolicyInput;
  /** Of every policy, in the order of the side. */
  readonly policies: readonly Node[];
}

type SideDiagrams = ReturnType<typeof sideDiagrams>;

/** The outcomes of one side, as diagrams over the members that only policies read. */
export function sideDiagrams({ decider, views }: LoadedSide, shared: OperationDiagrams) {
  const { operation, diagrams, profiles, levels, pairs } = shared;
  const { table } = decider;
  const ambiguous = ambiguousNames(table);
  const evaluations = numbered<PolicyEvaluation>();
  const policyDiagrams = views.policies.map((policy) => {
    const { rules } = policy;
    const projection = projectionFor(
      rules === null ? [] : [policyReader(rules)],
      operation,
      ambiguous,
    );
    return policyDiagram(policy, { projection, table }, shared, evaluations);
  });
  const acting = actingPolicies(views);
  const fold = verdictFold(diagrams, evaluations);
  const distinct = numbered<SideOutcomes>();
  const results = new WeakMap<StateVerdicts, Node>();
  /** By the state's key and the results of both views. */
  const decided = new Map<string, Map<Node, Node>>();
  const single = new Map<string, number>();

  /** Of both views. */
  const resultsOf = ({ input, policies }: StateVerdicts) => {
    const ids = input.candidates.map(({ id }) => id);
    const among = (indices: readonly number[]) =>
      fold.results(
        indices.map((index) => policies[index] ?? 0),
        ids,
      );
    return pairs.of(among(acting.declared), among(acting.promoted));
  };

  const decidedOutcome = (key: string, sample: SampleRequest) =>
    remembered(single, key, () => {
      const outcomes = decider.decideSample(sample);
      const text = JSON.stringify(
        outcomes.promoted === outcomes.declared
          ? [outcomes.declared]
          : [outcomes.declared, outcomes.promoted],
      );
      return distinct.numberOf(text, () => outcomes);
    });

  return {
    fold,
    evaluations,
    acting,
    views,
    /** The regions that an obligation names, in the side's table. */
    regionsOf: (name: string) => regionsNamed(table, name) ?? [],
    outcomesAt: (number: number) => distinct.at(number),

    /** The policies' verdicts on a state. */
    verdictsOf(input: PolicyInput, sample: SampleRequest): StateVerdicts {
      const candidates = input.candidates.map(({ id, rank }) => `${id} ${rank}`);
      const state = {
        input,
        inOrder: candidates.join("\n"),
        sorted: candidates.toSorted().join("\n"),
        inputOf: (other: PolicyOnly) => decider.inputLike(input, { ...sample, ...other }),
      };
      return { input, policies: policyDiagrams.map((diagramOf) => diagramOf(state, sample)) };
    },

    /**
     * The root whose leaves are outcomes of a state's requests.
     *
     * @param key equal for states whose requests have the same outcomes under the same verdicts.
     * @param sample any request of the state. @param verdicts `null` where the table denies them.
     */
    outcomesOf(key: string, sample: SampleRequest, verdicts: StateVerdicts | null): Node {
      if (verdicts === null) return leafOf(decidedOutcome(key, sample));
      const root = remembered(results, verdicts, () => resultsOf(verdicts));
      const byRoot = remembered(decided, key, () => new Map<Node, Node>());
      return remembered(byRoot, root, () => {
        const first = new Map(profiles.of(root).map(({ leaf, path }) => [leaf, path]));
        return relabelling(diagrams, (leaf) =>
          decidedOutcome(`${key}\n\n=${leaf}`, requestAt(sample, levels, first.get(leaf) ?? [])),
        )(root);
      });
    },
  };
}

/** A request with the values of a path. */
export function requestAt(
  sample: SampleRequest,
  levels: readonly Level[],
  path: readonly number[],
): SampleRequest {
  const start: PolicyOnly = { ...sample, key: { ...sample.key, labels: [] } };
  return {
    ...sample,
    ...levels.reduce((request, level, depth) => level.set(request, path[depth] ?? 0), start),
  };
}
