import { GENESIS, type ChainLink } from "../../src/evidence/chain.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../src/lifecycle/records.ts";
import type { StoredContent } from "../../src/canon/policy.ts";

/**
 * The policy log in memory: what the engines do, without disks, so that the lifecycle is tested in
 * milliseconds.
 */
export class MemoryPolicyLog implements PolicyLogStore {
  readonly rows: PolicyLogRow[] = [];
  readonly contents = new Map<string, StoredContent>();
  readonly #listeners = new Set<() => void>();
  /** Called before every append; may append itself, as another process would. */
  beforeAppend: (() => void) | null = null;

  head(): Promise<ChainLink> {
    return Promise.resolve(this.#head());
  }

  read({
    after,
    limit,
  }: {
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly PolicyLogRow[]> {
    return Promise.resolve(this.rows.slice(after, after + limit));
  }

  append(expected: ChainLink, rows: readonly PolicyLogRow[]): Promise<boolean> {
    this.beforeAppend?.();
    const head = this.#head();
    if (head.position !== expected.position || head.hash !== expected.hash)
      return Promise.resolve(false);
    this.rows.push(...rows);
    for (const listener of this.#listeners) listener();
    return Promise.resolve(true);
  }

  keep(content: StoredContent): Promise<void> {
    if (!this.contents.has(content.digest)) this.contents.set(content.digest, content);
    return Promise.resolve();
  }

  content(digest: string): Promise<StoredContent | null> {
    return Promise.resolve(this.contents.get(digest) ?? null);
  }

  watch(listener: () => void): Promise<() => void> {
    this.#listeners.add(listener);
    return Promise.resolve(() => this.#listeners.delete(listener));
  }

  #head(): ChainLink {
    const last = this.rows.at(-1);
    return last === undefined ? GENESIS : { position: last.position, hash: last.hash };
  }
}
