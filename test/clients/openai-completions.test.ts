import type OpenAI from "openai";
import { BadRequestError } from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { openSession, thrownBy } from "./callers/caller.ts";
import { openaiClient } from "./callers/openai.ts";
import { ROUTES, STARTING, startFixture, type Fixture, type Route } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

type Requested = Partial<OpenAI.CompletionCreateParamsNonStreaming>;

/** What one protocol alone can say, and the routes whose protocols cannot. */
const OTHERS: readonly Route[] = ROUTES.filter((route) => route !== "legacy");
const NATIVE: readonly (readonly [string, Requested, readonly Route[]])[] = [
  ["prompt", { prompt: ["Hello", "Good evening"] }, OTHERS],
  ["prompt", { prompt: [1, 2, 3] }, OTHERS],
  ["suffix", { suffix: "the end" }, OTHERS],
  ["echo", { echo: true }, OTHERS],
  ["n", { n: 2 }, OTHERS],
  ["logprobs", { logprobs: 2 }, OTHERS],
  // The router cuts where a protocol has no stop sequences, and omits a seed.
  ["stop", { stop: ["."] }, []],
  ["stop", { stop: ["\n"] }, []],
  ["seed", { seed: 7 }, []],
];

describe.concurrent.each(ROUTES)("openai completions over the route %s", (route) => {
  it("keeps to the limit of tokens", async () => {
    const made = await openaiClient(openSession(fixture)).completions.create({
      model: route,
      prompt: "Hello",
      // The least that every protocol takes.
      max_tokens: 16,
      temperature: 0.5,
    });
    expect(made.object).toBe("text_completion");
    expect(made.choices).toMatchObject([
      { index: 0, finish_reason: "stop", text: expect.stringMatching(/\w/) },
    ]);
  });

  it.each(NATIVE)("accepts or refuses %s by name: %j", async (param, requested, refusing) => {
    const session = openSession(fixture);
    const request = openaiClient(session).completions.create({
      model: route,
      prompt: "Hello",
      ...requested,
    });
    if (refusing.includes(route)) {
      const error = await thrownBy(request);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param: expect.stringMatching(new RegExp(`^${param}\\b`)) });
    } else {
      expect((await request).choices[0]?.text).toMatch(/\w/);
    }
    expect(session.sent).toHaveLength(1);
  });
});
