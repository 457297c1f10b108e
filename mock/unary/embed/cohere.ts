import type { JsonObject } from "../../json.ts";
import { COHERE_FAILURE, COHERE_WORDING, refuseCohere } from "../../cohere-chat/error.ts";
import {
  checkMembers,
  integer,
  isFilledText,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textsOf,
  type Check,
  type MemberTable,
  type Wording,
} from "../../member-table.ts";
import { unauthorisedBearer } from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { textInputs } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

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
  read: ({ body, behaviour }) =>
    readCohereEmbed(
      body,
      { table: DIRECT, required: ["model", "texts", "input_type"], lenient: behaviour.lenient },
      COHERE_WORDING,
    ),
  render,
});

const never: Check = () => false;

/** What Cohere's models take wherever they are served (Cohere's reference, "Embed"). */
export const COHERE_EMBED: MemberTable = memberTable(
  ["texts", "a list of texts, none of them empty", listOf(isFilledText, 1)],
  [
    "input_type",
    "search_document, search_query, classification or clustering",
    oneOf("search_document", "search_query", "classification", "clustering"),
  ],
  ["images", "absent: the simulated provider embeds texts", never],
  ["inputs", "absent: the simulated provider embeds texts", never],
  ["max_tokens", "a positive integer", integer(1, 1e9)],
  ["output_dimension", "a positive integer", integer(1, LONGEST_VECTOR)],
  [
    "embedding_types",
    "a list of float and base64, which are those that the simulated provider makes",
    listOf(oneOf("float", "base64"), 1),
  ],
  ["truncate", "NONE, START or END", oneOf("NONE", "START", "END")],
);

const DIRECT: MemberTable = new Map([
  ...COHERE_EMBED,
  ...memberTable(["model", "a filled text", isFilledText], ["priority", "an integer", integer(0, 999)]),
]);

export interface CohereBatch extends EmbedBatch {
  /** `null` where the request does not say. */
  readonly types: readonly Encoding[] | null;
}

/** Reads a request for embeddings by one of Cohere's models. */
export function readCohereEmbed(
  body: JsonObject,
  members: { readonly table: MemberTable; readonly required: readonly string[]; readonly lenient: boolean },
  wording: Wording,
): CohereBatch | Problem {
  const problem = checkMembers(body, members, wording);
  if (problem !== null) return problem;
  const inputs = textInputs(textsOf(body["texts"]));
  const types = textsOf(body["embedding_types"]).map((type) => (type === "base64" ? type : "float"));
  return { ...inputs, types: types.length === 0 ? null : types, dimensions: numberOr(body["output_dimension"], null) };
}

/** The vectors by their types and the texts again, as Cohere answers. */
export function renderByType(batch: CohereBatch, { behaviour, sequence }: Call): Rendered | Problem {
  const embeddings: Record<string, readonly unknown[]> = {};
  for (const type of batch.types ?? (["float"] as const)) {
    const vectors = embed(batch, behaviour, type);
    if ("status" in vectors) return vectors;
    embeddings[type] = vectors.map((vector) => vector.item);
  }
  return { body: { id: `mock-${sequence}`, texts: batch.texts, embeddings, response_type: "embeddings_by_type" } };
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
