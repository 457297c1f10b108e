import { isJsonObject } from "../../json.ts";
import { wordingAt } from "../../gemini/error.ts";
import {
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isObject,
  isText,
  listAt,
  listOf,
  memberTable,
  numberOr,
  textAt,
} from "../../member-table.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { tokensOf } from "../results.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { GOOGLE, isTaskType } from "./gemini.ts";
import { textInputs } from "./input.ts";
import { LONGEST_VECTOR } from "./vector.ts";

/** Vertex AI's predict, for text embeddings. */
export const vertexEmbed: Protocol = unaryProtocol({ ...GOOGLE, list: "instances", most: 250, read, render });

/** Every member (Vertex AI's reference, "Text embeddings API"). */
const BODY = memberTable(["instances", "a list", listOf(isObject, 1)], ["parameters", "an object", isObject]);

const INSTANCE = memberTable(
  ["content", "a filled string", isFilledText],
  ["task_type", "a task type", isTaskType],
  ["title", "a string", isText],
);

const PARAMETERS = memberTable(
  ["autoTruncate", "a boolean", isBoolean],
  ["outputDimensionality", "a positive integer", integer(1, LONGEST_VECTOR)],
);

function read({ body, behaviour }: Call): EmbedBatch | Problem {
  const { lenient } = behaviour;
  const parameters = isJsonObject(body["parameters"]) ? body["parameters"] : {};
  const problem =
    checkMembers(body, { table: BODY, required: ["instances"], lenient }, wordingAt("")) ??
    checkMembers(parameters, { table: PARAMETERS, required: [], lenient }, wordingAt("parameters"));
  if (problem !== null) return problem;
  const texts: string[] = [];
  for (const [place, instance] of listAt(body, "instances").entries()) {
    const path = `instances[${place}]`;
    if (!isJsonObject(instance)) return invalid(path, "Invalid value, must be an object");
    const wrong = checkMembers(instance, { table: INSTANCE, required: ["content"], lenient }, wordingAt(path));
    if (wrong !== null) return wrong;
    texts.push(textAt(instance, "content"));
  }
  return { ...textInputs(texts), dimensions: numberOr(parameters["outputDimensionality"], null) };
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const predictions = vectors.map(({ item: values }, place) => {
    const statistics = { token_count: tokensOf(batch.texts.slice(place, place + 1)), truncated: false };
    return { embeddings: behaviour.noUsage ? { values } : { statistics, values } };
  });
  const characters = batch.texts.join("").replaceAll(/\s/g, "").length;
  return {
    body: behaviour.noUsage ? { predictions } : { predictions, metadata: { billableCharacterCount: characters } },
  };
}
