import { describe, expect, test } from "vitest";
import type { MockServer } from "../../mock/server.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";
import { events, mockForTest, parts, postTo, rawTo } from "./start.ts";

const BASE = "/v1beta/models/";
const contents = [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }];
const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
};
const functions = (...names: readonly string[]) => [
  { functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })) },
];
const called = { functionCall: { name: "f", args: {} } };
const answered = {
  role: "user",
  parts: [{ functionResponse: { name: "f", response: { output: "1" } } }],
};

interface Piece {
  readonly candidates?: readonly {
    readonly content: { readonly parts?: readonly Record<string, unknown>[] };
    readonly finishReason?: string;
    readonly logprobsResult?: unknown;
  }[];
  readonly usageMetadata?: Record<string, number>;
  readonly promptFeedback?: object;
  readonly error?: { readonly code: number; readonly message: string; readonly status: string };
}

function ask(
  server: MockServer,
  body: object,
  model = "gemini-3-x",
  method = "generateContent",
  headers = {},
) {
  return postTo(
    server,
    `${BASE}${encodeURIComponent(model)}:${method}`,
    { contents, ...body },
    headers,
  );
}

async function answer(body: object, model?: string): Promise<Piece> {
  const response = await ask(await mockForTest(), body, model);
  const piece = (await response.json()) as Piece;
  expect(piece.error).toBeUndefined();
  return piece;
}

/** The answer that a stream's pieces make, and its last counts. */
async function streamed(body: object, model: string): Promise<Piece> {
  const response = await ask(await mockForTest(), body, model, "streamGenerateContent?alt=sse");
  const sent = events(await response.text()).map((data) => JSON.parse(data) as Piece);
  expect(
    sent.slice(0, -1).every(({ candidates }) => candidates?.[0]?.finishReason === undefined),
  ).toBe(true);
  const all = sent.flatMap(({ candidates }) => candidates?.[0]?.content.parts ?? []);
  const texts = (wanted: boolean): string =>
    all
      .map(({ text, thought }) =>
        typeof text === "string" && (thought === true) === wanted ? text : "",
      )
      .join("");
  const last = sent.at(-1);
  const sign = all.find(
    ({ text, thoughtSignature }) => text === "" && thoughtSignature !== undefined,
  );
  const made = [
    ...(texts(true) === "" ? [] : [{ text: texts(true), thought: true }]),
    ...(texts(false) === ""
      ? []
      : [
          {
            text: texts(false),
            ...(sign === undefined ? {} : { thoughtSignature: sign.thoughtSignature }),
          },
        ]),
    ...all.filter(({ functionCall }) => functionCall !== undefined),
  ];
  return {
    ...last,
    candidates: [{ ...last?.candidates?.[0], content: { parts: made } }],
  };
}

const SAID = "Simulated answer from gemini-3-x to 1 message.";
const THOUGHT = "The request is simulated, so there is nothing to think about.";
const signature = expect.any(String);

describe.each([
  ["whole", answer],
  ["streamed", streamed],
])("an answer, %s", (_name, get) => {
  test.each<[string, object, string, object, string]>([
    ["text", {}, "", [{ text: SAID }], "STOP"],
    [
      "a limit",
      { generationConfig: { maxOutputTokens: 2 } },
      "",
      [{ text: "Simulated answer" }],
      "MAX_TOKENS",
    ],
    [
      "a stop",
      { generationConfig: { stopSequences: [" from"] } },
      "",
      [{ text: "Simulated answer" }],
      "STOP",
    ],
    [
      "thoughts that are shown",
      { generationConfig: { thinkingConfig: { includeThoughts: true } } },
      "",
      [
        { text: THOUGHT, thought: true },
        { text: SAID, thoughtSignature: signature },
      ],
      "STOP",
    ],
    [
      "thoughts that are not",
      { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
      "",
      [{ text: SAID, thoughtSignature: signature }],
      "STOP",
    ],
    [
      "no thoughts",
      { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
      "",
      [{ text: SAID }],
      "STOP",
    ],
    [
      "calls, of which the first is signed",
      { tools: functions("f", "g") },
      "+tool-calls=2",
      [
        {
          functionCall: { name: "f", args: { city: "simulated", days: 2 } },
          thoughtSignature: signature,
        },
        { functionCall: { name: "g", args: { city: "simulated", days: 2 } } },
      ],
      "STOP",
    ],
    [
      "no calls",
      { tools: functions("f"), toolConfig: { functionCallingConfig: { mode: "NONE" } } },
      "",
      [{ text: SAID }],
      "STOP",
    ],
    [
      "the function that is allowed",
      {
        tools: functions("f", "g"),
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["g"] } },
      },
      "",
      [{ functionCall: { name: "g" } }],
      "STOP",
    ],
    [
      "JSON by a schema",
      { generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema } },
      "",
      [{ text: '{"city":"simulated","days":2}' }],
      "STOP",
    ],
    [
      "JSON by an older schema",
      {
        generationConfig: {
          responseMimeType: "application/json",
          responseSchema: {
            type: "OBJECT",
            properties: { n: { type: "BOOLEAN" } },
            required: ["n"],
          },
        },
      },
      "",
      [{ text: expect.stringMatching(/^\{"n":(true|false)\}$/) }],
      "STOP",
    ],
    ["a filter", {}, "+finish=content_filter", [{ text: SAID }], "SAFETY"],
    ["an unknown setting", {}, "+finish=unknown", [{ text: SAID }], "MOCK_UNKNOWN"],
  ])("is %s", async (_what, body, settings, expected, finishReason) => {
    const { candidates } = await get(body, `gemini-3-x${settings}`);
    expect(candidates?.[0]).toMatchObject({ content: { parts: expected }, finishReason });
    expect(candidates?.[0]?.content.parts).toHaveLength((expected as unknown[]).length);
  });

  test("counts thoughts beside the answer, and cached tokens within the prompt", async () => {
    const body = { generationConfig: { thinkingConfig: {} } };
    const { usageMetadata } = await get(body, "gemini-3-x+cached=3");
    const {
      promptTokenCount = 0,
      candidatesTokenCount = 0,
      thoughtsTokenCount = 0,
    } = usageMetadata ?? {};
    expect(usageMetadata).toEqual({
      promptTokenCount: 11,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 11,
      cachedContentTokenCount: 3,
      totalTokenCount: promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
    });
    expect((await get(body, "gemini-3-x+no-usage")).usageMetadata).toBeUndefined();
    // Zeros are not written.
    expect((await get({}, "gemini-3-x")).usageMetadata).toEqual({
      promptTokenCount: 11,
      candidatesTokenCount: 7,
      totalTokenCount: 18,
    });
  });
});

test("a refusal is a prompt that was blocked, with status 200", async () => {
  const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
  expect(await answer({}, "m+refusal")).toMatchObject(blocked);
  const response = await ask(await mockForTest(), {}, "m+refusal", "streamGenerateContent?alt=sse");
  const [only, ...more] = events(await response.text());
  expect([JSON.parse(only ?? ""), more]).toMatchObject([blocked, []]);
});

test("log probabilities", async () => {
  const { candidates } = await answer({
    generationConfig: { responseLogprobs: true, logprobs: 2, maxOutputTokens: 1 },
  });
  expect(candidates?.[0]?.logprobsResult).toEqual({
    chosenCandidates: [{ token: "Simulated", logProbability: -0.5 }],
    topCandidates: [
      {
        candidates: [
          { token: "Simulated", logProbability: -0.5 },
          { token: "Simulated1", logProbability: -0.5 - Math.LN2 },
        ],
      },
    ],
  });
});

test("tokens are counted, by each service in its own way", async () => {
  const server = await mockForTest();
  const instruction = { systemInstruction: { parts: [{ text: "Be terse." }] } };
  const count = async (path: string, body: object): Promise<unknown> => {
    const response = await postTo(server, path, body);
    const { totalTokens, error } = (await response.json()) as { totalTokens?: number } & Piece;
    return totalTokens ?? error?.message;
  };
  const gemini = `${BASE}m:countTokens`;
  const vertex = "/v1/projects/p/locations/l/publishers/google/models/m:countTokens";
  const whole = { generateContentRequest: { model: "models/m", contents, ...instruction } };
  expect(await count(gemini, { contents })).toBe(11);
  expect(await count(gemini, whole)).toBe(18);
  expect(await count(vertex, { contents, ...instruction })).toBe(18);
});

test("faults come where they are requested", async () => {
  const server = await mockForTest();
  const path = `${BASE}m:streamGenerateContent?alt=sse`;
  const get = (settings: string) =>
    rawTo(server, path, { contents }, `x-mock: chunks=2; ${settings}\r\n`);
  const count = async (settings: string): Promise<number> =>
    events(parts(await get(settings)).body).length;
  expect(await count("delay=0ms")).toBe(3);
  expect(await count("no-done")).toBe(2);
  expect(await count("no-finish")).toBe(2);
  expect(await count("cut=before-finish")).toBe(2);
  expect(await count("duplicate=after-1")).toBe(4);
  const failed = events(parts(await get("error-frame=after-1")).body);
  expect(JSON.parse(failed[1] ?? "")).toMatchObject({ error: { code: 500, status: "INTERNAL" } });
  expect((await get("reset=in-2")).end).toBe("reset");
  const [, broken = ""] = events(parts(await get("malformed=after-1")).body);
  expect(() => JSON.parse(broken) as unknown).toThrow(SyntaxError);
});

test.each([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
])("the status %s is %s", async (status, name) => {
  const response = await ask(await mockForTest(), {}, `m+${status}`);
  expect([response.status, await response.json()]).toMatchObject([
    status,
    { error: { code: status, status: name } },
  ]);
});

test("a key is one of two headers", async () => {
  const server = await mockForTest();
  const statusWith = async (headers: Record<string, string>): Promise<number> =>
    (await ask(server, {}, "m+require-auth", "generateContent", headers)).status;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ "x-goog-api-key": "k" })).toBe(200);
  expect(await statusWith({ authorization: "Bearer t" })).toBe(200);
});

describe("refused is", () => {
  test.each<[string, object, RegExp, string?]>([
    ["no contents", { contents: [] }, /contents is not specified/],
    [
      "a call that is not signed, of the third generation",
      { contents: [...contents, { role: "model", parts: [called] }, answered] },
      /missing a thought_signature/,
    ],
    [
      "a signature of another provider",
      {
        contents: [
          ...contents,
          { role: "model", parts: [{ text: "x", thoughtSignature: "AAAA" }] },
        ],
      },
      /not valid/,
    ],
    ["a setting without a form", {}, /redacted/, "m+redacted"],
  ])("%s", async (_what, body, message, model) => {
    const response = await ask(await mockForTest(), body, model);
    expect(response.status).toBe(400);
    expect((await response.json()) as Piece).toMatchObject({
      error: { code: 400, status: "INVALID_ARGUMENT", message: expect.stringMatching(message) },
    });
  });

  test("a stream that is not requested as events", async () => {
    expect((await ask(await mockForTest(), {}, "m", "streamGenerateContent")).status).toBe(400);
  });

  test("a signature on another part than its own; not on its own", async () => {
    const server = await mockForTest();
    const body = { tools: functions("f", "g") };
    const first = (await (await ask(server, body)).json()) as Piece;
    const [part] = first.candidates?.[0]?.content.parts ?? [];
    const again = async (moved: object): Promise<number> => {
      const history = [...contents, { role: "model", parts: [{ ...part, ...moved }] }, answered];
      return (await ask(server, { ...body, contents: history })).status;
    };
    expect(await again({})).toBe(200);
    expect(await again({ functionCall: { name: "g" } })).toBe(400);
  });
});

/** What a provider with keys of its own has to refuse. */
const KNOWN = /Thought signature is not valid/;

const isAnswerable = ({ request, status }: Recording): boolean => {
  const path = pathOf(request);
  return (
    status === 200 && /:(generateContent|streamGenerateContent\?alt=sse|countTokens)$/.test(path)
  );
};

function pathOf(request: Recording["request"]): string {
  return request !== null && "path" in request && typeof request.path === "string"
    ? request.path
    : "";
}

describe.each(["gemini", "gemini-count-tokens"])("recorded %s", (name) => {
  const recordings = readRecordings(name);

  test.skipIf(recordings === null)(
    "requests that the provider took are taken (needs ../shared/recordings)",
    async () => {
      const server = await mockForTest();
      const strange: string[] = [];
      let taken = 0;
      for (const { id, request } of (recordings ?? []).filter(isAnswerable)) {
        const response = await postTo(server, pathOf(request), request?.body);
        const text = await response.text();
        if (response.status === 200) taken += 1;
        else if (!KNOWN.test(text)) strange.push(`${id}: ${text}`);
      }
      expect(strange).toEqual([]);
      expect(taken).toBeGreaterThan(0);
      process.stdout.write(`mock of ${name}: ${taken} recorded requests taken\n`);
    },
    60_000,
  );
});
