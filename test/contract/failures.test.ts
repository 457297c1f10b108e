import { beforeAll, describe, expect, it } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { ROUTES, startFixture, STARTING, variantOf, type Fixture } from "../clients/fixture.ts";
import { deviations } from "./contract.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

const TURN = [{ role: "user", content: "Say hello." }];

/** Body of each surface, without its model. */
const BODIES: Readonly<Record<string, object>> = {
  createChatCompletion: { messages: TURN },
  createCompletion: { prompt: "Say hello." },
  createResponse: { input: "Say hello." },
  createMessage: { messages: TURN, max_tokens: 200 },
};

const VARIANTS = [
  null,
  "short",
  "refusing",
  "cut",
  "malformed",
  "error-frame",
  "cut-at-once",
  "unauthorised",
  "broken",
  "limited",
  "unwilling",
] as const;

interface Requested {
  readonly id: string;
  readonly model: string;
  readonly stream: boolean;
  readonly key: string;
}

/** What is wrong with the answer by the contract, and how it ended. */
async function ask({
  id,
  model,
  stream,
  key,
}: Requested): Promise<{ readonly problems: readonly string[]; readonly ended: string }> {
  const endpoint = ENDPOINTS.find((row) => row.id === id);
  if (endpoint === undefined) throw new Error(`no endpoint ${id}`);
  const response = await fetch(`${fixture.url}${endpoint.path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ ...BODIES[id], model, stream }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  const problems = deviations(endpoint, {
    status: response.status,
    headers: response.headers,
    text,
  });
  const isFailedStream =
    response.status === 200 && stream && /"error":\{|response\.failed/.test(text);
  const ended = isFailedStream ? "stream failed" : String(response.status);
  return {
    problems: problems.map((problem) => `${model}${stream ? " streamed" : ""}: ${problem}`),
    ended,
  };
}

describe("answers of working and failing providers match the contract", () => {
  it.each(Object.keys(BODIES))("%s", { timeout: 120_000 }, async (id) => {
    const models = ROUTES.flatMap((route) =>
      VARIANTS.map((variant) => (variant === null ? route : variantOf(route, variant))),
    );
    const requested = models.flatMap((model) =>
      [true, false].map((stream): Requested => ({ id, model, stream, key: fixture.key })),
    );
    const ends = new Map<string, number>();
    const problems: string[] = [];
    const workers = Array.from({ length: 8 }, async () => {
      for (let next = requested.pop(); next !== undefined; next = requested.pop()) {
        const answer = await ask(next);
        problems.push(...answer.problems);
        ends.set(answer.ended, (ends.get(answer.ended) ?? 0) + 1);
      }
    });
    await Promise.all(workers);
    expect(problems).toEqual([]);
    for (const end of ["200", "stream failed", "502", "400"])
      expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
  });

  it.each(Object.keys(BODIES))("%s, denied by a policy", async (id) => {
    const { problems, ended } = await ask({
      id,
      model: "chat",
      stream: false,
      key: fixture.regulatedKey,
    });
    expect([problems, ended]).toEqual([[], "403"]);
  });
});
