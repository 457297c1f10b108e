import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Identity } from "../../src/canon/identity.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import type { PolicyInput } from "../../src/canon/policy.ts";
import { decide } from "../../src/decide/decide.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { declaredInputSchema, POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route,
  table,
  workspace,
} from "../support/table.ts";

const plainRows = table({
  providers: [
    provider("p", { retention: "days_30", trainsOnData: true }),
    provider("q", { region: "us-east" }),
  ],
  models: [model("m", { dimensions: [256, 1024], signatureFamily: "one" }), model("n")],
  endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "us-east", model: "n" })],
  routes: [route("r", "a", ["b"]), route("s", "b", [])],
  workspaces: [workspace("w", {}, { tier: "regulated", labels: ["eu", "tools"] }), workspace("v")],
});
const rows = {
  ...plainRows,
  vocabulary: { ...plainRows.vocabulary, labels: ["eu", "tools"], owners: ["group:payments"] },
};

const DIALECT_NAMES = Object.keys(DIALECTS);

const CANARY = "cAnArY";
const canary = fc.string({ maxLength: 8 }).map((text) => `${CANARY}${text}`);
/** What a client may write; now and then a value that exists. */
const valueOf = (...known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(canary, fc.constantFrom(...known));

const bodies: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      model: fc.constantFrom("r", "s"),
      messages: fc.array(
        fc.oneof(
          fc.record({ role: valueOf("user", "system"), content: canary, name: canary }),
          fc.record({ role: fc.constant("tool"), content: canary, tool_call_id: canary }),
          fc.record({
            role: fc.constant("user"),
            content: fc.tuple(fc.record({ type: fc.constant("text"), text: canary })),
          }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      tools: fc.array(
        fc.record({
          type: fc.constant("function"),
          function: fc.record({ name: canary, description: canary }),
        }),
        { maxLength: 2 },
      ),
      tool_choice: valueOf("auto"),
      user: canary,
      metadata: fc.dictionary(canary, canary, { maxKeys: 2 }),
      safety_identifier: canary,
      prompt_cache_key: canary,
      service_tier: valueOf("auto"),
      reasoning_effort: valueOf("low", "high"),
      stop: canary,
      stream: fc.boolean(),
      max_tokens: fc.integer({ min: 1, max: 2_000_000 }),
      n: fc.integer({ min: 1, max: 3 }),
      response_format: fc.record({
        type: valueOf("json_schema", "json_object"),
        json_schema: fc.record({
          name: canary,
          schema: fc.dictionary(canary, canary, { maxKeys: 2 }),
        }),
      }),
      provider: fc.record(
        {
          order: fc.array(valueOf("p", "q"), { maxLength: 2 }),
          only: fc.array(valueOf("p", "q"), { maxLength: 2 }),
          region: valueOf("eu", "us-east"),
          data_collection: valueOf("allow", "deny"),
          zdr: fc.boolean(),
          allow_fallbacks: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ["model", "messages"] },
  )
  .chain((body) =>
    fc
      .dictionary(canary, canary, { maxKeys: 2 })
      .map((unknown): JsonObject => ({ ...unknown, ...body })),
  );

const identities: fc.Arbitrary<Identity> = fc
  .record({
    workspace: fc.constantFrom("w", "v"),
    keyId: canary,
    environment: valueOf("production"),
    workload: valueOf("web"),
    owner: valueOf("group:payments"),
    labels: fc.array(valueOf("eu"), { maxLength: 3 }),
  })
  .map((values) => ({ ...identity, ...values }));

const NO_HEADERS = { version: null, betas: [] };

const ajv = new Ajv2020({ allErrors: true });

describe("the input of policies", () => {
  test("contains no client text, and only values in the table's schema", () => {
    const isInput = ajv.compile(declaredInputSchema(rows, DIALECT_NAMES));
    let requested = 0;
    fc.assert(
      fc.property(bodies, identities, fc.integer({ min: 0, max: 4e12 }), (body, caller, at) => {
        const request = chatSurface.parse(body, JSON.stringify(body).length, NO_HEADERS);
        if ("code" in request) return;
        const policies = { ...fakePolicies(), readsTime: true, zones: ["Europe/Berlin"] };
        decide(rows, policies, caller, request, at);
        for (const input of policies.requested) {
          requested += 1;
          expect(JSON.stringify(input)).not.toContain(CANARY);
          expect(isInput(input), JSON.stringify(isInput.errors)).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(requested).toBeGreaterThan(200);
  });

  test("no name of a client's making reaches a policy as a route", () => {
    fc.assert(
      fc.property(valueOf("r", "constructor", "__proto__"), (name) => {
        const policies = fakePolicies();
        const request = chatSurface.parse(
          { model: name, messages: [{ role: "user", content: CANARY }] },
          100,
          NO_HEADERS,
        );
        if ("code" in request) throw new Error("refused");
        decide(rows, policies, identity, request, 0);
        expect(policies.requested.map((input) => input.request.route)).toEqual(
          name === "r" ? ["r"] : [],
        );
      }),
    );
  });

  /** An input of the table, as the router makes it. */
  function example(): PolicyInput {
    const policies = fakePolicies();
    const request = chatSurface.parse(
      { model: "r", messages: [{ role: "user", content: "hi" }] },
      100,
      NO_HEADERS,
    );
    if ("code" in request) throw new Error("refused");
    const preferences = { data_collection: "allow" } as const;
    decide(rows, policies, { ...identity, labels: ["eu"] }, { ...request, preferences }, 0);
    const [input] = policies.requested;
    if (input === undefined) throw new Error("the policies were not evaluated");
    return input;
  }

  /** The value with one leaf replaced, for every leaf; the path says which. */
  function* replaced(value: unknown, path: string): Generator<readonly [string, unknown]> {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries())
        for (const [at, other] of replaced(item, `${path}[${index}]`))
          yield [at, value.with(index, other)];
    } else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value))
        for (const [at, other] of replaced(member, `${path}.${name}`))
          yield [at, { ...value, [name]: other }];
    } else if (typeof value === "string") yield [path, CANARY];
    else if (typeof value === "number") yield [path, 77];
  }

  test("every leaf is closed by the table's schema", () => {
    const isInput = ajv.compile(declaredInputSchema(rows, DIALECT_NAMES));
    const input = example();
    expect(isInput(input)).toBe(true);
    const paths: string[] = [];
    for (const [path, other] of replaced(input, "input")) {
      expect(isInput(other), path).toBe(false);
      paths.push(path);
    }
    expect(paths).toContain("input.workspace.labels[0]");
    expect(paths).toContain("input.time.hour");
    expect(paths).toContain("input.candidates[1].signature_family");
    expect(paths.length).toBeGreaterThan(25);
    expect(isInput({ ...input, prompt: "text" })).toBe(false);
  });

  test("without a table the schema has the members and the enums, but no values of a table", () => {
    const isInput = ajv.compile(POLICY_INPUT_SCHEMA);
    const input = example();
    expect(isInput({ ...input, workspace: { ...input.workspace, id: "any" } })).toBe(true);
    expect(isInput({ ...input, operation: "any" })).toBe(false);
    expect(isInput({ ...input, time: { ...input.time, hour: "noon" } })).toBe(false);
    expect(OPERATIONS.every((operation) => isInput({ ...input, operation }))).toBe(true);
  });

  test("a table without a vocabulary allows only its default values", () => {
    const bare = { ...rows, vocabulary: { environments: [], workloads: [], labels: [] } };
    const isInput = ajv.compile(declaredInputSchema(bare, DIALECT_NAMES));
    const plain = example();
    const input = { ...plain, workspace: { ...plain.workspace, labels: [] } };
    const key = { environment: "other", workload: "other", owner: "other", labels: [] };
    expect(isInput({ ...input, key })).toBe(true);
    expect(isInput({ ...input, key: { ...key, labels: ["eu"] } })).toBe(false);
  });
});
