import { generateText, isStepCount, Output, streamText, tool, type ModelMessage } from "ai";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { AI_PROVIDERS } from "./callers/ai.ts";
import { LIMIT, openSession, thrownBy } from "./callers/caller.ts";
import { CONVERSING, STARTING, startFixture, variantOf, type Fixture } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

const tools = {
  weather: tool({
    description: "The weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `rain in ${city}`,
  }),
  time: tool({ inputSchema: z.object({}), execute: () => "noon" }),
};

/**
 * Two steps with tools, then one without: a tool that must be called in every step would end no
 * loop.
 */
const loop = {
  tools,
  maxOutputTokens: LIMIT,
  stopWhen: isStepCount(5),
  prepareStep: ({ stepNumber }: { stepNumber: number }) => ({
    toolChoice: stepNumber < 2 ? ("required" as const) : ("auto" as const),
  }),
};

describe.concurrent.each(AI_PROVIDERS)("ai with $name", ({ model, surface }) => {
  describe.each(CONVERSING)("over the route %s", (route) => {
    it("runs tools over several steps, whole and streamed, and continues the conversation", async () => {
      const session = openSession(fixture);
      const whole = await generateText({
        ...loop,
        model: model(session, route),
        prompt: "How is the weather?",
      });
      expect(whole.steps.map((step) => step.toolResults.length)).toEqual([1, 1, 0]);
      expect(whole.steps.map((step) => step.finishReason)).toEqual([
        "tool-calls",
        "tool-calls",
        "stop",
      ]);
      expect(whole.text).toMatch(/the result of a tool/);

      const failures: unknown[] = [];
      const streamed = streamText({
        ...loop,
        model: model(session, route),
        prompt: "How is the weather?",
        onError: ({ error }) => {
          failures.push(error);
        },
      });
      expect(await streamed.text).toBe(whole.text);
      expect((await streamed.steps).map((step) => step.toolResults.length)).toEqual([1, 1, 0]);
      expect(failures).toEqual([]);
      expect(session.sent).toHaveLength(6);

      const messages: ModelMessage[] = [
        { role: "user", content: "How is the weather?" },
        ...whole.responseMessages,
        { role: "user", content: "And tomorrow?" },
      ];
      const requested = { model: model(session, route), maxOutputTokens: LIMIT, messages };
      const next = await generateText({ ...requested, providerOptions: KEEPING_NOTHING });
      expect(next.text).toMatch(/Simulated answer/);
      if (surface !== "responses") return;
      const error = await thrownBy(generateText(requested));
      expect(error.message).toMatch(
        /input\[\d\] names an item kept at a provider.*send the item itself.*providerOptions\.openai\.store = false/,
      );
      expect(session.sent).toHaveLength(8);
    });

    it("runs two tools at once", async () => {
      const session = openSession(fixture);
      const made = await generateText({
        model: model(session, variantOf(route, "parallel")),
        maxOutputTokens: LIMIT,
        tools,
        prompt: "How is the weather?",
        prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "auto" : "none" }),
        stopWhen: isStepCount(3),
      });
      expect(made.steps[0]?.toolResults.map(({ toolName }) => toolName)).toEqual([
        "weather",
        "time",
      ]);
      expect(made.text).toMatch(/Simulated answer/);
    });

    it("gets an object that satisfies its schema, whole and streamed", async () => {
      const session = openSession(fixture);
      const requested = {
        model: model(session, route),
        maxOutputTokens: LIMIT,
        output: Output.object({
          schema: z.object({ answer: z.int(), parts: z.array(z.string()).min(1) }),
        }),
        prompt: "Answer.",
      };
      const { output } = await generateText(requested);
      expect(output).toEqual({ answer: expect.any(Number), parts: [expect.any(String)] });
      expect(await streamText(requested).output).toEqual(output);
    });

    it("is denied tools by the approvals once", async () => {
      const session = openSession(fixture, { key: fixture.plainKey });
      const error = await thrownBy(
        generateText({
          model: model(session, route),
          maxOutputTokens: LIMIT,
          tools,
          prompt: "How is the weather?",
        }),
      );
      expect(error.message).toMatch(
        /approvals@[0-9a-f]+.*capability_approved:tools.*CAPABILITY_NOT_APPROVED/,
      );
      expect(session.sent).toHaveLength(1);
    });

    it("reasons, and returns the reasoning in the steps of a loop", async () => {
      const session = openSession(fixture);
      const failures: unknown[] = [];
      const streamed = streamText({
        model: model(session, route),
        maxOutputTokens: 8_000,
        tools: { weather: tools.weather },
        stopWhen: isStepCount(5),
        prompt: "How is the weather?",
        providerOptions: REASONING[surface],
        onError: ({ error }) => {
          failures.push(error);
        },
      });
      const steps = await streamed.steps;
      expect(failures).toEqual([]);
      expect(steps.map((step) => step.toolResults.length)).toEqual([1, 0]);
      expect(steps.at(-1)?.text).toMatch(/the result of a tool/);
      expect(
        steps[0]?.reasoningText ?? steps[0]?.usage.outputTokenDetails.reasoningTokens,
      ).toBeTruthy();
    });
  });
});

/**
 * Without it, @ai-sdk/openai takes answers to be kept at the provider and sends back references to
 * them.
 */
const KEEPING_NOTHING = { openai: { store: false } };

/** How reasoning is requested of the provider packages; each reads its own member. */
const REASONING = {
  chat: { openai: { reasoningEffort: "low" }, signalbox: { reasoningEffort: "low" } },
  completions: {},
  responses: {
    openai: {
      // The package knows which of OpenAI's models reason; a route has a name of its own.
      forceReasoning: true,
      reasoningEffort: "low",
      reasoningSummary: "auto",
      include: ["reasoning.encrypted_content"],
      store: false,
    },
  },
  messages: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } },
};
