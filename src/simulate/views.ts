import { remembered } from "./remembered.ts";
import type { PolicyEvaluation, PolicyIdentity, PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { policyData } from "../policy/input-schema.ts";
import {
  REMEMBERED_MEMBERS,
  createSinglePolicies,
  readMembers,
  readsPath,
  rememberingSet,
  type SinglePolicy,
} from "../policy/policy-set.ts";
import { promotedPolicies } from "./explain/promoted.ts";
import type { CompiledSide, SideContent } from "./side-contents.ts";

/** An evaluation, with the paths of the input that it depends on. */
interface Traced {
  readonly evaluation: PolicyEvaluation;
  readonly loaded: ReadonlySet<string>;
}

export const CANDIDATES = "input.candidates";

/**
 * The evaluations of one content. Inputs that differ only in members that an evaluation did not
 * load share it, for all operations.
 */
function tracedPolicy(policy: SinglePolicy) {
  let evaluations = valuesByMembers<Traced>();
  let size = 0;
  /** @param beforeEvaluation called before an evaluation that is not cached; may throw. */
  return (input: PolicyInput, beforeEvaluation: () => void = () => {}): Traced => {
    // The host leaves the policy out by the operation, which no evaluation loads.
    if (!policy.contract.operations.includes(input.operation)) return NOT_APPLIED;
    const valueOf = (path: string) => valueAt(input, path);
    const earlier = evaluations.find(valueOf);
    if (earlier !== undefined) return earlier;
    beforeEvaluation();
    const loaded = new Set(namesCandidates(policy) ? [CANDIDATES] : []);
    const traced = { evaluation: policy.evaluate(input, loaded), loaded };
    if (size === MOST_EVALUATIONS) {
      evaluations = valuesByMembers();
      size = 0;
    }
    size += 1;
    evaluations.keep([...loaded], valueOf, traced);
    return traced;
  };
}

/** The evaluation of a policy that does not apply, or has no rules. */
export const NO_VERDICTS: PolicyEvaluation = { verdicts: [], obligations: [] };

const NOT_APPLIED: Traced = { evaluation: NO_VERDICTS, loaded: new Set() };

/** Most evaluations kept of one content; then all are forgotten. */
const MOST_EVALUATIONS = 200_000;

/** The policies of both sides. A content that reads nothing of the table is one policy for both. */
export function tracedPolicies(): (policy: SinglePolicy, table: RoutingTable) => TracedPolicy {
  const policies = new Map<RoutingTable | null, Map<string, TracedPolicy>>();
  return (policy, table) => {
    const readsTable = ["data", CANDIDATES].some((path) => readsPath(policy, path));
    const owner = readsTable || namesCandidates(policy) ? table : null;
    const ofOwner = remembered(policies, owner, () => new Map<string, TracedPolicy>());
    return remembered(ofOwner, JSON.stringify(policy.identity), () => tracedPolicy(policy));
  };
}

type TracedPolicy = ReturnType<typeof tracedPolicy>;

/**
 * Verdicts of other constraints than gates name candidates, whether the policy reads them or not.
 */
function namesCandidates({ contract }: SinglePolicy) {
  return contract.constraints.some(({ effect }) => effect !== "gate");
}

/** Values that are found by the members of an input on which they depend. */
export function valuesByMembers<Value>() {
  /** By the paths of the members, then by the values of these. */
  const groups: { readonly paths: readonly string[]; readonly values: Map<string, Value> }[] = [];
  return {
    find(valueOf: (path: string) => string | undefined): Value | undefined {
      for (const { paths, values } of groups) {
        const found = values.get(paths.map(valueOf).join("\u0000"));
        if (found !== undefined) return found;
      }
      return undefined;
    },
    keep(
      paths: readonly string[],
      valueOf: (path: string) => string | undefined,
      value: Value,
    ): void {
      const sorted = paths.toSorted();
      let same = groups.find((one) => one.paths.join() === sorted.join());
      if (same === undefined) groups.push((same = { paths: sorted, values: new Map() }));
      same.values.set(sorted.map(valueOf).join("\u0000"), value);
    },
  };
}

const VALUES = new Map<string, (input: PolicyInput) => string>([
  ...REMEMBERED_MEMBERS,
  ["input.operation", ({ operation }) => operation],
  [CANDIDATES, ({ candidates }) => candidates.map(({ id, rank }) => `${id} ${rank}`).join("\n")],
]);

const LOCAL = /^input\.local_time\.(?<zone>.+)\.(?<member>hour|weekday)$/;

function valueAt(input: PolicyInput, path: string): string {
  const { zone, member } = LOCAL.exec(path)?.groups ?? {};
  if (zone !== undefined)
    return String(input.local_time[zone]?.[member === "hour" ? member : "weekday"]);
  const valueOf = VALUES.get(path);
  if (valueOf === undefined) throw new Error(`simulation: the input has no member ${path}`);
  return valueOf(input);
}

/** The policies of one side as they are, and as if some were promoted. */
export interface SideViews {
  readonly declared: PolicySet;
  /** The same object where promotion changes nothing. */
  readonly promoted: PolicySet;
}

/** The same, with every content alone. */
export interface LoadedViews extends SideViews {
  /** In the order of `declared`. */
  readonly policies: readonly LoadedPolicy[];
}

/** A content of a side that is ready to be evaluated. */
export interface LoadedPolicy extends Pick<SideContent, "rules" | "isKept"> {
  readonly single: SinglePolicy;
  readonly traced: TracedPolicy;
}

/** Answers kept of each policy; a simulation evaluates every class, then ends. */
const MAXIMUM_ANSWERS = 50_000;

/**
 * Loads the policies of one side once, for both views: every input is evaluated once, and each view
 * applies its slots to the verdicts.
 *
 * @param promoted which candidates count as promoted.
 * @param tracedOf shared with the other side; default: not shared.
 */
export async function sideViews(
  side: CompiledSide,
  promoted: (id: string) => boolean,
  tracedOf = tracedPolicies(),
): Promise<LoadedViews> {
  const singleOf = await loadedContents(side);
  const policies = side.contents.map((content) => {
    const single = singleOf(content);
    const { rules, isKept } = content;
    return { single, traced: tracedOf(single, side.table), rules, isKept };
  });
  const answering = policies.map(({ single, traced }) => ({
    ...single,
    evaluate: (input: PolicyInput) => traced(input).evaluation,
  }));
  const declared = rememberingSet(answering, readMembers(answering), MAXIMUM_ANSWERS);
  return { declared, promoted: promotedPolicies(declared, promoted), policies };
}

/**
 * Loads the contents of a side, each in its slot. Contents kept from base are evaluated with head's
 * table, as a server does.
 *
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
async function loadedContents({
  table,
  contents,
  modules,
}: CompiledSide): Promise<(content: SideContent) => SinglePolicy> {
  const states = contents.map(({ contract: { id }, digest, slot }) => {
    return {
      id,
      digest,
      revision: 0,
      mode: slot === "enforced" ? ("enforce" as const) : ("shadow" as const),
    };
  });
  const loaded = await createSinglePolicies({ modules }, states, policyData(table), () => "shadow");
  // Base's modules have contents that head does not keep, and common contents are in two modules.
  const byContent = new Map(loaded.map((policy) => [contentKey(policy.identity), policy]));
  return (content) => {
    if (content.rules === null) return silentPolicy(content);
    const policy = byContent.get(contentKey({ id: content.contract.id, digest: content.digest }));
    if (policy === undefined)
      throw new Error(`simulation: no module has the policy ${content.contract.id}`);
    return policy;
  };
}

function contentKey({ id, digest }: Pick<PolicyIdentity, "id" | "digest">) {
  return `${id}@${digest}`;
}

/** A removal replaces the rules and gives no verdict. */
function silentPolicy({ contract, digest, slot }: SideContent): SinglePolicy {
  const identity = { id: contract.id, revision: 0, digest, slot };
  return { identity, contract, reads: [], zones: [], evaluate: () => NO_VERDICTS };
}

/** Which policies act, by their positions among all of a side. */
export function actingPolicies({ policies, promoted }: LoadedViews) {
  const identities = policies.map(({ single }) => single.identity);
  const promotedKeys = new Set(
    promoted.policies.flatMap(({ identity }) =>
      identity.slot === "enforced" ? [contentKey(identity)] : [],
    ),
  );
  const replaced = new Set(
    identities.flatMap(({ id, slot }) => (slot === "candidate" ? [id] : [])),
  );
  const indicesOf = (acts: (identity: PolicyIdentity) => boolean): readonly number[] =>
    identities.flatMap((identity, index) => (acts(identity) ? [index] : []));
  return {
    declared: indicesOf(({ slot }) => slot === "enforced"),
    promoted: indicesOf((identity) => promotedKeys.has(contentKey(identity))),
    /** With every candidate promoted. */
    all: indicesOf(({ id, slot }) => slot === "candidate" || !replaced.has(id)),
  };
}
