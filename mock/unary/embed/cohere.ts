import { COHERE_FAILURE, refuseCohere } from "../../cohere-chat/error.ts";
import { textsOf } from "../../members.ts";
import { unauthorisedBearer } from "../../openai/error.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { dimensionsAt, textInputs } from "./input.ts";

/** Most texts of one request, at Cohere and at Bedrock. */
export const MOST_TEXTS = 96;

/** Cohere's embeddings, second version. */
export const cohereEmbed: Protocol = unaryProtocol({
  results: VECTOR_MEMBERS,
  reportsUsage: true,
  list: "texts",
  most: MOST_TEXTS,
  codes: new Map(),
  unauthorised: unauthorisedBearer,
  refuse: refuseCohere,
  failure: COHERE_FAILURE,
  identity: () => ({}),
  read: readCohereEmbed,
  render,
});

export interface CohereBatch extends EmbedBatch {
  /** `null` where the request gives none. */
  readonly types: readonly Encoding[] | null;
}

/** Reads a request for embeddings by one of Cohere's models. */
export function readCohereEmbed({ body }: Call): CohereBatch | Problem {
  const inputs = textInputs(textsOf(body.texts));
  if (inputs.count === 0) return invalid("texts", "invalid request: the member is required");
  const types = textsOf(body.embedding_types).map((type) => (type === "base64" ? type : "float"));
  return {
    ...inputs,
    types: types.length === 0 ? null : types,
    dimensions: dimensionsAt(body, "output_dimension"),
  };
}

/** The vectors by their types and the texts again, as Cohere answers. */
export function renderByType(
  batch: CohereBatch,
  { behaviour, sequence }: Call,
): Rendered | Problem {
  const embeddings: Record<string, readonly unknown[]> = {};
  for (const type of batch.types ?? (["float"] as const)) {
    const vectors = embed(batch, behaviour, type);
    if ("status" in vectors) return vectors;
    embeddings[type] = vectors.map((vector) => vector.item);
  }
  return {
    body: {
      id: `mock-${sequence}`,
      texts: batch.texts,
      embeddings,
      response_type: "embeddings_by_type",
    },
  };
}

function render(batch: CohereBatch, call: Call): Rendered | Problem {
  const rendered = renderByType(batch, call);
  if (!("body" in rendered)) return rendered;
  const version = { api_version: { version: "2" } };
  const meta = call.behaviour.noUsage
    ? version
    : { ...version, billed_units: { input_tokens: batch.tokens, image_tokens: 0 } };
  return { body: { ...rendered.body, meta } };
}
