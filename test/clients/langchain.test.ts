import {
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatAnthropic } from "@langchain/anthropic";
import type { Runnable } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openSession, thrownBy } from "./callers/caller.ts";
import { LANGCHAIN_PROVIDERS, type LangchainProvider } from "./callers/langchain.ts";
import { CONVERSING, STARTING, startFixture, variantOf, type Fixture } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

const weather = tool(({ city }) => `rain in ${city}`, {
  name: "weather",
  description: "The weather in a city",
  schema: z.object({ city: z.string() }),
});
const time = tool(() => "noon", { name: "time", description: "The time", schema: z.object({}) });
const question = [new SystemMessage("Be brief."), new HumanMessage("How is the weather?")];

type Bound = Runnable<BaseMessage[], AIMessageChunk>;

function bound(
  model: ReturnType<LangchainProvider["model"]>,
  more: { tool_choice?: string },
): Bound {
  // The two classes' options differ in type, and so each has to be requested by itself.
  return model instanceof ChatAnthropic
    ? model.bindTools([weather, time], more)
    : model.bindTools([weather, time], more);
}

async function ask(
  runnable: Bound,
  messages: readonly BaseMessage[],
  streamed: boolean,
): Promise<AIMessageChunk> {
  if (!streamed) return runnable.invoke([...messages]);
  let whole: AIMessageChunk | null = null;
  for await (const chunk of await runnable.stream([...messages]))
    whole = whole === null ? chunk : whole.concat(chunk);
  if (whole === null) throw new Error("a stream without chunks");
  return whole;
}

/** The turn, and a result for every call in it. */
function answered(turn: AIMessageChunk): readonly BaseMessage[] {
  const results = (turn.tool_calls ?? []).map(
    ({ id, name }) =>
      new ToolMessage({ tool_call_id: id ?? "", name, content: `result of ${name}` }),
  );
  return [turn, ...results];
}

describe.each(LANGCHAIN_PROVIDERS)("$name", ({ model, surface }) => {
  describe.each(CONVERSING)("over the route %s", (route) => {
    for (const streamed of [false, true]) {
      it(`runs tools over several turns, two of them at once, ${streamed ? "streamed" : "whole"}`, async () => {
        const session = openSession(fixture);
        // Over responses the library omits every choice but that of one tool.
        const bind = (name: string, choice?: string): Bound =>
          bound(model(session, name), choice === undefined ? {} : { tool_choice: choice });
        const messages: BaseMessage[] = [...question];

        const parallel = await ask(bind(variantOf(route, "parallel")), messages, streamed);
        expect(parallel.tool_calls).toMatchObject([
          { name: "weather", args: { city: expect.any(String) } },
          { name: "time", args: {} },
        ]);
        messages.push(...answered(parallel));

        const again = await ask(bind(route, "time"), messages, streamed);
        expect(again.tool_calls).toMatchObject([{ name: "time", args: {} }]);
        messages.push(...answered(again));

        const text = await ask(bind(route), messages, streamed);
        expect(text.tool_calls).toEqual([]);
        expect(text.text).toMatch(/the result of a tool/);
        messages.push(...answered(text), new HumanMessage("And tomorrow?"));

        const last = await ask(model(session, route), messages, streamed);
        expect(last.text).toMatch(/Simulated answer/);
        expect(session.sent).toHaveLength(4);
      });
    }

    it("gets structured output", async () => {
      const session = openSession(fixture);
      const schema = z.object({ answer: z.number(), parts: z.array(z.string()).min(1) });
      const structured = model(session, route).withStructuredOutput(schema, {
        name: "answer",
        method: "jsonSchema",
      });
      expect(await structured.invoke("Answer.")).toEqual({
        answer: expect.any(Number),
        parts: [expect.any(String)],
      });
      expect(session.sent).toHaveLength(1);
    });

    it("gets structured output by way of a tool", async () => {
      const session = openSession(fixture);
      const schema = z.object({ answer: z.number() });
      const structured = model(session, route).withStructuredOutput(schema, {
        name: "answer",
        method: "functionCalling",
      });
      expect(await structured.invoke("Answer.")).toEqual({ answer: expect.any(Number) });
      expect(session.sent).toHaveLength(1);
    });

    it("is denied tools by the approvals once", async () => {
      const session = openSession(fixture, { key: fixture.plainKey });
      const error = await thrownBy(model(session, route).bindTools([weather]).invoke(question));
      expect(error.message).toMatch(
        /approvals@[0-9a-f]+.*capability_approved:tools.*CAPABILITY_NOT_APPROVED/,
      );
      expect(session.sent).toHaveLength(1);
    });
  });

  it("calls the expected surface", async () => {
    const session = openSession(fixture);
    await model(session, "chat").invoke("Hello");
    const paths = {
      chat: "/v1/chat/completions",
      responses: "/v1/responses",
      messages: "/api/v1/messages",
      completions: "",
    };
    expect(session.sent).toEqual([paths[surface]]);
  });
});
