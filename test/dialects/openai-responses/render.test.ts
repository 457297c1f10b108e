import fc from "fast-check";
import { ResponseStream } from "openai/lib/responses/ResponseStream";
import type {
  AnswerBlock,
  FinishReason,
  InferenceEvent,
} from "../../../src/canon/generate/event.ts";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { readSealedReasoning } from "../../../src/dialects/openai-responses/resource.ts";
import { lawfulEvents } from "./events.ts";
import { openResponses } from "./open-responses.ts";
import { breachOfOrder } from "./order.ts";
import {
  FAILURE,
  TARGET,
  bytesOf,
  contextOf,
  generate,
  parse,
  parseWire,
  read,
  render,
  textOf,
  typeOf,
} from "./support.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

const { renderStream, renderAnswer } = responsesSurface.translation;
const specification = openResponses();

/** A request that sets every member that a resource repeats. */
const FULL: JsonObject = {
  stream: true,
  instructions: "Be brief.",
  tools: [{ type: "function", name: "f" }],
  tool_choice: { type: "function", name: "f" },
  parallel_tool_calls: false,
  temperature: 0.5,
  top_p: 0.5,
  frequency_penalty: 1,
  presence_penalty: -1,
  top_logprobs: 2,
  max_output_tokens: 100,
  max_tool_calls: 3,
  reasoning: { effort: "low", summary: "auto" },
  text: { verbosity: "low" },
  response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
  service_tier: "flex",
  metadata: { a: "b" },
  safety_identifier: "s",
  prompt_cache_key: "k",
};

/**
 * Blocks as they come back: the tag on a signature is the surface's, and it is the client who gives
 * it back.
 */
function untagged(blocks: readonly AnswerBlock[]): readonly AnswerBlock[] {
  return blocks.map((block) =>
    block.kind === "reasoning" && block.signature !== null
      ? { ...block, signature: readSealedReasoning(block.signature).signature }
      : block,
  );
}

const said = (...events: readonly InferenceEvent[]): readonly InferenceEvent[] => [
  { type: "start", model: "m" },
  ...events,
];
const block = (
  index: number,
  kind: "text" | "refusal",
  ...texts: readonly string[]
): readonly InferenceEvent[] => [
  { type: "open", index, block: { kind } },
  ...texts.map((text): InferenceEvent =>
    kind === "text"
      ? { type: "text", index, text, logprobs: [] }
      : { type: "refusal", index, text },
  ),
  { type: "close", index },
];
const finish = (reason: FinishReason): InferenceEvent => ({
  type: "finish",
  reason,
  stopSequence: null,
});
const last = (events: readonly JsonObject[]): JsonObject => {
  const response = events.at(-1)?.response;
  if (!isJsonObject(response)) throw new Error("no resource at the end");
  return response;
};

describe("a printed stream", () => {
  it("prints every kind of block in the protocol's order", () => {
    const { events, done } = read(
      render(
        said(
          { type: "open", index: 0, block: { kind: "reasoning", summary: true } },
          { type: "reasoning", index: 0, text: "why" },
          { type: "signature", index: 0, signature: "sealed", family: "fam" },
          { type: "close", index: 0 },
          ...block(1, "text", "a", "b"),
          ...block(2, "refusal", "no"),
          { type: "open", index: 3, block: { kind: "tool_call", id: "call_1", name: "f" } },
          { type: "arguments", index: 3, json: "{}" },
          { type: "close", index: 3 },
          finish("tool_calls"),
        ),
      ),
    );
    expect(events.map((event) => typeOf(event).slice("response.".length))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "content_part.added",
      "refusal.delta",
      "refusal.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ]);
    expect(done).toBe(true);
    expect(last(events).output).toEqual([
      {
        type: "reasoning",
        id: "rs_1_0",
        status: "completed",
        summary: [{ type: "summary_text", text: "why" }],
        encrypted_content: "sbx1.fam.sealed",
      },
      {
        type: "message",
        id: "msg_1_1",
        status: "completed",
        role: "assistant",
        content: [
          { type: "output_text", text: "ab", annotations: [], logprobs: [] },
          { type: "refusal", refusal: "no" },
        ],
      },
      {
        type: "function_call",
        id: "fc_1_2",
        status: "completed",
        call_id: "call_1",
        name: "f",
        arguments: "{}",
      },
    ]);
  });

  it("keeps the order for any lawful answer, and means the same whole and in pieces", () => {
    fc.assert(
      fc.property(lawfulEvents, fc.integer({ min: 1, max: 50 }), (events, size) => {
        const stream = render(events, FULL);
        const reported = read(stream);
        expect(breachOfOrder(reported.events)).toBeNull();
        expect(reported.done).toBe(true);
        const expected = collectAnswer(events);
        const back = collectAnswer(parseWire(stream, size));
        expect({ ...back, blocks: untagged(back.blocks) }).toEqual(expected);
        const whole = renderAnswer(expected, contextOf(parse(FULL))).body;
        expect(whole).toEqual({
          ...last(reported.events),
          ...whole,
          output: last(reported.events).output,
        });
        const again = collectAnswer(
          responsesUpstream.parseAnswer(bytesOf(whole), generate(), TARGET),
        );
        expect({ ...again, blocks: untagged(again.blocks) }).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it.skipIf(specification === null)(
    "validates against Open Responses, event by event (needs ../shared)",
    () => {
      fc.assert(
        fc.property(lawfulEvents, (events) => {
          for (const more of [{}, FULL]) {
            for (const event of read(render(events, more)).events)
              expect(specification?.event(event)).toBeNull();
            const { body } = renderAnswer(collectAnswer(events), contextOf(parse(more)));
            expect(specification?.resource(body)).toBeNull();
          }
        }),
        { numRuns: 60 },
      );
    },
  );

  it("satisfies the official client's accumulator", async () => {
    const streams = fc.sample(lawfulEvents, { numRuns: 25, seed: 7 });
    for (const events of streams) {
      const { events: printed } = read(render(events, FULL));
      const lines = printed.map((event) => `${JSON.stringify(event)}\n`).join("");
      const stream = ResponseStream.fromReadableStream(new Blob([lines]).stream());
      const final = await stream.finalResponse();
      const { output } = last(printed);
      const types = (Array.isArray(output) ? output : []).filter(isJsonObject).map(typeOf);
      expect(final.output.map(({ type }) => type)).toEqual(types);
      expect(final.status).toBe(last(printed).status);
    }
  });

  it.each<[FinishReason, string, string | null]>([
    ["stop", "completed", null],
    ["stop_sequence", "completed", null],
    ["tool_calls", "completed", null],
    ["length", "incomplete", "max_output_tokens"],
    ["context_window", "incomplete", "max_output_tokens"],
    ["content_filter", "incomplete", "content_filter"],
    ["refusal", "incomplete", "content_filter"],
    ["pause", "incomplete", "other"],
    ["other", "incomplete", "other"],
  ])("the finish %s has the status %s and the reason %s", (reason, status, why) => {
    const events = said(...block(0, "text", "x"), ...block(1, "text", "y"), finish(reason));
    const response = last(read(render(events)).events);
    expect(response).toMatchObject({
      status,
      incomplete_details: why === null ? null : { reason: why },
    });
    // The cut item is the last one.
    expect(response.output).toMatchObject([{ status }]);
    expect(renderAnswer(collectAnswer(events), contextOf(parse())).body).toMatchObject({
      status,
      output: [{ status }],
      completed_at: status === "completed" ? 1_700_000_000 : null,
    });
  });

  it("a refusal as text is a completed answer", () => {
    const events = said(...block(0, "refusal", "no"), finish("refusal"));
    expect(last(read(render(events)).events)).toMatchObject({ status: "completed" });
  });

  it("marks only the last item as cut off", () => {
    const call: readonly InferenceEvent[] = [
      { type: "open", index: 0, block: { kind: "tool_call", id: "c", name: "f" } },
      { type: "arguments", index: 0, json: "{}" },
      { type: "close", index: 0 },
    ];
    const events = said(...call, ...block(1, "text", "x"), finish("length"));
    expect(last(read(render(events)).events).output).toMatchObject([
      { status: "completed" },
      { status: "incomplete" },
    ]);
  });

  it("echoes the request, with the documented defaults", () => {
    const response = last(read(render(said(finish("stop")), FULL)).events);
    expect(response).toMatchObject({
      instructions: "Be brief.",
      tools: [{ type: "function", name: "f", description: null, parameters: null, strict: null }],
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: false,
      text: {
        verbosity: "low",
        format: {
          type: "json_schema",
          name: "n",
          description: null,
          schema: { type: "object" },
          strict: false,
        },
      },
      reasoning: { effort: "low", summary: "auto" },
      max_tool_calls: 3,
      store: false,
      metadata: { a: "b" },
    });
    expect(last(read(render(said(finish("stop")))).events)).toMatchObject({
      text: { format: { type: "text" } },
      temperature: 1,
      tool_choice: "auto",
      reasoning: null,
      metadata: {},
      previous_response_id: null,
    });
  });

  it("puts a citation without a position after the text, in code points", () => {
    const citation = { url: "https://x.example", title: null, start: null, end: null };
    const events = said(
      { type: "open", index: 0, block: { kind: "text" } },
      { type: "text", index: 0, text: "a\u{1F600}b", logprobs: [] },
      { type: "citation", index: 0, citation },
      { type: "close", index: 0 },
      finish("stop"),
    );
    const annotation = {
      type: "url_citation",
      url: "https://x.example",
      title: "",
      start_index: 3,
      end_index: 3,
    };
    expect(last(read(render(events)).events).output).toMatchObject([
      { content: [{ annotations: [annotation] }] },
    ]);
    expect(renderAnswer(collectAnswer(events), contextOf(parse())).body.output).toMatchObject([
      { content: [{ annotations: [annotation] }] },
    ]);
  });

  it("prints usage only where both totals are known, and records dropped citations", () => {
    const usage = { input: 5, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
    const renderer = renderStream(contextOf(parse()));
    const uncited = { url: null, title: "t", start: 0, end: 1 };
    const events = said(
      { type: "open", index: 0, block: { kind: "text" } },
      { type: "citation", index: 0, citation: uncited },
      { type: "close", index: 0 },
      { type: "usage", usage },
      { type: "finish", reason: "stop_sequence", stopSequence: "END" },
    );
    const stream = textOf(events.flatMap((event) => renderer.push(event)));
    expect(last(read(stream).events).usage).toBeNull();
    expect(new Set(renderer.dropped)).toEqual(
      new Set(["citations_dropped", "usage_hidden", "stop_sequence_unnamed"]),
    );
    expect(new Set(renderAnswer(collectAnswer(events), contextOf(parse())).dropped)).toEqual(
      new Set(renderer.dropped),
    );
    const full = said({ type: "usage", usage: { ...usage, output: 2 } }, finish("stop"));
    expect(last(read(render(full)).events).usage).toEqual({
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 7,
    });
  });
});

describe("a stream that fails", () => {
  it("ends with response.failed, the partial items and [DONE], for a failure at every event", () => {
    fc.assert(
      fc.property(lawfulEvents, fc.nat(), (events, at) => {
        const renderer = renderStream(contextOf(parse(FULL)));
        const kept = events.slice(0, 1 + (at % (events.length - 1)));
        const begun = textOf(kept.flatMap((event) => renderer.push(event)));
        const { events: printed, done } = read(begun + textOf([renderer.fail(FAILURE)]));
        expect(done).toBe(true);
        expect(breachOfOrder(printed)).toBeNull();
        if (specification !== null) expect(specification.event(printed.at(-1) ?? {})).toBeNull();
        const response = last(printed);
        expect(response).toMatchObject({
          status: "failed",
          completed_at: null,
          error: { code: "server_error", message: "It broke. (request id req_1)" },
        });
        const added = printed.filter(({ type }) => type === "response.output_item.added").length;
        expect(response.output).toHaveLength(added);
      }),
      { numRuns: 100 },
    );
  });

  it("keeps the unfinished item, marked as incomplete", () => {
    const renderer = renderStream(contextOf(parse()));
    const begun = said(...block(0, "text", "ha").slice(0, 2)).flatMap((event) =>
      renderer.push(event),
    );
    expect(last(read(textOf([...begun, renderer.fail(FAILURE)])).events).output).toEqual([
      {
        type: "message",
        id: "msg_1_0",
        status: "incomplete",
        role: "assistant",
        content: [{ type: "output_text", text: "ha", annotations: [], logprobs: [] }],
      },
    ]);
  });

  it("is an error event before the first item", () => {
    const { events, done } = read(textOf([renderStream(contextOf(parse())).fail(FAILURE)]));
    expect(done).toBe(true);
    expect(events).toMatchObject([
      { type: "error", sequence_number: 0, code: "server_error", error: { code: "server_error" } },
    ]);
    if (specification !== null) expect(specification.event(events[0] ?? {})).toBeNull();
  });

  it.each([
    [
      { ...FAILURE, kind: "rate_limit", code: "upstream_rate_limited" } as const,
      "rate_limit_exceeded",
    ],
    [{ ...FAILURE, code: "context_length_exceeded" }, "context_length_exceeded"],
    [{ ...FAILURE, code: "upstream_exhausted" }, "server_error"],
  ])("%#: the error event has a code of the protocol", (error, code) => {
    const { events } = read(textOf([renderStream(contextOf(parse())).fail(error)]));
    expect(events[0]?.code).toBe(code);
  });
});
