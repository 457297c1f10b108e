import { EventStreamCodec } from "@smithy/eventstream-codec";
import type { DialectName } from "../src/dialects/table.ts";

const encoder = new TextEncoder();
const TEXT = "signal block ";

function line(value: object): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(value)}\n\n`);
}

function cohere(chunks: number): readonly Uint8Array[] {
  const content = (text: string) => ({
    type: "content-delta",
    index: 0,
    delta: { message: { content: { text } } },
  });
  return [
    { type: "message-start", id: "1", delta: { message: { role: "assistant", content: [] } } },
    {
      type: "content-start",
      index: 0,
      delta: { message: { content: { type: "text", text: "" } } },
    },
    ...Array.from({ length: chunks }, () => content(TEXT)),
    { type: "content-end", index: 0 },
    {
      type: "message-end",
      delta: {
        finish_reason: "COMPLETE",
        usage: { tokens: { input_tokens: 200, output_tokens: 100 } },
      },
    },
  ].map((value) => line(value));
}

function gemini(chunks: number): readonly Uint8Array[] {
  return Array.from({ length: chunks }, (_, index) =>
    line({
      candidates: [
        {
          content: { role: "model", parts: [{ text: TEXT }] },
          index: 0,
          ...(index === chunks - 1 ? { finishReason: "STOP" } : {}),
        },
      ],
      usageMetadata: {
        promptTokenCount: 200,
        candidatesTokenCount: index + 1,
        totalTokenCount: 201 + index,
      },
      modelVersion: "upstream-model",
      responseId: "1",
    }),
  );
}

function converse(chunks: number): readonly Uint8Array[] {
  const codec = new EventStreamCodec(
    (bytes) => new TextDecoder().decode(typeof bytes === "string" ? encoder.encode(bytes) : bytes),
    (text) => encoder.encode(text),
  );
  const frame = (type: string, payload: object): Uint8Array =>
    codec.encode({
      headers: {
        ":event-type": { type: "string", value: type },
        ":content-type": { type: "string", value: "application/json" },
        ":message-type": { type: "string", value: "event" },
      },
      body: encoder.encode(JSON.stringify(payload)),
    });
  return [
    frame("messageStart", { role: "assistant" }),
    ...Array.from({ length: chunks }, () =>
      frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: TEXT } }),
    ),
    frame("contentBlockStop", { contentBlockIndex: 0 }),
    frame("messageStop", { stopReason: "end_turn" }),
    frame("metadata", {
      usage: { inputTokens: 200, outputTokens: 100, totalTokens: 300 },
      metrics: { latencyMs: 1 },
    }),
  ];
}

/**
 * Streams of protocols that no surface of ours speaks, a piece of text an event, as their providers
 * send them.
 */
export const UPSTREAM_STREAMS: Readonly<
  Partial<Record<DialectName, (chunks: number) => readonly Uint8Array[]>>
> = {
  "cohere-chat": cohere,
  gemini,
  "bedrock-converse": converse,
};
