import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import type { Ending, Surface } from "../../../src/dialects/dialect.ts";
import type { GenerateDialect } from "../../../src/dialects/table.ts";
import { formatSseEvent } from "../../../src/dialects/sse.ts";
import {
  type ExchangePlan,
  planExchange,
  upstreamFor,
} from "../../../src/dialects/exchange-plan.ts";
import { encodeFrame } from "../bedrock-converse/wire.ts";
import { route } from "../../support/table.ts";
import { contextOf, DIALECT_NAMES, NO_EDITS, targetOf } from "./target.ts";
import { PROTOCOLS } from "./table.ts";
import { prepareTranslation } from "../../../src/dialects/translate-request.ts";

/** An answer as a provider gives it. `null` where the dialect cannot say such a thing. */
type Wire = { readonly whole: JsonValue; readonly stream: readonly Uint8Array[] } | null;

interface Wires {
  /** A tool call, which was not requested, and a proper end. */
  readonly call: Wire;
  /** Reasoning, and a proper end. */
  readonly thought: Wire;
  /** A text that is closed without a reason for its end. */
  readonly unfinished: Wire;
}

const encoder = new TextEncoder();
const data = (value: JsonValue): Uint8Array => formatSseEvent(JSON.stringify(value));
const DONE = formatSseEvent("[DONE]");
const typed = (event: JsonObject & { readonly type: string }): Uint8Array =>
  formatSseEvent(JSON.stringify(event), event.type);

function chat(message: JsonObject, finish: string | null): Wire {
  return {
    whole: { id: "", choices: [{ index: 0, message, finish_reason: finish }] },
    stream: [
      data({ id: "", choices: [{ index: 0, delta: message, finish_reason: finish }] }),
      DONE,
    ],
  };
}

function completion(text: string, finish: string | null): Wire {
  const choices = [{ index: 0, text, finish_reason: finish }];
  return { whole: { choices }, stream: [data({ choices }), DONE] };
}

function responses(item: JsonObject, status: string): Wire {
  const response = { model: "m", status, output: [item] };
  const end = status === "completed" ? [typed({ type: "response.completed", response })] : [];
  return {
    whole: response,
    stream: [
      typed({
        type: "response.created",
        response: { ...response, status: "in_progress", output: [] },
      }),
      typed({ type: "response.output_item.added", output_index: 0, item }),
      typed({ type: "response.output_item.done", output_index: 0, item }),
      ...end,
      DONE,
    ],
  };
}

function messages(block: JsonObject, reason: string | null): Wire {
  return {
    whole: { type: "message", model: "m", content: [block], stop_reason: reason, usage: {} },
    stream: [
      typed({ type: "message_start", message: { model: "m", content: [], stop_reason: null } }),
      typed({ type: "content_block_start", index: 0, content_block: block }),
      typed({ type: "content_block_stop", index: 0 }),
      typed({ type: "message_delta", delta: { stop_reason: reason } }),
      typed({ type: "message_stop" }),
    ],
  };
}

function gemini(part: JsonObject, reason: string | null): Wire {
  const piece = {
    candidates: [
      { content: { parts: [part] }, ...(reason === null ? {} : { finishReason: reason }) },
    ],
  };
  return { whole: piece, stream: [data(piece)] };
}

function converse(block: JsonObject, reason: string | null): Wire {
  const frame = (type: string, payload: JsonObject): Uint8Array =>
    encodeFrame({ ":message-type": "event", ":event-type": type }, payload);
  const stop = reason === null ? {} : { stopReason: reason };
  const { toolUse } = block;
  const begin =
    toolUse === undefined
      ? []
      : [frame("contentBlockStart", { contentBlockIndex: 0, start: { toolUse } })];
  const delta =
    toolUse === undefined
      ? [frame("contentBlockDelta", { contentBlockIndex: 0, delta: block })]
      : [];
  const said =
    "reasoningContent" in block
      ? { reasoningContent: { reasoningText: block.reasoningContent } }
      : block;
  return {
    whole: { output: { message: { role: "assistant", content: [said] } }, ...stop },
    stream: [
      ...begin,
      ...delta,
      frame("contentBlockStop", { contentBlockIndex: 0 }),
      frame("messageStop", stop),
    ],
  };
}

function cohere(said: JsonObject, events: readonly JsonObject[], reason: string | null): Wire {
  const end = reason === null ? {} : { finish_reason: reason };
  return {
    whole: { message: { role: "assistant", ...said }, ...end },
    stream: [
      data({ type: "message-start" }),
      ...events.map((event) => data({ index: 0, ...event })),
      data({ type: "message-end", delta: end }),
    ],
  };
}

const called = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const content = (part: JsonObject): readonly JsonObject[] => [
  { type: "content-start", delta: { message: { content: part } } },
  { type: "content-end" },
];

/** A dialect without a row does not compile. */
const WIRES: Readonly<Record<GenerateDialect, Wires>> = {
  "openai-chat": {
    call: chat(
      { tool_calls: [{ index: 0, type: "function", function: called.function }] },
      "tool_calls",
    ),
    thought: chat({ reasoning_content: "hm" }, "stop"),
    unfinished: chat({ content: "a" }, null),
  },
  "openai-completions": { call: null, thought: null, unfinished: completion("a", null) },
  "openai-responses": {
    call: responses(
      { type: "function_call", id: "fc", call_id: "c1", name: "f", arguments: "{}" },
      "completed",
    ),
    thought: responses(
      {
        type: "reasoning",
        id: "rs",
        summary: [],
        content: [{ type: "reasoning_text", text: "hm" }],
      },
      "completed",
    ),
    unfinished: responses(
      {
        type: "message",
        id: "m",
        role: "assistant",
        content: [{ type: "output_text", text: "a" }],
      },
      "in_progress",
    ),
  },
  "anthropic-messages": {
    call: messages({ type: "tool_use", id: "c1", name: "f", input: {} }, "tool_use"),
    thought: messages({ type: "thinking", thinking: "hm", signature: "" }, "end_turn"),
    unfinished: messages({ type: "text", text: "a" }, null),
  },
  gemini: {
    call: gemini({ functionCall: { name: "f", args: {} } }, "STOP"),
    thought: gemini({ text: "hm", thought: true }, "STOP"),
    unfinished: gemini({ text: "a" }, null),
  },
  "bedrock-converse": {
    call: converse({ toolUse: { toolUseId: "c1", name: "f", input: {} } }, "tool_use"),
    thought: converse({ reasoningContent: { text: "hm" } }, "end_turn"),
    unfinished: converse({ text: "a" }, null),
  },
  "cohere-chat": {
    call: cohere(
      { tool_calls: [called] },
      [
        { type: "tool-call-start", delta: { message: { tool_calls: called } } },
        { type: "tool-call-end" },
      ],
      "TOOL_CALL",
    ),
    thought: cohere(
      { content: [{ type: "thinking", thinking: "hm" }] },
      content({ type: "thinking", thinking: "hm" }),
      "COMPLETE",
    ),
    unfinished: cohere(
      { content: [{ type: "text", text: "a" }] },
      content({ type: "text", text: "a" }),
      null,
    ),
  },
};

/** Dialects whose providers may leave a call without an id; the rows above do. */
const NAMELESS_CALLS: readonly GenerateDialect[] = ["openai-chat", "gemini"];

const PAIRS = PROTOCOLS.flatMap((to) =>
  DIALECT_NAMES.filter((from) => from !== to.name).map((from) => ({
    from,
    to,
    names: `${from} on ${to.name}`,
  })),
);

/**
 * The way to an endpoint of the dialect for the surface's smallest request, which offers no tools.
 */
function exchangeFrom(
  from: GenerateDialect,
  surface: Surface,
  stream: boolean,
  answerId = "law",
): ExchangePlan {
  const { spoken } = PROTOCOLS.find(({ spoken: known }) => known.surface === surface) ?? {};
  if (spoken === undefined) throw new Error("no such surface");
  const request = spoken.read({ ...spoken.body, stream });
  if ("code" in request) throw new Error(request.message);
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const row = route("r", "e", []);
  const target = targetOf(from);
  const prepared = prepareTranslation(
    canonical,
    row,
    request.shape,
    target,
    upstreamFor("generate", from),
  );
  if ("code" in prepared) throw new Error(prepared.message);
  const context = { ...contextOf(request), answerId };
  return planExchange(
    { surface, request, prepared, route: row, edits: NO_EDITS, context },
    target,
    upstreamFor("generate", from),
  );
}

/** How the answer ends on the surface, whole and streamed, and what the client gets of it. */
function endings(
  from: GenerateDialect,
  surface: Surface,
  wire: NonNullable<Wire>,
  answerId?: string,
) {
  const whole = exchangeFrom(from, surface, false, answerId).answer(
    encoder.encode(JSON.stringify(wire.whole)),
  );
  const stream = exchangeFrom(from, surface, true, answerId).stream();
  const sent = wire.stream.flatMap((bytes) => stream.push(bytes));
  const { ending, events } = stream.endStream();
  const texts = [whole.bytes, Buffer.concat([...sent, ...events])].map((bytes) =>
    Buffer.from(bytes).toString(),
  );
  const described: readonly (readonly [Ending, string])[] = [
    [whole.ending, texts[0] ?? ""],
    [ending, texts[1] ?? ""],
  ];
  return described;
}

describe.each(PAIRS)("endings of $names", ({ from, to }) => {
  const { surface } = to.spoken;
  const wires = WIRES[from];

  it("an answer without remaining output is a failure", () => {
    for (const [said, wire] of [
      ["f", wires.call],
      ["hm", wires.thought],
    ] as const) {
      if (wire === null) continue;
      for (const [ending, text] of endings(from, surface, wire)) {
        if (text.includes(`"${said}"`)) expect(ending).toMatchObject({ failure: null });
        else
          expect(ending).toMatchObject({
            failure: { code: "unexpected_output_item" },
            finish: null,
          });
      }
    }
  });

  it("an answer that is closed without a finish reason is a failure", () => {
    if (wires.unfinished === null) return;
    for (const [ending, text] of endings(from, surface, wires.unfinished)) {
      expect(ending).toMatchObject({ failure: { status: null }, finish: null });
      expect(text).not.toMatch(/response\.completed|"finish_reason":"|message_stop/);
    }
  });

  it("calls of two answers have different ids", () => {
    if (
      !NAMELESS_CALLS.includes(from) ||
      surface.translation.omittedBlocks?.includes("tool_call") === true
    )
      return;
    const { call } = wires;
    if (call === null) return;
    const ids = ["one", "two"].flatMap((answerId) =>
      endings(from, surface, call, answerId).map(
        ([, text]) => /call_(?:one|two)_\d/.exec(text)?.[0],
      ),
    );
    expect(ids).toEqual(["call_one_0", "call_one_0", "call_two_0", "call_two_0"]);
  });
});
