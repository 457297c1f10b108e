import { join } from "node:path";
import type { PolicyStates } from "../../lifecycle/lifecycle.ts";
import {
  KeptContentError,
  readStoredContent,
  recompileContent,
  type KeptPolicy,
  type RecompiledContent,
} from "../../policy/kept-content.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { createToolchain, type Toolchain } from "../../policy/toolchain/toolchain.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";

type Contents = Pick<PolicyLogStore, "content">;

/**
 * The toolchain for contents one by one. A folder of its own: many policies would push out of the
 * other what every start needs.
 */
export function contentsToolchain(cache: CompileCache | null): Toolchain {
  return createToolchain({
    cache: cache === null ? null : { ...cache, directory: join(cache.directory, "contents") },
  });
}

/**
 * Contents that the store keeps, compiled from their sources by this process. What the store has
 * for a module is compared with that and never run; where it differs, that is remembered and
 * reported once.
 */
export class KeptModules {
  readonly #log: Contents;
  readonly #toolchain: Toolchain;
  readonly #differing: (digest: string) => void;
  /** Digest → SHA-256 of the kept module that was looked at, and whether it differs. */
  readonly #judged = new Map<
    string,
    { readonly moduleSha256: string; readonly differs: boolean }
  >();
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  /**
   * @param differing called for a content whose kept module differs from what its sources compile
   * to.
   */
  constructor(log: Contents, cache: CompileCache | null, differing: (digest: string) => void) {
    this.#log = log;
    this.#toolchain = contentsToolchain(cache);
    this.#differing = differing;
  }

  /** Digests of contents whose kept module is not what its sources compile to. */
  get differing(): ReadonlySet<string> {
    return new Set([...this.#judged].flatMap(([digest, { differs }]) => (differs ? [digest] : [])));
  }

  /**
   * A content of the log as it may run.
   *
   * @throws {KeptContentError} @throws {StoreUnavailableError} @throws {ToolchainError}
   */
  async recompiled(
    states: PolicyStates,
    policy: string,
    digest: string,
  ): Promise<RecompiledContent> {
    const kept = await readKept(states, policy, digest, this.#log);
    const made = await recompileContent(kept, this.#toolchain);
    this.#judge(digest, kept.moduleSha256, made.agreement === "differs");
    return made;
  }

  /**
   * Compares contents in slots that were not compared yet, one after the other, at low priority.
   */
  verify(states: PolicyStates): void {
    for (const status of states.policies.values()) {
      for (const slot of [status.enforced, status.candidate]) {
        const known = slot === null ? undefined : status.contents.get(slot.digest);
        if (known === undefined || known.module === null) continue;
        this.#turn = this.#turn.then(() =>
          this.#verify(states, status.id, known.digest, known.module),
        );
      }
    }
  }

  /** Waits for the comparison under way, and begins no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
  }

  async #verify(
    states: PolicyStates,
    policy: string,
    digest: string,
    module: string | null,
  ): Promise<void> {
    if (this.#isClosed || this.#judged.get(digest)?.moduleSha256 === module) return;
    try {
      await this.recompiled(states, policy, digest);
    } catch (error) {
      if (error instanceof KeptContentError) this.#judge(digest, module ?? "", true);
      // Without a store or a compiler the comparison is skipped and serving goes on; the next
      // occasion tries again.
    }
  }

  #judge(digest: string, moduleSha256: string, differs: boolean): void {
    const before = this.#judged.get(digest);
    this.#judged.set(digest, { moduleSha256, differs });
    if (differs && before?.differs !== true) this.#differing(digest);
  }
}

/** @throws {KeptContentError} @throws {StoreUnavailableError} */
async function readKept(
  states: PolicyStates,
  policy: string,
  digest: string,
  log: Contents,
): Promise<KeptPolicy> {
  const stored = await log.content(digest);
  if (stored === null || stored.policy !== policy)
    throw new KeptContentError("nothing is stored under its digest");
  return readStoredContent(
    stored,
    states.policies.get(policy)?.contents.get(digest)?.module ?? null,
  );
}
