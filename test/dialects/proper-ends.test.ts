import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { UpstreamFailure } from "../../src/canon/failure.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import { readUsage as readChatUsage } from "../../src/dialects/openai-chat/read-answer.ts";
import { readUsage as readMessagesUsage } from "../../src/dialects/anthropic-messages/read-answer.ts";
import { readUsage as readConverseUsage } from "../../src/dialects/bedrock-converse/read-answer.ts";
import { completionsSurface } from "../../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { formatSseEvent } from "../../src/dialects/sse.ts";
import { planExchange, upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { route } from "../support/table.ts";
import {
  body as messagesBody,
  contextOf as messagesContext,
  frame,
  read as readMessages,
} from "./anthropic-messages/target.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "./laws/target.ts";
import { canon } from "./openai-chat/canon.ts";
import { prepareTranslation } from "../../src/dialects/translate-request.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");
const responsesUpstream = upstreamFor("generate", "openai-responses");

const encoder = new TextEncoder();

describe("a responses stream with a last event that contradicts its resource", () => {
  const ended = (type: string, status: string | null): Uint8Array => {
    const response = { model: "m", output: [], ...(status === null ? {} : { status }) };
    return formatSseEvent(JSON.stringify({ type, response }), type);
  };

  function failures(bytes: Uint8Array): readonly (UpstreamFailure["kind"] | null)[] {
    const request = responsesSurface.parse(
      { model: "r", input: "x", stream: true },
      10,
      NO_HEADERS,
    );
    if ("code" in request) throw new Error(request.message);
    const observer = responsesSurface.relay.observe(contextOf(request));
    observer.push(bytes);
    const parser = responsesUpstream.parseStream(canon(), targetOf("openai-responses"));
    const last = [...parser.push(bytes), ...parser.endAnswer()].at(-1);
    return [
      observer.endStream().ending.failure?.kind ?? null,
      last?.type === "failure" ? last.failure.kind : null,
    ];
  }

  it.each([
    ["response.completed", "in_progress", "malformed"],
    ["response.completed", "queued", "malformed"],
    ["response.completed", "incomplete", "malformed"],
    ["response.completed", "novel", "malformed"],
    ["response.incomplete", "completed", "malformed"],
    ["response.completed", "failed", "error_frame"],
    ["response.completed", "cancelled", "error_frame"],
    ["response.failed", "completed", "error_frame"],
    ["response.completed", "completed", null],
    ["response.completed", null, null],
  ] as const)("%s with the status %s has the failure %s", (type, status, kind) => {
    expect(failures(ended(type, status))).toEqual([kind, kind]);
  });
});

describe("a relayed messages stream that stops without a reason", () => {
  const beginning = frame({
    type: "message_start",
    message: { id: "m", content: [], stop_reason: null },
  });
  const stop = frame({ type: "message_stop" });

  function ending(more: JsonObject, ...frames: readonly Uint8Array[]) {
    const observer = messagesSurface.relay.observe(
      messagesContext(readMessages(messagesBody(more))),
    );
    for (const one of frames) observer.push(one);
    return observer.endStream().ending;
  }

  it("is malformed, as a whole answer without a reason is", () => {
    expect(ending({}, beginning, stop).failure?.kind).toBe("malformed");
    const changed = frame({ type: "message_delta", delta: { stop_reason: "end_turn" } });
    expect(ending({}, beginning, changed, stop)).toMatchObject({ failure: null, finish: "stop" });
  });

  it("is a complete answer where nothing was requested", () => {
    expect(ending({ max_tokens: 0 }, beginning, stop)).toMatchObject({
      failure: null,
      finish: null,
    });
    const whole = encoder.encode(
      JSON.stringify({ type: "message", content: [], stop_reason: null }),
    );
    const { relay } = messagesSurface;
    const nothing = messagesContext(readMessages(messagesBody({ max_tokens: 0 })));
    expect(relay.readAnswer(whole, nothing).ending.failure).toBeNull();
    expect(relay.readAnswer(whole, messagesContext()).ending.failure?.kind).toBe("malformed");
  });
});

describe("tool calls in the answer to a prompt", () => {
  const request = completionsSurface.parse({ model: "r", prompt: "x" }, 10, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  const canonical = completionsSurface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const target = targetOf("openai-chat");
  const row = route("r", "e", []);
  const prepared = prepareTranslation(canonical, row, request.shape, target, chatUpstream);
  if ("code" in prepared) throw new Error(prepared.message);
  const context = contextOf(request);
  const options = {
    surface: completionsSurface,
    request,
    prepared,
    route: row,
    edits: NO_EDITS,
    context,
  };
  const exchange = planExchange(options, target, chatUpstream);
  const call = { index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const failure = {
    kind: "malformed",
    status: null,
    retryAfter: null,
    code: "unexpected_output_item",
  };

  it("are a failure and no end of a text, streamed", () => {
    const stream = exchange.stream();
    const delta = {
      choices: [
        { index: 0, delta: { content: "a", tool_calls: [call] }, finish_reason: "tool_calls" },
      ],
    };
    const sent = stream.push(encoder.encode(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`));
    const { ending, events } = stream.endStream();
    expect(ending).toMatchObject({ failure, finish: null });
    expect(Buffer.concat([...sent, ...events]).toString()).not.toMatch(
      /"finish_reason":"|\[DONE\]/,
    );
  });

  it("are a failure and no end of a text, whole", () => {
    const message = { role: "assistant", content: "a", tool_calls: [call] };
    const answer = { choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    expect(exchange.answer(encoder.encode(JSON.stringify(answer))).ending).toMatchObject({
      failure,
      finish: null,
    });
  });
});

describe("counts of tokens", () => {
  it.each([-1, 0.5, 2 ** 53, 1e300, "7", null])("%j is read as unknown", (count) => {
    expect(
      readChatUsage({ usage: { prompt_tokens: count, completion_tokens: 1 } })?.input,
    ).toBeNull();
    expect(readConverseUsage({ inputTokens: count })?.input).toBeNull();
    const usage = { input_tokens: count, output_tokens: 1 };
    expect(readMessagesUsage(usage)).toMatchObject({ input: null, output: 1 });
  });
});
