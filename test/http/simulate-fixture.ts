import fc from "fast-check";
import { CAPABILITY_NAMES, type Capability } from "../../src/canon/capability.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import type { Operation } from "../../src/canon/operation.ts";
import type { PolicyObligation, PolicySet } from "../../src/canon/policy.ts";
import { BALANCES, type RoutingTable, type TierRow } from "../../src/canon/table.ts";
import {
  endpoint,
  fakePolicies,
  model,
  provider,
  route,
  table,
  workspace,
} from "../support/table.ts";

const PROVIDERS = ["p", "q", "s"] as const;
const CAPABILITIES = [
  "tools",
  "json_schema",
  "image_input",
  "reasoning",
  "logprobs",
] as const satisfies Capability[];

const drawn = fc.array(
  fc.record({
    provider: fc.constantFrom(...PROVIDERS),
    model: fc.constantFrom("m", "n"),
    price: fc.option(fc.integer({ min: 0, max: 3 })),
    lacks: mostly<readonly Capability[]>([], fc.subarray([...CAPABILITIES])),
    begins: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

/**
 * The plain value nine times of ten: a dozen things that each may deny leave hardly anything to
 * route.
 */
function mostly<Value>(plain: Value, other: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(plain) }, { weight: 1, arbitrary: other });
}

const ALL: readonly string[] = PROVIDERS;
const REGIONS: readonly string[] = ["eu-west", "us-east"];

/** A table with everything in it that may decide where a request goes. */
export const fixtures = fc.record({
  drawn,
  balances: fc.array(fc.constantFrom(...BALANCES), { minLength: 1, maxLength: 2 }),
  onGap: fc.constantFrom("deny" as const, "narrow" as const),
  foreign: mostly(false, fc.boolean()),
  trains: mostly(false, fc.boolean()),
  approvesRoute: mostly(true, fc.constant(false)),
  approvedProviders: mostly(ALL, fc.subarray([...ALL])),
  approvedRegions: mostly(REGIONS, fc.subarray([...REGIONS])),
  approvedCapabilities: mostly(CAPABILITY_NAMES, fc.subarray([...CAPABILITY_NAMES])),
});
export type Fixture = typeof fixtures extends fc.Arbitrary<infer Value> ? Value : never;

/** @param url of the one upstream behind all providers; a path distinguishes them. */
export function tableOf(made: Fixture, url: string): RoutingTable {
  const region = { p: "eu-west", q: "us-east", s: "eu-west" } as const;
  const dialect = {
    p: "openai-chat",
    q: "openai-chat",
    s: made.foreign ? "anthropic-messages" : "openai-chat",
  } as const;
  const rows = made.drawn.map((each, index) =>
    endpoint(`e${index}`, {
      provider: each.provider,
      model: each.model,
      region: region[each.provider],
      dialect: dialect[each.provider],
      price: each.price === null ? null : { input: each.price, output: 0, request: 0 },
      capabilities: CAPABILITIES.filter(
        (capability) => !each.lacks.includes(capability),
      ).toSorted(),
    }),
  );
  const tiers: TierRow[] = [];
  for (const [index, { begins }] of made.drawn.entries()) {
    const last = tiers.at(-1);
    const balance = made.balances[tiers.length % made.balances.length] ?? "order";
    if (last === undefined || begins)
      tiers.push({ endpoints: [`e${index}`], balance, weights: [1] });
    else
      tiers.splice(-1, 1, {
        ...last,
        endpoints: [...last.endpoints, `e${index}`],
        weights: [...last.weights, 1],
      });
  }
  const [primary = "", ...fallbacks] = rows.map(({ id }) => id);
  return table({
    providers: PROVIDERS.map((id) =>
      provider(id, {
        dialect: dialect[id],
        region: region[id],
        baseUrl: `${url}/${id}/v1`,
        retention: id === "q" ? "days_30" : "none",
        trainsOnData: id === "q" && made.trains,
      }),
    ),
    models: ["m", "n"].map((id) =>
      model(id, { defaultMaxOutputTokens: 1_000, capabilities: [...CAPABILITIES] }),
    ),
    endpoints: rows,
    routes: [route("r", primary, fallbacks, { tiers, onGap: made.onGap })],
    workspaces: [
      workspace("w", {
        routes: made.approvesRoute ? ["r"] : [],
        providers: made.approvedProviders,
        regions: made.approvedRegions,
        capabilities: made.approvedCapabilities,
      }),
    ],
  });
}

/** What each effect of a policy says, enforced and watched. */
export const rules = fc.record({
  gate: fc.constantFrom("pass", "pass", "pass", "fail", "indeterminate"),
  filtered: fc.oneof(fc.constant([]), fc.subarray(["e0", "e1", "e3"])),
  required: mostly<readonly string[]>([], fc.constant(["e2"])),
  watched: fc.constantFrom("pass", "fail"),
  near: fc.subarray(["us", "eu", "moon"], { maxLength: 1 }),
});
type Rules = typeof rules extends fc.Arbitrary<infer Value> ? Value : never;

export function policiesOf({ gate, filtered, required, watched, near }: Rules): PolicySet {
  const among = (ids: readonly string[], present: readonly string[]) =>
    ids.filter((id) => present.includes(id));
  const fake = fakePolicies(({ request, candidates }) => {
    const present = candidates.map(({ id }) => id);
    const [left, lacking] = [among(filtered, present), among(required, present)];
    const gated = request.stream && (gate === "fail" || gate === "indeterminate") ? gate : "pass";
    return [
      { id: "a-gate", effect: "gate", verdict: gated },
      {
        id: "b-filter",
        effect: "filter",
        verdict: left.length > 0 ? "fail" : "pass",
        failing: left,
      },
      {
        id: "c-all",
        effect: "require_all",
        verdict: lacking.length > 0 ? "fail" : "pass",
        failing: lacking,
      },
      {
        id: "d-watched",
        slot: "candidate",
        effect: "gate",
        verdict: watched === "fail" ? "fail" : "pass",
      },
    ];
  });
  const policy = { id: "e-near", revision: 1, digest: "e".repeat(64), slot: "enforced" as const };
  const obligations = near.map((value): PolicyObligation => ({
    policy,
    name: "near",
    kind: "prefer_region",
    value,
  }));
  return { ...fake, evaluate: (input) => ({ ...fake.evaluate(input), obligations }) };
}

const names = fc.subarray([...PROVIDERS], { minLength: 1 });
const preferences: fc.Arbitrary<JsonObject | null> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(null) },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        only: names,
        ignore: fc.subarray([...PROVIDERS], { maxLength: 1 }),
        order: names,
        region: fc.constantFrom("eu", "us-east", ["eu", "us"]),
        zdr: fc.boolean(),
        data_collection: fc.constantFrom("allow", "deny"),
        allow_fallbacks: fc.boolean(),
        sort: fc.constantFrom("price", "latency", "throughput"),
        preferred_max_latency: fc.constantFrom(0.5, { p90: 2 }),
        preferred_min_throughput: fc.constantFrom(50, { p90: 20 }),
        max_price: fc.record({ input: fc.integer({ min: 0, max: 3 }) }),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom({ only: ["typo"] }, { region: ["moon"] }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      { order: ["s", "q"] },
      { allow_fallbacks: false },
      { sort: "price" },
      { sort: "latency" },
    ),
  },
);

export interface Asking {
  readonly operation: Operation;
  readonly path: string;
  readonly body: JsonObject;
}

/** Bodies of the three generation surfaces, with what they need. */
export const askings: fc.Arbitrary<Asking> = fc
  .record({
    operation: fc.constantFrom("chat.completions", "responses", "messages"),
    needs: fc.subarray(["tools", "json_schema", "image"]),
    stream: fc.boolean(),
    provider: preferences,
    model: mostly("r", fc.constantFrom("unknown", "constructor")),
    limit: fc.constantFrom(undefined, 100, 5_000),
    mistake: mostly(false, fc.constant(true)),
  })
  .map(({ operation, needs, stream, provider: preferred, model: requested, limit, mistake }) => {
    const preference = preferred === null ? {} : { provider: preferred };
    const common = {
      model: requested,
      stream,
      ...preference,
      ...(mistake ? { frobnicate: 1 } : {}),
    };
    const parameters = { type: "object", properties: {} };
    if (operation === "messages") {
      const tools = needs.includes("tools")
        ? { tools: [{ name: "f", input_schema: parameters }] }
        : {};
      const messages = [{ role: "user", content: "hello" }];
      return {
        operation,
        path: "/api/v1/messages",
        body: { ...common, max_tokens: limit ?? 50, messages, ...tools },
      };
    }
    if (operation === "responses") {
      const tools = needs.includes("tools")
        ? { tools: [{ type: "function", name: "f", parameters }] }
        : {};
      const most = limit === undefined ? {} : { max_output_tokens: limit };
      return {
        operation,
        path: "/v1/responses",
        body: { ...common, store: false, input: "hello", ...tools, ...most },
      };
    }
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const content = needs.includes("image") ? [image] : "hello";
    const schema = { name: "s", schema: parameters };
    return {
      operation: "chat.completions",
      path: "/v1/chat/completions",
      body: {
        ...common,
        messages: [{ role: "user", content }],
        ...(needs.includes("tools")
          ? { tools: [{ type: "function", function: { name: "f", parameters } }] }
          : {}),
        ...(needs.includes("json_schema")
          ? { response_format: { type: "json_schema", json_schema: schema } }
          : {}),
        ...(limit === undefined ? {} : { max_completion_tokens: limit }),
      },
    };
  });
