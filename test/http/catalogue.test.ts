import Anthropic, {
  BadRequestError,
  NotFoundError as AnthropicNotFound,
  PermissionDeniedError,
} from "@anthropic-ai/sdk";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import OpenAI, { NotFoundError } from "openai";
import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/canon/identity.ts";
import type { RoutingTable, WorkspaceRow } from "../../src/canon/table.ts";
import { decide } from "../../src/decide/decide.ts";
import {
  ANTHROPIC_MODEL,
  ANTHROPIC_MODEL_PAGE,
  MODEL,
  MODEL_LIST,
} from "../../src/http/contract/answer-schemas.ts";
import {
  usableRoute,
  usableRoutes,
  type UsableRoute,
} from "../../src/http/control/catalogue-handlers.ts";
import { startRouter, type Router } from "../support/router.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route,
  shape,
  table,
  workspace,
} from "../support/table.ts";

const GENERATION = [
  "chat.completions",
  "completions",
  "responses",
  "messages",
  "messages.count_tokens",
] as const;
const EVERYTHING = [...GENERATION, "embeddings", "rerank", "moderations"] as const;

type Rows = NonNullable<Parameters<typeof table>[0]>;

/** A table of endpoints `a` (provider p, eu-west) and `b` (provider q, us-east) of one model. */
function tableOf(approve: Parameters<typeof workspace>[1] = {}, rows: Rows = {}): RoutingTable {
  return table({ workspaces: [workspace("w", { contextWindow: null, ...approve })], ...rows });
}

function only(made: RoutingTable, id = "r"): UsableRoute | null {
  return usableRoute(made, identity, EVERYTHING, id);
}

const endpointsOf = (usable: UsableRoute | null): readonly string[] | undefined =>
  usable?.candidates.map((candidate) => candidate.endpoint.id);

async function get(
  router: Router,
  path: string,
  headers = { authorization: "Bearer good" },
): Promise<Response> {
  return fetch(`${router.url}${path}`, { headers });
}

const reader = { ...identity, scopes: new Set<Scope>(["catalogue:read"]) };

const anthropic = ({ url }: Router): Anthropic =>
  new Anthropic({ apiKey: "good", baseURL: `${url}/api`, maxRetries: 0 });
const openai = ({ url }: Router): OpenAI =>
  new OpenAI({ apiKey: "good", baseURL: `${url}/v1`, maxRetries: 0 });

/** Three routes of the workspace, one of another. */
function threeRoutes(): RoutingTable {
  return tableOf(
    { routes: ["second", "third", "first"] },
    {
      routes: [
        route("first", "a", ["b"], { title: "The first" }),
        route("second", "a", []),
        route("third", "b", []),
        route("theirs", "a", []),
      ],
      workspaces: [
        workspace("w", { routes: ["second", "third", "first"] }),
        workspace("other", { routes: ["theirs"] }),
      ],
    },
  );
}

describe("the catalogue of a workspace", () => {
  it("counts the endpoints that it approves", () => {
    const usable = only(tableOf());
    expect(endpointsOf(usable)).toEqual(["a", "b"]);
    expect(usable?.operations).toEqual(
      GENERATION.filter((operation) => operation !== "messages.count_tokens"),
    );
    expect(usable?.capabilities).toEqual(["tools", "json_schema"]);
    expect(usable).toMatchObject({
      contextWindow: 100_000,
      maxOutputTokens: 8_000,
      dimensions: [],
    });
  });

  it.each([
    ["provider", { providers: ["p"] }],
    ["region", { regions: ["eu-west"] }],
  ])(
    "excludes a fallback with an unapproved %s where the route narrows, and lists no route where it denies",
    (_name, approve) => {
      const rows = (onGap: "deny" | "narrow"): Rows => ({
        models: [model("m"), model("n", { contextWindow: 10, maxOutputTokens: 5 })],
        endpoints: [
          endpoint("a", { capabilities: ["json_schema", "tools"] }),
          endpoint("b", { provider: "q", region: "us-east", model: "n", capabilities: [] }),
        ],
        routes: [route("r", "a", ["b"], { onGap })],
        workspaces: [workspace("w", approve)],
      });
      const narrowed = only(table(rows("narrow")));
      expect(endpointsOf(narrowed)).toEqual(["a"]);
      // Nothing of the endpoint that is not used.
      expect(narrowed).toMatchObject({
        contextWindow: 100_000,
        maxOutputTokens: 8_000,
        capabilities: ["tools", "json_schema"],
      });
      expect(only(table(rows("deny")))).toBeNull();
    },
  );

  it.each(["deny", "narrow"] as const)(
    "lists no route with an unapproved primary (on_gap: %s)",
    (onGap) => {
      expect(
        only(
          tableOf(
            { providers: ["q"] },
            {
              workspaces: [workspace("w", { providers: ["q"] })],
              routes: [route("r", "a", ["b"], { onGap })],
            },
          ),
        ),
      ).toBeNull();
    },
  );

  it("offers a capability where requests that need it get through", () => {
    const rows = (onGap: "deny" | "narrow", emulateSchema = false): Rows => ({
      endpoints: [
        endpoint("a", { capabilities: ["json_schema", "tools"] }),
        endpoint("b", { provider: "q", region: "us-east", capabilities: ["tools"] }),
      ],
      routes: [route("r", "a", ["b"], { onGap, emulateSchema })],
    });
    expect(only(table(rows("deny")))?.capabilities).toEqual(["tools"]);
    expect(only(table(rows("narrow")))?.capabilities).toEqual(["tools", "json_schema"]);
    // Requested as a tool, every endpoint has it.
    expect(only(table(rows("deny", true)))?.capabilities).toEqual(["tools", "json_schema"]);
    expect(
      only(table({ ...rows("narrow"), workspaces: [workspace("w", { capabilities: ["tools"] })] }))
        ?.capabilities,
    ).toEqual(["tools"]);
  });

  it("has no limit where one endpoint declares none", () => {
    const made = table({
      models: [model("m"), model("n", { contextWindow: null })],
      endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "us-east", model: "n" })],
    });
    expect(only(made)).toMatchObject({ contextWindow: null, maxOutputTokens: 8_000 });
  });

  it("excludes providers that may train, unless there are no others", () => {
    const training = (...ids: readonly string[]): RoutingTable =>
      table({
        providers: ["p", "q"].map((id) =>
          provider(id, {
            trainsOnData: ids.includes(id),
            region: id === "p" ? "eu-west" : "us-east",
          }),
        ),
      });
    expect(endpointsOf(only(training("q")))).toEqual(["a"]);
    expect(endpointsOf(only(training("p", "q")))).toEqual(["a", "b"]);
  });

  it("offers counting tokens only where a provider counts them", () => {
    const claude = { dialect: "anthropic-messages" } as const;
    const made = table({
      providers: [provider("p", claude), provider("q", { ...claude, region: "us-east" })],
      endpoints: [
        endpoint("a", claude),
        endpoint("b", { ...claude, provider: "q", region: "us-east" }),
      ],
    });
    expect(only(made)?.operations).toContain("messages.count_tokens");
  });

  it.each(["constructor", "__proto__", "unknown", ""])(
    "no route is found under the name %j",
    (id) => {
      expect(only(table({ workspaces: [workspace("w", { routes: ["r", id] })] }), id)).toBeNull();
    },
  );
});

describe("routes that embed, rerank and moderate", () => {
  const rows = (operation: "embed" | "rerank" | "moderate"): Rows => ({
    models: [
      model("m", {
        operations: [operation],
        capabilities: [],
        ...(operation === "embed" ? { dimensions: [256, 1024], contextWindow: 8_192 } : {}),
      }),
    ],
    routes: [route("r", "a", ["b"], { operations: [operation] })],
  });

  it.each<[string, Partial<WorkspaceRow["approve"]>, readonly number[]]>([
    ["one length", { dimensions: [256], contextWindow: 8_192 }, [256]],
    [
      "all lengths and a larger window",
      { dimensions: [256, 512, 1024], contextWindow: 100_000 },
      [256, 1024],
    ],
  ])("embeds with approved endpoints only: %s", (_name, approve, dimensions) => {
    expect(
      only(tableOf({}, { ...rows("embed"), workspaces: [workspace("w", approve)] })),
    ).toMatchObject({
      operations: ["embeddings"],
      dimensions,
      contextWindow: 8_192,
    });
  });

  it.each<[string, Partial<WorkspaceRow["approve"]>]>([
    ["no length", { dimensions: [512], contextWindow: 8_192 }],
    ["a smaller window", { dimensions: [256], contextWindow: 8_191 }],
    ["no window", { dimensions: [256], contextWindow: null }],
  ])("lists no route that embeds where the workspace approves %s", (_name, approve) => {
    expect(
      only(tableOf({}, { ...rows("embed"), workspaces: [workspace("w", approve)] })),
    ).toBeNull();
  });

  it("lists no route that embeds with a model of unknown window", () => {
    const models = [model("m", { operations: ["embed"], dimensions: [256], contextWindow: null })];
    const workspaces = [workspace("w", { dimensions: [256], contextWindow: 1_000_000 })];
    expect(only(table({ ...rows("embed"), models, workspaces }))).toBeNull();
  });

  it.each([
    ["rerank", "rerank"],
    ["moderate", "moderations"],
  ] as const)("%s is listed as %s", (operation, listed) => {
    expect(only(table(rows(operation)))?.operations).toEqual([listed]);
  });

  it("omits operations without an endpoint of the server", () => {
    const made = table(rows("rerank"));
    expect(usableRoutes(made, identity, EVERYTHING)).toHaveLength(1);
    expect(usableRoutes(made, identity, GENERATION)).toEqual([]);
  });

  it("offers no operation without an endpoint of the server", () => {
    const usable = usableRoute(table(), identity, ["chat.completions"], "r");
    expect(usable?.serves("chat.completions", ["tools"], [])).toBe(true);
    expect(usable?.serves("messages", ["tools"], [])).toBe(false);
  });

  it("each workspace and each table has a separate list", () => {
    const made = threeRoutes();
    const idsFor = (from: RoutingTable, name: string): readonly string[] =>
      usableRoutes(from, { ...identity, workspace: name }, EVERYTHING).map(
        (usable) => usable.route.id,
      );
    for (let round = 0; round < 2; round += 1) {
      expect(idsFor(made, "w")).toEqual(["first", "second", "third"]);
      expect(idsFor(made, "other")).toEqual(["theirs"]);
      expect(idsFor(table(), "w")).toEqual(["r"]);
    }
  });
});

describe("the catalogue and the decision", () => {
  const subset = <Item>(items: readonly Item[]) => fc.subarray([...items]);
  const letters = ["a", "b", "c"] as const;
  const endpoints = fc.tuple(
    ...letters.map((id) =>
      fc
        .record({
          provider: fc.constantFrom("p", "q"),
          region: fc.constantFrom("eu-west", "us-east"),
          capabilities: subset(["json_schema", "tools"] as const),
          model: fc.constantFrom("m", "n"),
        })
        .map((more) => endpoint(id, more)),
    ),
  );
  const approvals = fc.record({
    providers: subset(["p", "q"]),
    regions: subset(["eu-west", "us-east"]),
    capabilities: subset(["json_schema", "tools"] as const),
    dimensions: subset([64, 256]),
    contextWindow: fc.constantFrom(null, 10, 1_000_000),
  });
  const tables = fc
    .record({
      endpoints,
      approvals,
      onGap: fc.constantFrom("deny" as const, "narrow" as const),
      fallbacks: subset(["b", "c"]),
      operations: subset(["generate", "embed", "rerank", "moderate"] as const),
      emulateSchema: fc.boolean(),
    })
    .map(({ endpoints: rows, approvals: approve, fallbacks, ...more }) =>
      table({
        endpoints: rows,
        models: ["m", "n"].map((id) =>
          model(id, {
            operations: ["generate", "embed", "rerank", "moderate"],
            dimensions: [64, 256],
          }),
        ),
        routes: [route("r", "a", fallbacks, more)],
        workspaces: [workspace("w", approve)],
      }),
    );
  const routed = (
    made: RoutingTable,
    more: Parameters<typeof shape>[0],
  ): readonly string[] | null => {
    const requested = shape(more);
    const features =
      requested.operation === "messages.count_tokens" ? (["count_tokens"] as const) : [];
    const question = { model: "r", shape: { ...requested, features }, preferences: null };
    const decision = decide(made, { ...fakePolicies(), policies: [] }, identity, question, 0);
    return decision.outcome === "route"
      ? decision.plan.map((candidate) => candidate.endpoint.id)
      : null;
  };

  it("agree on every table", () => {
    fc.assert(
      fc.property(tables, (made) => {
        const usable = only(made);
        const seen = new Set<string>();
        for (const operation of EVERYTHING) {
          const plans = (operation === "embeddings" ? [64, 256] : [null]).map((dimensions) =>
            routed(made, { operation, dimensions }),
          );
          const gets = plans.some((plan) => plan !== null);
          expect(usable?.operations.includes(operation) ?? false, operation).toBe(gets);
          for (const id of plans.flatMap((plan) => plan ?? [])) seen.add(id);
        }
        expect(endpointsOf(usable) ?? []).toEqual(letters.filter((id) => seen.has(id)));
        for (const length of [64, 256]) {
          expect(usable?.dimensions.includes(length) ?? false).toBe(
            routed(made, { operation: "embeddings", dimensions: length }) !== null,
          );
        }
        const operation = usable?.operations[0];
        if (operation === undefined) return;
        for (const need of ["tools", "json_schema", "image_input"] as const) {
          const gets = usable?.operations.some(
            (each) =>
              routed(made, {
                operation: each,
                needs: [need],
                dimensions: each === "embeddings" ? (usable.dimensions[0] ?? null) : null,
              }) !== null,
          );
          expect(usable?.capabilities.includes(need), need).toBe(gets);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("GET /v1/models", () => {
  it("lists routes open to a plain request of the key, and with all=true the others with the reason", async () => {
    const policies = fakePolicies(({ candidates }) => {
      const abroad = candidates.filter(({ region }) => region !== "eu-west").map(({ id }) => id);
      const verdict = abroad.length > 0 ? "fail" : "pass";
      return [
        { id: "residency", constraint: "in_eu", effect: "require_all", verdict, failing: abroad },
      ];
    });
    const made = threeRoutes();
    const router = await startRouter({ table: made, policies });
    const list = async (path: string): Promise<readonly { readonly id: string }[]> =>
      JSON.parse(await (await get(router, path)).text()).data;
    const denied = { policy: { id: "residency" }, failed_constraint: "in_eu" };
    for (const path of ["/v1/models", "/api/v1/models"]) {
      expect(await list(path)).toMatchObject([{ id: "second", available: true, denial: null }]);
      expect(await list(`${path}?all=true`)).toMatchObject([
        { id: "first", available: false, denial: denied },
        { id: "second", available: true, denial: null },
        { id: "third", available: false, denial: denied },
      ]);
      expect((await get(router, `${path}?all=maybe`)).status).toBe(400);
    }
    const page = await get(router, "/api/v1/models?limit=1");
    expect(await page.json()).toMatchObject({ data: [{ id: "second" }], has_more: false });
    const pageOfAll = await get(router, "/api/v1/models?all=true&limit=1&after_id=first");
    expect(await pageOfAll.json()).toMatchObject({ data: [{ id: "second" }], has_more: true });
    // One that is denied now can still be looked up, with the same reason.
    expect(await (await get(router, "/v1/models/third")).json()).toMatchObject({
      available: false,
      denial: denied,
    });
  });

  it("with all=true lists routes that the table denies, with its reason", async () => {
    const rows: Rows = {
      workspaces: [workspace("w", { providers: ["p"] })],
      routes: [route("r", "a", ["b"])],
    };
    const router = await startRouter({ table: table(rows) });
    expect(await (await get(router, "/v1/models")).json()).toEqual({ object: "list", data: [] });
    expect(await (await get(router, "/v1/models?all=true")).json()).toMatchObject({
      data: [
        {
          id: "r",
          available: false,
          denial: { policy: { id: "approvals" }, reason_code: "PROVIDER_NOT_APPROVED" },
          operations: [],
          regions: [],
        },
      ],
    });
  });

  it("lists the routes as OpenAI's client reads them", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const listed = await openai(router).models.list();
    expect(listed.data.map(({ id }) => id)).toEqual(["first", "second", "third"]);
    expect(listed.data[0]).toEqual({
      id: "first",
      object: "model",
      created: 0,
      owned_by: "signalbox",
      capabilities: ["tools", "json_schema"],
      available: true,
      denial: null,
      operations: ["chat.completions", "completions", "responses", "messages"],
      regions: ["eu-west", "us-east"],
      plaintext: false,
      context_window: 100_000,
      max_output_tokens: 8_000,
      dimensions: [],
      fallbacks: [{ model: "m", provider: "q", region: "us-east" }],
    });
    expect(await openai(router).models.retrieve("third")).toMatchObject({
      regions: ["us-east"],
      fallbacks: [],
    });
  });

  it("answers 404 alike for a route that does not exist and for one of another workspace", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const messages = await Promise.all(
      ["theirs", "nobody's"].map(async (id) => {
        const error: unknown = await openai(router)
          .models.retrieve(id)
          .catch((thrown: unknown) => thrown);
        if (!(error instanceof NotFoundError)) throw new Error("no NotFoundError");
        expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
        return error.message.replace(/req_\d+/, "");
      }),
    );
    expect(new Set(messages).size).toBe(1);
  });
});

describe("GET /api/v1/models", () => {
  it("lists the same routes as Anthropic's client reads them", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const listed = await anthropic(router).models.list();
    expect(listed).toMatchObject({ has_more: false, first_id: "first", last_id: "third" });
    expect(listed.data.map(({ id, display_name: name }) => [id, name])).toEqual([
      ["first", "The first"],
      ["second", "second"],
      ["third", "third"],
    ]);
    expect(listed.data[0]).toMatchObject({
      type: "model",
      created_at: "1970-01-01T00:00:00Z",
      lifecycle: "active",
      max_input_tokens: 100_000,
      max_tokens: 8_000,
      operations: ["chat.completions", "completions", "responses", "messages"],
      regions: ["eu-west", "us-east"],
      context_window: 100_000,
      max_output_tokens: 8_000,
      dimensions: [],
      fallbacks: [{ model: "m", provider: "q", region: "us-east" }],
    });
    expect(await anthropic(router).models.retrieve("second")).toEqual(listed.data[1]);
  });

  it("agrees with the other shape on a route", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const names = [
      "operations",
      "regions",
      "context_window",
      "max_output_tokens",
      "dimensions",
      "fallbacks",
    ];
    const read = async (path: string): Promise<readonly Record<string, unknown>[]> => {
      const body: { data: Record<string, unknown>[] } = JSON.parse(
        await (await get(router, path)).text(),
      );
      return body.data.map((entry) =>
        Object.fromEntries(["id", ...names].map((name) => [name, entry[name]])),
      );
    };
    const other = await read("/api/v1/models");
    expect(other).toEqual(await read("/v1/models"));
    expect(other).toHaveLength(3);
  });

  it("is walked page by page, forwards and backwards", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const client = anthropic(router);
    const walked = async (
      parameters: Parameters<typeof client.models.list>[0],
    ): Promise<readonly string[]> => {
      const ids: string[] = [];
      for await (const { id } of client.models.list(parameters)) ids.push(id);
      return ids;
    };
    expect(await walked({ limit: 1 })).toEqual(["first", "second", "third"]);
    expect(await walked({ limit: 2 })).toEqual(["first", "second", "third"]);
    expect(await walked({ limit: 1, before_id: "third" })).toEqual(["second", "first"]);
    expect(router.decisions.length).toBe(3 + 2 + 2);
  });

  it.each<[string, readonly string[], boolean]>([
    ["", ["first", "second", "third"], false],
    ["?limit=3", ["first", "second", "third"], false],
    ["?limit=2", ["first", "second"], true],
    ["?after_id=first&limit=1", ["second"], true],
    ["?after_id=second", ["third"], false],
    ["?after_id=third", [], false],
    ["?before_id=third&limit=1", ["second"], true],
    ["?before_id=third", ["first", "second"], false],
    ["?before_id=first", [], false],
    // A route that a reload has taken away since the last page.
    ["?after_id=gone", ["second", "third"], false],
    ["?lifecycle[]=active&lifecycle[]=retired", ["first", "second", "third"], false],
    ["?lifecycle[]=retired", [], false],
    ["?beta=true", ["first", "second", "third"], false],
  ])("returns the page %s", async (query, ids, more) => {
    const router = await startRouter({ table: threeRoutes() });
    const body: unknown = await (await get(router, `/api/v1/models${query}`)).json();
    expect(body).toMatchObject({
      data: ids.map((id) => ({ id })),
      has_more: more,
      first_id: ids[0] ?? null,
      last_id: ids.at(-1) ?? null,
    });
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["limit=secret", "limit"],
    ["after_id=first&before_id=third", "before_id"],
    ["lifecycle[]=secret", "lifecycle"],
  ])("refuses ?%s in the protocol's own shape", async (query, parameter) => {
    const router = await startRouter({ table: threeRoutes() });
    const answer = await get(router, `/api/v1/models?${query}`);
    const body = await answer.text();
    expect(answer.status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining(parameter) },
    });
    expect(body).not.toContain("secret");
  });

  it("makes the client throw the error that it throws for Anthropic", async () => {
    const router = await startRouter({ table: threeRoutes() });
    await expect(anthropic(router).models.retrieve("theirs")).rejects.toBeInstanceOf(
      AnthropicNotFound,
    );
    await expect(anthropic(router).models.retrieve("nobody's")).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error" } },
    });
    await expect(anthropic(router).models.list({ limit: 0 })).rejects.toBeInstanceOf(
      BadRequestError,
    );
  });

  it("finds a route with a name that is escaped in a path", async () => {
    const named = table({
      routes: [route("vendor/large:1", "a", [])],
      workspaces: [workspace("w", { routes: ["vendor/large:1"] })],
    });
    const router = await startRouter({ table: named });
    expect(await anthropic(router).models.retrieve("vendor/large:1")).toMatchObject({
      id: "vendor/large:1",
    });
    expect(await openai(router).models.retrieve("vendor/large:1")).toMatchObject({
      id: "vendor/large:1",
    });
  });
});

describe("capabilities in the format of the messages protocol", () => {
  const every = [
    "tools",
    "json_schema",
    "image_input",
    "file_input",
    "reasoning",
    "web_search",
    "code_execution",
  ] as const;
  const rows = (dialect: string, more: Partial<WorkspaceRow["approve"]> = {}): RoutingTable =>
    table({
      providers: [provider("p", { dialect })],
      endpoints: [endpoint("a", { dialect, capabilities: [...every].toSorted() })],
      routes: [route("r", "a", [])],
      workspaces: [workspace("w", { capabilities: [...every], ...more })],
    });
  const read = async (made: RoutingTable): Promise<Anthropic.ModelCapabilities> => {
    const router = await startRouter({ table: made });
    const { capabilities } = await anthropic(router).models.retrieve("r");
    if (capabilities === null) throw new Error("no capabilities");
    return capabilities;
  };
  const YES = { supported: true };
  const NO = { supported: false };

  it("are all there where an endpoint of the protocol has them and the workspace approves them", async () => {
    expect(await read(rows("anthropic-messages"))).toEqual({
      batch: NO,
      citations: NO,
      context_management: {
        ...NO,
        clear_thinking_20251015: NO,
        clear_tool_uses_20250919: NO,
        compact_20260112: NO,
      },
      effort: { ...YES, low: YES, medium: YES, high: YES, xhigh: YES, max: YES },
      image_input: YES,
      pdf_input: YES,
      server_tools: { ...YES, web_search: YES, code_execution: YES },
      structured_outputs: YES,
      thinking: {
        ...YES,
        types: { adaptive: YES, between_tools: NO, disabled: YES, enabled: YES },
      },
      // Those of the router besides.
      code_execution: YES,
      tools: YES,
      json_schema: YES,
      file_input: YES,
      reasoning: YES,
      web_search: YES,
    });
  });

  it("are all false, and ours absent, where the workspace approves none", async () => {
    const capabilities = await read(rows("anthropic-messages", { capabilities: [] }));
    expect(JSON.stringify({ ...capabilities, thinking: null })).not.toContain("true");
    expect(capabilities.thinking).toMatchObject({
      supported: false,
      types: { adaptive: NO, enabled: NO },
    });
    expect(capabilities).not.toHaveProperty("tools");
  });

  it("include for another protocol's endpoint only translatable ones", async () => {
    const capabilities = await read(rows("openai-chat"));
    expect(capabilities).toMatchObject({
      server_tools: { ...NO, web_search: NO, code_execution: NO },
      thinking: { ...YES, types: { adaptive: YES, enabled: NO } },
      structured_outputs: YES,
      web_search: YES,
    });
  });

  it("are all false of a route that does not generate", async () => {
    const made = table({
      models: [model("m", { operations: ["rerank"], capabilities: [] })],
      endpoints: [endpoint("a", { capabilities: [] })],
      routes: [route("r", "a", [], { operations: ["rerank"] })],
    });
    const served = usableRoute(made, identity, EVERYTHING, "r");
    expect(served?.serves("messages", [], [])).toBe(false);
    expect(served?.serves("rerank", [], [])).toBe(true);
  });
});

describe("the endpoints of the catalogue", () => {
  it.each(["/v1/models", "/v1/models/first", "/api/v1/models", "/api/v1/models/first"])(
    "%s demands catalogue:read",
    async (path) => {
      const allowed = await startRouter({ table: threeRoutes(), identity: reader });
      expect((await get(allowed, path)).status).toBe(200);
      expect(allowed.decisions).toMatchObject([{ operation: "models" }]);
      const scopes = new Set<Scope>([
        "inference",
        "route:simulate",
        "governance:read",
        "operations:manage",
      ]);
      const refused = await startRouter({
        table: threeRoutes(),
        identity: { ...identity, scopes },
      });
      expect((await get(refused, path)).status).toBe(403);
    },
  );

  it("report the missing scope to Anthropic's client as its own service does", async () => {
    const router = await startRouter({ table: threeRoutes(), identity });
    await expect(anthropic(router).models.list()).rejects.toBeInstanceOf(PermissionDeniedError);
  });

  it("accept x-api-key below /api/v1/ only", async () => {
    const router = await startRouter({ table: threeRoutes() });
    const statuses = await Promise.all(
      ["/api/v1/models", "/v1/models"].map(async (path) => {
        const answer = await fetch(`${router.url}${path}`, { headers: { "x-api-key": "good" } });
        return answer.status;
      }),
    );
    expect(statuses).toEqual([200, 401]);
  });

  it("list no route for a workspace that the table does not have", async () => {
    const router = await startRouter({
      table: threeRoutes(),
      identity: { ...reader, workspace: "constructor" },
    });
    expect(await (await get(router, "/v1/models")).json()).toEqual({ object: "list", data: [] });
    expect(await (await get(router, "/api/v1/models")).json()).toEqual({
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
  });

  it.each([
    ["/v1/models", MODEL_LIST],
    ["/v1/models/first", MODEL],
    ["/api/v1/models", ANTHROPIC_MODEL_PAGE],
    ["/api/v1/models/first", ANTHROPIC_MODEL],
  ])("%s matches the schema of the contract", async (path, schema) => {
    const router = await startRouter({ table: threeRoutes() });
    const validate = new Ajv2020({ strict: false }).compile(schema);
    validate(await (await get(router, path)).json());
    expect(validate.errors).toBeNull();
  });
});
