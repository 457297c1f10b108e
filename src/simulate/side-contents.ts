import type { PolicyContract, PolicySlot } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { removalDigest } from "../lifecycle/lifecycle.ts";
import type { CompiledPolicies } from "../policy/compile-policies.ts";
import { zonesOf, type CompiledPolicy, type PolicyModule } from "../policy/compiled.ts";
import { initialMode } from "../policy/input-schema.ts";
import type { OfSides } from "./sample-request.ts";

/** One tree, compiled. */
export interface CompiledTree {
  readonly table: RoutingTable;
  readonly policies: Pick<CompiledPolicies, "policies" | "modules">;
}

/** One content of a policy in the slot that it has on a side. */
export interface SideContent {
  /** Of a removal: the ended policy's, without any rule. */
  readonly contract: PolicyContract;
  readonly digest: string;
  readonly slot: PolicySlot;
  /**
   * Whether head has it from base: a server enforces it until the replacement in head's files is
   * promoted.
   */
  readonly isKept: boolean;
  /** `null`: a removal, whose promotion ends the policy. It gives no verdict. */
  readonly rules: CompiledPolicy | null;
}

/** One side as it is decided. Plain data: it can be handed to another thread. */
export interface CompiledSide {
  readonly table: RoutingTable;
  /** By id, enforced contents first. */
  readonly contents: readonly SideContent[];
  /** At least one of them has each content with rules. */
  readonly modules: readonly PolicyModule[];
}

export type CompiledSides = OfSides<CompiledSide>;

/** Policy → digest of the content that a server enforces; `null` if it enforces none. */
export type EnforcedDigests = ReadonlyMap<string, string | null>;

/**
 * The content of each slot on both sides. Head is what a store would have that has seen base:
 * enforced bytes stay enforced until head's replacement is promoted, be it other rules or the
 * removal of the policy. A policy keeps the mode that the store has recorded, even if
 * `initial_mode` has changed.
 *
 * @param fresh both sides as stores would start them that have seen neither: every policy of the
 * files in the slot of `initial_mode`.
 * @param enforced the slots of a server. Policies that it does not have start as in a new store.
 */
export function compiledSides(
  base: CompiledTree,
  head: CompiledTree,
  fresh: boolean,
  enforced: EnforcedDigests | null = null,
): CompiledSides {
  const served = enforced ?? NEW_STORE;
  const before = startedSide(base, head, served);
  return {
    base: before,
    head: fresh ? startedSide(head, head, served) : followingSide(before, head, served),
  };
}

const NEW_STORE: EnforcedDigests = new Map();

/** One promotion: the enforced contents, and the one that would be enforced instead. */
export interface PlannedPromotion {
  /** The table that serves; both sides have it. */
  readonly table: RoutingTable;
  /** Every content with rules that is enforced, of all policies. */
  readonly enforced: readonly CompiledPolicy[];
  readonly policy: string;
  /** `null`: the end of the policy, whose rules are then among `enforced`. */
  readonly candidate: CompiledPolicy | null;
  /** Every content named here is in one of them at least. */
  readonly modules: readonly PolicyModule[];
}

/**
 * Both sides of one promotion: base without the candidate, head with it. Candidates of other
 * policies change no answer and are on neither side.
 */
export function promotionSides({
  table,
  enforced,
  policy,
  candidate,
  modules,
}: PlannedPromotion): CompiledSides {
  const before = enforced.map((rules) => contentOf(rules, "enforced"));
  const replaced = before.find(({ contract }) => contract.id === policy);
  const replacement =
    candidate !== null
      ? [contentOf(candidate, "candidate")]
      : before.filter((content) => content === replaced).map(removalOf);
  const baseContents = before.map((content) =>
    content === replaced ? { ...content, isKept: true } : content,
  );
  return {
    base: { table, contents: before.toSorted(byIdThenSlot), modules },
    head: { table, contents: [...baseContents, ...replacement].toSorted(byIdThenSlot), modules },
  };
}

/** A tree on a server: its own files, and enforced contents that only the other tree has. */
function startedSide(
  { table, policies: { policies, modules } }: CompiledTree,
  other: CompiledTree,
  enforced: EnforcedDigests,
): CompiledSide {
  const ofFiles = policies.map((rules) => contentOf(rules, slotAfter(enforced, table, rules)));
  const ofOther = other.policies.policies
    .filter(
      ({ contract: { id }, digest }) =>
        enforced.get(id) === digest && !ofFiles.some((each) => matchesContent(each, id, digest)),
    )
    .map((rules) => contentOf(rules, "enforced"));
  return {
    table,
    contents: [...ofFiles, ...ofOther].toSorted(byIdThenSlot),
    modules: [...modules, ...modulesOf(other.policies.modules, ofOther)],
  };
}

/** The modules that have some of the contents. */
function modulesOf(
  modules: readonly PolicyModule[],
  contents: readonly SideContent[],
): readonly PolicyModule[] {
  return modules.filter(({ units }) =>
    units.some(({ policy }) =>
      contents.some((content) => matchesContent(content, policy.contract.id, policy.digest)),
    ),
  );
}

function followingSide(
  before: CompiledSide,
  { table, policies: { policies, modules } }: CompiledTree,
  served: EnforcedDigests,
): CompiledSide {
  const enforced = new Map(served);
  for (const { contract, digest, slot } of before.contents)
    enforced.set(contract.id, slot === "enforced" ? digest : (enforced.get(contract.id) ?? null));
  const ofFiles = policies.map((rules) => contentOf(rules, slotAfter(enforced, table, rules)));
  const ids = new Set(policies.map(({ contract }) => contract.id));
  const retained = before.contents
    .filter(
      ({ contract: { id }, digest, slot }) =>
        slot === "enforced" && !ofFiles.some((each) => matchesContent(each, id, digest)),
    )
    .map((content): SideContent => ({ ...content, isKept: true }));
  const removals = retained.filter(({ contract }) => !ids.has(contract.id)).map(removalOf);
  return {
    table,
    contents: [...ofFiles, ...retained, ...removals].toSorted(byIdThenSlot),
    modules: [...modules, ...modulesOf(before.modules, retained)],
  };
}

/** The time zones that policies of some sides name. */
export function zonesOfSides(sides: readonly CompiledSide[]): readonly string[] {
  const zones = sides.flatMap(({ contents }) =>
    contents.flatMap(({ rules }) => (rules === null ? [] : zonesOf(rules))),
  );
  return [...new Set(zones)].toSorted();
}

function slotAfter(
  enforced: EnforcedDigests,
  table: RoutingTable,
  { contract, digest }: CompiledPolicy,
): PolicySlot {
  const present = enforced.get(contract.id);
  const isEnforced =
    present === undefined ? initialMode(table, contract.id) === "enforce" : present === digest;
  return isEnforced ? "enforced" : "candidate";
}

function contentOf(rules: CompiledPolicy, slot: PolicySlot): SideContent {
  return { contract: rules.contract, digest: rules.digest, slot, isKept: false, rules };
}

function removalOf({ contract }: SideContent): SideContent {
  const silent = { ...contract, constraints: [], obligations: [] };
  return {
    contract: silent,
    digest: removalDigest(contract.id),
    slot: "candidate",
    isKept: false,
    rules: null,
  };
}

function matchesContent(content: SideContent, id: string, digest: string) {
  return content.contract.id === id && content.digest === digest;
}

export function byIdThenSlot(left: SideContent, right: SideContent): number {
  if (left.contract.id !== right.contract.id) return left.contract.id < right.contract.id ? -1 : 1;
  return left.slot === right.slot ? 0 : left.slot === "enforced" ? -1 : 1;
}

/** The content in each slot, as text. */
export function slotsOf(contents: readonly SideContent[]): string {
  return JSON.stringify(contents.map(({ contract, digest, slot }) => [contract.id, digest, slot]));
}
