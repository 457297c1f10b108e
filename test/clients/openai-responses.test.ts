import type OpenAI from "openai";
import { BadRequestError } from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInput,
  Tool,
} from "openai/resources/responses/responses";
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

const weather: Tool = {
  type: "function",
  name: "weather",
  description: "The weather in a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};
const time: Tool = {
  type: "function",
  name: "time",
  parameters: { type: "object", properties: {}, additionalProperties: false, required: [] },
  strict: false,
};
const question: ResponseInput = [{ role: "user", content: "How is the weather?" }];
const answer = z.object({ answer: z.int(), parts: z.array(z.string()).min(1) });

/**
 * The output as history, and a result for every call in it. The library's stream helper adds
 * `parsed` and `parsed_arguments` to what was said, which the protocol does not take back.
 */
function answered(response: Response): ResponseInput {
  const output: ResponseInput = JSON.parse(
    JSON.stringify(response.output, (name, value: unknown) =>
      /^parsed(_arguments)?$/.test(name) ? undefined : value,
    ),
  );
  const results = response.output.flatMap((item) =>
    item.type === "function_call"
      ? [
          {
            type: "function_call_output" as const,
            call_id: item.call_id,
            output: `result of ${item.name}`,
          },
        ]
      : [],
  );
  return [...output, ...results];
}

function callsOf({
  output,
}: Response): readonly { readonly name: string; readonly arguments: unknown }[] {
  return output.flatMap((item) =>
    item.type === "function_call"
      ? [{ name: item.name, arguments: JSON.parse(item.arguments) }]
      : [],
  );
}

function asker(
  client: OpenAI,
  streamed: boolean,
): (body: ResponseCreateParamsNonStreaming) => Promise<Response> {
  return (body) =>
    streamed
      ? client.responses.stream({ ...body, stream: true }).finalResponse()
      : client.responses.create(body);
}

describe.concurrent.each(CONVERSING)("openai responses over the route %s", (route) => {
  for (const streamed of [false, true]) {
    const how = streamed ? "streamed" : "whole";

    it(`runs tools over several turns, two of them at once, ${how}`, async () => {
      const ask = asker(openaiClient(openSession(fixture)), streamed);
      const tools = [weather, time];
      const instructions = "Be brief.";
      const input = [...question];

      const parallel = await ask({
        model: variantOf(route, "parallel"),
        input,
        tools,
        instructions,
      });
      expect(parallel.status).toBe("completed");
      expect(callsOf(parallel)).toEqual([
        { name: "weather", arguments: { city: expect.any(String) } },
        { name: "time", arguments: {} },
      ]);
      input.push(...answered(parallel));

      const again = await ask({
        model: route,
        input,
        tools,
        instructions,
        tool_choice: "required",
      });
      expect(callsOf(again)).toHaveLength(1);
      input.push(...answered(again));

      const text = await ask({ model: route, input, tools, instructions });
      expect(text.output_text).toMatch(/the result of a tool/);
      input.push(...answered(text), { role: "user", content: "And tomorrow?" });

      const last = await ask({ model: route, input, tools, instructions, tool_choice: "none" });
      expect(last.output_text).toMatch(/Simulated answer/);
    });

    it(`reasons, and accepts the reasoning in the next turn, ${how}`, async () => {
      const ask = asker(openaiClient(openSession(fixture)), streamed);
      const input = [...question];
      const more = {
        model: route,
        tools: [weather],
        store: false,
        include: ["reasoning.encrypted_content" as const],
        reasoning: { effort: "low" as const, summary: "auto" as const },
      };
      const first = await ask({ ...more, input });
      const reasoning = first.output.find((item) => item.type === "reasoning");
      expect(first.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
      // The chat protocol has no signatures, so what is shown there cannot be proven later.
      expect(typeof reasoning?.encrypted_content).toBe(
        SIGNED.includes(route) ? "string" : "undefined",
      );
      expect(callsOf(first)).toHaveLength(1);
      input.push(...answered(first));

      const second = await ask({ ...more, input });
      expect(second.status).toBe("completed");
      expect(second.output_text).toMatch(/the result of a tool/);
    });
  }

  it("gets structured output through the parsing helper, whole and streamed", async () => {
    const client = openaiClient(openSession(fixture));
    const body = {
      model: route,
      input: question,
      text: { format: zodTextFormat(answer, "answer") },
    };
    const whole = await client.responses.parse(body);
    expect(whole.output_parsed).toEqual({
      answer: expect.any(Number),
      parts: [expect.any(String)],
    });
    const streamed = await client.responses.stream(body).finalResponse();
    expect(streamed.output_parsed).toEqual(whole.output_parsed);
  });

  it("accepts response_format for text.format, and refuses two that differ", async () => {
    const client = openaiClient(openSession(fixture));
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const json_schema = { name: "place", schema, strict: true };
    const ask = (more: object): Promise<Response> =>
      client.responses.create({
        model: route,
        input: question,
        ...more,
      } satisfies ResponseCreateParamsNonStreaming);
    const made = await ask({ response_format: { type: "json_schema", json_schema } });
    expect(JSON.parse(made.output_text)).toEqual({ city: expect.any(String) });
    expect(made.text?.format).toMatchObject({ type: "json_schema", name: "place" });
    const error = await thrownBy(
      ask({
        response_format: { type: "json_schema", json_schema },
        text: { format: { type: "json_schema", name: "other", schema, strict: true } },
      }),
    );
    expect(error).toMatchObject({ status: 400, param: "response_format" });
  });

  it("receives a refusal as a refusal", async () => {
    const client = openaiClient(openSession(fixture));
    const body = { model: variantOf(route, "refusing"), input: question };
    for (const { output, status, incomplete_details: incomplete } of [
      await client.responses.create(body),
      await client.responses.stream(body).finalResponse(),
    ]) {
      const [item] = output;
      const [part] = item?.type === "message" ? item.content : [];
      const refusal = part?.type === "refusal" ? part.refusal : null;
      expect([refusal, status, incomplete?.reason ?? null]).toEqual(REFUSED[route]);
    }
  });

  it("refuses members that require stored state, by name", async () => {
    const session = openSession(fixture);
    const client = openaiClient(session);
    const kept: readonly (readonly [string, Partial<ResponseCreateParamsNonStreaming>])[] = [
      ["store", { store: true }],
      ["previous_response_id", { previous_response_id: "resp_1" }],
      ["background", { background: true }],
      ["conversation", { conversation: "conv_1" }],
      ["input[0]", { input: [{ type: "item_reference", id: "rs_1" }] }],
    ];
    for (const [param, more] of kept) {
      const error = await thrownBy(
        client.responses.create({ model: route, input: question, ...more }),
      );
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ code: "unsupported_stateful_feature" });
      expect(Reflect.get(error, "param")).toContain(param);
    }
    expect(session.sent).toHaveLength(kept.length);
  });
});

/** Routes whose models sign their reasoning. */
const SIGNED: readonly Route[] = ["responses", "messages"];

/**
 * Refusal, status and reason of an answer that declines. The messages protocol has a reason for it
 * and no text.
 */
const REFUSED: Readonly<Partial<Record<Route, readonly unknown[]>>> = {
  chat: ["This is a simulated refusal.", "completed", null],
  responses: ["This is a simulated refusal.", "completed", null],
  messages: [null, "incomplete", "content_filter"],
};

describe("signed reasoning", () => {
  it.each([
    ["messages", "responses", { status: 403, code: "SIGNATURE_FAMILY_MISMATCH" }],
    ["responses", "messages", { status: 403, code: "SIGNATURE_FAMILY_MISMATCH" }],
    ["responses", "chat", { status: 403, code: "SIGNATURE_FAMILY_MISMATCH" }],
  ] as const)("made over the route %s does not go to the route %s", async (from, to, reported) => {
    const session = openSession(fixture);
    const client = openaiClient(session);
    const more = {
      include: ["reasoning.encrypted_content" as const],
      reasoning: { effort: "low" as const },
    };
    const first = await client.responses.create({ model: from, input: question, ...more });
    expect(first.output.some((item) => item.type === "reasoning")).toBe(true);
    const input: ResponseInput = [
      ...question,
      ...answered(first),
      { role: "user", content: "And tomorrow?" },
    ];
    const error = await thrownBy(client.responses.create({ model: to, input, ...more }));
    expect(error).toMatchObject(reported);
    expect(session.sent).toHaveLength(2);
  });
});
