import type { EmbedInput } from "../../../canon/unary/embed.ts";

/** How much one call may hold; `null`: any number. */
export interface BatchBounds {
  readonly inputs: number | null;
  /** Estimated. */
  readonly tokens: number | null;
}

/** A run of inputs that go upstream together. */
export interface Run {
  readonly first: number;
  readonly count: number;
}

/** Cuts a batch into as few runs as the bounds allow, in order. An input that is too large by itself goes alone: the provider judges it. */
export function splitBatch(inputs: readonly EmbedInput[], bounds: BatchBounds): readonly Run[] {
  const most = bounds.inputs ?? inputs.length;
  if (bounds.tokens === null && inputs.length <= most) return [{ first: 0, count: inputs.length }];
  const runs: Run[] = [];
  let first = 0;
  let tokens = 0;
  for (const [index, input] of inputs.entries()) {
    const size = bounds.tokens === null ? 0 : estimatedTokens(input);
    const count = index - first;
    if (count > 0 && (count >= most || tokens + size > (bounds.tokens ?? Infinity))) {
      runs.push({ first, count });
      first = index;
      tokens = 0;
    }
    tokens += size;
  }
  runs.push({ first, count: inputs.length - first });
  return runs;
}

/** Bytes of text a token. English has about four; the estimate may be too high, which costs a call, and not too low, which costs the batch. */
const BYTES_PER_TOKEN = 3;

function estimatedTokens(input: EmbedInput): number {
  if (typeof input !== "string") return input.length;
  let bytes = 0;
  for (let index = 0; index < input.length; index += 1) {
    const unit = input.charCodeAt(index);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
