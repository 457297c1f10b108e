import type { JsonObject } from "../../json.ts";
import { requestIdentity, unauthorisedBearer } from "../../openai/error.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { INDEX_MEMBERS, indexMember } from "../results.ts";
import { refuseVoyage, VOYAGE_FAILURE } from "../voyage-error.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { dimensionsAt, readInput } from "./input.ts";

/** Voyage's embeddings. */
export const voyageEmbeddings: Protocol = unaryProtocol({
  results: [...VECTOR_MEMBERS, ...INDEX_MEMBERS],
  reportsUsage: true,
  list: "input",
  most: 1_000,
  codes: new Map(),
  unauthorised: unauthorisedBearer,
  refuse: refuseVoyage,
  failure: VOYAGE_FAILURE,
  identity: requestIdentity,
  read,
  render,
});

/** Members that Voyage has and OpenAI does not. */
const OWN_MEMBERS: readonly string[] = [
  "input_type",
  "truncation",
  "output_dimension",
  "output_dtype",
];

/** Whether a request for embeddings has Voyage's members. */
export function speaksVoyage(body: JsonObject): boolean {
  return OWN_MEMBERS.some((name) => Object.hasOwn(body, name));
}

interface VoyageBatch extends EmbedBatch {
  readonly encoding: Encoding;
}

function read({ body }: Call): VoyageBatch | Problem {
  const inputs = readInput(body.input);
  if (inputs.count === 0) return invalid("input", "Argument 'input' is required.");
  const encoding = body.encoding_format === "base64" ? "base64" : "float";
  return { ...inputs, encoding, dimensions: dimensionsAt(body, "output_dimension") };
}

function render(batch: VoyageBatch, { model, behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour, batch.encoding);
  if ("status" in vectors) return vectors;
  const data = vectors.map((vector) => ({
    object: "embedding",
    embedding: vector.item,
    ...indexMember(vector),
  }));
  const usage = behaviour.noUsage ? {} : { usage: { total_tokens: batch.tokens } };
  return { body: { object: "list", data, model, ...usage } };
}
