import { ChatAnthropic } from "@langchain/anthropic";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { isJsonObject } from "../../../src/canon/json.ts";
import {
  LIMIT,
  QUESTION,
  type Caller,
  type Session,
  type SurfaceName,
  type Reported,
} from "./caller.ts";

/** One chat model of the library, as its users set it up. */
export interface LangchainProvider {
  readonly name: string;
  readonly surface: SurfaceName;
  readonly finishReasons: Caller["finishReasons"];
  readonly countsStreams: boolean;
  readonly deafToFailures?: true;
  readonly model: (session: Session, route: string) => ChatOpenAI | ChatAnthropic;
}

export const LANGCHAIN_PROVIDERS: readonly LangchainProvider[] = [
  {
    name: "@langchain/openai",
    surface: "chat",
    finishReasons: { stop: "stop", length: "length", filtered: "content_filter" },
    countsStreams: true,
    model: (session, route) => openaiModel(session, route, false),
  },
  {
    name: "@langchain/openai useResponsesApi",
    surface: "responses",
    finishReasons: {
      stop: "completed",
      length: 'incomplete: "max_output_tokens"',
      filtered: 'incomplete: "content_filter"',
    },
    countsStreams: true,
    deafToFailures: true,
    model: (session, route) => openaiModel(session, route, true),
  },
  {
    // Sends the key as x-api-key and speaks the older version.
    name: "@langchain/anthropic",
    surface: "messages",
    finishReasons: { stop: "end_turn", length: "max_tokens", filtered: "refusal" },
    // Adds the output of message_start to that of message_delta, and takes the input from
    // message_start only.
    countsStreams: false,
    model: ({ url, key, fetch, retries }, route) =>
      new ChatAnthropic({
        model: route,
        anthropicApiKey: key,
        anthropicApiUrl: `${url}/api`,
        maxTokens: LIMIT,
        streamUsage: false,
        clientOptions: { fetch },
        ...(retries === undefined ? {} : { maxRetries: retries }),
      }),
  },
];

export const LANGCHAIN_CALLERS: readonly Caller[] = LANGCHAIN_PROVIDERS.map(
  ({ name, surface, finishReasons, countsStreams, deafToFailures, model }) => ({
    name,
    surface,
    finishReasons,
    countsStreams,
    ...(deafToFailures === undefined ? {} : { deafToFailures }),
    whole: async (session, route) => ofMessage(await model(session, route).invoke(QUESTION)),
    stream: async (session, route) => {
      let whole: AIMessageChunk | null = null;
      for await (const chunk of await model(session, route).stream(QUESTION)) {
        whole = whole === null ? chunk : whole.concat(chunk);
      }
      if (whole === null) throw new Error("a stream without chunks");
      return ofMessage(whole);
    },
  }),
);

function openaiModel(
  { url, key, fetch, retries }: Session,
  route: string,
  useResponsesApi: boolean,
): ChatOpenAI {
  return new ChatOpenAI({
    model: route,
    apiKey: key,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1`, fetch },
    ...(retries === undefined ? {} : { maxRetries: retries }),
  });
}

/**
 * Each protocol's reason stands somewhere else; streams of messages have it in other members than
 * whole answers.
 */
function ofMessage({
  text,
  response_metadata: metadata,
  additional_kwargs: more,
  usage_metadata: usage,
}: Said): Reported {
  const { status, incomplete_details: incomplete } = metadata;
  const finish: unknown =
    status === "incomplete"
      ? `incomplete: ${isJsonObject(incomplete) ? JSON.stringify(incomplete.reason) : "without a reason"}`
      : (status ?? metadata.finish_reason ?? metadata.stop_reason ?? more.stop_reason);
  return {
    text,
    finish: typeof finish === "string" ? finish : null,
    usage: usage === undefined ? null : [usage.input_tokens, usage.output_tokens],
  };
}

interface Said {
  readonly text: string;
  readonly response_metadata: Readonly<Record<string, unknown>>;
  readonly additional_kwargs: Readonly<Record<string, unknown>>;
  readonly usage_metadata?:
    | { readonly input_tokens: number; readonly output_tokens: number }
    | undefined;
}
