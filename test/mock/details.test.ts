import { beforeAll, expect, test } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { HELLO, eventsOf, postTo } from "./start.ts";

/*
 * Of the protocols, what the router's own requests and readers do not use: `answers.test.ts` has
 * the rest.
 */

let server: MockServer;

beforeAll(async () => {
  server = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => server.close());
});

const CHAT = "/v1/chat/completions";
const COMPLETIONS = "/v1/completions";
const RESPONSES = "/v1/responses";
const MESSAGES = "/v1/messages";
const VERSION = { "anthropic-version": "2023-06-01" };
const GEMINI = "/v1beta/models/m:countTokens";

async function answer(path: string, body: object, headers: Record<string, string> = {}) {
  return JSON.parse(await (await postTo(server, path, { model: "m", ...body }, headers)).text());
}

async function streamed(path: string, body: object, headers: Record<string, string> = {}) {
  const request = { model: "m", ...body, stream: true };
  const sent = eventsOf(await (await postTo(server, path, request, headers)).text());
  return sent.map(({ name, data }) => ({
    name,
    data: JSON.parse(data.replace("[DONE]", '"[DONE]"')),
  }));
}

const strict = { type: "object", properties: {}, additionalProperties: false };
const called = { type: "function", function: { name: "f", strict: true, parameters: strict } };

test("several choices of a chat, streamed in the order of OpenAI's chunks", async () => {
  const body = { messages: HELLO, n: 2, stream_options: { include_usage: true } };
  const whole = await answer(CHAT, body);
  expect(whole.choices).toMatchObject(
    [1, 2].map((number) => ({
      message: { content: `Simulated answer ${number} of 2 from m to 1 message.` },
    })),
  );
  const chunks = (await streamed(CHAT, { ...body, model: "m+chunks=2" })).map(({ data }) => data);
  expect(chunks.pop()).toBe("[DONE]");
  const last = chunks.pop();
  expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  expect(chunks.every(({ usage }) => usage === null)).toBe(true);
  const choices = chunks.map(({ choices: [choice] }) => choice);
  const role = { role: "assistant", content: "", refusal: null };
  expect(choices.slice(0, 2).map(({ delta }) => delta)).toEqual([role, role]);
  expect(choices.filter(({ delta }) => delta.role !== undefined)).toHaveLength(2);
  expect(choices.filter(({ finish_reason: finish }) => finish !== null)).toHaveLength(2);
  expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
});

test("the same requests to two servers get the same bytes", async () => {
  const other = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => other.close());
  const fresh = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => fresh.close());
  const body = { model: "m", stream: true, tools: [called], messages: HELLO };
  const [one, two] = await Promise.all(
    [other, fresh].map(async (each) => (await postTo(each, CHAT, body)).text()),
  );
  expect(one).toBe(two);
});

test.each<[string, object, readonly (readonly [unknown, string])[]]>([
  ["an echo", { prompt: "Once:", echo: true, max_tokens: 1 }, [["Once:Simulated", "length"]]],
  ["no token allowed", { max_tokens: 0 }, [["", "length"]]],
  ["token numbers", { prompt: [1, 2] }, [["Simulated answer from m to a prompt.", "stop"]]],
  [
    "two prompts of two choices",
    { prompt: ["a", "b"], n: 2 },
    [1, 2, 3, 4].map((number) => [`Simulated answer ${number} of 4 from m to a prompt.`, "stop"]),
  ],
  ["the usual limit", { model: "averyverylongname-".repeat(9) }, [[expect.any(String), "length"]]],
])("a legacy completion: %s", async (_, body, expected) => {
  const request = { prompt: "p", ...body };
  const whole = await answer(COMPLETIONS, request);
  expect(whole.choices).toMatchObject(
    expected.map(([text, finish_reason]) => ({ text, finish_reason })),
  );
  const pieces: readonly { index: number; text: string; finish_reason: string | null }[] = (
    await streamed(COMPLETIONS, request)
  ).flatMap(({ data }) => data.choices ?? []);
  const again = expected.map((_choice, choice) => {
    const own = pieces.filter(({ index }) => index === choice);
    return [own.map(({ text }) => text).join(""), own.at(-1)?.finish_reason];
  });
  expect(again).toEqual(expected);
});

const contents = [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }];
const systemInstruction = { parts: [{ text: "Be terse." }] };

test.each<[string, string, object, object]>([
  ["Messages", `${MESSAGES}/count_tokens`, { messages: HELLO }, { input_tokens: 6 }],
  ["Responses", `${RESPONSES}/input_tokens`, { input: "hello there" }, { input_tokens: 7 }],
  ["Responses, of items", `${RESPONSES}/input_tokens`, { input: HELLO }, { input_tokens: 6 }],
  ["Gemini", GEMINI, { contents }, { totalTokens: 11 }],
  [
    "Gemini, of a whole request",
    GEMINI,
    { generateContentRequest: { model: "models/m", contents, systemInstruction } },
    { totalTokens: 18 },
  ],
  [
    "Vertex",
    "/v1/projects/p/locations/l/publishers/google/models/m:countTokens",
    { contents, systemInstruction },
    { totalTokens: 18 },
  ],
  [
    "Converse",
    "/model/m/count-tokens",
    { input: { converse: { messages: [{ role: "user", content: [{ text: "a" }] }] } } },
    { inputTokens: expect.any(Number) },
  ],
])("tokens are counted: %s", async (_, path, body, expected) => {
  expect(await answer(path, body, VERSION)).toMatchObject(expected);
});

test("models are listed", async () => {
  const response = await fetch(`${server.url}/v1/models`);
  expect(await response.json()).toMatchObject({
    data: [{ id: "mock-small" }, { id: "mock-large" }],
  });
});
