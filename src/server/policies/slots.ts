import type { PolicyIdentity, PolicySet, PolicySlot } from "../../canon/policy.ts";
import { contentOf, type PolicyStates, type PolicyStatus } from "../../lifecycle/lifecycle.ts";
import { PolicyModuleError } from "../../policy/evaluator.ts";
import { KeptContentError, readStoredContent, type KeptPolicy } from "../../policy/kept-content.ts";
import type { LoadedModules, SuspendedCandidates } from "../../policy/loaded-modules.ts";
import { assembleSinglePolicies, readsPath, rememberingSet } from "../../policy/policy-set.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import type { KeptModules } from "./kept-modules.ts";
import { driftOf, type Drift } from "../../lifecycle/observe.ts";

/** Every enforced or shadow content of the log. A removal is no content that could be evaluated. */
export function slotsOf(states: PolicyStates): readonly PolicyIdentity[] {
  const slots: readonly PolicySlot[] = ["enforced", "candidate"];
  return [...states.policies.values()].flatMap((status) =>
    slots.flatMap((slot) => identityOf(status, slot) ?? []),
  );
}

function identityOf(status: PolicyStatus, slot: PolicySlot): PolicyIdentity | null {
  const state = status[slot];
  if (state === null) return null;
  const { revision, digest, content } = contentOf(status, state.digest);
  return content === "rules" ? { id: status.id, revision, digest, slot } : null;
}

/**
 * A content whose bytes cannot be read. The message is for operators: it names policy, revision and
 * fix, and nothing of what the policy says.
 */
export class ContentUnusableError extends Error {
  override readonly name = "ContentUnusableError";
  readonly identity: PolicyIdentity;

  constructor(identity: PolicyIdentity, why: string) {
    const { id, revision, digest, slot } = identity;
    super(
      `policy ${id}: revision r${revision} is ${slot === "enforced" ? "enforced" : "the candidate"}, and ${why}; ` +
        `restore the database from a backup, or give this server the files of that revision (digest ${digest.slice(0, 12)})`,
    );
    this.identity = identity;
  }
}

/** Answers kept of each policy while a set decides: some hundred bytes each. */
const MAXIMUM_ANSWERS = 5_000;

interface Assembled {
  readonly set: PolicySet;
  /** Candidates that cannot run in shadow. They change no answer, so the set leaves them out. */
  readonly left: readonly ContentUnusableError[];
}

/**
 * The set that decides, as the log has it: of modules that are loaded, and of what the store keeps
 * where there is none, compiled from its sources.
 *
 * @param suspended candidates that are recorded as timed out, without being evaluated.
 * @throws {ContentUnusableError} for an enforced content. @throws {StoreUnavailableError}
 */
export async function assembleSlots(
  modules: LoadedModules,
  states: PolicyStates,
  kept: Pick<KeptModules, "recompiled">,
  suspended: SuspendedCandidates,
): Promise<Assembled> {
  const slots = slotsOf(states);
  const left: ContentUnusableError[] = [];
  for (const identity of slots) {
    if (modules.has(identity.digest)) continue;
    try {
      await modules.add((await kept.recompiled(states, identity.id, identity.digest)).module);
    } catch (error) {
      const unusable = unusableContent(identity, error);
      if (identity.slot === "enforced") throw unusable;
      left.push(unusable);
    }
  }
  const usable = slots.filter(({ digest }) => modules.has(digest));
  const policies = assembleSinglePolicies(modules, usable, suspended);
  const reads = (path: string): boolean => policies.some((policy) => readsPath(policy, path));
  const members = { readsTime: reads("input.time"), readsBudget: reads("input.budget") };
  const set = rememberingSet(policies, members, MAXIMUM_ANSWERS);
  // What a rollback goes to stays at hand.
  const former = [...states.policies.values()].flatMap(
    ({ former: earlier }) => earlier.at(-1) ?? [],
  );
  modules.retain(new Set([...usable.map(({ digest }) => digest), ...former]));
  return { set, left };
}

/** @throws what is no fault of the bytes. */
function unusableContent(identity: PolicyIdentity, error: unknown): ContentUnusableError {
  if (error instanceof KeptContentError)
    return new ContentUnusableError(identity, `its stored content is damaged: ${error.message}`);
  if (error instanceof PolicyModuleError)
    return new ContentUnusableError(identity, "its stored content cannot be loaded");
  throw error;
}

/**
 * A content that the log knows, from the store; `null` where none is kept.
 *
 * @throws {KeptContentError} @throws {StoreUnavailableError}
 */
export async function keptContent(
  states: PolicyStates,
  digest: string,
  log: Pick<PolicyLogStore, "content">,
): Promise<KeptPolicy | null> {
  const status = [...states.policies.values()].find(({ contents }) => contents.has(digest));
  const known = status?.contents.get(digest);
  if (known === undefined) return null;
  const stored = await log.content(digest);
  return stored === null ? null : readStoredContent(stored, known.module);
}

/** How the files of a server differ from the slots of the log, in one policy. */
export interface PolicyDrift {
  readonly policy: string;
  readonly drift: Drift;
}

/**
 * @param files digests by policy id. @param differing digests of contents whose kept module is not
 * what its sources compile to.
 */
export function driftsOf(
  states: PolicyStates,
  files: ReadonlyMap<string, { readonly digest: string }>,
  differing: ReadonlySet<string>,
): readonly PolicyDrift[] {
  return [...states.policies.values()].flatMap((status) =>
    driftOf(status, files.get(status.id)?.digest ?? null, differing).map((drift) => ({
      policy: status.id,
      drift,
    })),
  );
}

/** The message for operators. */
export const DRIFT_SENTENCES: Readonly<Record<Drift, string>> = {
  files_differ:
    "the content of the files was seen before and is in no slot; other content is enforced or in shadow",
  files_held:
    "the content of the files was rolled back and is held; release it or change the files",
  files_withdrawn: "the content of the files was withdrawn",
  candidate_not_in_files: "the candidate differs from the content of the files",
  not_in_files: "the policy is not in the files; it is still enforced or in shadow",
  module_differs:
    "the store keeps a module that its sources do not compile to; this server runs what it compiled from the sources",
};
