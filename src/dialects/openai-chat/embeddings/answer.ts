import { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { ServiceError } from "../../../canon/error.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { EmbedRequest, EmbedResult } from "../../../canon/unary/embed.ts";
import type { AnswerContext } from "../../dialect.ts";
import type { PartEnd, UnaryAnswer, UnaryPart } from "../../unary/surface.ts";

/**
 * OpenAI's list of embeddings in the order of the request. One answer that is already that goes on as it came; anything else is put together of
 * the vectors' own text, so that no number is read or printed again.
 */
export function renderEmbeddings(
  request: EmbedRequest,
  parts: readonly UnaryPart[],
  ends: readonly PartEnd[],
  takesGaps: boolean,
  context: AnswerContext,
): UnaryAnswer {
  const results = ends.map((end) => ("result" in end ? embedResult(end) : null));
  const [only] = results;
  const [end] = ends;
  const inputTokens = total(results);
  if (ends.length === 1 && only?.isVerbatim === true && end !== undefined && "bytes" in end && !takesGaps) {
    return { bytes: end.bytes, dropped: [], inputTokens, gaps: 0 };
  }
  const pieces: string[] = [];
  const errors: object[] = [];
  for (const [index, part] of parts.entries()) {
    const partEnd = ends[index];
    if (partEnd === undefined) throw new Error("embeddings: a part without an end");
    if ("failure" in partEnd) errors.push(...gapsOf(part, partEnd.failure));
    else addVectors(pieces, part, embedResult(partEnd));
  }
  const known = results.find((result) => result !== null);
  const dropped: DroppedField[] = inputTokens === null ? ["usage_unknown"] : [];
  const tail = {
    model: known?.model ?? context.model,
    usage: { prompt_tokens: inputTokens ?? 0, total_tokens: inputTokens ?? 0 },
    ...(takesGaps ? { errors } : {}),
  };
  const text = `{"object":"list","data":[${pieces.join(",")}],${JSON.stringify(tail).slice(1)}`;
  return { bytes: new AnswerBytes([encoder.encode(text)]), dropped, inputTokens, gaps: errors.length };
}

const encoder = new TextEncoder();

function embedResult({ result }: Extract<PartEnd, { readonly bytes: AnswerBytes }>): EmbedResult {
  if (result.operation !== "embed") throw new Error("embeddings: the result of another operation");
  return result;
}

function addVectors(pieces: string[], { first, count }: UnaryPart, { vectors }: EmbedResult): void {
  if (vectors.length !== count) throw new Error("embeddings: a result that was not checked");
  for (const [offset, { encoding, text }] of vectors.entries()) {
    const written = encoding === "float" ? text : `"${text}"`;
    pieces.push(`{"object":"embedding","index":${first + offset},"embedding":${written}}`);
  }
}

/** One entry for each input without a vector, with our message. */
function gapsOf({ first, count }: UnaryPart, { code, message }: ServiceError): readonly object[] {
  return Array.from({ length: count }, (_, offset) => ({ index: first + offset, code, message }));
}

/** `null` where some provider did not count: a sum of the others would be wrong. */
function total(results: readonly (EmbedResult | null)[]): number | null {
  let sum = 0;
  for (const result of results) {
    if (result === null) continue;
    if (result.inputTokens === null) return null;
    sum += result.inputTokens;
  }
  return sum;
}
