import OpenAI, { BadRequestError, NotFoundError, PermissionDeniedError } from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.ts";

let test: TestServer;
let inference: string;

beforeAll(async () => {
  test = await startTestServer((routes) =>
    routes.replace("eu-residency: enforce", "tool-approval: enforce, eu-residency: enforce"),
  );
  inference = await test.key("demo", ["inference", "catalogue:read"]);
});

/** The official client, counting what it really sends. */
function client(apiKey: string): { readonly openai: OpenAI; readonly sent: string[] } {
  const sent: string[] = [];
  const openai = new OpenAI({
    apiKey,
    baseURL: `${test.server.url}/v1`,
    fetch: (input, init) => {
      sent.push(input instanceof Request ? input.url : input.toString());
      return fetch(input, init);
    },
  });
  return { openai, sent };
}

const messages = [{ role: "user" as const, content: "Hello" }];
const weather = {
  type: "function" as const,
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

describe("the official openai client", () => {
  it("chats, and shows the request id", async () => {
    const { openai } = client(inference);
    const {
      data,
      request_id: requestId,
      response,
    } = await openai.chat.completions.create({ model: "chat-small", messages }).withResponse();
    expect(data.choices[0]?.message.content).toMatch(/\w/);
    expect(data.usage?.total_tokens).toBeGreaterThan(0);
    expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
    expect(response.headers.get("x-signalbox-simulated")).toBe("true");
  });

  it("streams through its strict helper, with usage on request", async () => {
    const { openai } = client(inference);
    const stream = openai.chat.completions.stream({
      model: "chat-small",
      messages,
      stream_options: { include_usage: true },
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(text);
    expect(text).not.toBe("");
    expect(final.choices[0]?.finish_reason).toBe("stop");
    expect((await stream.totalUsage()).total_tokens).toBeGreaterThan(0);
  });

  it("gets no chunk without choices when it did not request usage", async () => {
    const { openai } = client(inference);
    const stream = await openai.chat.completions.create({
      model: "chat-small",
      messages,
      stream: true,
    });
    for await (const chunk of stream) expect(chunk.choices.length).toBeGreaterThan(0);
  });

  it("calls tools over two turns", async () => {
    const { openai } = client(inference);
    const first = await openai.chat.completions.create({
      model: "chat-small",
      messages,
      tools: [weather],
      tool_choice: "required",
    });
    const call = first.choices[0]?.message.tool_calls?.[0];
    if (call?.type !== "function") throw new Error("no function call");
    expect(JSON.parse(call.function.arguments)).toHaveProperty("city");
    const assistant = first.choices[0]?.message;
    if (assistant === undefined) throw new Error("no message");
    const second = await openai.chat.completions.create({
      model: "chat-small",
      messages: [...messages, assistant, { role: "tool", tool_call_id: call.id, content: "rain" }],
      tools: [weather],
    });
    expect(second.choices[0]?.finish_reason).toBe("stop");
    expect(second.choices[0]?.message.content).toMatch(/\w/);
  });

  it("streams tool calls", async () => {
    const { openai } = client(inference);
    const stream = openai.chat.completions.stream({
      model: "chat-small",
      messages,
      tools: [weather],
      tool_choice: "required",
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe("tool_calls");
    expect(final.choices[0]?.message.tool_calls?.[0]?.type).toBe("function");
  });

  it("gets structured output", async () => {
    const { openai } = client(inference);
    const schema = {
      type: "object",
      properties: { answer: { type: "integer" } },
      required: ["answer"],
      additionalProperties: false,
    };
    const made = await openai.chat.completions.create({
      model: "chat-small",
      messages,
      response_format: { type: "json_schema", json_schema: { name: "a", strict: true, schema } },
    });
    const value: { answer: unknown } = JSON.parse(made.choices[0]?.message.content ?? "");
    expect(Number.isInteger(value.answer)).toBe(true);
  });

  it("lists models", async () => {
    const { openai } = client(inference);
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toEqual([
      "chat-large",
      "chat-large-eu",
      "chat-small",
      "chat-small-eu",
      "claude-sonnet-4-6",
      "embed-small",
      "embed-small-eu",
      "gpt-5",
      "large-any",
      "moderation",
      "rerank",
    ]);
    expect((await openai.models.retrieve("chat-small-eu")).id).toBe("chat-small-eu");
    await expect(openai.models.retrieve("chat-secret")).rejects.toBeInstanceOf(NotFoundError);
  });

  it("is denied by a policy once: PermissionDeniedError, no retry, everything in the message", async () => {
    const { openai, sent } = client(await test.key("acme-prod", ["inference"]));
    const error: unknown = await openai.chat.completions
      .create({ model: "chat-small-eu", messages, tools: [weather] })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof PermissionDeniedError)) throw new Error("was not denied");
    expect(sent).toHaveLength(1);
    expect(error).toMatchObject({ status: 403, type: "policy_denied", code: "TOOLS_NOT_APPROVED" });
    expect(error.message).toMatch(/tool-approval@r1.*tools_labelled.*TOOLS_NOT_APPROVED.*req_/);
    expect(error.requestID).toMatch(/^req_/);
    expect(error.error).toMatchObject({
      policy: { id: "tool-approval", revision: "r1", mode: "enforce" },
      failed_constraint: "tools_labelled",
    });
  });

  it("is denied by an approval once", async () => {
    const { openai, sent } = client(await test.key("acme-prod", ["inference"]));
    const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AA==" } };
    const request = openai.chat.completions.create({
      model: "chat-small-eu",
      messages: [{ role: "user", content: [image] }],
    });
    await expect(request).rejects.toMatchObject({ status: 403, code: "CAPABILITY_NOT_APPROVED" });
    expect(sent).toHaveLength(1);
  });

  it("gets a caller's error after one request, with the name of the member", async () => {
    const { openai, sent } = client(inference);
    const request = openai.chat.completions.create({
      model: "chat-small",
      messages,
      temperature: 9,
    });
    await expect(request).rejects.toBeInstanceOf(BadRequestError);
    await expect(request).rejects.toMatchObject({ param: "temperature" });
    expect(sent).toHaveLength(1);
  });

  it("gets an error out of a stream that was cut, never a short answer", async () => {
    const { openai } = client(inference);
    const cut = await startTestServer((routes) =>
      routes.replaceAll(
        "upstream_model: gpt-5-mini",
        "upstream_model: gpt-5-mini+cut=after-4+chunk-delay=20ms",
      ),
    );
    const key = await cut.key("demo", ["inference"]);
    const broken = openai.withOptions({
      apiKey: key,
      baseURL: `${cut.server.url}/v1`,
      maxRetries: 0,
    });
    const stream = await broken.chat.completions.create({
      model: "chat-small",
      messages,
      stream: true,
      provider: { only: ["openai-us"] },
    } as OpenAI.ChatCompletionCreateParamsStreaming);
    let finish: string | null = null;
    const read = async (): Promise<void> => {
      for await (const chunk of stream) finish = chunk.choices[0]?.finish_reason ?? finish;
    };
    await expect(read()).rejects.toMatchObject({ code: expect.stringMatching(/^upstream_/) });
    expect(finish).toBeNull();
  });
});
