import { describe, expect, it } from "vitest";
import { limited } from "./limited-router.ts";
import { answerJson, post, startRouter, startUpstream, tableOver } from "../support/router.ts";

const ANSWER = {
  id: "a",
  object: "chat.completion",
  model: "upstream-a",
  choices: [{ index: 0, message: { role: "assistant", content: "twenty-six characters long" }, finish_reason: "stop" }],
};

const BODY = { model: "chat-small", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

describe("counts that cannot be right", () => {
  it.each([
    ["output above the request's maximum", { prompt_tokens: 11, completion_tokens: 900_000 }],
    ["input above every window", { prompt_tokens: 900_000_000, completion_tokens: 7 }],
    ["output that no number holds", { prompt_tokens: 11, completion_tokens: 1e308 }],
    [
      "cached input above the prompt",
      { prompt_tokens: 11, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 999_999 } },
    ],
    [
      "reasoning above the answer",
      { prompt_tokens: 11, completion_tokens: 7, completion_tokens_details: { reasoning_tokens: 5e6 } },
    ],
  ])("are not recorded nor charged: %s", async (_, usage) => {
    const upstream = await startUpstream((response) => answerJson(response, { ...ANSWER, usage }));
    const router = await startRouter({ table: tableOver([upstream]) });
    expect((await post(router, { ...BODY, model: Object.keys(tableOver([upstream]).routes)[0] })).status).toBe(200);
    await router.settled(1);
    const [outcome] = router.outcomes;
    expect(outcome?.inputTokens ?? 0).toBeLessThanOrEqual(140_000);
    expect(outcome?.outputTokens ?? 0).toBeLessThanOrEqual(50);
    expect(outcome?.cacheReadTokens ?? 0).toBeLessThanOrEqual(outcome?.inputTokens ?? 0);
    expect(outcome?.reasoningTokens ?? 0).toBeLessThanOrEqual(outcome?.outputTokens ?? 0);
  });

  it.each([
    ["what nothing limits", {}],
    ["limited requests", { requestsPerMinute: 9 }],
    ["limited tokens", { tokensPerMinute: 1_000_000 }],
  ] as const)("are marked as estimated in the evidence of %s, and possible ones are not", async (_, limits) => {
    let usage = { prompt_tokens: 11, completion_tokens: 7 };
    const upstream = await startUpstream((response) => answerJson(response, { ...ANSWER, usage }));
    const { router } = await limited(tableOver([upstream]), limits);
    const body = { ...BODY, model: Object.keys(tableOver([upstream]).routes)[0] };
    await post(router, body);
    usage = { prompt_tokens: 11, completion_tokens: 900_000 };
    await post(router, body);
    await router.settled(2);
    expect(router.outcomes.map(({ estimated = false }) => estimated)).toEqual([false, true]);
  });
});
