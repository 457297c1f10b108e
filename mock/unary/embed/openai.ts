import {
  checkMembers,
  integer,
  isFilledText,
  isText,
  isTextOrList,
  memberTable,
  numberOr,
  oneOf,
} from "../../member-table.ts";
import {
  CHUNK_FAILURE,
  OPENAI_CODES,
  OPENAI_WORDING,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { INDEX_MEMBERS, indexMember } from "../results.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch, type Encoding } from "./embed.ts";
import { readInput } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

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

/** Every member of the request (OpenAI's reference, `CreateEmbeddingRequest`). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["input", "a string, a list of strings, a list of token numbers, or a list of such lists", isTextOrList],
  ["dimensions", "a positive integer", integer(1, LONGEST_VECTOR)],
  ["encoding_format", "'float' or 'base64'", oneOf("float", "base64")],
  ["user", "a string", isText],
);

interface OpenaiBatch extends EmbedBatch {
  readonly encoding: Encoding;
}

function read({ body, behaviour }: Call): OpenaiBatch | Problem {
  const members = { table: MEMBERS, required: ["model", "input"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, OPENAI_WORDING);
  if (problem !== null) return problem;
  const inputs = readInput(body["input"], () =>
    invalid("input", "'input' must hold texts or lists of token numbers, not both, and nothing empty.", "invalid_type"),
  );
  if ("status" in inputs) return inputs;
  const encoding = body["encoding_format"] === "base64" ? "base64" : "float";
  return { ...inputs, encoding, dimensions: numberOr(body["dimensions"], null) };
}

function render(batch: OpenaiBatch, { model, behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour, batch.encoding);
  if ("status" in vectors) return vectors;
  const data = vectors.map((vector) => ({ object: "embedding", ...indexMember(vector), embedding: vector.item }));
  const usage = { prompt_tokens: batch.tokens, total_tokens: batch.tokens };
  return { body: { object: "list", data, model, ...(behaviour.noUsage ? {} : { usage }) } };
}
