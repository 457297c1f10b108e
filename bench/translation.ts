import { mkdirSync, writeFileSync } from "node:fs";
import type { InferenceEvent } from "../src/canon/generate/event.ts";
import type { JsonObject } from "../src/canon/json.ts";
import type { InferenceRequest } from "../src/canon/request.ts";
import type { EndpointRow, RouteRow } from "../src/canon/table.ts";
import { messagesSurface } from "../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerContext, Surface, Target } from "../src/dialects/dialect.ts";
import {
  GENERATE_DIALECTS,
  isGenerateDialect,
  type GenerateDialect,
} from "../src/dialects/table.ts";
import { chatSurface } from "../src/dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../src/dialects/openai-responses/dialect.ts";
import { type ExchangePlan, planExchange, upstreamFor } from "../src/dialects/exchange-plan.ts";
import { filler } from "./cases.ts";
import { UPSTREAM_STREAMS } from "./upstream-streams.ts";
import { prepareTranslation } from "../src/dialects/translate-request.ts";

/**
 * What translation costs, without sockets: for every surface and every dialect, the time to turn a
 * request into the upstream's bytes, and the upstream's stream into the client's, as a ratio to the
 * native relay of the same surface. All pairs take turns within a round, so that a disturbance of
 * the machine affects all of them; medians of the rounds are printed.
 */
const ROUNDS = process.argv.includes("--quick") ? 5 : 21;
const REQUESTS = 400;
const STREAMS = 20;
const CHUNKS = 100;

interface Pair {
  readonly surface: string;
  readonly dialect: GenerateDialect;
  readonly native: boolean;
  readonly request: () => void;
  readonly stream: () => void;
  readonly requestTimes: number[];
  readonly streamTimes: number[];
}

const TEXT = filler(1_000);

const SURFACES: Readonly<Record<string, { readonly surface: Surface; readonly body: JsonObject }>> =
  {
    "chat completions": {
      surface: chatSurface,
      body: {
        model: "m",
        stream: true,
        messages: [{ role: "user", content: TEXT }],
        stream_options: { include_usage: true },
      },
    },
    completions: { surface: completionsSurface, body: { model: "m", stream: true, prompt: TEXT } },
    responses: { surface: responsesSurface, body: { model: "m", stream: true, input: TEXT } },
    messages: {
      surface: messagesSurface,
      body: {
        model: "m",
        stream: true,
        max_tokens: 1_000,
        messages: [{ role: "user", content: TEXT }],
      },
    },
  };

const NO_HEADERS = { version: null, betas: [] };
const NO_EDITS = { maxOutputTokens: null, stripFields: [] };
const ROUTE: RouteRow = {
  id: "m",
  title: "m",
  primary: "e",
  fallbacks: [],
  tiers: [],
  maxAttempts: 4,
  maxEjectedShare: 0.5,
  hedgeAfter: null,
  onGap: "deny",
  unknownFields: "reject",
  emulateSchema: false,
  operations: ["generate"],
};

function target(dialect: GenerateDialect): Target {
  const endpoint: EndpointRow = {
    id: "e",
    model: "m",
    provider: "p",
    region: "r",
    dialect,
    upstreamModel: "upstream-model",
    price: null,
    maxConcurrency: null,
    batch: { inputs: null, tokens: null },
    capabilities: [],
    features: [...GENERATE_DIALECTS[dialect].features],
    nativeFeatures: [...GENERATE_DIALECTS[dialect].features],
  };
  return {
    endpoint,
    model: {
      id: "m",
      operations: ["generate"],
      contextWindow: null,
      maxOutputTokens: null,
      defaultMaxOutputTokens: 1_000,
      capabilities: [],
      dimensions: [],
      defaultDimensions: null,
      moderationCategories: null,
      signatureFamily: null,
      reasoning: null,
      refuses: [],
      accepts: [],
    },
    provider: {
      id: "p",
      dialect,
      baseUrl: "http://127.0.0.1",
      apiVersion: null,
      region: "r",
      auth: { kind: "none" },
      retention: "none",
      trainsOnData: false,
      timeouts: { connect: 1, firstByte: 1, idle: 1, firstToken: 1, total: 1 },
      queue: { size: 0, wait: 1 },
      health: {
        consecutiveFailures: 0,
        failureRatio: 0,
        minimumCalls: 1,
        window: 1,
        ejection: 1,
        longestEjection: 1,
        probe: null,
      },
      maxConcurrency: 1,
      flags: [],
      betas: [],
    },
  };
}

/** A stream of text as a provider of the dialect sends it, a chunk an event. */
function upstreamStream(dialect: GenerateDialect): readonly Uint8Array[] {
  const foreign = UPSTREAM_STREAMS[dialect];
  if (foreign !== undefined) return foreign(CHUNKS);
  const own = Object.values(SURFACES).find(({ surface }) => surface.dialect === dialect);
  if (own === undefined) throw new Error(`no surface speaks ${dialect}`);
  const renderer = own.surface.translation.renderStream(context(own.surface, own.body));
  const events: InferenceEvent[] = [
    { type: "start", model: "upstream-model" },
    { type: "open", index: 0, block: { kind: "text" } },
    ...Array.from(
      { length: CHUNKS },
      () => ({ type: "text", index: 0, text: "signal block ", logprobs: [] }) as const,
    ),
    { type: "close", index: 0 },
    {
      type: "usage",
      usage: { input: 200, output: 100, cacheRead: null, cacheWrite: null, reasoning: null },
    },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
  return events.flatMap((event) => renderer.push(event));
}

function parsed(surface: Surface, body: JsonObject): InferenceRequest {
  const request = surface.parse(body, 1_000, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

function context(surface: Surface, body: JsonObject): AnswerContext {
  const signatureFamily = surface.dialect === "openai-responses" ? "openai" : "anthropic";
  return {
    request: parsed(surface, body),
    requestId: "req_1",
    answerId: "1",
    model: "m",
    signatureFamily,
    now: () => 1,
  };
}

function exchangePlan(surface: Surface, body: JsonObject, dialect: GenerateDialect): ExchangePlan {
  const request = parsed(surface, body);
  const native = surface.dialect === dialect;
  const canonical = native ? null : surface.translation.toCanon(request, "reject", NO_EDITS);
  if (canonical !== null && "code" in canonical) throw new Error(canonical.message);
  const candidate = target(dialect);
  const answering = context(surface, body);
  const prepared =
    canonical === null
      ? null
      : prepareTranslation(
          canonical,
          ROUTE,
          request.shape,
          candidate,
          upstreamFor("generate", dialect),
        );
  if (prepared !== null && "code" in prepared) throw new Error(prepared.message);
  const options = { surface, request, prepared, route: ROUTE, edits: NO_EDITS, context: answering };
  return planExchange(options, candidate, upstreamFor("generate", dialect));
}

function pairs(): readonly Pair[] {
  return Object.entries(SURFACES).flatMap(([name, { surface, body }]) =>
    Object.keys(GENERATE_DIALECTS)
      .filter(isGenerateDialect)
      .map((dialect): Pair => {
        const chunks = upstreamStream(dialect);
        return {
          surface: name,
          dialect,
          native: surface.dialect === dialect,
          request: () => void exchangePlan(surface, body, dialect),
          stream: () => {
            const stream = exchangePlan(surface, body, dialect).stream();
            for (const chunk of chunks) stream.push(chunk);
            if (stream.endStream().ending.failure !== null)
              throw new Error(`${name} over ${dialect}: the stream failed`);
          },
          requestTimes: [],
          streamTimes: [],
        };
      }),
  );
}

/** Microseconds for one call of `work`, over `count` calls. */
function time(work: () => void, count: number): number {
  const start = performance.now();
  for (let index = 0; index < count; index += 1) work();
  return ((performance.now() - start) * 1_000) / count;
}

function median(values: readonly number[]): number {
  return (
    values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
  );
}

const all = pairs();
for (let round = -2; round < ROUNDS; round += 1) {
  for (const pair of all) {
    const request = time(pair.request, REQUESTS);
    const stream = time(pair.stream, STREAMS) / CHUNKS;
    // The first two rounds only warm up.
    if (round < 0) continue;
    pair.requestTimes.push(request);
    pair.streamTimes.push(stream);
  }
}
const lines = [
  "| surface | upstream | request µs | × native | chunk µs | × native |",
  "| --- | --- | ---: | ---: | ---: | ---: |",
  ...all.map((pair) => {
    const native = all.find((other) => other.surface === pair.surface && other.native) ?? pair;
    const [request, stream] = [median(pair.requestTimes), median(pair.streamTimes)];
    const ratios = [request / median(native.requestTimes), stream / median(native.streamTimes)];
    const upstream = pair.native ? `${pair.dialect} (relay)` : pair.dialect;
    return `| ${pair.surface} | ${upstream} | ${request.toFixed(1)} | ${(ratios[0] ?? 0).toFixed(2)} | ${stream.toFixed(2)} | ${(ratios[1] ?? 0).toFixed(2)} |`;
  }),
];
const report = `# Translation, in process\n\nNode ${process.version}, ${ROUNDS} rounds, 1 kB request, stream of ${CHUNKS} chunks.\n\n${lines.join("\n")}\n`;
mkdirSync(new URL("results/", import.meta.url), { recursive: true });
writeFileSync(new URL("results/translation.md", import.meta.url), report);
process.stdout.write(report);
