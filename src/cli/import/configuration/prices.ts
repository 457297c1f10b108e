/** US dollars a million tokens, of dollars a token; without the digits that a binary fraction adds. */
export function perMillion(perToken: number): number {
  return Math.min(1_000_000, Number((Math.max(0, perToken) * 1_000_000).toPrecision(9)));
}
