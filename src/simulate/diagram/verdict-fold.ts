import type { PolicyEvaluation, PolicyVerdict } from "../../canon/policy.ts";
import { Combination, type Diagrams, type Node, Numbered, Relabelling } from "./diagrams.ts";

/**
 * What the answers of several policies come to, with everything left out that no decision shows: a
 * denial without the verdicts that come after it, or the candidates that are left and the
 * obligations on them. So ten policies that may each deny have eleven results and not a thousand.
 * The same order as `decide/verdicts.ts`: all filters first, then what closes, then obligations.
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

/** What one result of a fold is, for those who count what policies do. */
interface FoldResult {
  /** Ids of candidates that filters leave out. */
  readonly filtered: readonly string[];
  readonly isDenied: boolean;
  /** The smallest limit on output tokens. */
  readonly maximum: number | null;
}

/**
 * Folds diagrams of single policies, whose leaves are evaluations, into one whose leaves are
 * results.
 */
export class VerdictFold {
  readonly #diagrams: Diagrams;
  readonly #evaluations: Numbered<PolicyEvaluation>;
  readonly #folded = new Numbered<Folded>();
  readonly #filters: Combination;
  readonly #closers: Combination;
  readonly #obligations: Combination;
  /** By the candidates of the request. */
  readonly #ends = new Map<string, Relabelling>();
  readonly #start: Node;

  constructor(diagrams: Diagrams, evaluations: Numbered<PolicyEvaluation>) {
    this.#diagrams = diagrams;
    this.#evaluations = evaluations;
    this.#filters = this.#joining((state, evaluation) => filteredBy(state, evaluation));
    this.#closers = this.#joining((state, evaluation) => closedBy(state, evaluation));
    this.#obligations = this.#joining((state, evaluation) => obligedBy(state, evaluation));
    this.#start = -1 - this.#numberOf({ kind: "open", filtered: { failing: [], first: "" } });
  }

  /** The candidates that filters leave out. @param policies roots, in the order of the policies. */
  filters(policies: readonly Node[]): Node {
    return policies.reduce((state, policy) => this.#filters.of(state, policy), this.#start);
  }

  /** @param candidates ids of those that are evaluated. */
  results(policies: readonly Node[], candidates: readonly string[]): Node {
    const closed = policies.reduce(
      (state, policy) => this.#closers.of(state, policy),
      this.filters(policies),
    );
    const ended = this.#end(candidates).of(closed);
    return policies.reduce((state, policy) => this.#obligations.of(state, policy), ended);
  }

  at(number: number): FoldResult {
    const folded = this.#folded.at(number);
    if (folded.kind === "denied") return { filtered: [], isDenied: true, maximum: null };
    const maximum = folded.kind === "routed" ? folded.edits.maximum : null;
    return { filtered: folded.filtered.failing, isDenied: false, maximum };
  }

  #end(candidates: readonly string[]): Relabelling {
    const key = candidates.toSorted().join("\n");
    const known = this.#ends.get(key);
    if (known !== undefined) return known;
    const made = new Relabelling(this.#diagrams, (number) => {
      const folded = this.#folded.at(number);
      if (folded.kind !== "open") return number;
      const { filtered } = folded;
      if (candidates.every((id) => filtered.failing.includes(id)))
        return this.#numberOf({ kind: "denied", by: filtered.first, indeterminate: false });
      return this.#numberOf({
        kind: "routed",
        filtered: { ...filtered, first: "" },
        edits: NO_EDITS,
      });
    });
    this.#ends.set(key, made);
    return made;
  }

  #joining(join: (state: Folded, evaluation: PolicyEvaluation) => Folded): Combination {
    return new Combination(this.#diagrams, (state, policy) => {
      const folded = this.#folded.at(state);
      const joined = join(folded, this.#evaluations.at(policy));
      return joined === folded ? state : this.#numberOf(joined);
    });
  }

  #numberOf(folded: Folded): number {
    return this.#folded.numberOf(JSON.stringify(folded), () => folded);
  }
}

function filteredBy(state: Folded, { verdicts }: PolicyEvaluation): Folded {
  if (state.kind !== "open") return state;
  const own = verdicts.filter(({ effect, verdict }) => effect === "filter" && verdict === "fail");
  const [first] = own;
  if (first === undefined) return state;
  const failing = new Set([
    ...state.filtered.failing,
    ...own.flatMap((verdict) => verdict.failing),
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
  return effect === "require_all" && failing.some((id) => !filtered.includes(id));
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

/** What a denial shows of a verdict. */
function nameOf({ policy, constraint, reason }: PolicyVerdict): string {
  return `${policy.id}\n${constraint}\n${reason ?? ""}`;
}
