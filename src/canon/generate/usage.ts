/**
 * Token counts of the provider (docs/protocols.md#usage); `null`, and never 0, where it gave none.
 * `input` includes cached tokens and `output` includes reasoning.
 */
export interface TokenUsage {
  readonly input: number | null;
  readonly output: number | null;
  /** Part of `input` that came from a cache. */
  readonly cacheRead: number | null;
  /** Part of `input` that was written to a cache. */
  readonly cacheWrite: number | null;
  /** Part of `output` that was reasoning. */
  readonly reasoning: number | null;
  /**
   * Part of `cacheWrite` that was written for an hour; absent where there was none, or where the
   * provider does not report it.
   */
  readonly cacheWriteHour?: number;
}
