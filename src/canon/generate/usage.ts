/**
 * Token counts of the provider (docs/protocols.md#usage); `null`, and never 0, where it gave none. `input` includes cached tokens and `output` includes
 * reasoning.
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
  /** Part of `cacheWrite` that was written for an hour; absent where there was none, or where the provider does not report it. */
  readonly cacheWriteHour?: number;
}

/**
 * All that was read, of a count that should have cached tokens in it. A part cannot be larger than the whole: a provider that says so (recorded: Grok at
 * Azure) counts cached tokens beside the others.
 *
 * @param counted tokens, as the provider names them. @param cached tokens read from or written to a cache, within or beside `counted`.
 */
export function wholeInput(counted: number | null, ...cached: readonly (number | null)[]): number | null {
  if (counted === null) return null;
  const parts = cached.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  return parts > counted ? counted + parts : counted;
}

/** Input and output together; `null` where either is unknown. */
export function totalTokens({ input, output }: TokenUsage): number | null {
  return input === null || output === null ? null : input + output;
}

/** What `later` says, and what only `earlier` said: providers spread their counts over several events. */
export function mergeUsage(earlier: TokenUsage | null, later: TokenUsage): TokenUsage {
  if (earlier === null) return later;
  const merged = {
    input: later.input ?? earlier.input,
    output: later.output ?? earlier.output,
    cacheRead: later.cacheRead ?? earlier.cacheRead,
    cacheWrite: later.cacheWrite ?? earlier.cacheWrite,
    reasoning: later.reasoning ?? earlier.reasoning,
  };
  const cacheWriteHour = later.cacheWriteHour ?? earlier.cacheWriteHour;
  return cacheWriteHour === undefined ? merged : { ...merged, cacheWriteHour };
}
