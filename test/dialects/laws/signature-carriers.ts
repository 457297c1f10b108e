import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { messagesSurface } from "../../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface } from "../../../src/dialects/dialect.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";

/** One member in which answers of a surface's protocol carry signatures. */
export interface Carrier {
  readonly name: string;
  readonly surface: Surface;
  /** A first request. */
  readonly first: JsonObject;
  /** A provider's whole answer that carries the signature. */
  readonly answer: (signature: string) => JsonObject;
  /** The same as a stream's events: the name, where the protocol has names, and the data. */
  readonly events: (
    signature: string,
  ) => readonly (readonly [name: string | null, data: JsonObject | string])[];
  /** The answer as a client puts it together of a stream's events. */
  readonly joined: (events: readonly JsonObject[]) => JsonObject;
  /** The second request, made of the answer to the first one. */
  readonly next: (answer: JsonObject) => JsonObject;
}

const user = { role: "user", content: "hi" };

function messagesCarrier(
  name: string,
  block: (signature: string) => JsonObject,
  inDelta: boolean,
): Carrier {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m" };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const text = { type: "text", text: "hello" };
  return {
    name: `messages ${name}`,
    surface: messagesSurface,
    first: { model: "r", max_tokens: 9, messages: [user] },
    answer: (signature) => ({
      ...message,
      content: [block(signature), text],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage,
    }),
    events: (signature) => [
      ["message_start", { type: "message_start", message: { ...message, content: [], usage } }],
      [
        "content_block_start",
        { type: "content_block_start", index: 0, content_block: block(inDelta ? "" : signature) },
      ],
      ...(inDelta
        ? [
            [
              "content_block_delta",
              {
                type: "content_block_delta",
                index: 0,
                delta: { type: "signature_delta", signature },
              },
            ] as const,
          ]
        : []),
      ["content_block_stop", { type: "content_block_stop", index: 0 }],
      ["content_block_start", { type: "content_block_start", index: 1, content_block: text }],
      ["content_block_stop", { type: "content_block_stop", index: 1 }],
      ["message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" }, usage }],
      ["message_stop", { type: "message_stop" }],
    ],
    joined: (events) => {
      const content: JsonObject[] = [];
      for (const { content_block: begun, delta } of events) {
        if (isJsonObject(begun)) content.push(begun);
        const last = content.length - 1;
        const signature = isJsonObject(delta) ? delta.signature : undefined;
        if (signature !== undefined) content[last] = { ...content[last], signature };
      }
      return { content };
    },
    next: ({ content = null }) => ({
      model: "r",
      max_tokens: 9,
      messages: [user, { role: "assistant", content }, user],
    }),
  };
}

function responsesCarrier(name: string, item: (encrypted_content: string) => JsonObject): Carrier {
  const said = { type: "output_text", text: "hello", annotations: [], logprobs: [] };
  const message = {
    type: "message",
    id: "msg_1",
    status: "completed",
    role: "assistant",
    content: [said],
  };
  const resource = {
    id: "resp_1",
    object: "response",
    model: "m",
    error: null,
    incomplete_details: null,
  };
  const response = (signature: string): JsonObject => ({
    ...resource,
    status: "completed",
    output: [item(signature), message],
  });
  return {
    name: `responses ${name}`,
    surface: responsesSurface,
    first: { model: "r", input: "hi", include: ["reasoning.encrypted_content"] },
    answer: response,
    events: (signature) => {
      const started = { ...resource, status: "in_progress", output: [] };
      return [
        ["response.created", { type: "response.created", sequence_number: 0, response: started }],
        [
          "response.output_item.added",
          {
            type: "response.output_item.added",
            sequence_number: 1,
            output_index: 0,
            item: item(signature),
          },
        ],
        [
          "response.output_item.done",
          {
            type: "response.output_item.done",
            sequence_number: 2,
            output_index: 0,
            item: item(signature),
          },
        ],
        [
          "response.output_item.done",
          { type: "response.output_item.done", sequence_number: 3, output_index: 1, item: message },
        ],
        [
          "response.completed",
          { type: "response.completed", sequence_number: 4, response: response(signature) },
        ],
      ];
    },
    joined: (events) => {
      const items = events.flatMap(({ type, item: done }) =>
        type === "response.output_item.done" ? (done ?? []) : [],
      );
      const last = events.at(-1)?.response;
      const output = isJsonObject(last) ? last.output : null;
      // Clients read either; both have to be the same.
      if (JSON.stringify(items) !== JSON.stringify(output))
        throw new Error("items and resource differ");
      return { output: items };
    },
    next: ({ output }) => ({
      model: "r",
      input: [user, ...(Array.isArray(output) ? output : []), user],
    }),
  };
}

function chatCarrier(name: string, members: (signature: string) => JsonObject): Carrier {
  const chunk = (delta: JsonObject, finish_reason: string | null): JsonObject => ({
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  return {
    name: `chat ${name}`,
    surface: chatSurface,
    first: { model: "r", messages: [user] },
    answer: (signature) => ({
      id: "c",
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "hello", ...members(signature) },
          finish_reason: "stop",
        },
      ],
    }),
    events: (signature) => [
      [null, chunk({ role: "assistant", content: "" }, null)],
      [null, chunk(members(signature), null)],
      [null, chunk({ content: "hello" }, "stop")],
      [null, "[DONE]"],
    ],
    joined: (events) => {
      let message: JsonObject = {};
      for (const { choices } of events) {
        const choice = Array.isArray(choices) ? choices[0] : null;
        const delta = isJsonObject(choice) ? choice.delta : null;
        if (isJsonObject(delta)) message = { ...message, ...delta };
      }
      return { choices: [{ message }] };
    },
    next: ({ choices }) => {
      const choice = Array.isArray(choices) ? choices[0] : null;
      const message: JsonValue = (isJsonObject(choice) ? choice.message : null) ?? null;
      const isCall = isJsonObject(message) && Array.isArray(message.tool_calls);
      const result = { role: "tool", tool_call_id: "call_1", content: "sunny" };
      return { model: "r", messages: [user, message, ...(isCall ? [result] : [user])] };
    },
  };
}

const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };

/** Every member in which answers of any surface carry signatures. */
export const CARRIERS: readonly Carrier[] = [
  messagesCarrier(
    "thinking",
    (signature) => ({ type: "thinking", thinking: "t", signature }),
    true,
  ),
  messagesCarrier(
    "thinking, signed at once",
    (signature) => ({ type: "thinking", thinking: "t", signature }),
    false,
  ),
  messagesCarrier("redacted_thinking", (data) => ({ type: "redacted_thinking", data }), false),
  responsesCarrier("reasoning", (encrypted_content) => ({
    type: "reasoning",
    id: "rs_1",
    summary: [],
    encrypted_content,
  })),
  responsesCarrier("compaction", (encrypted_content) => ({
    type: "compaction",
    id: "cmp_1",
    encrypted_content,
  })),
  chatCarrier("reasoning.text", (signature) => ({
    reasoning_details: [{ type: "reasoning.text", text: "t", signature }],
  })),
  chatCarrier("reasoning.encrypted", (data) => ({
    reasoning_details: [{ type: "reasoning.encrypted", data }],
  })),
  chatCarrier("reasoning.encrypted with members of a vendor", (data) => ({
    reasoning_details: [{ type: "reasoning.encrypted", data, format: "vendor-v1", index: 0 }],
  })),
  chatCarrier("extra_content of a message", (thought_signature) => ({
    extra_content: { vendor: { thought_signature } },
  })),
  chatCarrier("extra_content of a call", (thought_signature) => ({
    tool_calls: [{ ...call, extra_content: { vendor: { thought_signature } } }],
  })),
];
