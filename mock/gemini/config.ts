import { limitAt, numberWithin, textsOf } from "../members.ts";
import { message } from "./members.ts";
import { lowerTypes } from "./tools.ts";

/** `generationConfig` as far as the answer depends on it. */
export interface Config {
  readonly limit: number | null;
  readonly stop: readonly string[];
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
  /** Alternatives of each token; `null` without log probabilities. */
  readonly logprobs: number | null;
  readonly thinks: boolean;
  readonly showsThoughts: boolean;
}

/** Reads `generationConfig`. */
export function readConfig(value: unknown): Config {
  const config = message(value);
  const thinking = message(config.thinkingConfig);
  const isJson = config.responseMimeType === "application/json";
  const schema = config.responseJsonSchema ?? lowerTypes(config.responseSchema) ?? null;
  return {
    limit: limitAt(config, "maxOutputTokens"),
    stop: textsOf(config.stopSequences),
    schema: schema ?? (isJson ? { type: "object" } : null),
    logprobs: config.responseLogprobs === true ? numberWithin(config.logprobs, 0, 20, 0) : null,
    thinks: config.thinkingConfig !== undefined && thinking.thinkingBudget !== 0,
    showsThoughts: thinking.includeThoughts === true,
  };
}
