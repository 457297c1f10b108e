import { GEMINI_FAILURE, refuseGemini, unauthorised } from "../../gemini/error.ts";
import { readMessage } from "../../gemini/members.ts";
import { modelIn } from "../../gemini/protocol.ts";
import {
  integer,
  isList,
  isObject,
  isText,
  listAt,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textAt,
} from "../../member-table.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { embed, VECTOR_MEMBERS, type EmbedBatch } from "./embed.ts";
import { textInputs } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

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

/** What vectors may be made for (Google's reference, `TaskType`). */
export const isTaskType = oneOf(
  "TASK_TYPE_UNSPECIFIED",
  "RETRIEVAL_QUERY",
  "RETRIEVAL_DOCUMENT",
  "SEMANTIC_SIMILARITY",
  "CLASSIFICATION",
  "CLUSTERING",
  "QUESTION_ANSWERING",
  "FACT_VERIFICATION",
  "CODE_RETRIEVAL_QUERY",
);

/** Google's batchEmbedContents. */
export const geminiEmbed: Protocol = unaryProtocol({ ...GOOGLE, list: "requests", most: 100, read, render });

const BODY = memberTable(["requests", "a list", listOf(isObject, 1)]);

const REQUEST = memberTable(
  ["model", "a string", isText],
  ["content", "an object", isObject],
  ["taskType", "a task type", isTaskType],
  ["title", "a string", isText],
  ["outputDimensionality", "a positive integer", integer(1, LONGEST_VECTOR)],
);

const CONTENT = memberTable(["role", "a string", isText], ["parts", "a list", isList]);

const PART = memberTable(["text", "a string", isText]);

function read({ body, model, behaviour }: Call): EmbedBatch | Problem {
  const { lenient } = behaviour;
  const message = readMessage(body, BODY, "", lenient);
  if ("problem" in message) return message.problem;
  const requests = listAt(message.members, "requests");
  if (requests.length === 0) return invalid("requests", "required field is not set");
  const texts: string[] = [];
  const lengths = new Set<number | null>();
  for (const [place, value] of requests.entries()) {
    const path = `requests[${place}]`;
    const request = readMessage(value, REQUEST, path, lenient);
    if ("problem" in request) return request.problem;
    if (!textAt(request.members, "model").endsWith(`/${model}`))
      return invalid(`${path}.model`, "the model must be the one in the URL");
    const text = readContent(request.members["content"], `${path}.content`, lenient);
    if (typeof text !== "string") return text;
    texts.push(text);
    lengths.add(numberOr(request.members["outputDimensionality"], null));
  }
  if (lengths.size > 1)
    return invalid("requests", "The simulated provider makes vectors of one length; ask for the same in each.");
  return { ...textInputs(texts), dimensions: [...lengths][0] ?? null };
}

/** The text of a content; several parts make one vector. */
function readContent(value: unknown, path: string, lenient: boolean): string | Problem {
  const content = readMessage(value, CONTENT, path, lenient);
  if ("problem" in content) return content.problem;
  let text = "";
  for (const [place, item] of listAt(content.members, "parts").entries()) {
    const part = readMessage(item, PART, `${path}.parts[${place}]`);
    if ("problem" in part) return part.problem;
    text += textAt(part.members, "text");
  }
  return text === "" ? invalid(path, "content is empty") : text;
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const counted = { promptTokenDetails: [{ modality: "TEXT", tokenCount: batch.tokens }] };
  const usage = behaviour.noUsage ? {} : { usageMetadata: { promptTokenCount: batch.tokens, ...counted } };
  return { body: { embeddings: vectors.map((vector) => ({ values: vector.item })), ...usage } };
}
