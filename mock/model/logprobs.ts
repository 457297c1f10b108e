/** Log probability of a token of the answer; each rank below halves it. */
export function logprobOf(rank: number): number {
  return -0.5 - rank * Math.LN2;
}

/** The text of an alternative: the token itself at rank 0. */
export function alternativeOf(token: string, rank: number): string {
  return rank === 0 ? token : `${token}${rank}`;
}

interface Probability {
  readonly token: string;
  readonly logprob: number;
  /** UTF-8. */
  readonly bytes: readonly number[];
}

export interface TokenLogprob extends Probability {
  readonly top_logprobs: readonly Probability[];
}

/**
 * One token's log probability with its alternatives, as chat completions and responses write it.
 */
export function tokenLogprob(token: string, alternatives: number): TokenLogprob {
  return {
    ...probability(token, 0),
    top_logprobs: Array.from({ length: alternatives }, (_, rank) =>
      probability(alternativeOf(token, rank), rank),
    ),
  };
}

function probability(token: string, rank: number): Probability {
  return { token, logprob: logprobOf(rank), bytes: [...Buffer.from(token)] };
}
