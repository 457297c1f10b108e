import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { events, mockForTest, postTo } from "./start.ts";

const PATH = "/v1/completions";

async function client(): Promise<OpenAI> {
  const server = await mockForTest();
  return new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
}

describe("the official client", () => {
  test("reads an answer", async () => {
    const openai = await client();
    const completion = await openai.completions.create({ model: "m", prompt: "Once upon a time" });
    expect(completion.choices).toEqual([
      {
        text: "Simulated answer from m to a prompt.",
        index: 0,
        logprobs: null,
        finish_reason: "stop",
      },
    ]);
    expect(completion).toMatchObject({
      object: "text_completion",
      usage: { prompt_tokens: 4, completion_tokens: 7, total_tokens: 11 },
    });
  });

  test("reads a stream with its usage", async () => {
    const openai = await client();
    const stream = await openai.completions.create({
      model: "m",
      prompt: "Once",
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const finishes: unknown[] = [];
    const usages: unknown[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? "";
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      usages.push(chunk.usage);
    }
    expect(text).toBe("Simulated answer from m to a prompt.");
    expect(finishes).toEqual(["stop"]);
    expect(usages.slice(0, -1).every((usage) => usage === null)).toBe(true);
    expect(usages.at(-1)).toMatchObject({
      prompt_tokens: 1,
      completion_tokens: 7,
      total_tokens: 8,
    });
  });

  test("throws on an error in the middle of a stream", async () => {
    const openai = await client();
    const stream = await openai.completions.create({
      model: "m+error-frame",
      prompt: "x",
      stream: true,
    });
    const read = async (): Promise<void> => {
      for await (const chunk of stream) expect(chunk.object).toBe("text_completion");
    };
    await expect(read()).rejects.toMatchObject({ code: "server_error" });
  });
});

const variants: [string, object, readonly [string, string][]][] = [
  ["a limit", { max_tokens: 3 }, [["Simulated answer from", "length"]]],
  ["a limit of nothing", { max_tokens: 0 }, [["", "length"]]],
  ["a stop sequence", { stop: "er from" }, [["Simulated answ", "stop"]]],
  [
    "a finish reason",
    { model: "m+finish=content_filter" },
    [["Simulated answer from m to a prompt.", "content_filter"]],
  ],
  [
    "an unknown finish reason",
    { model: "m+finish=unknown" },
    [[expect.any(String), "mock_unknown"]],
  ],
  [
    "the usual limit",
    { model: "averyveryverylongname-".repeat(9) },
    [[expect.any(String), "length"]],
  ],
  [
    "more than the usual limit, where a test requests it",
    { model: "m+chunks=18" },
    [[expect.any(String), "stop"]],
  ],
  ["an echo", { prompt: "Once:", echo: true, max_tokens: 1 }, [["Once:Simulated", "length"]]],
  ["token numbers", { prompt: [1, 2, 3] }, [["Simulated answer from m to a prompt.", "stop"]]],
  [
    "several prompts and several choices",
    { prompt: ["a", "b"], n: 2 },
    [1, 2, 3, 4].map((number) => [`Simulated answer ${number} of 4 from m to a prompt.`, "stop"]),
  ],
  ["two lists of token numbers", { prompt: [[1], [2, 3]] }, [expect.anything(), expect.anything()]],
];

test.each(variants)("streamed and whole say the same: %s", async (_, body, expected) => {
  const server = await mockForTest();
  const request = { model: "m", prompt: "p", ...body };
  const whole = (await (await postTo(server, PATH, request)).json()) as OpenAI.Completion;
  expect(whole.choices.map((choice) => [choice.text, choice.finish_reason])).toEqual(expected);
  const data = events(await (await postTo(server, PATH, { ...request, stream: true })).text());
  expect(data.at(-1)).toBe("[DONE]");
  const chunks = data.slice(0, -1).map((text) => JSON.parse(text) as OpenAI.Completion);
  expect(new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`)).size).toBe(1);
  const texts = whole.choices.map(() => "");
  const finishes: unknown[] = [];
  for (const { index, text, finish_reason: finish } of chunks.flatMap((chunk) => chunk.choices)) {
    texts[index] += text;
    if (finish !== null) finishes[index] = finish;
  }
  expect(texts.map((text, index) => [text, finishes[index]])).toEqual(expected);
});

test("log probabilities for every token, in streams too", async () => {
  const server = await mockForTest();
  const request = { model: "m+chunks=2", prompt: "p", logprobs: 2 };
  const whole = (await (await postTo(server, PATH, request)).json()) as OpenAI.Completion;
  const half = Math.exp(-0.5) / 2;
  expect(whole.choices[0]?.logprobs).toMatchObject({
    tokens: ["signal", " block"],
    token_logprobs: [-0.5, -0.5],
    text_offset: [0, 6],
  });
  const [first] = whole.choices[0]?.logprobs?.top_logprobs ?? [];
  expect(Object.keys(first ?? {})).toEqual(["signal", "signal1"]);
  expect(Math.exp(first?.signal1 ?? 0)).toBeCloseTo(half);
  const data = events(await (await postTo(server, PATH, { ...request, stream: true })).text());
  const second = (JSON.parse(data[1] ?? "") as OpenAI.Completion).choices[0];
  expect(second).toMatchObject({
    text: " block",
    logprobs: { tokens: [" block"], text_offset: [6] },
  });
});

test("what `best_of` throws away is counted", async () => {
  const server = await mockForTest();
  const answer = await postTo(server, PATH, { model: "m+chunks=4", prompt: "p", best_of: 3 });
  expect(await answer.json()).toMatchObject({
    choices: [{ index: 0 }],
    usage: { completion_tokens: 12 },
  });
});

const refused: [string, object, string][] = [
  ["no prompt", { prompt: undefined }, "prompt"],
  ["an empty list of prompts", { prompt: [] }, "prompt"],
  ["a setting that has no form here", { model: "m+tool-calls=1" }, "model"],
  ["reasoning", { model: "m+reasoning" }, "model"],
  ["a finish reason that completions do not have", { model: "m+finish=tool_calls" }, "model"],
];

test.each(refused)("400 for %s", async (_, body, param) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", prompt: "p", ...body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", param } });
});
