import type { Citation, TokenLogprob } from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";

/** `logprobs` of a choice; `null` where there are none. */
export function printLogprobs(logprobs: readonly TokenLogprob[]): JsonObject | null {
  if (logprobs.length === 0) return null;
  const content = logprobs.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top }));
  return { content, refusal: null };
}

/**
 * One item of `annotations`; `null` where there is no page to name. Clients want positions: a citation without them covers
 * its block's text so far.
 *
 * @param before code points of the message's text in earlier blocks.
 * @param length code points of the block's text so far.
 */
export function printCitation({ url, title, start, end }: Citation, before: number, length: number): JsonObject | null {
  if (url === null) return null;
  return {
    type: "url_citation",
    url_citation: {
      url,
      title: title ?? "",
      start_index: before + (start ?? 0),
      end_index: before + (end ?? length),
    },
  };
}
