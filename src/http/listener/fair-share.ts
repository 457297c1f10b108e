/** Why something cannot be taken: the holder has more than an equal share already, or the rest is in use by the others. */
export type ShareRefusal = "share" | "full";

/**
 * An amount that one process has and its workspaces share.
 *
 * No workspace may hold more than it leaves free, and no key more than it leaves free for its workspace (dynamic thresholds: Choudhury and Hahne, IEEE/ACM
 * Transactions on Networking 6(2), 1998). So one workspace gets at most half and one key at most a third, whatever they do, and the next one always
 * finds room. Where the table has one workspace only, it may hold everything, and one key of it half.
 */
export class FairShare {
  readonly #capacity: number;
  readonly #workspaces = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  #held = 0;

  /** @param capacity requests or bytes; not bounded where absent. */
  constructor(capacity: number = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** What all hold together. */
  get held(): number {
    return this.#held;
  }

  /**
   * @param keyId `null`: keys are not told apart.
   * @param isOnly the table has no other workspace.
   * @returns `null` where it has been taken; {@link giveBack} it once.
   */
  take(workspace: string, keyId: string | null, amount: number, isOnly: boolean): ShareRefusal | null {
    const ofWorkspace = (this.#workspaces.get(workspace) ?? 0) + amount;
    const ofKey = keyId === null ? 0 : (this.#keys.get(keyId) ?? 0) + amount;
    const free = this.#capacity - this.#held - amount;
    const left = isOnly ? free : free - ofWorkspace;
    if (left < ofKey) {
      if (free < 0 && isOnly) return "full";
      const holders = this.#workspaces.size + (ofWorkspace === amount ? 1 : 0);
      return ofWorkspace > this.#capacity / (holders + 1) || free >= ofWorkspace ? "share" : "full";
    }
    this.#held += amount;
    this.#workspaces.set(workspace, ofWorkspace);
    if (keyId !== null) this.#keys.set(keyId, ofKey);
    return null;
  }

  giveBack(workspace: string, keyId: string | null, amount: number): void {
    this.#held -= amount;
    subtract(this.#workspaces, workspace, amount);
    if (keyId !== null) subtract(this.#keys, keyId, amount);
  }
}

/** Who holds nothing is forgotten: names come from every key that ever was. */
function subtract(held: Map<string, number>, name: string, amount: number): void {
  const left = (held.get(name) ?? 0) - amount;
  if (left > 0) held.set(name, left);
  else held.delete(name);
}
