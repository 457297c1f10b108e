import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED, inputCount } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { MOST_TEXTS, readCohereEmbed, renderByType, type CohereBatch } from "./cohere.ts";
import { embed, VECTOR_MEMBERS } from "./embed.ts";

/** The embedding models of Cohere over Bedrock's InvokeModel. */
export const cohereEmbedInvoked: Protocol = unaryProtocol({
  ...INVOKED,
  results: VECTOR_MEMBERS,
  reportsUsage: true,
  list: "texts",
  most: MOST_TEXTS,
  read: readCohereEmbed,
  render,
});

function render(batch: CohereBatch, call: Call): Rendered | Problem {
  const { behaviour, sequence } = call;
  const headers = inputCount(batch.tokens, behaviour);
  if (batch.types !== null || answersByType(call.base)) {
    const rendered = renderByType(batch, call);
    return "body" in rendered ? { ...rendered, headers } : rendered;
  }
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const embeddings = vectors.map((vector) => vector.item);
  const body = {
    id: `mock-${sequence}`,
    texts: batch.texts,
    embeddings,
    response_type: "embeddings_floats",
  };
  return { body, headers };
}

/**
 * The third generation answers with plain vectors where no types are requested; later ones never
 * do.
 */
function answersByType(model: string): boolean {
  return !/embed-\w+-v3/.test(model);
}
