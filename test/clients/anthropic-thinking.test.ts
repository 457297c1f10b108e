import type Anthropic from "@anthropic-ai/sdk";
import { BadRequestError, PermissionDeniedError } from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { answered, asker, question, textOf, VERSIONS, weather } from "./anthropic-turns.ts";
import { anthropicClient } from "./callers/anthropic.ts";
import { openSession, thrownBy } from "./callers/caller.ts";
import { STARTING, startFixture, type Fixture } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

describe("thinking", () => {
  for (const version of VERSIONS) {
    for (const streamed of [false, true]) {
      const how = `${streamed ? "streamed" : "whole"}, version ${version ?? "of the library"}`;

      it.each(["messages", "responses"] as const)(
        `is returned with its signature over the route %s, ${how}`,
        async (route) => {
          const ask = asker(anthropicClient(openSession(fixture), version), streamed);
          const more: Omit<Anthropic.MessageCreateParamsNonStreaming, "messages"> = {
            model: route,
            max_tokens: 8_000,
            tools: [weather],
            thinking: { type: "enabled", budget_tokens: 1_024 },
          };
          const first = await ask({ ...more, messages: question });
          expect(first.content.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
          const [thinking] = first.content;
          if (thinking?.type !== "thinking") throw new Error("no thinking");
          expect(thinking.signature).toMatch(
            route === "messages" ? /^(?!sbx1\.)./ : /^sbx1\.openai\../,
          );

          // The simulated provider checks each signature, so a second answer means that it came
          // back unchanged.
          const messages = [...question, ...answered(first)];
          const second = await ask({ ...more, messages });
          expect(second.stop_reason).toBe("end_turn");
          expect(textOf(second)).toMatch(/the result of a tool/);

          messages.push(...answered(second), { role: "user", content: "And tomorrow?" });
          const third = await ask({ ...more, messages });
          expect(third.stop_reason).toBe("tool_use");
        },
      );
    }
  }

  it.each(["messages", "responses"] as const)(
    "with a signature that was tampered with is refused over the route %s",
    async (route) => {
      const client = anthropicClient(openSession(fixture));
      const more: Omit<Anthropic.MessageCreateParamsNonStreaming, "messages"> = {
        model: route,
        max_tokens: 8_000,
        tools: [weather],
        thinking: { type: "enabled", budget_tokens: 1_024 },
      };
      const first = await client.messages.create({ ...more, messages: question });
      const spoilt = first.content.map((block) =>
        block.type === "thinking"
          ? { ...block, signature: `${block.signature.slice(0, -3)}AAA` }
          : block,
      );
      const error = await thrownBy(
        client.messages.create({
          ...more,
          messages: [...question, ...answered({ ...first, content: spoilt })],
        }),
      );
      expect(error).toBeInstanceOf(BadRequestError);
    },
  );

  it("of one family does not go to the models of another", async () => {
    const client = anthropicClient(openSession(fixture));
    const more: Omit<Anthropic.MessageCreateParamsNonStreaming, "messages" | "model"> = {
      max_tokens: 8_000,
      thinking: { type: "enabled", budget_tokens: 1_024 },
    };
    for (const [from, to] of [
      ["messages", "responses"],
      ["responses", "messages"],
    ] as const) {
      const first = await client.messages.create({ ...more, model: from, messages: question });
      const messages = [
        ...question,
        ...answered(first),
        { role: "user" as const, content: "And tomorrow?" },
      ];
      const error = await thrownBy(client.messages.create({ ...more, model: to, messages }));
      expect(error).toBeInstanceOf(PermissionDeniedError);
      expect(error.message).toMatch(/signature_family.*SIGNATURE_FAMILY_MISMATCH/);
    }
  });
});
