import { expect, test } from "vitest";
import { MOCK_ENDPOINTS, protocolFor } from "../../mock/endpoints.ts";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { eventsOf, framesOf } from "./start.ts";

/** Recordings of one protocol, and how their requests reach the simulated provider. */
interface Recorded {
  /** Hosts whose requests have to be accepted. */
  readonly hosts: RegExp;
  /** Hosts whose answers are compared; others add members of their own. Default: `hosts`. */
  readonly originals?: RegExp;
  /** Recorded paths that are sent as they are; else every request goes to this path. */
  readonly path: RegExp | string;
  /** Refusals that are right: foreign signatures, inputs without text, older editions. */
  readonly refusals?: RegExp;
}

const refusals =
  /Invalid `(signature|data)` in|encrypted content for the item|Thought signature is not valid/;
const withoutText = { refusals: /images|inlineData|texts: / };
const openai = (path: string): Recorded => ({ hosts: /^api\.openai\.com$/, path, refusals });
const anthropic = (path: string): Recorded => ({ hosts: /^api\.anthropic\.com$/, path, refusals });
const bedrock = (path: string): Recorded => ({
  hosts: /bedrock/,
  path,
  // Counts of a body of InvokeModel are in another protocol.
  refusals: /Invalid `(signature|data)` in|at least one message/,
});
const gemini = (path: RegExp, more: object): Recorded => ({ hosts: /googleapis/, path, ...more });

const INVOKED =
  /\/model\/[^/]*(?:titan-embed|nova-2-multimodal-embeddings|cohere\.embed)[^/]*\/invoke$/;

const PROTOCOLS: Readonly<Record<string, Recorded>> = {
  "openai-chat": openai("/v1/chat/completions"),
  "openai-completions": openai("/v1/completions"),
  "openai-responses": openai("/v1/responses"),
  "openai-responses-input-tokens": openai("/v1/responses/input_tokens"),
  "anthropic-messages": anthropic("/v1/messages"),
  "anthropic-count-tokens": anthropic("/v1/messages/count_tokens"),
  "bedrock-converse": bedrock("/model/m/converse"),
  "bedrock-converse-stream": bedrock("/model/m/converse-stream"),
  "bedrock-count-tokens": bedrock("/model/m/count-tokens"),
  gemini: gemini(/:(?:generateContent|streamGenerateContent\?alt=sse)$/, { refusals }),
  "gemini-count-tokens": gemini(/:countTokens$/, {}),
  "cohere-chat": { hosts: /^api\.cohere\.com$/, path: /\/v2\/chat$/ },
  embeddings: {
    hosts: /openai|voyageai|mistral|openrouter|azure/,
    originals: /api\.openai\.com|api\.voyageai\.com/,
    path: /\/embeddings(?:\?|$)/,
    ...withoutText,
  },
  "cohere-embed": { hosts: /cohere/, path: /\/v2\/embed$/, ...withoutText },
  "gemini-embed": gemini(/:(?:batchEmbedContents|predict)$/, withoutText),
  "bedrock-invoke": { hosts: /bedrock/, path: INVOKED, ...withoutText },
  rerank: {
    hosts: /cohere|voyageai|openrouter/,
    originals: /cohere|voyageai/,
    path: /\/rerank$/,
  },
  moderations: { hosts: /openai/, path: /\/moderations$/ },
};

const under = (prefix: string, names: string): readonly string[] =>
  names.split(" ").map((name) => prefix + name);

/** Known differences: `+` is a member that no recording has, `-` one that all of them have. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  // DeepSeek's member for reasoning; and a count that is newer than the recordings.
  "openai-chat": [
    "+ -.usage.prompt_tokens_details.cache_write_tokens",
    "+ answer.choices[].message.reasoning_content",
  ],
  // Recorded streams with log probabilities repeat them in other events.
  "openai-responses": under(
    "+ response.content_part.done.part.logprobs[].",
    "token logprob bytes top_logprobs",
  ),
  // Padding, and counts of a cache that no recorded stream used.
  "bedrock-converse-stream": [
    ...under("- ", "messageStart.p contentBlockDelta.p contentBlockStop.p messageStop.p"),
    ...under("+ metadata.usage.", "cacheReadInputTokens cacheWriteInputTokens"),
    ...under("- ", "metadata.p contentBlockStart.p"),
  ],
  "gemini-count-tokens": ["", "[].modality", "[].tokenCount"].map(
    (name) => `- answer.promptTokensDetails${name}`,
  ),
};

/** Recordings omit the headers that turn betas on; the recorded clients used these. */
const HEADERS: ReadonlyMap<string, string> = new Map([
  ["anthropic-version", "2023-06-01"],
  [
    "anthropic-beta",
    "context-management-2025-06-27,mcp-client-2025-11-20,task-budgets-2026-03-13,structured-outputs-2025-11-13",
  ],
]);

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

type Events = readonly { readonly name: string | null; readonly data: string }[];

function addEvents(shapes: Shapes, events: Events): void {
  for (const { name, data } of events) {
    if (!data.startsWith("{")) continue;
    const value: { readonly type?: unknown } = JSON.parse(data);
    shapes.add(typeof value.type === "string" ? value.type : (name ?? "-"), Object(value));
  }
}

function addRecorded(shapes: Shapes, recording: Recording): void {
  const { body, body_type: type } = recording.response;
  if (type === "json")
    shapes.add("answer", typeof body === "string" ? JSON.parse(body) : Object(body));
  else if (type === "aws-eventstream")
    addEvents(shapes, framesOf(Buffer.from(String(body), "base64")));
  else addEvents(shapes, eventsOf(Buffer.from(streamText(recording).replaceAll("\r\n", "\n"))));
}

/** What the server would send; `answers.test.ts` has the protocols over connections. */
function answerTo(target: string, body: unknown) {
  const path = target.split("?", 1)[0] ?? "";
  const endpoint = MOCK_ENDPOINTS.find(
    (each) => path.endsWith(each.path) && each.method === "POST",
  );
  if (endpoint === undefined) throw new Error(`nothing is served at ${path}`);
  return protocolFor(endpoint, body).answer({
    sequence: 1,
    target,
    body,
    text: "",
    header: (name) => HEADERS.get(name) ?? "",
    inForce: (behaviour) => behaviour,
  }).answer;
}

const pathOf = ({ request }: Recording): string =>
  isJsonObject(request) && typeof request.path === "string" ? request.path : "";

test.for(Object.entries(PROTOCOLS))(
  "recorded requests of %s are accepted and answered in the recorded shape (needs ../shared/recordings)",
  ([file, { hosts, originals = hosts, path: wanted, refusals: right }], { skip }) => {
    const recordings = readRecordings(file);
    if (recordings === null) return skip();
    const refused: string[] = [];
    const recorded = new Shapes();
    const simulated = new Shapes();
    let accepted = 0;
    for (const recording of recordings) {
      const { id, request, response, host } = recording;
      if (!hosts.test(host) || request === null || response.status !== 200) continue;
      const path = typeof wanted === "string" ? wanted : pathOf(recording);
      if (typeof wanted !== "string" && !wanted.test(path)) continue;
      const answer = answerTo(path.replaceAll(/[<>]/g, ""), request.body);
      if (originals.test(host)) addRecorded(recorded, recording);
      if (answer.status !== 200) {
        const text = answer.kind === "json" ? answer.body : "a stream";
        if (right?.test(text) !== true) refused.push(`${id}: ${text}`);
        continue;
      }
      accepted += 1;
      if (!originals.test(host)) continue;
      if (answer.kind === "stream") addEvents(simulated, answer.events);
      else simulated.add("answer", JSON.parse(answer.body));
    }
    expect(refused).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
    expect(simulated.differencesFrom(recorded)).toEqual(KNOWN[file] ?? []);
  },
);
