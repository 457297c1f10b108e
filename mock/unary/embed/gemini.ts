import { GEMINI_FAILURE, refuseGemini, unauthorised } from "../../gemini/error.ts";
import { message, messagesAt } from "../../gemini/members.ts";
import { modelIn } from "../../gemini/protocol.ts";
import type { JsonObject } from "../../json.ts";
import { textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch } from "./embed.ts";
import { dimensionsAt, textInputs } from "./input.ts";

/** What every embedding model of Google has in common. */
export const GOOGLE = {
  results: VECTOR_MEMBERS,
  reportsUsage: true,
  codes: new Map<number, string>(),
  modelIn,
  unauthorised,
  refuse: refuseGemini,
  failure: GEMINI_FAILURE,
  identity: () => ({}),
};

/** Google's batchEmbedContents. */
export const geminiEmbed: Protocol = unaryProtocol({
  ...GOOGLE,
  list: "requests",
  most: 100,
  read,
  render,
});

function read({ body }: Call): EmbedBatch | Problem {
  const requests = messagesAt(message(body), "requests");
  if (requests.length === 0) return invalid("requests", "required field is not set");
  const [first = {}] = requests;
  return {
    ...textInputs(requests.map(textOf)),
    dimensions: dimensionsAt(first, "outputDimensionality"),
  };
}

/** The text of a request; several parts make one vector. */
function textOf(request: JsonObject): string {
  return messagesAt(message(request.content), "parts")
    .map((part) => textAt(part, "text"))
    .join("");
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const counted = { promptTokenDetails: [{ modality: "TEXT", tokenCount: batch.tokens }] };
  const usage = behaviour.noUsage
    ? {}
    : { usageMetadata: { promptTokenCount: batch.tokens, ...counted } };
  return { body: { embeddings: vectors.map((vector) => ({ values: vector.item })), ...usage } };
}
