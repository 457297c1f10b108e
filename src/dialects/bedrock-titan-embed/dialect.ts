import type { ServiceError } from "../../canon/error.ts";
import type { EmbedRequest } from "../../canon/unary.ts";
import { bedrockErrorIn, invokePath, readConverseError } from "../bedrock-converse/read-error.ts";
import type { Dialect, FormattedRequest, Target } from "../dialect.ts";
import { countIn } from "../json.ts";
import { droppedTruncation } from "../unary/ranking.ts";
import { formatPurpose, onlyText, readInOrder } from "../unary/vectors.ts";

/** Amazon's Titan text embeddings over Bedrock's InvokeModel: one text a call, never cut. */
export const dialect: Dialect = {
  embed: {
    format,
    parseAnswer: (bytes, request, target) =>
      readInOrder(bytes, request, target, (body) =>
        body.embedding === undefined
          ? (bedrockErrorIn(body) ?? "missing_results")
          : {
              entries: [body.embedding],
              inputTokens: countIn(body, "inputTextTokenCount"),
              model: null,
            },
      ),
    readError: readConverseError,
  },
};

/**
 * `normalize` is left out: the second version has it and does so by default, the first refuses
 * every member but the text.
 */
function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const text = onlyText(request);
  if (typeof text !== "string") return text;
  const { purpose, dimensions } = request;
  const inputType = purpose === null ? null : formatPurpose(purpose, {});
  if (inputType !== null && typeof inputType !== "string") return inputType;
  const body = { inputText: text, dimensions: dimensions ?? undefined };
  return { path: invokePath(target), body, headers: [], dropped: droppedTruncation(request) };
}
