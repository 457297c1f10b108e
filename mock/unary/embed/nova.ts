import { objectAt, textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED, inputCount } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { dimensionsAt, textInputs } from "./input.ts";

/** Amazon's Nova embeddings over Bedrock's InvokeModel: a list of one. */
export const novaEmbed: Protocol = unaryProtocol({
  ...INVOKED,
  results: ["dimensions", "short", "wrongDimension", "nan", "poison"],
  reportsUsage: true,
  list: "singleEmbeddingParams",
  most: 1,
  read,
  render,
});

function read({ body }: Call): EmbedBatch | Problem {
  const parameters = objectAt(body, "singleEmbeddingParams");
  const text = textAt(objectAt(parameters, "text"), "value");
  if (text === "") return invalid("singleEmbeddingParams.text.value", "Member must not be null");
  return { ...textInputs([text]), dimensions: dimensionsAt(parameters, "embeddingDimension") };
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const embeddings = vectors.map((vector) => ({ embeddingType: "TEXT", embedding: vector.item }));
  return { body: { embeddings }, headers: inputCount(batch.tokens, behaviour) };
}
