import type OpenAI from "openai";
import { BadRequestError } from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openSession, thrownBy } from "./callers/caller.ts";
import { openaiClient } from "./callers/openai.ts";
import {
  CONVERSING,
  STARTING,
  startFixture,
  variantOf,
  type Fixture,
  type Route,
} from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

const weather: OpenAI.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const time: OpenAI.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "time",
    parameters: { type: "object", properties: {}, additionalProperties: false },
  },
};
const question: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How is the weather?" },
];
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/**
 * Refusal, text and finish reason of an answer that declines. The messages protocol has a reason
 * for it and no text.
 */
const REFUSED: Readonly<Partial<Record<Route, readonly unknown[]>>> = {
  chat: ["This is a simulated refusal.", "", "stop"],
  responses: ["This is a simulated refusal.", "", "content_filter"],
  messages: [null, "", "content_filter"],
};

/** Answers every call of an assistant's turn. */
function answered(turn: OpenAI.ChatCompletionMessage): OpenAI.ChatCompletionMessageParam[] {
  const results = (turn.tool_calls ?? []).map((call) => ({
    role: "tool" as const,
    tool_call_id: call.id,
    content: `result of ${call.type === "function" ? call.function.name : call.custom.name}`,
  }));
  return [turn, ...results];
}

function turnOf(completion: OpenAI.ChatCompletion): OpenAI.ChatCompletionMessage {
  const message = completion.choices[0]?.message;
  if (message === undefined) throw new Error("a completion without a choice");
  return message;
}

describe.concurrent.each(CONVERSING)("openai chat completions over the route %s", (route) => {
  for (const streamed of [false, true]) {
    it(`runs tools over several turns, two of them at once, ${streamed ? "streamed" : "whole"}`, async () => {
      const client = openaiClient(openSession(fixture));
      const ask = (
        body: OpenAI.ChatCompletionCreateParamsNonStreaming,
      ): Promise<OpenAI.ChatCompletion> =>
        streamed
          ? client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
          : client.chat.completions.create(body);
      const tools = [weather, time];
      const history = [...question];

      const parallel = await ask({ model: variantOf(route, "parallel"), messages: history, tools });
      expect(parallel.choices[0]?.finish_reason).toBe("tool_calls");
      const calls = turnOf(parallel).tool_calls?.filter((call) => call.type === "function") ?? [];
      expect(calls.map((call) => call.function.name)).toEqual(["weather", "time"]);
      expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([
        { city: expect.any(String) },
        {},
      ]);
      expect(new Set(calls.map((call) => call.id)).size).toBe(2);
      history.push(...answered(turnOf(parallel)));

      const again = await ask({ model: route, messages: history, tools, tool_choice: "required" });
      expect(turnOf(again).tool_calls).toHaveLength(1);
      history.push(...answered(turnOf(again)));

      const text = await ask({ model: route, messages: history, tools });
      expect(text.choices[0]?.finish_reason).toBe("stop");
      expect(turnOf(text).content).toMatch(/the result of a tool/);
      history.push(turnOf(text), { role: "user", content: "And tomorrow?" });

      const last = await ask({ model: route, messages: history, tools, tool_choice: "none" });
      expect(turnOf(last).content).toMatch(/Simulated answer/);
      expect(last.usage?.prompt_tokens ?? 0).toBeGreaterThan(streamed ? -1 : 20);
    });
  }

  it("calls the named tool, and one at a time where it is required", async () => {
    const client = openaiClient(openSession(fixture));
    const made = await client.chat.completions.create({
      model: variantOf(route, "parallel"),
      messages: question,
      tools: [weather, time],
      tool_choice: { type: "function", function: { name: "time" } },
      parallel_tool_calls: false,
    });
    expect(turnOf(made).tool_calls).toMatchObject([
      { type: "function", function: { name: "time" } },
    ]);
  });

  it("runs the library's own tool loop", async () => {
    const client = openaiClient(openSession(fixture));
    const requested: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: route,
      messages: question,
      tools: [
        {
          ...weather,
          function: {
            name: "weather",
            description: "The weather in a city",
            parameters: {
              type: "object",
              properties: { city: { type: "string" } },
              required: ["city"],
            },
            parse: JSON.parse,
            function: (city: unknown) => {
              requested.push(city);
              return "rain";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toMatch(/the result of a tool/);
    expect(requested).toEqual([{ city: expect.any(String) }]);
  });

  it("gets structured output through the parsing helper, whole and streamed", async () => {
    const client = openaiClient(openSession(fixture));
    const format = zodResponseFormat(
      z.object({ answer: z.int(), parts: z.array(z.string()).min(1) }),
      "answer",
    );
    const body = { model: route, messages: question, response_format: format };
    const whole = await client.chat.completions.parse(body);
    expect(whole.choices[0]?.message.parsed).toEqual({
      answer: expect.any(Number),
      parts: [expect.any(String)],
    });
    const streamed = await client.chat.completions.stream(body).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(whole.choices[0]?.message.parsed);
  });

  it("accepts images, and reasons on request", async () => {
    const client = openaiClient(openSession(fixture));
    const made = await client.chat.completions.create({
      model: route,
      reasoning_effort: "low",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: pixel } },
          ],
        },
      ],
    });
    expect(turnOf(made).content).toMatch(/Simulated answer/);
    expect(made.usage?.completion_tokens_details?.reasoning_tokens ?? 0).toBeGreaterThan(0);
  });

  it("receives a refusal as a refusal", async () => {
    const client = openaiClient(openSession(fixture));
    const body = { model: variantOf(route, "refusing"), messages: question };
    const whole = await client.chat.completions.create(body);
    const final = await client.chat.completions.stream(body).finalChatCompletion();
    for (const { choices } of [whole, final]) {
      const { message, finish_reason: finish } = choices[0] ?? {};
      expect([message?.refusal ?? null, message?.content ?? "", finish]).toEqual(REFUSED[route]);
    }
  });

  it("is denied tools by the approvals once, with the member's name", async () => {
    const session = openSession(fixture, { key: fixture.plainKey });
    const error = await thrownBy(
      openaiClient(session).chat.completions.create({
        model: route,
        messages: question,
        tools: [weather],
      }),
    );
    expect(error).toMatchObject({
      status: 403,
      code: "CAPABILITY_NOT_APPROVED",
      param: "tools[0]",
    });
    expect(error.message).toMatch(/approvals@[0-9a-f]+.*capability_approved:tools/);
    expect(session.sent).toHaveLength(1);
  });
});

describe("a member that a route cannot express is refused by name", () => {
  const cases: readonly (readonly [
    string,
    Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>,
    string,
  ])[] = [
    ["messages", { logit_bias: { 1: 1 } }, "logit_bias"],
    ["messages", { n: 2 }, "n"],
    ["messages", { temperature: 1.5 }, "temperature"],
    ["messages", { response_format: { type: "json_object" } }, "response_format"],
    ["messages", { logprobs: true }, "logprobs"],
    ["legacy", { tools: [weather] }, "tools"],
    ["legacy", { messages: question }, "messages"],
    ["legacy", { verbosity: "low" }, "verbosity"],
    ["chat", { store: true }, "store"],
  ];

  it.each(cases)("%s: %j", async (route, more, param) => {
    const session = openSession(fixture);
    const error = await thrownBy(
      openaiClient(session).chat.completions.create({
        model: route,
        messages: [{ role: "user", content: "Hello" }],
        ...more,
      }),
    );
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: expect.stringMatching(new RegExp(`^${param}\\b`)) });
    expect(session.sent).toHaveLength(1);
  });
});
