/** What is known of a call of the store that failed. */
export interface StoreFailure {
  /**
   * `no`: nothing of it was done, it was rolled back or never began. `unknown`, the default: it may
   * have been done.
   */
  readonly done?: "no" | "unknown";
  /**
   * The operation itself cannot be done, whatever the state of the store: a repetition fails again.
   */
  readonly refused?: boolean;
}

/**
 * The store cannot do the operation: disk full, file locked, damaged or written by a newer version.
 */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly done: "no" | "unknown";
  readonly refused: boolean;
  constructor(message: string, { done = "unknown", refused = false }: StoreFailure = {}) {
    super(message);
    this.done = done;
    this.refused = refused;
  }
}
