import { join } from "node:path";
import type { PolicyIdentity, PolicySet, PolicySlot } from "../../canon/policy.ts";
import { driftOf, type Drift } from "../../lifecycle/observe.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { contentOf, type PolicyStates, type PolicyStatus } from "../../lifecycle/lifecycle.ts";
import { PolicyModuleError } from "../../policy/evaluator.ts";
import {
  KeptContentError,
  readStoredContent,
  type KeptPolicy,
  recompileContent,
  type RecompiledContent,
} from "../../policy/kept-content.ts";
import type { LoadedModules, SuspendedCandidates } from "../../policy/loaded-modules.ts";
import { assembleSinglePolicies, readMembers, rememberingSet } from "../../policy/policy-set.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { createToolchain, type Toolchain } from "../../policy/toolchain/toolchain.ts";

type Contents = Pick<PolicyLogStore, "content">;

/**
 * The toolchain for contents one by one. A folder of its own: many policies would push entries out
 * of the other that every start needs.
 */
export function contentsToolchain(cache: CompileCache | null): Toolchain {
  return createToolchain({
    cache: cache === null ? null : { ...cache, directory: join(cache.directory, "contents") },
  });
}

export type KeptModules = ReturnType<typeof keptModules>;

/**
 * Contents that the store keeps, compiled from their sources by this process. The stored module is
 * compared with the result and never run; a difference is remembered and reported once.
 *
 * @param differing called for a content whose stored module differs from its compiled sources.
 */
export function keptModules(
  log: Contents,
  cache: CompileCache | null,
  differing: (digest: string) => void,
) {
  const toolchain = contentsToolchain(cache);
  /** Digest → SHA-256 of the kept module that was looked at, and whether it differs. */
  const judged = new Map<string, { readonly moduleSha256: string; readonly differs: boolean }>();
  let turn: Promise<void> = Promise.resolve();
  let isClosed = false;

  function judge(digest: string, moduleSha256: string, differs: boolean) {
    const before = judged.get(digest);
    judged.set(digest, { moduleSha256, differs });
    if (differs && before?.differs !== true) differing(digest);
  }

  /**
   * A content of the log as it may run.
   *
   * @throws {KeptContentError} @throws {StoreUnavailableError} @throws {ToolchainError}
   */
  async function recompiled(
    states: PolicyStates,
    policy: string,
    digest: string,
  ): Promise<RecompiledContent> {
    const stored = await keptContent(states, digest, log);
    if (stored?.policy.contract.id !== policy)
      throw new KeptContentError("nothing is stored under its digest");
    const rebuilt = await recompileContent(stored, toolchain);
    judge(digest, stored.moduleSha256, rebuilt.agreement === "differs");
    return rebuilt;
  }

  async function compare(states: PolicyStates, policy: string, digest: string, module: string) {
    if (isClosed || judged.get(digest)?.moduleSha256 === module) return;
    try {
      await recompiled(states, policy, digest);
    } catch (error) {
      if (error instanceof KeptContentError) judge(digest, module, true);
      // Without a store or a compiler the comparison is skipped, and serving continues; the next
      // occasion tries again.
    }
  }

  /**
   * Compares contents in slots that were not compared yet, one after the other, at low priority.
   */
  function verify(states: PolicyStates) {
    for (const { id, enforced, candidate, contents } of states.policies.values()) {
      for (const slot of [enforced, candidate]) {
        const module = slot === null ? null : contents.get(slot.digest)?.module;
        if (slot === null || module == null) continue;
        turn = turn.then(() => compare(states, id, slot.digest, module));
      }
    }
  }

  return {
    /** Digests of contents whose stored module differs from their compiled sources. */
    differing: (): ReadonlySet<string> =>
      new Set([...judged].flatMap(([digest, { differs }]) => (differs ? [digest] : []))),
    recompiled,
    verify,
    /** Waits for the running comparison, and starts no other. */
    async close(): Promise<void> {
      isClosed = true;
      await turn;
    },
  };
}

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
 * fix, and nothing of the policy.
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
  readonly unusable: readonly ContentUnusableError[];
}

/**
 * The set that decides, as the log has it: of loaded modules, and else of contents of the store,
 * compiled from their sources.
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
  const unusable: ContentUnusableError[] = [];
  for (const identity of slots) {
    if (modules.has(identity.digest)) continue;
    try {
      await modules.add((await kept.recompiled(states, identity.id, identity.digest)).module);
    } catch (error) {
      const reason = unusableContent(identity, error);
      if (identity.slot === "enforced") throw reason;
      unusable.push(reason);
    }
  }
  const usable = slots.filter(({ digest }) => modules.has(digest));
  const policies = assembleSinglePolicies(modules, usable, suspended);
  const set = rememberingSet(policies, readMembers(policies), MAXIMUM_ANSWERS);
  // Keep the contents of rollbacks loaded.
  const former = [...states.policies.values()].flatMap(
    ({ former: earlier }) => earlier.at(-1) ?? [],
  );
  modules.retain(new Set([...usable.map(({ digest }) => digest), ...former]));
  return { set, unusable };
}

/** @throws errors that are no fault of the bytes. */
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
  const knownContent = status?.contents.get(digest);
  if (knownContent === undefined) return null;
  const stored = await log.content(digest);
  return stored === null ? null : readStoredContent(stored, knownContent.module);
}

/** How the files of a server differ from the slots of the log, in one policy. */
export interface PolicyDrift {
  readonly policy: string;
  readonly drift: Drift;
}

/**
 * @param files digests by policy id. @param differing digests of contents whose stored module
 * differs from their compiled sources.
 */
export function driftsOf(
  states: PolicyStates,
  files: ReadonlyMap<string, string>,
  differing: ReadonlySet<string>,
): readonly PolicyDrift[] {
  return [...states.policies.values()].flatMap((status) =>
    driftOf(status, files.get(status.id) ?? null, differing).map((drift) => ({
      policy: status.id,
      drift,
    })),
  );
}
