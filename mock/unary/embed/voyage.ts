import type { JsonObject } from "../../json.ts";
import {
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isTextOrList,
  memberTable,
  numberOr,
  oneOf,
} from "../../member-table.ts";
import { requestIdentity, unauthorisedBearer } from "../../openai/error.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { INDEX_MEMBERS, indexMember } from "../results.ts";
import { refuseVoyage, VOYAGE_FAILURE, VOYAGE_WORDING } from "../voyage-error.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { readInput } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

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
const OWN_MEMBERS: readonly string[] = ["input_type", "truncation", "output_dimension", "output_dtype"];

/** Whether a request for embeddings is one in Voyage's words. */
export function speaksVoyage(body: JsonObject): boolean {
  return OWN_MEMBERS.some((name) => Object.hasOwn(body, name));
}

/** Every member of the request (Voyage's reference, "Text embeddings"). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["input", "a string or a list of strings", isTextOrList],
  ["input_type", "null, 'query' or 'document'", oneOf("query", "document")],
  ["truncation", "a boolean", isBoolean],
  ["output_dimension", "a positive integer", integer(1, LONGEST_VECTOR)],
  ["output_dtype", "'float', the only one that the simulated provider makes", oneOf("float")],
  ["encoding_format", "null or 'base64'", oneOf("base64")],
);

interface VoyageBatch extends EmbedBatch {
  readonly encoding: Encoding;
}

function read({ body, behaviour }: Call): VoyageBatch | Problem {
  const members = { table: MEMBERS, required: ["model", "input"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, VOYAGE_WORDING);
  if (problem !== null) return problem;
  const refused = (): Problem => invalid("input", "Argument 'input' must hold texts, none of them empty.");
  const inputs = readInput(body["input"], refused);
  if ("status" in inputs) return inputs;
  if (inputs.texts.length === 0) return refused();
  const encoding = body["encoding_format"] === "base64" ? "base64" : "float";
  return { ...inputs, encoding, dimensions: numberOr(body["output_dimension"], null) };
}

function render(batch: VoyageBatch, { model, behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour, batch.encoding);
  if ("status" in vectors) return vectors;
  const data = vectors.map((vector) => ({ object: "embedding", embedding: vector.item, ...indexMember(vector) }));
  const usage = behaviour.noUsage ? {} : { usage: { total_tokens: batch.tokens } };
  return { body: { object: "list", data, model, ...usage } };
}
