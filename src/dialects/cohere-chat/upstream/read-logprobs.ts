import type { TokenLogprob } from "../../../canon/generate/event.ts";
import { isJsonObject, type JsonValue } from "../../../canon/json.ts";

/** Log probabilities of a text, and whether some stand for several tokens at once. */
export interface ReadLogprobs {
  readonly logprobs: readonly TokenLogprob[];
  readonly joined: boolean;
}

/**
 * Entries of `logprobs`: each a piece of text with the numbers of the tokens that make it up. Where those are several, nobody says which letters
 * belong to which; the sum of their logarithms is the piece's own, and that is what is told.
 */
export function readLogprobs(value: JsonValue | undefined): ReadLogprobs {
  const entries: readonly JsonValue[] = Array.isArray(value) ? value : isJsonObject(value) ? [value] : [];
  let joined = false;
  const logprobs = entries.flatMap((entry): readonly TokenLogprob[] => {
    const { text, logprobs: numbers } = isJsonObject(entry) ? entry : {};
    if (typeof text !== "string" || !Array.isArray(numbers)) return [];
    const known = numbers.filter((number) => typeof number === "number");
    if (known.length === 0 || known.length < numbers.length) return [];
    joined ||= known.length > 1;
    return [{ token: text, logprob: known.reduce((sum, number) => sum + number, 0), bytes: null, top: [] }];
  });
  return { logprobs, joined };
}

/** Those at the end of the list that make up the text: a whole answer's list may begin with those of its reasoning. */
export function logprobsOf(text: string, { logprobs, joined }: ReadLogprobs): ReadLogprobs {
  let length = 0;
  let first = logprobs.length;
  while (first > 0 && length < text.length) {
    first -= 1;
    length += logprobs[first]?.token.length ?? 0;
  }
  const own = logprobs.slice(first);
  return own.map(({ token }) => token).join("") === text ? { logprobs: own, joined } : { logprobs: [], joined: false };
}
