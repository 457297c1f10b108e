import { wordingAt } from "../../bedrock-converse/error.ts";
import {
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textAt,
} from "../../member-table.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED, inputCount } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { textInputs } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

/** Amazon's Titan text embeddings over Bedrock's InvokeModel: one text, and no list. */
export const titanEmbed: Protocol = unaryProtocol({
  ...INVOKED,
  results: ["dimensions", "wrongDimension", "nan", "poison"],
  reportsUsage: true,
  list: "inputText",
  most: 1,
  read,
  render,
});

/** What the first version takes. */
const FIRST = memberTable(["inputText", "a filled string", isFilledText]);

/** What the second takes (Bedrock's reference, "Amazon Titan Embeddings Text"). */
const SECOND = new Map([
  ...FIRST,
  ...memberTable(
    ["dimensions", "a positive integer", integer(1, LONGEST_VECTOR)],
    ["normalize", "a boolean", isBoolean],
    ["embeddingTypes", "a list of float, which is what the simulated provider makes", listOf(oneOf("float"), 1, 1)],
  ),
]);

function isFirst(model: string): boolean {
  return /titan-embed-(?:text-v1|g1)/.test(model);
}

function read({ body, base, behaviour }: Call): EmbedBatch | Problem {
  const table = isFirst(base) ? FIRST : SECOND;
  const problem = checkMembers(body, { table, required: ["inputText"], lenient: behaviour.lenient }, wordingAt(""));
  if (problem !== null) return problem;
  return { ...textInputs([textAt(body, "inputText")]), dimensions: numberOr(body["dimensions"], null) };
}

function render(batch: EmbedBatch, { base, behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const embedding = vectors[0]?.item;
  const body = {
    embedding,
    ...(isFirst(base) ? {} : { embeddingsByType: { float: embedding } }),
    ...(behaviour.noUsage ? {} : { inputTextTokenCount: batch.tokens }),
  };
  return { body, headers: inputCount(batch.tokens, behaviour) };
}
