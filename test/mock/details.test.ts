import { expect, test } from "vitest";
import { CHAT, HELLO, eventsOf, mockForFile, post } from "./start.ts";

/*
 * Of the protocols, what the router's own requests and readers do not use: `answers.test.ts` has
 * the rest.
 */

const server = await mockForFile();

const VERSION = { "anthropic-version": "2023-06-01" };

async function answer(path: string, body: object) {
  return JSON.parse(await (await post(server, path, { model: "m", ...body }, VERSION)).text());
}

/** The data of each event; `[DONE]` is left out. */
async function streamed(path: string, body: object) {
  const response = await post(server, path, { model: "m", ...body, stream: true });
  const events = eventsOf(new Uint8Array(await response.arrayBuffer()));
  expect(events.pop()?.data).toBe("[DONE]");
  return events.map(({ data }) => JSON.parse(data));
}

test("several choices of a chat are streamed in the order of OpenAI's chunks", async () => {
  const body = { messages: HELLO, n: 2, stream_options: { include_usage: true } };
  const { choices: whole } = await answer(CHAT, body);
  const contents = [1, 2].map((number) => `Simulated answer ${number} of 2 from m to 1 message.`);
  expect(whole).toMatchObject(contents.map((content) => ({ message: { content } })));
  const chunks = await streamed(CHAT, { ...body, model: "m+chunks=2" });
  expect(chunks.pop()).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  expect(chunks.every(({ usage }) => usage === null)).toBe(true);
  const choices = chunks.map(({ choices: [choice] }) => choice);
  const role = { role: "assistant", content: "", refusal: null };
  expect(choices.slice(0, 2).map(({ delta }) => delta)).toEqual([role, role]);
  expect(choices.filter(({ delta }) => delta.role !== undefined)).toHaveLength(2);
  expect(choices.filter(({ finish_reason: finish }) => finish !== null)).toHaveLength(2);
  expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
});

const LONG = "averyverylongname-".repeat(9);
const PROMPTED = "Simulated answer from m to a prompt.";
const four = [1, 2, 3, 4].map((number) => `Simulated answer ${number} of 4 from m to a prompt.`);

test.each<[string, object, readonly unknown[], string]>([
  ["an echo", { prompt: "Once:", echo: true, max_tokens: 1 }, ["Once:Simulated"], "length"],
  ["no token allowed", { max_tokens: 0 }, [""], "length"],
  ["token numbers", { prompt: [1, 2] }, [PROMPTED], "stop"],
  ["two prompts of two choices", { prompt: ["a", "b"], n: 2 }, four, "stop"],
  ["the usual limit", { model: LONG }, [expect.any(String)], "length"],
])("a legacy completion has %s", async (_, body, texts, finish) => {
  const request = { prompt: "p", ...body };
  const expected = texts.map((text) => ({ text, finish_reason: finish }));
  expect((await answer("/v1/completions", request)).choices).toMatchObject(expected);
  const pieces = (await streamed("/v1/completions", request)).flatMap(({ choices }) => choices);
  const again = texts.map((_text, choice) => {
    const own = pieces.filter(({ index }) => index === choice);
    return { text: own.map(({ text }) => text).join(""), finish_reason: own.at(-1).finish_reason };
  });
  expect(again).toEqual(expected);
});

const contents = [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }];
const whole = { contents, systemInstruction: { parts: [{ text: "Be terse." }] } };
const generateContentRequest = { model: "models/m", ...whole };
const VERTEX = "/v1/projects/p/locations/l/publishers/google";

test.each<[string, object, object]>([
  ["/v1/responses/input_tokens", { input: "hello there" }, { input_tokens: 7 }],
  ["/v1/responses/input_tokens", { input: HELLO }, { input_tokens: 6 }],
  ["/v1/messages/count_tokens", { messages: HELLO }, { input_tokens: 6 }],
  ["/v1beta/models/m:countTokens", { contents }, { totalTokens: 11 }],
  ["/v1beta/models/m:countTokens", { generateContentRequest }, { totalTokens: 18 }],
  [`${VERTEX}/models/m:countTokens`, whole, { totalTokens: 18 }],
])("tokens are counted at %s: %j", async (path, body, expected) => {
  expect(await answer(path, body)).toMatchObject(expected);
});
