import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import {
  ROUTES,
  STARTING,
  startFixture,
  variantOf,
  type Fixture,
  type Route,
  type Variant,
} from "../clients/fixture.ts";
import { eventTypes, deviations } from "./contract.ts";

// Streams of a real server: each surface over each dialect, with text, tool calls, refusals and
// broken upstreams.
let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

/** Names of events that streams of this file had. */
const seen = new Set<string>();
let ran = 0;

const parameters: JsonObject = { type: "object", properties: { city: { type: "string" } } };
const user = { role: "user", content: "Weather in Paris?" };
const named = { name: "weather", description: "Weather of a city", parameters };

/** What requests a stream at each surface, and what adds tools and reasoning to it. */
const BODIES: Readonly<
  Record<string, { readonly plain: JsonObject; readonly more: readonly JsonObject[] }>
> = {
  createChatCompletion: {
    plain: { messages: [user] },
    more: [{ tools: [{ type: "function", function: named }] }, { reasoning_effort: "low" }],
  },
  createCompletion: { plain: { prompt: "Weather in Paris?" }, more: [] },
  createResponse: {
    plain: { input: "Weather in Paris?" },
    more: [
      { tools: [{ type: "function", strict: false, ...named }] },
      { tools: [{ type: "custom", name: "note" }] },
      { reasoning: { effort: "low", summary: "auto" } },
    ],
  },
  createMessage: {
    plain: { max_tokens: 2_000, messages: [user] },
    more: [
      { tools: [{ name: "weather", input_schema: parameters }] },
      { thinking: { type: "enabled", budget_tokens: 1_024 } },
    ],
  },
};

const VARIANTS: readonly Variant[] = ["parallel", "short", "refusing", "cut", "error-frame"];

async function problemsOf(id: string, model: string, more: JsonObject): Promise<readonly string[]> {
  const endpoint = ENDPOINTS.find((row) => row.id === id);
  if (endpoint === undefined) throw new Error(`no endpoint ${id}`);
  const response = await fetch(`${fixture.url}${endpoint.path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${fixture.key}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({ model, stream: true, ...BODIES[id]?.plain, ...more }),
  });
  const text = await response.text();
  for (const [, name] of text.matchAll(/^event: (.*)$/gm)) seen.add(`${id} ${String(name)}`);
  return deviations(endpoint, { status: response.status, headers: response.headers, text });
}

const cases = Object.entries(BODIES).flatMap(([id, { more }]) =>
  ROUTES.map((route) => [id, route, more] as const),
);

describe("every event of a stream is as the contract describes it:", () => {
  it.each(cases)("%s over %s", { timeout: 60_000 }, async (id, route: Route, more) => {
    ran += 1;
    const [tools = {}] = more;
    const requested: readonly (readonly [string, JsonObject])[] = [
      [route, {}],
      ...more.map((members) => [route, members] as const),
      ...VARIANTS.map(
        (variant) => [variantOf(route, variant), variant === "parallel" ? tools : {}] as const,
      ),
    ];
    for (const [model, members] of requested) {
      expect([model, await problemsOf(id, model, members)]).toEqual([model, []]);
    }
  });
});

/**
 * Simulated providers cite nothing; `error` comes only where a stream breaks before its first
 * event, and most such breaks are a whole answer.
 */
const NOT_SEEN: readonly string[] = [
  "createResponse response.output_text.annotation.added",
  "createResponse error",
];

it("every type of event in the contract was in one of these streams", () => {
  // A run of some of the cases alone has not seen all.
  if (ran < cases.length) return;
  const known = ENDPOINTS.flatMap(({ id, stream }) =>
    stream === undefined ? [] : eventTypes(stream.events).map(([type]) => `${id} ${type}`),
  );
  expect(known.filter((name) => !seen.has(name))).toEqual(NOT_SEEN);
});
