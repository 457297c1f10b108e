import type { PolicyIdentity, PolicySet, PolicySlot } from "../../../canon/policy.ts";
import { contentOf, type PolicyLedger, type PolicyLine } from "../../../lifecycle/ledger.ts";
import { PolicyModuleError } from "../../../policy/evaluator.ts";
import { KeptContentError, readStoredContent, type KeptPolicy } from "../../../policy/kept-content.ts";
import type { LoadedModules } from "../../../policy/modules/loaded-modules.ts";
import { assemblePolicySet } from "../../../policy/policy-set.ts";
import type { PolicyLogStore } from "../../../store/policy-log.ts";

/** Every content that acts or is watched, as the log has it. A removal is no content that could be asked. */
export function slotsOf(ledger: PolicyLedger): readonly PolicyIdentity[] {
  const slots: readonly PolicySlot[] = ["enforced", "candidate"];
  return [...ledger.policies.values()].flatMap((line) => slots.flatMap((slot) => identityOf(line, slot) ?? []));
}

function identityOf(line: PolicyLine, slot: PolicySlot): PolicyIdentity | null {
  const state = line[slot];
  if (state === null) return null;
  const { revision, digest, content } = contentOf(line, state.digest);
  return content === "rules" ? { id: line.id, revision, digest, slot } : null;
}

/** A content whose bytes cannot be had. The message is for operators: it names policy, revision and fix, and nothing of what the policy says. */
export class ContentUnusableError extends Error {
  override readonly name = "ContentUnusableError";
  readonly identity: PolicyIdentity;

  constructor(identity: PolicyIdentity, why: string) {
    const { id, revision, digest, slot } = identity;
    super(
      `policy ${id}: revision ${revision} is ${slot === "enforced" ? "enforced" : "the candidate"}, and ${why}; ` +
        `restore the database from a backup, or give this server the files of that revision (digest ${digest.slice(0, 12)})`,
    );
    this.identity = identity;
  }
}

export interface Assembled {
  readonly set: PolicySet;
  /** Candidates that cannot be watched. They change no answer, so the set does without them. */
  readonly left: readonly ContentUnusableError[];
}

/**
 * The set that decides, as the log has it: of modules that are loaded, and of what the store keeps where there is none.
 *
 * @throws {ContentUnusableError} for an enforced content. @throws {StoreUnavailableError}
 */
export async function assembleSlots(
  modules: LoadedModules,
  ledger: PolicyLedger,
  log: Pick<PolicyLogStore, "content">,
): Promise<Assembled> {
  const slots = slotsOf(ledger);
  const left: ContentUnusableError[] = [];
  for (const identity of slots) {
    if (modules.has(identity.digest)) continue;
    try {
      await modules.add((await readKept(ledger, identity, log)).module);
    } catch (error) {
      const unusable = unusableContent(identity, error);
      if (identity.slot === "enforced") throw unusable;
      left.push(unusable);
    }
  }
  const usable = slots.filter(({ digest }) => modules.has(digest));
  const set = assemblePolicySet(modules, usable);
  // What a rollback goes to stays at hand.
  const former = [...ledger.policies.values()].flatMap(({ former: earlier }) => earlier.at(-1) ?? []);
  modules.retain(new Set([...usable.map(({ digest }) => digest), ...former]));
  return { set, left };
}

/** @throws what is no fault of the bytes. */
function unusableContent(identity: PolicyIdentity, error: unknown): ContentUnusableError {
  if (error instanceof KeptContentError)
    return new ContentUnusableError(identity, `what the store keeps of it is damaged: ${error.message}`);
  if (error instanceof PolicyModuleError)
    return new ContentUnusableError(identity, "what the store keeps of it cannot be loaded");
  throw error;
}

/** @throws {KeptContentError} @throws {StoreUnavailableError} */
async function readKept(
  ledger: PolicyLedger,
  { id, digest }: PolicyIdentity,
  log: Pick<PolicyLogStore, "content">,
): Promise<KeptPolicy> {
  const stored = await log.content(digest);
  if (stored === null || stored.policy !== id) throw new KeptContentError("nothing is kept under its digest");
  return readStoredContent(stored, ledger.policies.get(id)?.contents.get(digest)?.module ?? null);
}

/**
 * A content that the log knows, from the store; `null` where none is kept.
 *
 * @throws {KeptContentError} @throws {StoreUnavailableError}
 */
export async function keptContent(
  ledger: PolicyLedger,
  digest: string,
  log: Pick<PolicyLogStore, "content">,
): Promise<KeptPolicy | null> {
  const line = [...ledger.policies.values()].find(({ contents }) => contents.has(digest));
  const known = line?.contents.get(digest);
  if (known?.isKept !== true) return null;
  const stored = await log.content(digest);
  return stored === null ? null : readStoredContent(stored, known.module);
}
