/** Questions of one workspace that wait for their turn, besides the one being answered. */
const MOST_WAITING = 3;

/**
 * One summary at a time for a workspace: each may keep a thousand groups in memory and read hundreds of thousands of cells,
 * and one key must not be able to request many of them at once.
 */
export class SummaryTurns {
  readonly #turns = new Map<string, { last: Promise<unknown>; count: number }>();

  /** Runs `work` after the earlier calls of the workspace; `null`, and no work, where too many wait already. */
  async take<Result>(workspace: string, work: () => Promise<Result>): Promise<Result | null> {
    const turns = this.#turns.get(workspace) ?? { last: Promise.resolve(), count: 0 };
    if (turns.count > MOST_WAITING) return null;
    this.#turns.set(workspace, turns);
    turns.count += 1;
    const result = turns.last.then(work);
    turns.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      turns.count -= 1;
      if (turns.count === 0) this.#turns.delete(workspace);
    }
  }
}
