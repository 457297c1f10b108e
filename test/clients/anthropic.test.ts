import type Anthropic from "@anthropic-ai/sdk";
import { BadRequestError, PermissionDeniedError } from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import {
  answered,
  asker,
  callsOf,
  question,
  textOf,
  time,
  VERSIONS,
  weather,
} from "./anthropic-turns.ts";
import { anthropicClient } from "./callers/anthropic.ts";
import { LIMIT, openSession, thrownBy } from "./callers/caller.ts";
import {
  BETAS,
  CONVERSING,
  ROUTES,
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

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Routes whose protocols count tokens without generating. */
const COUNTING: readonly Route[] = ["messages", "responses", "gemini", "converse"];

describe.concurrent.each(CONVERSING)("@anthropic-ai/sdk over the route %s", (route) => {
  for (const version of VERSIONS) {
    for (const streamed of [false, true]) {
      const how = `${streamed ? "streamed" : "whole"}, version ${version ?? "of the library"}`;

      it(`runs tools over several turns, two of them at once, ${how}`, async () => {
        const session = openSession(fixture);
        const ask = asker(anthropicClient(session, version), streamed);
        const more = { max_tokens: LIMIT, system: "Be brief.", tools: [weather, time] };
        const messages = [...question];

        const parallel = await ask({ ...more, model: variantOf(route, "parallel"), messages });
        expect(parallel.stop_reason).toBe("tool_use");
        expect(callsOf(parallel)).toEqual([
          { name: "weather", input: { city: expect.any(String) } },
          { name: "time", input: {} },
        ]);
        messages.push(...answered(parallel));

        const again = await ask({ ...more, model: route, messages, tool_choice: { type: "any" } });
        expect(callsOf(again)).toHaveLength(1);
        messages.push(...answered(again));

        const text = await ask({ ...more, model: route, messages });
        expect(text.stop_reason).toBe("end_turn");
        expect(textOf(text)).toMatch(/the result of a tool/);
        messages.push(...answered(text), { role: "user", content: "And tomorrow?" });

        const last = await ask({ ...more, model: route, messages, tool_choice: { type: "none" } });
        expect(textOf(last)).toMatch(/Simulated answer/);
        expect(new Set(session.headers.map((headers) => headers.get("anthropic-version")))).toEqual(
          new Set([version ?? "2026-10-21"]),
        );
      });
    }
  }

  it("returns images and errors as tool results", async () => {
    const client = anthropicClient(openSession(fixture));
    const more = { model: route, max_tokens: LIMIT, tools: [weather] };
    const first = await client.messages.create({
      ...more,
      messages: question,
      tool_choice: { type: "any" },
    });
    const id = first.content.find((block) => block.type === "tool_use")?.id ?? "";
    const giving = (
      result: Omit<Anthropic.ToolResultBlockParam, "type" | "tool_use_id">,
    ): Anthropic.MessageParam[] => [
      ...question,
      { role: "assistant", content: first.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, ...result }] },
    ];
    const failed = await client.messages.create({
      ...more,
      messages: giving({ content: "no such city", is_error: true }),
    });
    expect(textOf(failed)).toMatch(/the result of a tool/);
    const picture: Anthropic.ImageBlockParam = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: pixel },
    };
    const pictured = client.messages.create({ ...more, messages: giving({ content: [picture] }) });
    // The chat protocol's results are text: the picture stands in a user message after them.
    if (route === "chat") expect((await pictured).content).not.toEqual([]);
    else expect(textOf(await pictured)).toMatch(/the result of a tool/);
  });

  it("gets structured output", async () => {
    const client = anthropicClient(openSession(fixture));
    const schema = {
      type: "object",
      properties: { answer: { type: "integer" } },
      required: ["answer"],
      additionalProperties: false,
    };
    const body: Anthropic.MessageCreateParamsNonStreaming = {
      model: route,
      max_tokens: LIMIT,
      messages: question,
      output_config: { format: { type: "json_schema", schema } },
    };
    for (const ask of [asker(client, false), asker(client, true)]) {
      expect(JSON.parse(textOf(await ask(body)))).toEqual({ answer: expect.any(Number) });
    }
  });

  it("is denied tools by the approvals once, with everything in message and details", async () => {
    const session = openSession(fixture, { key: fixture.plainKey });
    const error = await thrownBy(
      anthropicClient(session).messages.create({
        model: route,
        max_tokens: LIMIT,
        messages: question,
        tools: [weather],
      }),
    );
    if (!(error instanceof PermissionDeniedError)) throw error;
    expect(error.message).toMatch(
      /approvals@[0-9a-f]+.*capability_approved:tools.*CAPABILITY_NOT_APPROVED/,
    );
    expect(error.requestID).toMatch(/^req_/);
    expect(error.type).toBe("permission_error");
    expect(error).toMatchObject({
      details: {
        error_code: "CAPABILITY_NOT_APPROVED",
        policy: { id: "approvals", mode: "enforce" },
        failed_constraint: "capability_approved:tools",
      },
    });
    expect(session.sent).toHaveLength(1);
  });
});

describe("the protocol's own operations and headers", () => {
  it("counts tokens where the protocol of the route can, and is refused by name where it cannot", async () => {
    for (const version of VERSIONS) {
      const client = anthropicClient(openSession(fixture), version);
      for (const route of ROUTES) {
        const counting = client.messages.countTokens({
          model: route,
          messages: question,
          tools: [weather],
        });
        if (COUNTING.includes(route)) {
          expect((await counting).input_tokens).toBeGreaterThan(0);
        } else {
          expect(await thrownBy(counting)).toBeInstanceOf(BadRequestError);
        }
      }
    }
  });

  it("accepts betas that the provider's row lists, and refuses another", async () => {
    const session = openSession(fixture);
    const client = anthropicClient(session);
    for (const route of CONVERSING) {
      const made = await client.beta.messages.create({
        model: route,
        max_tokens: LIMIT,
        messages: [{ role: "user", content: "Hello" }],
        betas: [...BETAS, "made-up-2026-01-01"],
      });
      expect(made.stop_reason).toBe("end_turn");
    }
    expect(session.headers.map((headers) => headers.get("anthropic-beta"))).toEqual(
      CONVERSING.map(() => `${BETAS.join(",")},made-up-2026-01-01`),
    );
  });

  it("accepts sampling parameters under the older version only, and names the version otherwise", async () => {
    const body: Anthropic.MessageCreateParamsNonStreaming = {
      model: "messages",
      max_tokens: LIMIT,
      messages: question,
    };
    const sampling = { temperature: 0.5, top_k: 4 };
    const older = anthropicClient(openSession(fixture), "2023-06-01");
    expect((await older.messages.create({ ...body, ...sampling })).stop_reason).toBe("end_turn");
    const error = await thrownBy(
      anthropicClient(openSession(fixture)).messages.create({ ...body, ...sampling }),
    );
    expect(error).toMatchObject({
      status: 400,
      details: { param: "temperature", error_code: "removed_in_version" },
    });
  });
});

describe("a member that a route cannot express is refused by name", () => {
  // The library's types know the newer version only, which has no top_k.
  const cases: readonly (readonly [
    string,
    Partial<Anthropic.MessageCreateParamsNonStreaming> & { top_k?: number },
    string,
  ])[] = [
    ["chat", { top_k: 4 }, "top_k"],
    ["legacy", { system: "Be brief." }, "system"],
    ["legacy", { tools: [weather] }, "tools"],
    ["chat", { max_tokens: 0 }, "max_tokens"],
  ];

  it.each(cases)("%s: %j", async (route, more, param) => {
    const session = openSession(fixture);
    const body = {
      model: route,
      max_tokens: LIMIT,
      messages: [{ role: "user" as const, content: "Hello" }],
      ...more,
    };
    const error = await thrownBy(anthropicClient(session, "2023-06-01").messages.create(body));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      details: { param: expect.stringMatching(new RegExp(`^${param}\\b`)) },
    });
    expect(session.sent).toHaveLength(1);
  });
});
