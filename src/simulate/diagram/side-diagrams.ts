import { Numbered, remembered } from "../remembered.ts";
import type { PolicyEvaluation, PolicyInput, PolicyVerdict } from "../../canon/policy.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import type { UsageTally } from "../compare/simulation-tally.ts";
import {
  PairedLeaves,
  combination,
  leafOf,
  relabelling,
  type Diagrams,
  type Node,
} from "./diagrams.ts";
import { policyDiagram, type OperationDiagrams, type PolicyDiagram } from "./policy-diagrams.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { LoadedSide, SideDecider, SideOutcomes } from "../decide-sample.ts";
import type { Level, PolicyOnly } from "../space/levels.ts";
import { AmbiguousNames, Projection, policyReader } from "../space/readers.ts";
import { actingPolicies, type ActingPolicies, type LoadedPolicy } from "../views.ts";

/**
 * The joint result of several policies, with everything left out that no decision shows: a
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

type Joining = (state: Node, policy: Node) => Node;

/**
 * Folds diagrams of single policies, whose leaves are evaluations, into one whose leaves are
 * results.
 */
class VerdictFold {
  readonly #diagrams: Diagrams;
  readonly #evaluations: Numbered<PolicyEvaluation>;
  readonly #folded = new Numbered<Folded>();
  readonly #filters: Joining;
  readonly #closers: Joining;
  readonly #obligations: Joining;
  /** By the candidates of the request. */
  readonly #ends = new Map<string, (node: Node) => Node>();
  readonly #start: Node;

  constructor(diagrams: Diagrams, evaluations: Numbered<PolicyEvaluation>) {
    this.#diagrams = diagrams;
    this.#evaluations = evaluations;
    this.#filters = this.#joining(filteredBy);
    this.#closers = this.#joining(closedBy);
    this.#obligations = this.#joining(obligedBy);
    this.#start = leafOf(this.#numberOf({ kind: "open", filtered: { failing: [], first: "" } }));
  }

  /** The candidates that filters leave out. @param policies roots, in the order of the policies. */
  filters(policies: readonly Node[]): Node {
    return policies.reduce(this.#filters, this.#start);
  }

  /** @param candidates ids of those that are evaluated. */
  results(policies: readonly Node[], candidates: readonly string[]): Node {
    const closed = policies.reduce(this.#closers, this.filters(policies));
    return policies.reduce(this.#obligations, this.#end(candidates)(closed));
  }

  /** One result, for counting the effects of policies. */
  at(number: number) {
    const folded = this.#folded.at(number);
    return {
      /** Ids of candidates that filters leave out. */
      filtered: folded.kind === "denied" ? [] : folded.filtered.failing,
      isDenied: folded.kind === "denied",
      /** The smallest limit on output tokens. */
      maximum: folded.kind === "routed" ? folded.edits.maximum : null,
    };
  }

  #end(candidates: readonly string[]) {
    return remembered(this.#ends, candidates.toSorted().join("\n"), () =>
      relabelling(this.#diagrams, (number) => {
        const folded = this.#folded.at(number);
        if (folded.kind !== "open") return number;
        const { filtered } = folded;
        return this.#numberOf(
          candidates.every((id) => filtered.failing.includes(id))
            ? { kind: "denied", by: filtered.first, indeterminate: false }
            : { kind: "routed", filtered: { ...filtered, first: "" }, edits: NO_EDITS },
        );
      }),
    );
  }

  #joining(join: (state: Folded, evaluation: PolicyEvaluation) => Folded): Joining {
    return combination(this.#diagrams, (state, policy) => {
      const folded = this.#folded.at(state);
      const joined = join(folded, this.#evaluations.at(policy));
      return joined === folded ? state : this.#numberOf(joined);
    });
  }

  #numberOf(folded: Folded) {
    return this.#folded.numberOf(JSON.stringify(folded), () => folded);
  }
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
  const named = state.filtered.failing.length > 0 ? state.filtered.first : nameOf(first);
  return { kind: "open", filtered: { failing: [...failing].toSorted(), first: named } };
}

function closedBy(state: Folded, { verdicts }: PolicyEvaluation): Folded {
  const indeterminate = verdicts.some(({ verdict }) => verdict === "indeterminate");
  if (state.kind === "denied") {
    return indeterminate && !state.indeterminate ? { ...state, indeterminate: true } : state;
  }
  const closing = verdicts.find((verdict) => closes(verdict, state.filtered.failing));
  return closing === undefined ? state : { kind: "denied", by: nameOf(closing), indeterminate };
}

/** As `decide/verdicts.ts` has it, for the candidates that no filter has left out. */
function closes({ verdict, effect, failing }: PolicyVerdict, filtered: readonly string[]): boolean {
  if (verdict === "pass") return false;
  if (verdict === "indeterminate" || effect === "gate") return true;
  return effect === "require_all" && isLeft(failing, filtered);
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
 */
export class DiagramUsage {
  readonly #side: SideDiagrams;
  readonly #policies: readonly LoadedPolicy[];
  readonly #isIgnored: (policy: LoadedPolicy) => boolean;
  readonly #diagrams: Diagrams;
  readonly #noted: Set<Node>[];
  readonly #pairs: PairedLeaves;

  /** @param isIgnored contents of which nothing is noted. */
  constructor(
    side: SideDiagrams,
    policies: readonly LoadedPolicy[],
    diagrams: Diagrams,
    isIgnored: (policy: LoadedPolicy) => boolean,
  ) {
    this.#side = side;
    this.#policies = policies;
    this.#isIgnored = isIgnored;
    this.#diagrams = diagrams;
    this.#noted = policies.map(() => new Set<Node>());
    this.#pairs = new PairedLeaves(diagrams);
  }

  note(tally: UsageTally, verdicts: StateVerdicts): void {
    for (const [index, policy] of this.#policies.entries()) {
      const root = verdicts.policies[index];
      if (root === undefined || this.#isIgnored(policy)) continue;
      const noted = this.#noted[index];
      if (noted?.has(root) === false) {
        noted.add(root);
        this.#noteVerdicts(tally, root);
      }
      if (!tally.effective.has(policy.single.identity.id))
        this.#noteEffect(tally, policy, root, verdicts);
    }
  }

  /** A tally was taken: everything has to be noted in the next one too. */
  forget(): void {
    for (const noted of this.#noted) noted.clear();
  }

  #noteVerdicts(tally: UsageTally, root: Node) {
    for (const leaf of this.#diagrams.below(root).leaves) {
      for (const { policy, constraint, verdict, reason, effect } of this.#side.evaluations.at(leaf)
        .verdicts) {
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
  }

  /** Effects that depend on the filtered candidates, or act on requests that are not denied. */
  #noteEffect(
    tally: UsageTally,
    { single }: LoadedPolicy,
    root: Node,
    { input, policies }: StateVerdicts,
  ) {
    const { fold, evaluations, acting } = this.#side;
    const { contract, identity } = single;
    const mayClose = contract.constraints.some(({ effect }) => effect === "require_all");
    if (!mayClose && contract.obligations.length === 0) return;
    const among = (identity.slot === "enforced" ? acting.declared : acting.all).map(
      (index) => policies[index] ?? 0,
    );
    const ids = input.candidates.map(({ id }) => id);
    const meets = (results: Node, test: (result: number, evaluation: number) => boolean) =>
      this.#diagrams
        .below(this.#pairs.of(results, root))
        .leaves.some((leaf) => test(...this.#pairs.at(leaf)));
    const closing = () =>
      meets(fold.filters(among), (result, evaluation) => {
        const { filtered } = fold.at(result);
        const isEmpty = ids.every((id) => filtered.includes(id));
        return evaluations
          .at(evaluation)
          .verdicts.some(
            (verdict) => isFailing(verdict) && (isEmpty || isLeft(verdict.failing, filtered)),
          );
      });
    const obliging = () =>
      meets(fold.results(among, ids), (result, evaluation) => {
        const { isDenied, filtered, maximum } = fold.at(result);
        if (isDenied) return false;
        const left = input.candidates.filter(({ id }) => !filtered.includes(id));
        return evaluations
          .at(evaluation)
          .obligations.some(
            ({ kind, value }) =>
              kind === "strip_field" ||
              (kind === "max_output_tokens" && maximum === value) ||
              (kind === "prefer_region" &&
                left.some(({ region }) => this.#side.regionsOf(value).includes(region))),
          );
      });
    if ((mayClose && closing()) || (contract.obligations.length > 0 && obliging()))
      tally.effective.add(identity.id);
  }
}

function isFailing({ effect, verdict }: PolicyVerdict) {
  return effect === "require_all" && verdict === "fail";
}

function isLeft(failing: readonly string[], filtered: readonly string[]) {
  return failing.some((id) => !filtered.includes(id));
}

/** Verdicts of a side's policies on the requests of one state. */
export interface StateVerdicts {
  readonly input: PolicyInput;
  /** Of every policy, in the order of the side. */
  readonly policies: readonly Node[];
}

/** The outcomes of one side, as diagrams over the members that only policies read. */
export class SideDiagrams {
  readonly fold: VerdictFold;
  readonly evaluations = new Numbered<PolicyEvaluation>();
  readonly acting: ActingPolicies;
  readonly #decider: SideDecider;
  readonly #shared: OperationDiagrams;
  readonly #policies: readonly PolicyDiagram[];
  readonly #views: PairedLeaves;
  readonly #outcomes = new Numbered<SideOutcomes>();
  readonly #results = new WeakMap<StateVerdicts, Node>();
  /** By the state's key and the results of both views. */
  readonly #decided = new Map<string, Map<Node, Node>>();
  readonly #single = new Map<string, number>();

  constructor({ decider, views }: LoadedSide, shared: OperationDiagrams) {
    const { operation, diagrams } = shared;
    const ambiguous = new AmbiguousNames(decider.table);
    this.#decider = decider;
    this.#shared = shared;
    this.#policies = views.policies.map((policy) => {
      const projection = new Projection(
        policy.rules === null ? [] : [policyReader(policy.rules)],
        operation,
        ambiguous,
      );
      const reader = { projection, table: decider.table };
      return policyDiagram(policy, reader, shared, this.evaluations);
    });
    this.acting = actingPolicies(views);
    this.fold = new VerdictFold(diagrams, this.evaluations);
    this.#views = new PairedLeaves(diagrams);
  }

  /** The regions that an obligation names, in the side's table. */
  regionsOf(name: string): readonly string[] {
    return regionsNamed(this.#decider.table, name) ?? [];
  }

  outcomesAt(number: number): SideOutcomes {
    return this.#outcomes.at(number);
  }

  /** The policies' verdicts on a state. */
  verdictsOf(input: PolicyInput, sample: SampleRequest): StateVerdicts {
    const candidates = input.candidates.map(({ id, rank }) => `${id} ${rank}`);
    const state = {
      input,
      inOrder: candidates.join("\n"),
      sorted: candidates.toSorted().join("\n"),
      inputOf: (other: PolicyOnly) => this.#decider.inputLike(input, { ...sample, ...other }),
    };
    return { input, policies: this.#policies.map((diagramOf) => diagramOf(state, sample)) };
  }

  /**
   * The root whose leaves are outcomes of a state's requests.
   *
   * @param key equal for states whose requests have the same outcomes under the same verdicts.
   * @param sample any request of the state. @param verdicts `null` where the table denies them.
   */
  outcomesOf(key: string, sample: SampleRequest, verdicts: StateVerdicts | null): Node {
    if (verdicts === null) return leafOf(this.#decidedOutcome(key, sample));
    const { profiles, diagrams, levels } = this.#shared;
    const results = remembered(this.#results, verdicts, () => this.#resultsOf(verdicts));
    const decided = remembered(this.#decided, key, () => new Map<Node, Node>());
    return remembered(decided, results, () => {
      const first = new Map(profiles.of(results).map(({ leaf, path }) => [leaf, path]));
      return relabelling(diagrams, (leaf) =>
        this.#decidedOutcome(
          `${key}\n\n=${leaf}`,
          requestAt(sample, levels, first.get(leaf) ?? []),
        ),
      )(results);
    });
  }

  /** Of both views. */
  #resultsOf({ input, policies }: StateVerdicts): Node {
    const ids = input.candidates.map(({ id }) => id);
    const among = (acting: readonly number[]) =>
      this.fold.results(
        acting.map((index) => policies[index] ?? 0),
        ids,
      );
    return this.#views.of(among(this.acting.declared), among(this.acting.promoted));
  }

  #decidedOutcome(key: string, sample: SampleRequest) {
    return remembered(this.#single, key, () => {
      const outcomes = this.#decider.decideSample(sample);
      const text = JSON.stringify(
        outcomes.promoted === outcomes.declared
          ? [outcomes.declared]
          : [outcomes.declared, outcomes.promoted],
      );
      return this.#outcomes.numberOf(text, () => outcomes);
    });
  }
}

/** A request with the values of a path. */
export function requestAt(
  sample: SampleRequest,
  levels: readonly Level[],
  path: readonly number[],
): SampleRequest {
  const { key, time, stream, context, maxOutput, reasoningEffort } = sample;
  const start: PolicyOnly = {
    key: { ...key, labels: [] },
    time,
    stream,
    context,
    maxOutput,
    reasoningEffort,
  };
  return {
    ...sample,
    ...levels.reduce((request, level, depth) => level.set(request, path[depth] ?? 0), start),
  };
}
