import { isJsonObject, type JsonObject } from "../json.ts";
import {
  between,
  integer,
  isBoolean,
  isList,
  isObject,
  isText,
  isWhole,
  listOf,
  memberTable,
  numberOr,
  textsOf,
} from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessage } from "./members.ts";
import { lowerTypes } from "./tools.ts";

/** `generationConfig` as far as the answer depends on it. */
export interface Config {
  readonly limit: number | null;
  readonly stop: readonly string[];
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
  readonly isJson: boolean;
  /** Alternatives of each token; `null` without log probabilities. */
  readonly logprobs: number | null;
  readonly thinks: boolean;
  readonly showsThoughts: boolean;
}

const CONFIG = memberTable(
  ["temperature", "a number from 0 to 2", between(0, 2)],
  ["topP", "a number from 0 to 1", between(0, 1)],
  ["topK", "a number from 1", between(1, 1e9)],
  ["candidateCount", "1", integer(1, 1)],
  ["maxOutputTokens", "an integer from 1", integer(1, 1e9)],
  ["stopSequences", "a list of at most 5 strings", listOf(isText, 0, 5)],
  ["responseMimeType", "a media type", isText],
  ["responseSchema", "an object", isObject],
  ["responseJsonSchema", "an object", isObject],
  ["responseModalities", "a list", isList],
  ["presencePenalty", "a number from -2 to 2", between(-2, 2)],
  ["frequencyPenalty", "a number from -2 to 2", between(-2, 2)],
  ["seed", "a 32-bit integer", integer(-(2 ** 31), 2 ** 31 - 1)],
  ["responseLogprobs", "a boolean", isBoolean],
  ["logprobs", "an integer from 0 to 20", integer(0, 20)],
  ["mediaResolution", "a resolution", isText],
  ["thinkingConfig", "an object", isObject],
  ["speechConfig", "an object", isObject],
  ["imageConfig", "an object", isObject],
  ["audioTimestamp", "a boolean", isBoolean],
  ["enableEnhancedCivicAnswers", "a boolean", isBoolean],
);

const THINKING = memberTable(
  ["includeThoughts", "a boolean", isBoolean],
  ["thinkingBudget", "an integer", isWhole],
  [
    "thinkingLevel",
    "MINIMAL, LOW, MEDIUM or HIGH",
    (value) => typeof value === "string" && /^(minimal|low|medium|high)$/i.test(value),
  ],
);

const ABSENT: Config = {
  limit: null,
  stop: [],
  schema: null,
  isJson: false,
  logprobs: null,
  thinks: false,
  showsThoughts: false,
};

export function readConfig(value: unknown): Config | Problem {
  if (value === undefined || value === null) return ABSENT;
  const read = readMessage(value, CONFIG, "generation_config");
  if ("problem" in read) return read.problem;
  const { members } = read;
  const thinking = readThinking(members["thinkingConfig"]);
  if ("status" in thinking) return thinking;
  const schema = members["responseJsonSchema"] ?? lowerTypes(members["responseSchema"]) ?? null;
  const isJson = members["responseMimeType"] === "application/json";
  if (schema !== null && !isJson) {
    return invalid(
      "generation_config",
      "responseSchema is only supported with the response mime type application/json",
    );
  }
  if (members["logprobs"] !== undefined && members["responseLogprobs"] !== true) {
    return invalid("generation_config.logprobs", "logprobs needs response_logprobs to be true");
  }
  return {
    limit: numberOr(members["maxOutputTokens"], null),
    stop: textsOf(members["stopSequences"]),
    schema: schema ?? (isJson ? { type: "object" } : null),
    isJson,
    logprobs: members["responseLogprobs"] === true ? numberOr(members["logprobs"], 0) : null,
    ...thinking,
  };
}

function readThinking(value: unknown): Pick<Config, "thinks" | "showsThoughts"> | Problem {
  if (!isJsonObject(value)) return { thinks: false, showsThoughts: false };
  const read = readMessage(value, THINKING, "generation_config.thinking_config");
  if ("problem" in read) return read.problem;
  const { thinkingBudget, thinkingLevel, includeThoughts }: JsonObject = read.members;
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    return invalid(
      "generation_config.thinking_config",
      "You can only set only one of thinking budget and thinking level.",
    );
  }
  return { thinks: thinkingBudget !== 0, showsThoughts: includeThoughts === true };
}
