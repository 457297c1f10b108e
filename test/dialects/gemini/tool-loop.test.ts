import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { messagesSurface } from "../../../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerContext, Surface } from "../../../src/dialects/dialect.ts";
import { dialect } from "../../../src/dialects/gemini/dialect.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import type { MockServer } from "../../../mock/server.ts";
import { mockForTest } from "../../mock/start.ts";
import { NO_EDITS, NO_HEADERS } from "../laws/target.ts";
import { targetWith } from "./target.ts";

const { generate: geminiUpstream } = dialect;

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const question = { role: "user", content: "What is the weather?" };

/** A client of each protocol that sends back what it received. */
interface Client {
  readonly surface: Surface;
  readonly first: JsonObject;
  /** The next request: the answer, and a result for each of its calls. */
  readonly second: (answer: JsonObject) => JsonObject;
}

const CLIENTS: Readonly<Record<string, Client>> = {
  chat: {
    surface: chatSurface,
    first: {
      model: "r",
      messages: [question],
      tools: [{ type: "function", function: { name: "look_up", parameters } }],
      reasoning_effort: "low",
    },
    second({ choices }) {
      const [choice] = listOf(choices);
      const message = objectOf(choice?.message);
      const results = listOf(message.tool_calls).map(({ id }) => ({
        role: "tool",
        tool_call_id: id,
        content: "sun",
      }));
      return { ...this.first, messages: [question, message, ...results] };
    },
  },
  responses: {
    surface: responsesSurface,
    first: {
      model: "r",
      input: [question],
      tools: [{ type: "function", name: "look_up", parameters, strict: false }],
      reasoning: { effort: "low", summary: "auto" },
      include: ["reasoning.encrypted_content"],
    },
    second({ output }) {
      const items = listOf(output);
      const results = items
        .filter(({ type }) => type === "function_call")
        .map((item) => ({ type: "function_call_output", call_id: item.call_id, output: "sun" }));
      return { ...this.first, input: [question, ...items, ...results] };
    },
  },
  messages: {
    surface: messagesSurface,
    first: {
      model: "r",
      max_tokens: 1_000,
      messages: [question],
      tools: [{ name: "look_up", input_schema: parameters }],
      thinking: { type: "adaptive" },
    },
    second({ content }) {
      const blocks = listOf(content);
      const results = blocks
        .filter(({ type }) => type === "tool_use")
        .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "sun" }));
      return {
        ...this.first,
        messages: [
          question,
          { role: "assistant", content: blocks },
          { role: "user", content: results },
        ],
      };
    },
  },
};

function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error("no message");
  return value;
}

/**
 * One request through the surface and the dialect to the simulated provider, and its answer back.
 */
async function ask(
  server: MockServer,
  surface: Surface,
  body: JsonObject,
  upstreamModel: string,
  stream: boolean,
) {
  const target = targetWith({}, {}, { upstreamModel });
  const request = surface.parse({ ...body, stream }, 100, NO_HEADERS);
  if ("code" in request) throw new Error(`${request.code} ${request.param}`);
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(`${canonical.code} ${canonical.param}`);
  const formatted = geminiUpstream.format(canonical.request, target);
  if ("code" in formatted) throw new Error(formatted.message);
  const response = await fetch(`${server.url}/v1beta${formatted.path}`, {
    method: "POST",
    body: JSON.stringify(formatted.body),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(new TextDecoder().decode(bytes));
  const parser = geminiUpstream.parseStream(canonical.request, target);
  const events: readonly InferenceEvent[] = stream
    ? [...parser.push(bytes), ...parser.endAnswer()]
    : geminiUpstream.parseAnswer(bytes, canonical.request, target);
  const answer = collectAnswer(events);
  const context: AnswerContext = {
    request,
    requestId: "req_1",
    answerId: "1",
    model: "m",
    signatureFamily: target.model.signatureFamily,
    now: () => 0,
  };
  return {
    answer,
    formatted,
    body: JSON.parse(JSON.stringify(surface.translation.renderAnswer(answer, context).body)),
  };
}

/**
 * The second round is answered only where every signature stands on the part that it was made for.
 */
describe.each(Object.entries(CLIENTS))("a tool loop of a %s client", (_name, client) => {
  it.each([false, true])(
    "brings signatures back to their calls and texts (stream: %s)",
    async (stream) => {
      const server = await mockForTest();
      const model = "gemini-3-x+tool-calls=2+times=1+reasoning";
      const first = await ask(server, client.surface, client.first, model, stream);
      expect(first.answer.failure).toBeNull();
      expect(first.answer.finish?.reason).toBe("tool_calls");
      expect(first.answer.blocks.map(({ kind }) => kind)).toEqual([
        "reasoning",
        "reasoning",
        "tool_call",
        "tool_call",
      ]);
      const second = await ask(server, client.surface, client.second(first.body), model, stream);
      expect(second.answer.finish?.reason).toBe("stop");
      expect(second.formatted.dropped).not.toContain("signature_placeholder");
      const sent = JSON.stringify(second.formatted.body);
      expect(sent.match(/"thoughtSignature"/g)).toHaveLength(1);
      expect(sent.match(/"functionResponse"/g)).toHaveLength(2);
    },
  );

  it("continues with a placeholder where the client has lost the signature, and records it", async () => {
    const server = await mockForTest();
    const model = "gemini-3-x+times=1";
    const first = await ask(server, client.surface, client.first, model, false);
    const history = JSON.stringify(client.second(first.body));
    const forgetful: JsonObject = JSON.parse(history, (name, value) =>
      Array.isArray(value)
        ? name === "reasoning_details"
          ? undefined
          : value.filter((item) => item?.type !== "reasoning" && item?.type !== "thinking")
        : value,
    );
    const second = await ask(server, client.surface, forgetful, model, false);
    expect(second.answer.finish?.reason).toBe("stop");
    expect(second.formatted.dropped).toContain("signature_placeholder");
  });
});
