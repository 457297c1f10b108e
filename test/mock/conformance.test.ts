import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { eventsOf, framesOf, mockForTest, postTo } from "./start.ts";

/** Recordings of one protocol, and how their requests reach the simulated provider. */
interface Recorded {
  readonly file: string;
  /** Hosts whose requests have to be accepted. */
  readonly hosts: RegExp;
  /** Hosts whose answers are compared; others add members of their own. Default: `hosts`. */
  readonly originals?: RegExp;
  /** Recorded paths that are sent as they are; else every request goes to this path. */
  readonly path: RegExp | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Refusals that are right: foreign signatures, inputs without text, older editions. */
  readonly refusals?: RegExp;
}

const FOREIGN_SIGNATURE =
  /Invalid `(signature|data)` in|encrypted content for the item|Thought signature is not valid/;

/** Recordings omit the headers that turn betas on; the recorded clients used these. */
const ANTHROPIC_HEADERS = {
  "anthropic-version": "2023-06-01",
  "anthropic-beta":
    "context-management-2025-06-27,mcp-client-2025-11-20,task-budgets-2026-03-13,structured-outputs-2025-11-13",
};

const anthropic = (file: string, path: string): Recorded => ({
  file,
  hosts: /^api\.anthropic\.com$/,
  path,
  headers: ANTHROPIC_HEADERS,
  refusals: FOREIGN_SIGNATURE,
});
const openai = (file: string, path: string): Recorded => ({
  file,
  hosts: /^api\.openai\.com$/,
  path,
  refusals: FOREIGN_SIGNATURE,
});
const bedrock = (file: string, path: string): Recorded => ({
  file,
  hosts: /bedrock/,
  path,
  // Counts of a body of InvokeModel are in another protocol.
  refusals: /Invalid `(signature|data)` in|at least one message/,
});

const WITHOUT_TEXT = /images|inlineData|texts: /;

const PROTOCOLS: readonly Recorded[] = [
  openai("openai-chat", "/v1/chat/completions"),
  openai("openai-completions", "/v1/completions"),
  openai("openai-responses", "/v1/responses"),
  openai("openai-responses-input-tokens", "/v1/responses/input_tokens"),
  anthropic("anthropic-messages", "/v1/messages"),
  anthropic("anthropic-count-tokens", "/v1/messages/count_tokens"),
  bedrock("bedrock-converse", "/model/m/converse"),
  bedrock("bedrock-converse-stream", "/model/m/converse-stream"),
  bedrock("bedrock-count-tokens", "/model/m/count-tokens"),
  {
    file: "gemini",
    hosts: /googleapis/,
    path: /:(?:generateContent|streamGenerateContent\?alt=sse)$/,
    refusals: FOREIGN_SIGNATURE,
  },
  { file: "gemini-count-tokens", hosts: /googleapis/, path: /:countTokens$/ },
  { file: "cohere-chat", hosts: /^api\.cohere\.com$/, path: /\/v2\/chat$/ },
  {
    file: "embeddings",
    hosts: /openai|voyageai|mistral|openrouter|azure/,
    originals: /api\.openai\.com|api\.voyageai\.com/,
    path: /\/embeddings(?:\?|$)/,
    refusals: WITHOUT_TEXT,
  },
  { file: "cohere-embed", hosts: /cohere/, path: /\/v2\/embed$/, refusals: WITHOUT_TEXT },
  {
    file: "gemini-embed",
    hosts: /googleapis/,
    path: /:(?:batchEmbedContents|predict)$/,
    refusals: WITHOUT_TEXT,
  },
  {
    file: "bedrock-invoke",
    hosts: /bedrock/,
    path: /\/model\/[^/]*(?:titan-embed|nova-2-multimodal-embeddings|cohere\.embed)[^/]*\/invoke$/,
    refusals: WITHOUT_TEXT,
  },
  {
    file: "rerank",
    hosts: /cohere|voyageai|openrouter/,
    originals: /cohere|voyageai/,
    path: /\/rerank$/,
  },
  { file: "moderations", hosts: /openai/, path: /\/moderations$/ },
];

/** Known differences: `+` is a member that no recording has, `-` one that all of them have. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  // DeepSeek's member for reasoning; and a count that is newer than the recordings.
  "openai-chat": [
    "+ chunk.usage.prompt_tokens_details.cache_write_tokens",
    "+ answer.choices[].message.reasoning_content",
  ],
  // Recorded streams with log probabilities repeat them in other events.
  "openai-responses": ["token", "logprob", "bytes", "top_logprobs"].map(
    (name) => `+ response.content_part.done.part.logprobs[].${name}`,
  ),
  // Padding, and counts of a cache that no recorded stream used.
  "bedrock-converse-stream": [
    "- messageStart.p",
    "- contentBlockDelta.p",
    "- contentBlockStop.p",
    "- messageStop.p",
    "+ metadata.usage.cacheReadInputTokens",
    "+ metadata.usage.cacheWriteInputTokens",
    "- metadata.p",
    "- contentBlockStart.p",
  ],
  "gemini-count-tokens": ["", "[].modality", "[].tokenCount"].map(
    (name) => `- answer.promptTokensDetails${name}`,
  ),
};

/** Members whose value is the caller's own, so that its members are no shape of the protocol. */
const CALLERS =
  /\.(parameters|input|args|arguments|metadata|schema|top_logprobs|instructions|tools|text\.format)$/;

/** The paths of all members, such as `.choices[].message.content`. */
function pathsIn(value: JsonValue, path = ""): readonly string[] {
  if (CALLERS.test(path)) return [];
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => pathsIn(item, `${path}[]`));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    `${path}.${name}`,
    ...pathsIn(member ?? null, `${path}.${name}`),
  ]);
}

/** Members of answers, by the type of the event; whole answers are of one type. */
class Shapes {
  readonly #byType = new Map<string, { ever: Set<string>; always: Set<string> }>();

  add(type: string, value: JsonValue): void {
    const paths = new Set(pathsIn(value));
    const { ever, always } = this.#byType.get(type) ?? { ever: paths, always: paths };
    this.#byType.set(type, { ever: ever.union(paths), always: always.intersection(paths) });
  }

  /** Members here that no value of `other` has, and those of all its values that one here lacks. */
  differencesFrom(other: Shapes): readonly string[] {
    return [...this.#byType].flatMap(([type, { ever, always }]) => {
      const recorded = other.#byType.get(type);
      if (recorded === undefined) return [`+ ${type}`];
      return [
        ...[...ever.difference(recorded.ever)].map((path) => `+ ${type}${path}`),
        ...[...recorded.always.difference(always)].map((path) => `- ${type}${path}`),
      ];
    });
  }
}

/** Adds an answer to the shapes: a whole one, or its events by their types. */
function addAnswer(shapes: Shapes, contentType: string, bytes: Uint8Array): void {
  if (contentType.includes("json"))
    return shapes.add("answer", JSON.parse(Buffer.from(bytes).toString()));
  const events = contentType.includes("amazon") ? framesOf(bytes) : eventsOf(bytes);
  for (const { name, data } of events) {
    if (!data.startsWith("{")) continue;
    const value: { readonly type?: unknown } = JSON.parse(data);
    shapes.add(typeof value.type === "string" ? value.type : (name ?? "chunk"), Object(value));
  }
}

function addRecorded(shapes: Shapes, recording: Recording): void {
  const { body, body_type: type } = recording.response;
  if (type === "json")
    return addAnswer(
      shapes,
      "json",
      Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    );
  if (type === "aws-eventstream")
    return addAnswer(shapes, "amazon", Buffer.from(String(body), "base64"));
  addAnswer(shapes, "events", Buffer.from(streamText(recording).replaceAll("\r\n", "\n")));
}

const pathOf = ({ request }: Recording): string =>
  isJsonObject(request) && typeof request.path === "string" ? request.path : "";

describe.each(PROTOCOLS)("recorded $file", ({ file, hosts, originals = hosts, ...how }) => {
  const recordings = readRecordings(file);

  test.skipIf(recordings === null)(
    "requests are accepted and answered in the recorded shape (needs ../shared/recordings)",
    async () => {
      const server = await mockForTest();
      const refused: string[] = [];
      const recorded = new Shapes();
      const simulated = new Shapes();
      let accepted = 0;
      for (const recording of recordings ?? []) {
        const { id, request, response, host } = recording;
        if (!hosts.test(host) || request === null || response.status !== 200) continue;
        const path = typeof how.path === "string" ? how.path : pathOf(recording);
        if (typeof how.path !== "string" && !how.path.test(path)) continue;
        const answer = await postTo(
          server,
          path.replaceAll(/[<>]/g, ""),
          request.body,
          how.headers,
        );
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const text = Buffer.from(bytes).toString();
        if (originals.test(host)) addRecorded(recorded, recording);
        if (answer.status !== 200) {
          if (how.refusals?.test(text) !== true) refused.push(`${id}: ${text}`);
          continue;
        }
        accepted += 1;
        if (originals.test(host))
          addAnswer(simulated, answer.headers.get("content-type") ?? "", bytes);
      }
      expect(refused).toEqual([]);
      expect(accepted).toBeGreaterThan(0);
      expect(simulated.differencesFrom(recorded)).toEqual(KNOWN[file] ?? []);
    },
  );
});
