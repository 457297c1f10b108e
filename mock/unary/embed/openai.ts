import {
  CHUNK_FAILURE,
  missingParameter,
  OPENAI_CODES,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { INDEX_MEMBERS, indexMember } from "../results.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { dimensionsAt, readInput } from "./input.ts";

/** OpenAI's embeddings. */
export const openaiEmbeddings: Protocol = unaryProtocol({
  results: [...VECTOR_MEMBERS, ...INDEX_MEMBERS],
  reportsUsage: true,
  list: "input",
  most: 2_048,
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: CHUNK_FAILURE,
  identity: requestIdentity,
  read,
  render,
});

interface OpenaiBatch extends EmbedBatch {
  readonly encoding: Encoding;
}

function read({ body }: Call): OpenaiBatch | Problem {
  const inputs = readInput(body.input);
  if (inputs.count === 0) return missingParameter("input");
  const encoding = body.encoding_format === "base64" ? "base64" : "float";
  return { ...inputs, encoding, dimensions: dimensionsAt(body, "dimensions") };
}

function render(batch: OpenaiBatch, { model, behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour, batch.encoding);
  if ("status" in vectors) return vectors;
  const data = vectors.map((vector) => ({
    object: "embedding",
    ...indexMember(vector),
    embedding: vector.item,
  }));
  const usage = { prompt_tokens: batch.tokens, total_tokens: batch.tokens };
  return { body: { object: "list", data, model, ...(behaviour.noUsage ? {} : { usage }) } };
}
