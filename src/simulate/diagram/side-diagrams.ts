import type { PolicyEvaluation, PolicyInput } from "../../canon/policy.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { SideDecider, SideOutcomes } from "../side-decider.ts";
import type { PolicyOnly, Level } from "../space/levels.ts";
import { policyReader, Sight, type AmbiguousNames } from "../space/readers.ts";
import { type LoadedViews, actingPolicies, type ActingPolicies } from "../views.ts";
import { leafOf, type Node, Numbered, PairedLeaves, Relabelling } from "./diagrams.ts";
import type { OperationDiagrams } from "./build-diagram.ts";
import { PolicyDiagrams } from "./policy-diagrams.ts";
import { VerdictFold } from "./verdict-fold.ts";

/** A side with its policies. */
interface DiagramSide {
  readonly decider: SideDecider;
  readonly views: LoadedViews;
  readonly ambiguous: AmbiguousNames;
}

/** What the policies of a side say of the requests of one state. */
export interface StateVerdicts {
  readonly input: PolicyInput;
  /** Of every policy, in the order of the side. */
  readonly policies: readonly Node[];
}

/** Requests of one state: they differ in the members that levels have. */
interface StateOfSide {
  /** Equal for states whose requests have the same outcomes wherever the policies say the same. */
  readonly key: string;
  /** Any request of it. */
  readonly sample: SampleRequest;
}

/** The outcomes of one side, as diagrams over the members that only policies read. */
export class SideDiagrams {
  readonly fold: VerdictFold;
  readonly evaluations = new Numbered<PolicyEvaluation>();
  readonly acting: ActingPolicies;
  readonly #side: DiagramSide;
  readonly #shared: OperationDiagrams;
  readonly #policies: readonly PolicyDiagrams[];
  readonly #views: PairedLeaves;
  readonly #outcomes = new Numbered<SideOutcomes>();
  readonly #results = new WeakMap<StateVerdicts, Node>();
  /** By the state's key and the results of both views. */
  readonly #decided = new Map<string, Map<Node, Node>>();
  readonly #single = new Map<string, number>();

  constructor(side: DiagramSide, shared: OperationDiagrams) {
    const { operation, diagrams } = shared;
    const { views, decider, ambiguous } = side;
    this.#side = side;
    this.#shared = shared;
    this.#policies = views.policies.map((policy) => {
      const sight = new Sight(
        policy.rules === null ? [] : [policyReader(policy.rules)],
        operation,
        ambiguous,
      );
      return new PolicyDiagrams(policy, { sight, table: decider.table }, shared, this.evaluations);
    });
    this.acting = actingPolicies(views);
    this.fold = new VerdictFold(diagrams, this.evaluations);
    this.#views = new PairedLeaves(diagrams);
  }

  /** The regions that an obligation names, in the side's table. */
  regionsOf(name: string): readonly string[] {
    return regionsNamed(this.#side.decider.table, name) ?? [];
  }

  outcomesAt(number: number): SideOutcomes {
    return this.#outcomes.at(number);
  }

  /** What the policies say of a state. */
  verdictsOf(input: PolicyInput, sample: SampleRequest): StateVerdicts {
    return { input, policies: this.#policies.map(this.#asking(input, sample)) };
  }

  #asking(input: PolicyInput, sample: SampleRequest): (policy: PolicyDiagrams) => Node {
    const candidates = input.candidates.map(({ id, rank }) => `${id} ${rank}`);
    const inputOf = (other: PolicyOnly): PolicyInput =>
      this.#side.decider.inputLike(input, { ...sample, ...other });
    return (policy) => policy.of(input, candidates, inputOf, sample);
  }

  /**
   * The root whose leaves are outcomes of the state's requests. @param verdicts `null` where the
   * table denies them.
   */
  outcomesOf({ key, sample }: StateOfSide, verdicts: StateVerdicts | null): Node {
    if (verdicts === null) return leafOf(this.#decidedOutcome(key, sample));
    let results = this.#results.get(verdicts);
    if (results === undefined) this.#results.set(verdicts, (results = this.#resultsOf(verdicts)));
    let decided = this.#decided.get(key);
    if (decided === undefined) this.#decided.set(key, (decided = new Map()));
    const known = decided.get(results);
    if (known !== undefined) return known;
    const first = new Map(this.#shared.profiles.of(results).map(({ leaf, path }) => [leaf, path]));
    const made = new Relabelling(this.#shared.diagrams, (leaf) =>
      this.#decidedOutcome(`${key}\n\n=${leaf}`, this.requestAt(sample, first.get(leaf) ?? [])),
    ).of(results);
    decided.set(results, made);
    return made;
  }

  /** Of both views. */
  #resultsOf({ input, policies }: StateVerdicts): Node {
    const ids = input.candidates.map(({ id }) => id);
    const among = (acting: readonly number[]): Node =>
      this.fold.results(
        acting.map((index) => policies[index] ?? 0),
        ids,
      );
    return this.#views.of(among(this.acting.declared), among(this.acting.promoted));
  }

  requestAt(sample: SampleRequest, path: readonly number[]): SampleRequest {
    return requestAt(sample, this.#shared.levels, path);
  }

  #decidedOutcome(key: string, sample: SampleRequest): number {
    const known = this.#single.get(key);
    if (known !== undefined) return known;
    const made = this.#side.decider.decide(sample);
    const text = JSON.stringify(
      made.promoted === made.declared ? [made.declared] : [made.declared, made.promoted],
    );
    const number = this.#outcomes.numberOf(text, () => made);
    this.#single.set(key, number);
    return number;
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
    ...levels.reduce((made, level, depth) => level.set(made, path[depth] ?? 0), start),
  };
}
