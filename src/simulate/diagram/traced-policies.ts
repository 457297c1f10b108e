import type { PolicyEvaluation, PolicyInput } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { readsPath, type SinglePolicy } from "../../policy/policy-set.ts";
import { REMEMBERED_MEMBERS } from "../../policy/policy-set.ts";

/** An evaluation, with the paths of the input that it depends on. */
interface Traced {
  readonly evaluation: PolicyEvaluation;
  readonly loaded: ReadonlySet<string>;
}

/** Evaluations that depend on the same members, by the values of these. */
export interface KnownBy<Value> {
  readonly paths: readonly string[];
  readonly values: Map<string, Value>;
}

export const CANDIDATES = "input.candidates";

/**
 * The evaluations of one content. Two inputs that differ only in what an evaluation did not load
 * have the same one, whatever their operation.
 */
export class TracedPolicy {
  readonly #policy: SinglePolicy;
  readonly #known: KnownBy<Traced>[] = [];
  #size = 0;

  constructor(policy: SinglePolicy) {
    this.#policy = policy;
  }

  /** @param beforeEvaluation called where no known evaluation applies; what it throws ends this. */
  evaluate(input: PolicyInput, beforeEvaluation: () => void = () => {}): Traced {
    const known = lookUp(this.#known, (path) => valueAt(input, path));
    if (known !== undefined) return known;
    beforeEvaluation();
    const loaded = new Set(namesCandidates(this.#policy) ? [CANDIDATES] : []);
    const made = { evaluation: this.#policy.evaluate(input, loaded), loaded };
    if (this.#size === MOST_EVALUATIONS) this.#known.length = this.#size = 0;
    this.#size += 1;
    keep(this.#known, [...loaded], (path) => valueAt(input, path), made);
    return made;
  }
}

/** Evaluations of one content that are kept; with more of them it begins anew. */
const MOST_EVALUATIONS = 200_000;

/** The policies of both sides. A content that reads nothing of the table is one policy for both. */
export class TracedPolicies {
  readonly #known = new Map<RoutingTable | null, Map<string, TracedPolicy>>();

  of(policy: SinglePolicy, table: RoutingTable): TracedPolicy {
    const readsTable = ["data", CANDIDATES].some((path) => readsPath(policy, path));
    const owner = readsTable || namesCandidates(policy) ? table : null;
    const ofOwner = this.#known.get(owner) ?? new Map<string, TracedPolicy>();
    this.#known.set(owner, ofOwner);
    const key = JSON.stringify(policy.identity);
    const made = ofOwner.get(key) ?? new TracedPolicy(policy);
    ofOwner.set(key, made);
    return made;
  }
}

/** Verdicts of other constraints than gates name candidates, whether the policy reads them or not. */
function namesCandidates({ contract }: SinglePolicy): boolean {
  return contract.constraints.some(({ effect }) => effect !== "gate");
}

/** What is known of an input, by the members on which it depends. */
export function lookUp<Value>(
  known: readonly KnownBy<Value>[],
  valueOf: (path: string) => string | undefined,
): Value | undefined {
  for (const { paths, values } of known) {
    const found = values.get(paths.map(valueOf).join("\u0000"));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function keep<Value>(
  known: KnownBy<Value>[],
  paths: readonly string[],
  valueOf: (path: string) => string | undefined,
  value: Value,
): void {
  const sorted = paths.toSorted();
  let same = known.find((one) => one.paths.join() === sorted.join());
  if (same === undefined) known.push((same = { paths: sorted, values: new Map() }));
  same.values.set(sorted.map(valueOf).join("\u0000"), value);
}

const VALUES = new Map<string, (input: PolicyInput) => string>([
  ...REMEMBERED_MEMBERS,
  ["input.operation", ({ operation }) => operation],
  [CANDIDATES, ({ candidates }) => candidates.map(({ id, rank }) => `${id} ${rank}`).join("\n")],
]);

function valueAt(input: PolicyInput, path: string): string {
  const valueOf = VALUES.get(path);
  if (valueOf === undefined) throw new Error(`simulation: the input has no member ${path}`);
  return valueOf(input);
}
