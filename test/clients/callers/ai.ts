import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText, type LanguageModel, type LanguageModelUsage } from "ai";
import {
  LIMIT,
  QUESTION,
  type Caller,
  type Session,
  type SurfaceName,
  type Reported,
} from "./caller.ts";

/** One provider package of the library, as its users set it up. */
export interface AiProvider {
  readonly name: string;
  readonly surface: SurfaceName;
  readonly model: (session: Session, route: string) => LanguageModel;
}

export const AI_PROVIDERS: readonly AiProvider[] = [
  {
    name: "@ai-sdk/openai",
    surface: "responses",
    model: ({ url, key, fetch }, route) =>
      createOpenAI({ baseURL: `${url}/v1`, apiKey: key, fetch })(route),
  },
  {
    name: "@ai-sdk/openai .chat()",
    surface: "chat",
    model: ({ url, key, fetch }, route) =>
      createOpenAI({ baseURL: `${url}/v1`, apiKey: key, fetch }).chat(route),
  },
  {
    // Sends the key as x-api-key.
    name: "@ai-sdk/anthropic",
    surface: "messages",
    model: ({ url, key, fetch }, route) =>
      createAnthropic({ baseURL: `${url}/api/v1`, apiKey: key, fetch })(route),
  },
  {
    name: "@ai-sdk/openai-compatible",
    surface: "chat",
    model: ({ url, key, fetch }, route) =>
      createOpenAICompatible({
        name: "signalbox",
        baseURL: `${url}/v1`,
        apiKey: key,
        fetch,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(route),
  },
];

export const AI_CALLERS: readonly Caller[] = AI_PROVIDERS.map(({ name, surface, model }) => ({
  name: `ai with ${name}`,
  surface,
  finishReasons: { stop: "stop", length: "length", filtered: "content-filter" },
  countsStreams: true,
  whole: async (session, route) => {
    const { text, finishReason, usage } = await generateText({
      ...settings(session),
      model: model(session, route),
    });
    return { text, finish: finishReason, usage: counts(usage) };
  },
  stream: async (session, route) => {
    const failures: unknown[] = [];
    const result = streamText({
      ...settings(session),
      model: model(session, route),
      onError: ({ error }) => {
        failures.push(error);
      },
    });
    let text = "";
    for await (const part of result.fullStream) if (part.type === "text-delta") text += part.text;
    if (failures.length > 0) throw failures[0];
    return { text, finish: await result.finishReason, usage: counts(await result.usage) };
  },
}));

function settings({ retries }: Session): {
  prompt: string;
  maxOutputTokens: number;
  maxRetries?: number;
} {
  return {
    prompt: QUESTION,
    maxOutputTokens: LIMIT,
    ...(retries === undefined ? {} : { maxRetries: retries }),
  };
}

function counts({ inputTokens, outputTokens }: LanguageModelUsage): Reported["usage"] {
  return inputTokens === undefined || outputTokens === undefined
    ? null
    : [inputTokens, outputTokens];
}
