/** The time of a simulation is up. */
export class TimeUpError extends Error {
  override readonly name = "TimeUpError";
}

/** The time that deciding may take, and what it was used for. */
export class Budget {
  readonly #deadline: number;
  readonly #evaluations = new Map<string, number>();

  /** @param deadline milliseconds since the epoch. */
  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  get isOver(): boolean {
    return Date.now() >= this.#deadline;
  }

  /** @throws {TimeUpError} */
  check(): void {
    if (this.isOver) throw new TimeUpError("the time of the simulation is up");
  }

  /** Counts an evaluation of a policy. @throws {TimeUpError} */
  spend(policy: string): void {
    this.check();
    this.#evaluations.set(policy, (this.#evaluations.get(policy) ?? 0) + 1);
  }

  /** Evaluations of each policy since they were last taken. */
  takeEvaluations(): ReadonlyMap<string, number> {
    const taken = new Map(this.#evaluations);
    this.#evaluations.clear();
    return taken;
  }
}
