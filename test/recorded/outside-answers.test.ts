import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { planExchange, upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { prepareTranslation } from "../../src/dialects/translate-request.ts";
import { contextOf, NO_EDITS, targetOf } from "../dialects/laws/target.ts";
import { SURFACES } from "../dialects/laws/table.ts";
import { sharedAtHand } from "../support/at-hand.ts";
import { route } from "../support/table.ts";

/** Answers of real providers that failed, as small inputs. */
const FILES = [
  ..."A06 A35 A39 C06 G01 G19 G21 G22 H08 H20 H21 H22 H23 H26a H28 H38 H40 H44 H48 H53 H54 H64 H88".split(
    " ",
  ),
  ..."H91 H93 H94 H98 M14 M20".split(" "),
];

/** A provider of the caller's own protocol is relayed unchanged unless its row says otherwise. */
const RELAYED = new Set(["A06-chat-chat"]);

const OPERATIONS = {
  chat: "chat.completions",
  responses: "responses",
  messages: "messages",
} as const;

interface Case {
  readonly id: string;
  readonly surface: keyof typeof OPERATIONS;
  readonly provider: { readonly dialect: GenerateDialect; readonly flags: readonly string[] };
  readonly request: JsonObject;
  readonly upstream: {
    readonly body?: JsonObject;
    readonly sse?: readonly (JsonObject | [string, JsonObject] | string)[];
  };
  readonly expected: JsonObject;
}

function bytesOf({ body, sse = [] }: Case["upstream"]): Uint8Array {
  if (body !== undefined) return Buffer.from(JSON.stringify(body));
  const events = sse.map((event) => {
    if (typeof event === "string") return event;
    if (!Array.isArray(event)) return `data: ${JSON.stringify(event)}\n\n`;
    return `event: ${event[0]}\ndata: ${JSON.stringify(event[1])}\n\n`;
  });
  return Buffer.from(events.join(""));
}

function planFor({ surface: name, provider, request: body }: Case) {
  const spoken = SURFACES.find(({ operation }) => operation === OPERATIONS[name]);
  const request = spoken?.read(body);
  if (spoken === undefined || request === undefined || "code" in request)
    throw new Error(JSON.stringify(request));
  const { surface } = spoken;
  const known = targetOf(provider.dialect);
  const target = { ...known, provider: { ...known.provider, flags: provider.flags } };
  const upstream = upstreamFor("generate", provider.dialect);
  const row = route("r", "e", []);
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const prepared =
    surface.dialect === provider.dialect
      ? null
      : prepareTranslation(canonical, row, request.shape, target, upstream);
  if (prepared !== null && "code" in prepared) throw new Error(prepared.message);
  return planExchange(
    { surface, request, prepared, route: row, edits: NO_EDITS, context: contextOf(request) },
    target,
    upstream,
  );
}

function answerOf(one: Case): JsonObject {
  const plan = planFor(one);
  const bytes = bytesOf(one.upstream);
  const isStream = one.request.stream === true;
  if (!isStream) {
    const { ending, bytes: printed } = plan.answer(bytes);
    if (ending.failure !== null) return { error: true, failure: { ...ending.failure } };
    return read(one.surface, [JSON.parse(Buffer.from(printed).toString())], ending.dropped);
  }
  const stream = one.upstream.body === undefined ? plan.stream() : plan.streamOfAnswer(bytes);
  const sent = [...stream.push(bytes)];
  const { ending, events } = stream.endStream();
  if (ending.failure !== null) return { error: true, failure: { ...ending.failure } };
  const data = new SseFramer()
    .push(Buffer.concat([...sent, ...events]))
    .map((event) => parseSseEvent(event).data);
  return read(
    one.surface,
    data.flatMap((text) => (text === null || text === "[DONE]" ? [] : [JSON.parse(text)])),
    ending.dropped,
  );
}

const list = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
const at = (value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (inner, name) => (isJsonObject(inner) ? inner[name] : undefined),
    value,
  );
const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const number = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);

/** What a client has of the answer: chunks of a stream, or one whole answer. */
function read(
  surface: Case["surface"],
  objects: readonly JsonObject[],
  dropped: readonly string[],
): JsonObject {
  const found = { chat: readChat, responses: readResponses, messages: readMessages }[surface](
    objects,
  );
  return { ...found, dropped: [...dropped] };
}

function readChat(objects: readonly JsonObject[]): JsonObject {
  const calls: [string, string, string][] = [];
  let said = "";
  let finish: JsonValue = null;
  let usage: JsonValue | undefined;
  for (const object of objects) {
    usage = object.usage ?? usage;
    for (const choice of list(object.choices)) {
      const message = choice.message ?? choice.delta;
      said += text(at(message, "content"));
      for (const [position, call] of list(at(message, "tool_calls")).entries()) {
        const index = number(call.index) || position;
        const known = (calls[index] ??= ["", "", text(call.id)]);
        known[0] += text(at(call, "function", "name"));
        known[1] += text(at(call, "function", "arguments"));
      }
      finish = choice.finish_reason ?? finish;
    }
  }
  return {
    text: said,
    calls,
    finish: finish === "content_filter" ? "filter" : finish,
    usage: [at(usage, "prompt_tokens") ?? null, at(usage, "completion_tokens") ?? null],
    cached: at(usage, "prompt_tokens_details", "cached_tokens") ?? null,
  };
}

function readResponses(objects: readonly JsonObject[]): JsonObject {
  const last = objects.at(-1);
  const response = at(last, "response") ?? last;
  const items = list(at(response, "output"));
  const calls = items.flatMap((item) =>
    item.type === "function_call"
      ? [[text(item.name), text(item.arguments), text(item.call_id)]]
      : [],
  );
  const why = at(response, "incomplete_details", "reason");
  const proper = calls.length > 0 ? "tool_calls" : "stop";
  return {
    text: items
      .flatMap((item) =>
        list(item.content).map((part) => (part.type === "output_text" ? text(part.text) : "")),
      )
      .join(""),
    calls,
    finish: why === undefined || why === null ? proper : why === "content_filter" ? "filter" : why,
    usage: [
      at(response, "usage", "input_tokens") ?? null,
      at(response, "usage", "output_tokens") ?? null,
    ],
    cached: at(response, "usage", "input_tokens_details", "cached_tokens") ?? null,
    signed: items.flatMap((item) => item.encrypted_content ?? []),
  };
}

const STOPS: JsonObject = { end_turn: "stop", tool_use: "tool_calls", refusal: "filter" };

function readMessages(objects: readonly JsonObject[]): JsonObject {
  const blocks: Record<string, JsonValue | undefined>[] = [];
  let end: JsonValue | undefined;
  let usage: JsonObject = {};
  for (const object of objects) {
    const { type } = object;
    if (type === "message") {
      for (const block of list(object.content))
        blocks.push({ ...block, json: JSON.stringify(block.input) });
      end = object;
      usage = { ...(isJsonObject(object.usage) ? object.usage : {}) };
    } else if (type === "content_block_start")
      blocks.push({
        ...(isJsonObject(object.content_block) ? object.content_block : {}),
        json: "",
      });
    else if (type === "content_block_delta") {
      const block = blocks.at(-1) ?? {};
      const { delta } = object;
      block.text = text(block.text) + text(at(delta, "text"));
      block.json = text(block.json) + text(at(delta, "partial_json"));
      block.signature = text(block.signature) + text(at(delta, "signature"));
    } else if (type === "message_delta") {
      end = object.delta;
      const counts = object.usage;
      usage = { ...usage, ...(isJsonObject(counts) ? counts : {}) };
    }
  }
  const calls = blocks.flatMap((block) =>
    block.type === "tool_use" ? [[text(block.name), text(block.json) || "{}", text(block.id)]] : [],
  );
  const reason = text(at(end, "stop_reason"));
  return {
    text: blocks.map((block) => text(block.text)).join(""),
    calls,
    finish: STOPS[reason] ?? reason,
    sequence: at(end, "stop_sequence") ?? null,
    usage: [
      number(usage.input_tokens) + number(usage.cache_read_input_tokens),
      usage.output_tokens ?? null,
    ],
    cached: usage.cache_read_input_tokens ?? null,
    signed: blocks.flatMap(
      (block) => block.data ?? (block.type === "thinking" ? [text(block.signature)] : []),
    ),
  };
}

const folder = sharedAtHand("cases/translation");

describe.skipIf(folder === null)(
  "an answer of a real provider (skipped where ../shared/cases is absent)",
  () => {
    const cases = FILES.flatMap((name): readonly Case[] => {
      if (folder === null) return [];
      return JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")).cases;
    });

    it.each(cases.filter(({ id }) => !RELAYED.has(id)).map((one) => [one.id, one] as const))(
      "is read: %s",
      (_, one) => {
        const answer = answerOf(one);
        const { calls, ...expected } = one.expected;
        expect(answer).toMatchObject(expected);
        if (Array.isArray(calls)) {
          const found = list(null).length === 0 && Array.isArray(answer.calls) ? answer.calls : [];
          expect(
            found.map((call: JsonValue, index) =>
              Array.isArray(call)
                ? call.slice(0, (calls[index] as JsonValue[] | undefined)?.length)
                : call,
            ),
          ).toEqual(calls);
        }
      },
    );
  },
);
