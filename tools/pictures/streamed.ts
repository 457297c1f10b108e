// A short stream of the Messages protocol through the router's own translation into chat
// completions.
import { targetOf } from "../../test/dialects/laws/target.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { TranslatedStream } from "../../src/dialects/translated-stream.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

export interface Translated {
  readonly received: readonly string[];
  readonly sent: readonly string[];
}

const EVENTS = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      role: "assistant",
      content: [],
      model: "claude",
      usage: { input_tokens: 12, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Good " } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "morning." } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 5 },
  },
  { type: "message_stop" },
];

/**
 * Each event of the provider with the lines that the client gets for it. Ids, times and empty
 * members are omitted.
 */
export function messagesUpstream(): readonly Translated[] {
  const body = {
    model: "chat",
    stream: true,
    messages: [{ role: "user", content: "x" }],
    stream_options: { include_usage: true },
  };
  const request = chatSurface.parse(body, 100, { version: null, betas: [] });
  if ("code" in request) throw new Error(request.message);
  const canonical = chatSurface.translation.toCanon(request, "reject", {
    maxOutputTokens: null,
    stripFields: [],
  });
  if ("code" in canonical) throw new Error(canonical.message);
  const context = {
    request,
    requestId: "r",
    answerId: "1",
    model: "chat",
    signatureFamily: null,
    now: () => 0,
  };
  const parser = upstreamFor("generate", "anthropic-messages").parseStream(
    canonical.request,
    targetOf("anthropic-messages"),
  );
  const stream = new TranslatedStream(parser, chatSurface.translation.renderStream(context));
  const decoder = new TextDecoder();
  const read = (chunks: readonly Uint8Array[]): readonly string[] =>
    chunks
      .flatMap((chunk) => decoder.decode(chunk).split("\n"))
      .filter((line) => line !== "")
      .map(withoutEnvelope);
  const steps = EVENTS.map((event) => ({
    received: [
      `event: ${event.type}`,
      withoutEnvelope(`data: ${JSON.stringify(withoutType(event))}`),
    ],
    sent: read(
      stream.push(
        new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
      ),
    ),
  }));
  const { ending, events } = stream.endStream();
  if (ending.failure !== null) throw new Error(ending.failure.kind);
  return [...steps, { received: [], sent: read(events) }].filter(
    ({ received, sent }) => received.length + sent.length > 0,
  );
}

function withoutType(event: object): object {
  return Object.fromEntries(Object.entries(event).filter(([name]) => name !== "type"));
}

function withoutEnvelope(line: string): string {
  return line
    .replaceAll(
      /"(?:id|object|created|model|system_fingerprint|provider)":(?:"[^"]*"|\d+|null),?/g,
      "",
    )
    .replaceAll(/,?"(?:logprobs|stop_sequence)":null|"index":0,?/g, "");
}
