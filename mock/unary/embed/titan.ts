import { textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED, inputCount } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { dimensionsAt, textInputs } from "./input.ts";

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

/** The first version has its vectors once only. */
function isFirst(model: string): boolean {
  return /titan-embed-(?:text-v1|g1)/.test(model);
}

function read({ body }: Call): EmbedBatch | Problem {
  const text = textAt(body, "inputText");
  if (text === "") return invalid("inputText", "Member must not be null");
  return { ...textInputs([text]), dimensions: dimensionsAt(body, "dimensions") };
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
