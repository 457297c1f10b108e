import OpenAI from "openai";
import { expect, test } from "vitest";
import { mockForTest, postTo } from "./start.ts";
import { at } from "./unary-ways.ts";

const PATH = "/v1/moderations";

const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

const OF_IMAGES = CATEGORIES.filter((category) => /^(?:self-harm|violence|sexual$)/.test(category));

async function client(): Promise<OpenAI> {
  const server = await mockForTest();
  return new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
}

/** The names of those that are `true`. */
function flaggedIn(result: { readonly categories: object } | undefined): string[] {
  return Object.entries(result?.categories ?? {}).flatMap(([name, flagged]) =>
    flagged === true ? [name] : [],
  );
}

test("the official client reads a verdict for every text, in order", async () => {
  const openai = await client();
  const { id, model, results } = await openai.moderations.create({
    model: "omni-moderation-latest",
    input: [
      "harmless",
      "a simulated-violence.",
      "simulated-violence-graphic and simulated-hate",
      "simulated-violences",
    ],
  });
  expect([id, model]).toEqual(["modr-mock-1", "omni-moderation-latest"]);
  expect(results.map((result) => [result.flagged, flaggedIn(result)])).toEqual([
    [false, []],
    [true, ["violence"]],
    [true, ["hate", "violence/graphic"]],
    [false, []],
  ]);
  for (const result of results) {
    expect(Object.keys(result.categories).toSorted()).toEqual(CATEGORIES);
    expect(Object.keys(result.category_scores).toSorted()).toEqual(CATEGORIES);
    expect(result.category_applied_input_types).toEqual(
      Object.fromEntries(CATEGORIES.map((name) => [name, ["text"]])),
    );
    for (const [name, score] of Object.entries(result.category_scores)) {
      if (flaggedIn(result).includes(name)) expect(score).toBe(0.98);
      else expect(score >= 0 && score <= 0.0005).toBe(true);
    }
  }
  expect(results[0]?.category_scores).not.toEqual(results[3]?.category_scores);
});

test("each category is flagged by a keyword, alone", async () => {
  const openai = await client();
  const { results } = await openai.moderations.create({
    input: CATEGORIES.map((category) => `simulated-${category.replaceAll("/", "-")}`),
  });
  expect(results.map(flaggedIn)).toEqual(CATEGORIES.map((category) => [category]));
});

test("parts are judged together, pictures in some categories only", async () => {
  const openai = await client();
  const picture = (name: string) =>
    ({ type: "image_url", image_url: { url: `https://x.example/${name}.png` } }) as const;
  const both = await openai.moderations.create({
    input: [
      { type: "text", text: "simulated-hate" },
      picture("simulated-violence-and"),
      picture("simulated-sexual"),
    ],
  });
  expect(both.results.map(flaggedIn)).toEqual([["sexual", "hate"]]);
  expect(both.results[0]?.category_applied_input_types).toMatchObject({
    hate: ["text"],
    sexual: ["text", "image"],
  });
  const alone = await openai.moderations.create({
    input: [picture("simulated-hate"), picture("simulated-self-harm")],
  });
  expect(alone.results.map(flaggedIn)).toEqual([["self-harm"]]);
  for (const category of CATEGORIES) {
    const isSeen = OF_IMAGES.includes(category);
    expect(at(alone.results[0]?.category_applied_input_types, category), category).toEqual(
      isSeen ? ["image"] : [],
    );
    if (!isSeen) expect(at(alone.results[0]?.category_scores, category)).toBe(0);
  }
});

test("without a model, the latest", async () => {
  const answer = await (await postTo(await mockForTest(), PATH, { input: "x" })).json();
  expect(answer).toMatchObject({ model: "omni-moderation-latest" });
});

test("other categories, in the shape of their provider", async () => {
  const server = await mockForTest();
  const body = {
    model: "m+categories=other",
    input: ["x", "simulated-violence", "simulated-violence-and-threats"],
  };
  const answer: unknown = await (await postTo(server, PATH, body)).json();
  const results = at(answer, "results") as readonly { readonly categories: object }[];
  expect(results.map(flaggedIn)).toEqual([[], [], ["violence_and_threats"]]);
  for (const result of results) {
    expect(Object.keys(result)).toEqual(["categories", "category_scores"]);
    expect(Object.keys(result.categories).toSorted()).toEqual([
      "criminal",
      "dangerous",
      "financial",
      "hate_and_discrimination",
      "health",
      "jailbreaking",
      "law",
      "pii",
      "selfharm",
      "sexual",
      "violence_and_threats",
    ]);
  }
  expect(at(results[2], "category_scores")).toMatchObject({ violence_and_threats: 0.98 });
});

const refused: [string, object, RegExp][] = [
  ["no input", { model: "m" }, /'input'/],
  ["an empty list", { input: [] }, /'input'/],
  ["numbers", { input: [1] }, /'input'/],
  [
    "pictures in other categories",
    { model: "m+categories=other", input: [{ type: "image_url", image_url: { url: "u" } }] },
    /string/,
  ],
];

test.each(refused)("400 for %s", async (_, body, message) => {
  const response = await postTo(await mockForTest(), PATH, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { type: "invalid_request_error", message: expect.stringMatching(message) },
  });
});

test("other categories want a model", async () => {
  const response = await postTo(
    await mockForTest(),
    PATH,
    { input: "x" },
    { "x-mock": "categories=other" },
  );
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { param: "model" } },
  ]);
});
