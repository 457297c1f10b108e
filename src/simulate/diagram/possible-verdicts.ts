import type { Candidate } from "../../canon/decision.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import { policyInput } from "../../decide/policy-input.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { isApprovedEndpoint } from "../table-rows.ts";
import { identityOf } from "../decide-sample.ts";
import { startSample, type Job, type Space } from "../space/job-space.ts";
import { policyReader } from "../space/readers.ts";
import { openSide, preferredSide } from "../space/side-state.ts";
import type { LoadedPolicy, LoadedViews } from "../views.ts";
import type { Diagrams, Node } from "./diagrams.ts";
import type { SideDiagrams } from "./side-diagrams.ts";

/** What the verdicts of one policy may come to. */
export interface Possible {
  readonly passes: ReadonlySet<string>;
  /** Names of constraints; any reason of theirs may be given. */
  readonly fails: ReadonlySet<string>;
  /** Whether it may deny, narrow or oblige. */
  readonly hasEffect: boolean;
}

/**
 * Policies that read anything else are not evaluated, because the tried inputs would not be all
 * that they can read.
 */
const TRIED = [
  "input.operation",
  "input.workspace",
  "input.candidates",
  "input.key.environment",
  "input.key.workload",
  "input.key.owner",
  "input.key.labels",
  "input.budget",
  "input.time",
  "input.request.route",
  "input.request.stream",
  "input.request.context",
  "input.request.max_output",
  "input.request.reasoning_effort",
  "input.request.allow_fallbacks",
  "input.request.data_collection",
  "input.request.zdr",
  "data",
];

/** A route with more candidates has too many sets of them. */
const MOST_CANDIDATES = 8;

/**
 * The verdicts that a policy of head can have for the requests of a job, whatever they need: it is
 * evaluated for every set of the route's candidates that the workspace approves. A verdict that is
 * not among them has no request, so a report names unused rules without deciding every request.
 */
export class PossibleVerdicts {
  readonly #space: Space;
  readonly #views: LoadedViews;
  readonly #side: SideDiagrams;
  readonly #diagrams: Diagrams;
  readonly #known = new Map<string, Possible>();

  constructor(space: Space, views: LoadedViews, side: SideDiagrams, diagrams: Diagrams) {
    this.#space = space;
    this.#views = views;
    this.#side = side;
    this.#diagrams = diagrams;
  }

  /**
   * @param position of the policy on the side. @returns `null` where it would take too much to say.
   */
  of({ pair, operation }: Job, position: number): Possible | null {
    const policy = this.#views.policies[position];
    const head = this.#space.sides[1];
    if (policy === undefined || head === undefined || !isTried(policy)) return null;
    const sample = startSample(pair.members[0], operation, this.#space.universe);
    const { table, opened } = openSide(head.table, head.sightOf(operation), sample);
    if (opened === null) return NOTHING;
    const { workspace, route } = opened;
    const reads = (path: string): boolean => readsPath(policy.single, path);
    const tried = flagsOf(reads).map((preferences) => ({
      preferences,
      candidates: preferredSide({ table, opened }, preferences).candidates.filter(({ endpoint }) =>
        isApprovedEndpoint(table, workspace, endpoint),
      ),
    }));
    if (tried.some(({ candidates }) => candidates.length > MOST_CANDIDATES)) return null;
    const key = JSON.stringify([
      position,
      reads("input.workspace.id") || reads("data.approved") ? workspace.id : "",
      reads("input.workspace") ? [workspace.tier, workspace.labels] : "",
      reads("input.request.route") ? route.id : "",
      [route.tiers, route.primary],
      tried.map(({ candidates }) => candidates.map(({ endpoint }) => endpoint.id)),
    ]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const roots = tried.flatMap(({ preferences, candidates }) =>
      setsOf(candidates).map((left) => {
        const requested = { ...sample, preferences };
        const identity = identityOf(requested);
        const plain = { time: requested.time, budget: requested.budget ?? "unlimited" } as const;
        const input = policyInput(
          table,
          workspace,
          identity,
          route,
          requested,
          preferences,
          plain,
          left,
        );
        return this.#side.answersOf(position, input, requested);
      }),
    );
    const made = this.#joined(roots);
    this.#known.set(key, made);
    return made;
  }

  #joined(roots: readonly Node[]): Possible {
    const [passes, fails] = [new Set<string>(), new Set<string>()];
    let hasEffect = false;
    for (const leaf of new Set(roots.flatMap((root) => this.#diagrams.leavesOf(root)))) {
      const { verdicts, obligations } = this.#side.evaluations.at(leaf);
      hasEffect ||= obligations.length > 0;
      for (const { constraint, verdict } of verdicts) {
        if (verdict === "pass") passes.add(constraint);
        if (verdict === "fail") fails.add(constraint);
        hasEffect ||= verdict !== "pass";
      }
    }
    return { passes, fails, hasEffect };
  }
}

const NOTHING: Possible = { passes: new Set(), fails: new Set(), hasEffect: false };

/** Whether everything that a policy reads is tried. Orders of candidates are not. */
function isTried({ rules, single }: LoadedPolicy): boolean {
  return (
    rules !== null &&
    !policyReader(rules).seesOrder &&
    single.reads.every((read) => TRIED.some((path) => read === path || read.startsWith(`${path}.`)))
  );
}

/** Every set but the empty one. */
function setsOf(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  return Array.from({ length: 2 ** candidates.length - 1 }, (_, index) =>
    candidates.filter((_candidate, bit) => ((index + 1) & (1 << bit)) !== 0),
  );
}

/**
 * The flags that policies see of preferences; of those that a policy does not read, what leaves
 * most candidates.
 */
function flagsOf(reads: (path: string) => boolean): readonly ProviderPreferences[] {
  const both = <Value>(member: string, values: readonly [Value, Value]): readonly Value[] =>
    reads(`input.request.${member}`) ? values : values.slice(0, 1);
  return both("allow_fallbacks", [true, false]).flatMap((allow_fallbacks) =>
    both<"deny" | "allow">("data_collection", ["allow", "deny"]).flatMap((data_collection) =>
      both("zdr", [false, true]).map((zdr) => ({ allow_fallbacks, data_collection, zdr })),
    ),
  );
}
