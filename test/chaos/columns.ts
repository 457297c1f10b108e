import type { DialectName } from "../../src/dialects/table.ts";
import { readMessage, readMessageStream } from "./readers/messages.ts";
import {
  readChat,
  readChatStream,
  readCompletion,
  readCompletionStream,
} from "./readers/openai.ts";
import { readResponse, readResponseStream } from "./readers/responses.ts";
import type { Reader } from "./readers/seen.ts";
import { readResults } from "./readers/unary.ts";

/** A surface as a client calls it. */
export interface Surface {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** The kind of work that a model must do. */
  readonly operation: "generate" | "embed" | "rerank" | "moderate";
  readonly read: Reader;
  /** How a streamed answer is read; `null` where there are none. */
  readonly readStream: Reader | null;
  /** What more a request says that is streamed. */
  readonly streaming: object;
}

const HELLO = [{ role: "user", content: "hello" }];
const COUNTED = { stream: true, stream_options: { include_usage: true } };

const SURFACES = {
  chat: {
    name: "chat",
    path: "/v1/chat/completions",
    body: { messages: HELLO },
    operation: "generate",
    read: readChat,
    readStream: readChatStream,
    streaming: COUNTED,
  },
  completions: {
    name: "completions",
    path: "/v1/completions",
    body: { prompt: "hello" },
    operation: "generate",
    read: readCompletion,
    readStream: readCompletionStream,
    streaming: COUNTED,
  },
  responses: {
    name: "responses",
    path: "/v1/responses",
    body: { input: "hello", store: false },
    operation: "generate",
    read: readResponse,
    readStream: readResponseStream,
    streaming: { stream: true },
  },
  messages: {
    name: "messages",
    path: "/api/v1/messages",
    body: { messages: HELLO, max_tokens: 1_000 },
    operation: "generate",
    read: readMessage,
    readStream: readMessageStream,
    streaming: { stream: true },
  },
  embeddings: {
    name: "embeddings",
    path: "/v1/embeddings",
    body: { input: ["red", "green", "blue"] },
    operation: "embed",
    read: readResults,
    readStream: null,
    streaming: {},
  },
  rerank: {
    name: "rerank",
    path: "/v1/rerank",
    body: { query: "green light", documents: ["a red light", "a green light", "no light"] },
    operation: "rerank",
    read: readResults,
    readStream: null,
    streaming: {},
  },
  moderations: {
    name: "moderations",
    path: "/v1/moderations",
    body: { input: ["a kind text", "simulated-violence"] },
    operation: "moderate",
    read: readResults,
    readStream: null,
    streaming: {},
  },
} as const satisfies Record<string, Surface>;

/** What is required of which upstream: one column of the matrix. */
export interface Column {
  /** Such as `chat over gemini, streamed`; also what its endpoints are called after. */
  readonly id: string;
  readonly surface: Surface;
  readonly dialect: DialectName;
  /** The dialect that a fallback of the column speaks: never the same as its own. */
  readonly spare: DialectName;
  readonly stream: boolean;
  /** Settings of the simulated provider that hold for the upstream's model even without a fault. */
  readonly nature: readonly string[];
}

/** Each surface over its own protocol and over others; all seven that generate come up. */
const ENDPOINTS: readonly (readonly [keyof typeof SURFACES, DialectName, DialectName])[] = [
  ["chat", "openai-chat", "gemini"],
  ["chat", "gemini", "openai-chat"],
  ["completions", "openai-completions", "cohere-chat"],
  ["completions", "cohere-chat", "openai-completions"],
  ["responses", "openai-responses", "anthropic-messages"],
  ["responses", "anthropic-messages", "openai-responses"],
  ["messages", "anthropic-messages", "bedrock-converse"],
  ["messages", "bedrock-converse", "anthropic-messages"],
  ["messages", "openai-chat", "anthropic-messages"],
  ["embeddings", "openai-chat", "cohere-chat"],
  ["embeddings", "cohere-chat", "openai-chat"],
  ["rerank", "cohere-chat", "openai-chat"],
  ["rerank", "openai-chat", "cohere-chat"],
  ["moderations", "openai-chat", "openai-chat"],
];

export const COLUMNS: readonly Column[] = ENDPOINTS.flatMap(
  ([name, dialect, spare]): readonly Column[] => {
    const surface: Surface = SURFACES[name];
    const column = (stream: boolean, nature: readonly string[] = [], more = ""): Column => {
      const id = `${name}.${dialect}${more}${stream ? ".stream" : ""}`;
      return { id, surface, dialect, spare, stream, nature };
    };
    if (surface.readStream !== null) return [column(false), column(true)];
    // Only one protocol moderates; its other shape is that of providers with categories of their
    // own.
    return name === "moderations"
      ? [column(false), column(false, ["categories=other"], ".other")]
      : [column(false)];
  },
);

/** How the answers of the column's surface are read. */
export function readerOf({ surface, stream }: Column): Reader {
  return (stream ? surface.readStream : null) ?? surface.read;
}

/** The request of a column to a route. */
export function bodyOf({ surface, stream }: Column, route: string): string {
  return JSON.stringify({ model: route, ...surface.body, ...(stream ? surface.streaming : {}) });
}
