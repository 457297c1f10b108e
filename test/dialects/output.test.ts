import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { AnswerStream } from "../../src/dialects/dialect.ts";
import { formatSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { TranslatedStream } from "../../src/dialects/translated-stream.ts";
import {
  contextOf,
  NO_EDITS,
  NO_HEADERS,
  SURFACE_DIALECTS,
  SURFACES,
  targetOf,
  type SurfaceDialect,
} from "../support/dialects.ts";
import { readRecordings, streamText } from "../support/recordings.ts";
import { answerEvents } from "./laws/arbitrary/events.ts";
import { answerable, contextFor } from "./laws/speak.ts";
import { PROTOCOLS } from "./laws/table.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

/**
 * When a relayed stream has said something: what comes before may be taken back, what comes after
 * may not (issue 7, commit point).
 */
const encoder = new TextEncoder();

const REQUESTED: Readonly<Record<SurfaceDialect, JsonObject>> = {
  "openai-chat": { model: "m", stream: true, messages: [{ role: "user", content: "x" }] },
  "openai-completions": { model: "m", stream: true, prompt: "x" },
  "openai-responses": { model: "m", stream: true, input: "x" },
  "anthropic-messages": {
    model: "m",
    stream: true,
    max_tokens: 10,
    messages: [{ role: "user", content: "x" }],
  },
};

function observe(dialect: SurfaceDialect): AnswerStream {
  const request = SURFACES[dialect].parse(REQUESTED[dialect], 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return SURFACES[dialect].relay.observe(contextOf(request));
}

type Row = readonly [name: string, event: Uint8Array];

const data = (value: JsonObject): Uint8Array => formatSseEvent(JSON.stringify(value));
const named = (value: JsonObject & { readonly type: string }): Uint8Array =>
  formatSseEvent(JSON.stringify(value), value.type);

const choice = (delta: JsonObject, more: JsonObject = {}): Uint8Array =>
  data({
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
const call = (called: JsonObject): JsonObject => ({
  tool_calls: [{ index: 0, id: "call_1", type: "function", function: called }],
});

const item = (value: JsonObject, type = "response.output_item.added"): Uint8Array =>
  named({ type, output_index: 0, item: { id: "item_1", status: "in_progress", ...value } });
const piece = (type: string, more: JsonObject): Uint8Array =>
  named({
    type: `response.${type}`,
    item_id: "item_1",
    output_index: 0,
    content_index: 0,
    ...more,
  });
const lifecycle = (status: string, type = `response.${status}`): Uint8Array =>
  named({
    type,
    response: { id: "resp_1", status, model: "m", instructions: "Be brief.", output: [] },
  });

const block = (content_block: JsonObject): Uint8Array =>
  named({ type: "content_block_start", index: 0, content_block });
const change = (delta: JsonObject): Uint8Array =>
  named({ type: "content_block_delta", index: 0, delta });
const message = (more: JsonObject = {}): Uint8Array =>
  named({
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      ...more,
    },
  });

interface Table {
  /** What must come first. */
  readonly prelude: readonly Uint8Array[];
  readonly silent: readonly Row[];
  readonly telling: readonly Row[];
  /** What makes the answer a failure, whatever came before. */
  readonly failures: readonly Row[];
}

const COMMENT: Row = ["a comment", encoder.encode(": keep-alive\n\n")];
const NO_DATA: Row = ["an event without data", encoder.encode("event: ping\n\n")];
const GARBAGE: Row = ["what is not JSON", formatSseEvent("<html>")];

const TABLES: Readonly<Record<SurfaceDialect, Table>> = {
  "openai-chat": {
    prelude: [],
    silent: [
      COMMENT,
      NO_DATA,
      ["the role alone", choice({ role: "assistant" })],
      ["the role and no text", choice({ role: "assistant", content: "", refusal: null })],
      [
        "every member, empty",
        choice({ content: null, reasoning_content: "", tool_calls: [], function_call: null }),
      ],
      ["a call without a name", choice(call({ name: "", arguments: "" }))],
      ["an older call without a name", choice({ function_call: { name: "", arguments: "" } })],
      ["parts without text", choice({ content: [{ type: "text", text: "" }] })],
      [
        "details without text",
        choice({ reasoning_details: [{ type: "reasoning.text", text: "", format: "f" }] }),
      ],
      ["audio that begins", choice({ audio: { id: "audio_1", data: "", expires_at: 1 } })],
      ["whose channel it is", choice({ role: "assistant", channel: "analysis", name: "m" })],
      [
        "what a filter said of the prompt",
        data({ choices: [], prompt_filter_results: [{ jailbreak: "safe" }] }),
      ],
      [
        "counts that the caller did not request",
        data({ choices: [], usage: { prompt_tokens: 3 } }),
      ],
      ["an empty reason", choice({}, { finish_reason: "" })],
      ["a choice that is none", data({ choices: [null, "text"] })],
      ["no choices", data({ id: "c" })],
    ],
    telling: [
      ["a character", choice({ content: "h" })],
      ["a blank", choice({ content: " " })],
      ["a part with text", choice({ content: [{ type: "text", text: "h" }] })],
      [
        "thinking in parts",
        choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "h" }] }] }),
      ],
      ["reasoning_content", choice({ content: "", reasoning_content: "h" })],
      ["reasoning", choice({ content: "", reasoning: "h" })],
      ["details", choice({ reasoning_details: [{ type: "reasoning.encrypted", data: "sealed" }] })],
      ["a refusal", choice({ refusal: "n" })],
      ["a call's name", choice(call({ name: "f", arguments: "" }))],
      ["a call's arguments", choice(call({ arguments: "{" }))],
      ["an older call's name", choice({ function_call: { name: "f", arguments: "" } })],
      ["audio", choice({ audio: { id: "audio_1", data: "UklGRg" } })],
      [
        "an image",
        choice({ images: [{ type: "image_url", image_url: { url: "data:image/png;base64,i" } }] }),
      ],
      [
        "a citation",
        choice({
          annotations: [{ type: "url_citation", url_citation: { url: "https://a.example" } }],
        }),
      ],
      [
        "a message instead of a delta",
        data({ choices: [{ index: 0, message: { content: "h" } }] }),
      ],
      ["the second choice's text", choice({ content: "h" }, { index: 1 })],
      ["a reason", choice({}, { finish_reason: "stop" })],
    ],
    failures: [
      GARBAGE,
      ["an error object", data({ error: { message: "m" } })],
      ["a reason that is a failure", choice({ content: "h" }, { finish_reason: "error" })],
    ],
  },
  "openai-completions": {
    prelude: [],
    silent: [
      COMMENT,
      ["no text", data({ choices: [{ index: 0, text: "", logprobs: null, finish_reason: null }] })],
      ["counts", data({ choices: [], usage: { prompt_tokens: 3 } })],
    ],
    telling: [
      ["text", data({ choices: [{ index: 0, text: "h", finish_reason: null }] })],
      ["a reason", data({ choices: [{ index: 0, text: "", finish_reason: "length" }] })],
    ],
    failures: [GARBAGE, ["an error object", data({ error: { message: "m" } })]],
  },
  "openai-responses": {
    prelude: [],
    silent: [
      COMMENT,
      ["created", lifecycle("in_progress", "response.created")],
      ["queued", lifecycle("queued")],
      ["in progress", lifecycle("in_progress")],
      ["a keep-alive", named({ type: "keepalive", sequence_number: 3 })],
      [
        "another family's event",
        named({ type: "rate_limits", text: "limits", item: { name: "n" } }),
      ],
      [
        "a message that begins",
        item({ type: "message", role: "assistant", phase: "final_answer", content: [] }),
      ],
      [
        "reasoning that begins",
        item({ type: "reasoning", summary: [], encrypted_content: "sealed", content: [] }),
      ],
      ["a hosted call that begins", item({ type: "web_search_call" })],
      [
        "a hosted program that begins",
        item({ type: "code_interpreter_call", code: "", container_id: "c" }),
      ],
      ["a hosted call that goes on", piece("web_search_call.searching", {})],
      [
        "a part that begins",
        piece("content_part.added", { part: { type: "output_text", text: "", annotations: [] } }),
      ],
      [
        "a summary that begins",
        piece("reasoning_summary_part.added", { part: { type: "summary_text", text: "" } }),
      ],
      [
        "an empty delta",
        piece("output_text.delta", { delta: "", obfuscation: "xxxx", logprobs: [] }),
      ],
      ["an empty end", piece("output_text.done", { text: "" })],
      ["empty arguments", piece("function_call_arguments.done", { arguments: "" })],
    ],
    telling: [
      ["text", piece("output_text.delta", { delta: "h" })],
      ["text at once", piece("output_text.done", { text: "h" })],
      ["a refusal", piece("refusal.delta", { delta: "n" })],
      ["reasoning", piece("reasoning_text.delta", { delta: "h" })],
      ["a summary", piece("reasoning_summary_text.delta", { delta: "h", summary_index: 0 })],
      ["a call", item({ type: "function_call", call_id: "c", name: "f", arguments: "" })],
      ["a call's arguments", piece("function_call_arguments.delta", { delta: "{" })],
      ["a custom call's input", piece("custom_tool_call_input.delta", { delta: "S" })],
      ["a part at once", piece("content_part.done", { part: { type: "output_text", text: "h" } })],
      [
        "a citation",
        piece("output_text.annotation.added", { annotation: { type: "url_citation", url: "u" } }),
      ],
      ["an image", piece("image_generation_call.partial_image", { partial_image_b64: "iVBO" })],
      ["audio", named({ type: "response.audio.delta", delta: "UklGRg" })],
      [
        "a message at once",
        item({ type: "message", content: [{ type: "output_text", text: "h" }] }),
      ],
      [
        "sealed reasoning",
        item({ type: "reasoning", encrypted_content: "sealed" }, "response.output_item.done"),
      ],
      ["an end", lifecycle("completed")],
      ["an end before its time", lifecycle("incomplete")],
    ],
    failures: [
      GARBAGE,
      ["an error event", named({ type: "error", code: "x", message: "m" })],
      ["a failed answer", lifecycle("failed")],
      ["an end that is none", lifecycle("in_progress", "response.completed")],
      ["the transport's end", formatSseEvent("[DONE]")],
    ],
  },
  "anthropic-messages": {
    prelude: [message()],
    silent: [
      COMMENT,
      ["a ping", named({ type: "ping" })],
      ["the beginning", message()],
      ["a beginning that knows the end", message({ stop_reason: "end_turn" })],
      ["another family's event", named({ type: "novelty", text: "t", delta: { text: "t" } })],
      ["text that begins", block({ type: "text", text: "", citations: [] })],
      ["thinking that begins", block({ type: "thinking", thinking: "", signature: "" })],
      ["a summing up that begins", block({ type: "compaction", content: null })],
      [
        "another model that takes over",
        block({ type: "fallback", from: { model: "a" }, to: { model: "b" } }),
      ],
      ["no text", change({ type: "text_delta", text: "" })],
      ["no arguments", change({ type: "input_json_delta", partial_json: "" })],
      ["an estimate", change({ type: "thinking_delta", thinking: "", estimated_tokens: 50 })],
      ["a block that ends", named({ type: "content_block_stop", index: 0 })],
      [
        "counts",
        named({ type: "message_delta", delta: { stop_reason: null }, usage: { output_tokens: 1 } }),
      ],
    ],
    telling: [
      ["text", change({ type: "text_delta", text: "h" })],
      ["text at once", block({ type: "text", text: "h" })],
      ["thinking", change({ type: "thinking_delta", thinking: "h" })],
      ["a signature", change({ type: "signature_delta", signature: "s" })],
      ["redacted thinking", block({ type: "redacted_thinking", data: "sealed" })],
      ["a call", block({ type: "tool_use", id: "t", name: "f", input: {} })],
      ["a call's arguments", change({ type: "input_json_delta", partial_json: "{" })],
      ["a hosted call", block({ type: "server_tool_use", id: "t", name: "web_search", input: {} })],
      [
        "a result",
        block({
          type: "web_search_tool_result",
          tool_use_id: "t",
          content: [{ type: "r", url: "u" }],
        }),
      ],
      [
        "a citation",
        change({ type: "citations_delta", citation: { type: "page_location", cited_text: "c" } }),
      ],
      ["a reason", named({ type: "message_delta", delta: { stop_reason: "end_turn" } })],
    ],
    failures: [
      GARBAGE,
      [
        "an error event",
        named({ type: "error", error: { type: "overloaded_error", message: "m" } }),
      ],
    ],
  },
};

/** A stream after the events. */
function after(dialect: SurfaceDialect, events: readonly Uint8Array[]): AnswerStream {
  const stream = observe(dialect);
  for (const event of events) stream.push(event);
  return stream;
}

describe.each(SURFACE_DIALECTS)("a relayed stream of %s", (dialect) => {
  const { prelude, silent, telling, failures } = TABLES[dialect];
  const all = silent.map(([, event]) => event);

  it.each(silent)("has no output yet: %s", (_, event) => {
    const stream = observe(dialect);
    const given = [...prelude, event].flatMap((one) => stream.push(one));
    expect([stream.failure, stream.hasEnded, stream.hasOutput]).toEqual([null, false, false]);
    // Nothing is held back, except the counts that the caller did not request.
    const hidden = Buffer.from(event).includes('"usage":{"prompt') ? 1 : 0;
    expect(given).toHaveLength(prelude.length + 1 - hidden);
    stream.endStream();
    expect(stream.hasOutput).toBe(false);
  });

  it.each(telling)("has output: %s", (_, event) => {
    const stream = after(dialect, prelude);
    expect(stream.hasOutput).toBe(false);
    expect(stream.push(event)).toEqual(
      dialect === "openai-responses" ? [expect.anything()] : [event],
    );
    expect([stream.failure, stream.hasOutput]).toEqual([null, true]);
    // What has been said stays said.
    for (const one of all) stream.push(one);
    expect(stream.hasOutput).toBe(true);
  });

  it.each(failures)("fails for every cut before output, and has none: %s", (_, failure) => {
    for (let count = 0; count <= all.length; count += 1) {
      for (const broken of [[failure], []]) {
        const stream = after(dialect, [...prelude, ...all.slice(0, count), ...broken]);
        if (broken.length > 0) expect(stream.failure, String(count)).not.toBeNull();
        expect(stream.hasOutput, String(count)).toBe(false);
        const { ending } = stream.endStream();
        expect(ending.failure, String(count)).not.toBeNull();
        expect(stream.hasOutput, String(count)).toBe(false);
      }
    }
  });

  it.each(telling)("reads an event that ends with the bytes: %s", (_, event) => {
    const stream = after(dialect, prelude);
    expect(stream.push(event.subarray(0, -2))).toEqual([]);
    expect(stream.hasOutput).toBe(false);
    stream.endStream();
    expect(stream.hasOutput).toBe(true);
  });

  it("reports output after the same bytes, for every cut", () => {
    fc.assert(
      fc.property(fc.nat(telling.length - 1), fc.integer({ min: 1, max: 60 }), (which, size) => {
        const event = telling[which]?.[1] ?? new Uint8Array();
        const before = Buffer.concat([...prelude, ...all]);
        const bytes = Buffer.concat([before, event]);
        const stream = observe(dialect);
        for (let start = 0; start < bytes.length; start += size) {
          stream.push(bytes.subarray(start, start + size));
          expect(stream.hasOutput).toBe(start + size >= bytes.length);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("the end of an empty answer", () => {
  it.each<[string, SurfaceDialect, readonly Uint8Array[], Uint8Array]>([
    [
      "a finish reason",
      "openai-chat",
      [],
      choice({ role: "assistant", content: "" }, { finish_reason: "stop" }),
    ],
    [
      "message_stop",
      "anthropic-messages",
      [message({ stop_reason: "end_turn" })],
      named({ type: "message_stop" }),
    ],
  ])("is output: %s", (_, dialect, begun, end) => {
    const stream = after(dialect, begun);
    expect(stream.hasOutput).toBe(false);
    stream.push(end);
    expect(stream.hasOutput).toBe(true);
    expect(stream.endStream().ending.failure).toBeNull();
  });

  it.each<[string, SurfaceDialect, readonly Uint8Array[], string]>([
    ["[DONE] without an answer", "openai-chat", [formatSseEvent("[DONE]")], "truncated"],
    [
      "an end without a reason",
      "anthropic-messages",
      [message(), named({ type: "message_stop" })],
      "malformed",
    ],
  ])("is no output: %s", (_, dialect, events, kind) => {
    const stream = after(dialect, events);
    expect([stream.hasOutput, stream.failure?.kind]).toEqual([false, kind]);
  });
});

describe.each(PROTOCOLS)("output of our own printer in $name", (protocol) => {
  const { spoken, upstream } = protocol;

  it("is output for the relay as soon as it is for a translation", () => {
    fc.assert(
      fc.property(answerEvents(protocol.signing.model.signatureFamily), (reported) => {
        const context = contextFor(protocol);
        const renderer = spoken.surface.translation.renderStream(context);
        const events = answerable(protocol, reported).flatMap((event) => renderer.push(event));
        const canonical = spoken.surface.translation.toCanon(context.request, "reject", NO_EDITS);
        if ("code" in canonical) throw new Error(canonical.message);
        const relayed = spoken.surface.relay.observe(context);
        const translated = new TranslatedStream(
          upstream.parseStream(canonical.request, protocol.signing),
          spoken.surface.translation.renderStream(context),
        );
        for (const event of events) {
          relayed.push(event);
          translated.push(event);
          if (translated.failure !== null) return;
          // A parser may wait for the rest of a block; a relay sees only events.
          if (translated.hasOutput) expect(relayed.hasOutput).toBe(true);
        }
        expect(relayed.hasOutput).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

/**
 * Output that a translation reports with the end of its block or of the answer, or not at all
 * (citations of the request's own documents).
 */
const TOLD_LATER =
  /"signature_delta"|"citations_delta".*"document_index"|"message_delta".*"stop_reason":\s*"/;

const present = readRecordings("openai-chat") !== null;

describe.skipIf(!present)("recorded streams (skipped where ../shared/recordings is absent)", () => {
  it.each(SURFACE_DIALECTS)(
    "%s: relay and translation have output at the same event",
    (dialect) => {
      const streams = (readRecordings(dialect) ?? []).filter(
        ({ status, response }) => status === 200 && response.body_type !== "json",
      );
      expect(streams.length).toBeGreaterThan(0);
      const request = SURFACES[dialect].parse(REQUESTED[dialect], 100, NO_HEADERS);
      if ("code" in request) throw new Error(request.message);
      const canonical = SURFACES[dialect].translation.toCanon(request, "reject", NO_EDITS);
      if ("code" in canonical) throw new Error(canonical.message);
      let [same, silent] = [0, 0];
      for (const recording of streams) {
        const framer = new SseFramer();
        const events = [...framer.push(encoder.encode(streamText(recording))), framer.lastEvent()];
        const relayed = SURFACES[dialect].relay.observe(contextOf(request));
        const parser = upstreamFor("generate", dialect).parseStream(
          canonical.request,
          targetOf(dialect),
        );
        const translated = new TranslatedStream(
          parser,
          SURFACES[dialect].translation.renderStream(contextOf(request)),
        );
        for (const [index, event] of events.entries()) {
          relayed.push(event);
          translated.push(event);
          // Items that no translated request can have requested.
          if (translated.failure !== null || relayed.failure !== null) break;
          if (!relayed.hasOutput) silent += 1;
          const position = `${recording.id} after event ${index}`;
          const isLater = relayed.hasOutput && TOLD_LATER.test(Buffer.from(event).toString());
          if (!isLater) expect(relayed.hasOutput, position).toBe(translated.hasOutput);
          if (relayed.hasOutput) {
            same += 1;
            break;
          }
        }
      }
      process.stdout.write(
        `${dialect}: ${same} of ${streams.length} streams compared, ${silent} events before output\n`,
      );
      expect(same).toBeGreaterThan(0);
    },
  );
});
