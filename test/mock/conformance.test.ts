import { expect, test } from "vitest";
import { MOCK_ENDPOINTS, protocolFor } from "../../mock/endpoints.ts";
import type { Exchange } from "../../mock/protocol.ts";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import { FrameReader } from "../../src/dialects/bedrock-converse/event-stream-frames.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { eventsOf } from "./start.ts";

/** The recordings of a protocol, and how their requests reach the simulated provider. */
type Recorded = readonly [
  file: string,
  /** Hosts whose requests have to be accepted. */
  hosts: RegExp,
  /** Recorded paths that are sent as they are; a text: the path of every request. */
  path: RegExp | string,
  refusals?: RegExp,
];

/** Hosts whose answers are compared; others add members of their own. */
const ORIGINALS = /api\.openai|anthropic|bedrock|googleapis|cohere|voyageai/;

/** Right refusals: of foreign signatures, and of inputs without text. */
const FOREIGN = /Invalid `(signature|data)` in|encrypted content for|Thought signature is not/;
const TEXTLESS = /images|inlineData|texts: /;

const PROTOCOLS: readonly Recorded[] = [
  ["openai-chat", /^api\.openai\.com$/, "/v1/chat/completions"],
  ["openai-completions", /^api\.openai\.com$/, "/v1/completions"],
  ["openai-responses", /^api\.openai\.com$/, "/v1/responses", FOREIGN],
  ["openai-responses-input-tokens", /^api\.openai\.com$/, "/v1/responses/input_tokens", FOREIGN],
  ["anthropic-messages", /^api\.anthropic\.com$/, "/v1/messages", FOREIGN],
  ["anthropic-count-tokens", /^api\.anthropic\.com$/, "/v1/messages/count_tokens", FOREIGN],
  ["bedrock-converse", /bedrock/, "/model/m/converse", FOREIGN],
  ["bedrock-converse-stream", /bedrock/, "/model/m/converse-stream", FOREIGN],
  // Counts of a body of InvokeModel are in another protocol.
  ["bedrock-count-tokens", /bedrock/, "/model/m/count-tokens", /at least one message/],
  ["gemini", /googleapis/, /:(?:generateContent|streamGenerateContent\?alt=sse)$/, FOREIGN],
  ["gemini-count-tokens", /googleapis/, /:countTokens$/],
  ["cohere-chat", /^api\.cohere\.com$/, /\/v2\/chat$/],
  ["embeddings", /openai|voyageai|mistral|openrouter|azure/, /\/embeddings(?:\?|$)/, TEXTLESS],
  ["cohere-embed", /cohere/, /\/v2\/embed$/, TEXTLESS],
  ["gemini-embed", /googleapis/, /:(?:batchEmbedContents|predict)$/, TEXTLESS],
  ["bedrock-invoke", /bedrock/, /(?:titan-embed|nova-2-m|cohere\.embed).*\/invoke$/, TEXTLESS],
  ["rerank", /cohere|voyageai|openrouter/, /\/rerank$/],
  ["moderations", /^api\.openai\.com$/, /\/moderations$/],
];

/** Known differences. */
const KNOWN: readonly RegExp[] = [
  // DeepSeek's member for reasoning; and a count that is newer than the recordings.
  /^\+ answer \.choices\[\]\.message\.reasoning_content$/,
  /^\+ - \.usage\.prompt_tokens_details\.cache_write_tokens$/,
  // Recorded streams with log probabilities repeat them in other events.
  /^\+ response\.content_part\.done \.part\.logprobs\[\]\./,
  // Padding, and counts of a cache that no recorded stream used.
  /^- (message|content|metadata)\w* \.p$/,
  /^\+ metadata \.usage\.cache(Read|Write)InputTokens$/,
  /^- answer \.promptTokensDetails/,
];

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

/** Events by their names, or a whole answer by the name `answer`. */
type Parts = readonly { readonly name: string | null; readonly data: string | null }[];

const wholeAnswer = (body: string): Parts => [{ name: "answer", data: body }];

function recordedParts(recording: Recording): Parts {
  const { body, body_type: type } = recording.response;
  if (type === "json") return wholeAnswer(typeof body === "string" ? body : JSON.stringify(body));
  if (type !== "aws-eventstream") return eventsOf(Buffer.from(streamText(recording)));
  const frames = new FrameReader(1_000_000).push(Buffer.from(String(body), "base64"));
  return frames.map(({ headers, payload }) => ({
    name: headers.get(":event-type") ?? null,
    data: Buffer.from(payload).toString(),
  }));
}

/** How often each type of part occurs (`type `), and each of its members (`type .member`). */
type Counts = Map<string, number>;

/** Counts parts by their types, which events have as a member or as their name. */
function count(counts: Counts, parts: Parts): void {
  for (const { name, data } of parts) {
    if (data?.startsWith("{") !== true) continue;
    const value = JSON.parse(data);
    const type = name === "answer" ? name : (value.type ?? name ?? "-");
    for (const path of new Set(["", ...pathsIn(value)])) {
      const member = `${type} ${path}`;
      counts.set(member, (counts.get(member) ?? 0) + 1);
    }
  }
}

/** `+` is a member that no recording has, `-` one that all recordings of its type have. */
function differences(simulated: Counts, recorded: Counts): readonly string[] {
  const isAlways = (all: Counts, name: string): boolean =>
    all.get(name) === all.get(name.replace(/ .*/, " "));
  return [
    ...[...simulated.keys()].filter((name) => !recorded.has(name)).map((name) => `+ ${name}`),
    ...[...recorded.keys()]
      .filter((name) => isAlways(recorded, name) && !isAlways(simulated, name))
      .map((name) => `- ${name}`),
  ];
}

/** What the server would send; `answers.test.ts` has the protocols over connections. */
function answerTo(target: string, body: unknown) {
  const path = target.split("?", 1)[0] ?? "";
  const endpoint = MOCK_ENDPOINTS.find(
    (each) => path.endsWith(each.path) && each.method === "POST",
  );
  if (endpoint === undefined) throw new Error(`nothing is served at ${path}`);
  const inForce: Exchange["inForce"] = (behaviour) => behaviour;
  const exchange = { sequence: 1, target, body, text: "", header: () => "", inForce };
  return protocolFor(endpoint, body).answer(exchange).answer;
}

test.for(PROTOCOLS)(
  "recorded requests of %s are accepted and answered in the recorded shape (needs ../shared/recordings)",
  ([file, hosts, wanted, refusals = /^$/], { skip }) => {
    const recordings = readRecordings(file);
    if (recordings === null) return skip();
    const refused: string[] = [];
    const recorded: Counts = new Map();
    const simulated: Counts = new Map();
    for (const recording of recordings) {
      const { id, request, response, host } = recording;
      if (!hosts.test(host) || request === null || response.status !== 200) continue;
      const sent = "path" in request ? String(request.path) : "";
      if (typeof wanted !== "string" && !wanted.test(sent)) continue;
      const path = typeof wanted === "string" ? wanted : sent.replaceAll(/[<>]/g, "");
      const answer = answerTo(path, request.body);
      if (ORIGINALS.test(host)) count(recorded, recordedParts(recording));
      const parts = answer.kind === "stream" ? answer.events : wholeAnswer(answer.body);
      if (answer.status !== 200) refused.push(`${id}: ${parts[0]?.data}`);
      else if (ORIGINALS.test(host)) count(simulated, parts);
    }
    expect(refused.filter((text) => !refusals.test(text))).toEqual([]);
    expect(simulated.size).toBeGreaterThan(0);
    const found = differences(simulated, recorded);
    expect(found.filter((name) => !KNOWN.some((known) => known.test(name)))).toEqual([]);
  },
);
