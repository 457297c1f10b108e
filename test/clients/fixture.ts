import { DIALECTS, type DialectName } from "../../src/dialects/table.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** One route for each wire protocol of the upstream, named after it. */
export const DIALECT_OF_ROUTE = {
  chat: "openai-chat",
  legacy: "openai-completions",
  responses: "openai-responses",
  messages: "anthropic-messages",
  gemini: "gemini",
  converse: "bedrock-converse",
  cohere: "cohere-chat",
} as const satisfies Record<string, DialectName>;

export type Route = keyof typeof DIALECT_OF_ROUTE;

export const ROUTES: readonly Route[] = [
  "chat",
  "legacy",
  "responses",
  "messages",
  "gemini",
  "converse",
  "cohere",
];

/**
 * The routes whose turns are tried in every client. Every client calls every route plainly and in a
 * denied way; it breaks every one in `npm run test:long`.
 */
export const CONVERSING: readonly Route[] = ["chat", "responses", "messages"];

/**
 * Settings of the simulated provider (docs/mock.md): `chat.parallel` is the route `chat` with
 * `+tool-calls=2`.
 */
const VARIANTS = {
  parallel: "tool-calls=2",
  short: "finish=length",
  filtered: "finish=content_filter",
  refusing: "refusal",
  /**
   * After the client has seen the beginning: the slow pieces keep the first events from being sent
   * together with the end.
   */
  cut: "chunks=40+cut=after-10+chunk-delay=2ms",
  reset: "chunks=40+reset=after-10+chunk-delay=2ms",
  malformed: "chunks=40+malformed=after-10+chunk-delay=2ms",
  "error-frame": "chunks=40+error-frame=after-10+chunk-delay=2ms",
  /** Before anything that a client could be sent. */
  "cut-at-once": "cut=after-headers",
  unauthorised: "401",
  broken: "500",
  limited: "429",
  unwilling: "400",
} as const satisfies Record<string, string>;

export type Variant = keyof typeof VARIANTS;

/** The public name of a route that misbehaves in one way. */
export function variantOf(route: Route, variant: Variant): string {
  return `${route}.${variant}`;
}

/** How every error text of the simulated provider begins; no client may ever read it. */
export const UPSTREAM_TEXT = /simulated (answer with status|failure)/i;

/**
 * Milliseconds that a start may take: the policies are compiled where no earlier test has left
 * them.
 */
export const STARTING = 60_000;

export interface Fixture {
  readonly test: TestServer;
  /** Root of the server; clients add `/v1` or `/api`. */
  readonly url: string;
  /** A key of the workspace that approves everything. */
  readonly key: string;
  /**
   * A key of a regulated workspace: a policy denies it every provider, because all of them keep
   * data.
   */
  readonly regulatedKey: string;
  /** A key of a workspace that approves the routes and no capability. */
  readonly plainKey: string;
}

/** Starts a whole server whose four providers are simulated, each in a dialect of its own. */
export async function startFixture(): Promise<Fixture> {
  // JSON is YAML: the table is made from the dialects, so that it has whatever they express.
  const test = await startTestServer(() => JSON.stringify(routesFile()));
  const [key, regulatedKey, plainKey] = await Promise.all(
    ["everything", "regulated", "plain"].map((name) =>
      test.key(name, ["inference", "catalogue:read"], { expiresAt: Date.now() + 600_000 }),
    ),
  );
  if (key === undefined || regulatedKey === undefined || plainKey === undefined)
    throw new Error("no keys");
  return { test, url: test.server.url, key, regulatedKey, plainKey };
}

const PRICE = { input: 1, output: 1 };

function routesFile(): object {
  const routes = ROUTES.flatMap((route) => [route, ...variantNames(route)]);
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: mapped(ROUTES, provider),
    models: mapped(ROUTES, model),
    endpoints: ROUTES.flatMap(endpoints),
    routes: mapped(routes, (name) => ({ primary: `${name}-endpoint` })),
    workspaces: {
      everything: workspace("standard", routes, allCapabilities()),
      regulated: workspace("regulated", routes, allCapabilities()),
      plain: workspace("standard", routes, []),
    },
    policies: { dir: "policies", initial_mode: { "data-retention": "enforce", "*": "shadow" } },
  };
}

function provider(route: Route): object {
  const dialect = DIALECT_OF_ROUTE[route];
  return {
    dialect,
    base_url: `https://${route}.example.com${DIALECTS[dialect].demandsOutputLimit ? "" : "/v1"}`,
    region: "global",
    auth: { bearer: { env: "SIGNALBOX_TEST_KEY" }, on_missing_secret: "simulate" },
    retention: "days_30",
    trains_on_data: false,
    ...(DIALECTS[dialect].supportsBetas ? { beta_flags: BETAS } : {}),
  };
}

/** One date with hyphens and one without, as the vendor writes them. */
export const BETAS = ["interleaved-thinking-2025-05-14", "claude-code-20250219"] as const;

const FAMILIES: Readonly<Partial<Record<Route, string>>> = {
  responses: "openai",
  messages: "anthropic",
  gemini: "gemini",
  converse: "converse",
};

function model(route: Route): object {
  const { expresses, optional } = DIALECTS[DIALECT_OF_ROUTE[route]];
  const family = FAMILIES[route];
  const reasons = expresses.some((capability) => capability === "reasoning");
  return {
    operations: ["generate"],
    context_window: 200_000,
    max_output_tokens: 64_000,
    default_max_output_tokens: 8_000,
    capabilities: expresses,
    accepts: optional,
    ...(family === undefined ? {} : { signature_family: family }),
    ...(reasons
      ? { reasoning: { efforts: ["low", "medium", "high"], budgets: { low: 1_024, high: 4_096 } } }
      : {}),
  };
}

function endpoints(route: Route): readonly object[] {
  const row = (name: string, upstreamModel: string): object => ({
    id: `${name}-endpoint`,
    model: route,
    provider: route,
    upstream_model: upstreamModel,
    price: PRICE,
  });
  const base = `simulated-${route}`;
  return [
    row(route, base),
    ...Object.entries(VARIANTS).map(([variant, setting]) =>
      row(`${route}.${variant}`, `${base}+${setting}`),
    ),
  ];
}

function workspace(
  tier: string,
  routes: readonly string[],
  capabilities: readonly string[],
): object {
  return { tier, approve: { routes, regions: ["world"], providers: ROUTES, capabilities } };
}

function variantNames(route: Route): readonly string[] {
  return Object.keys(VARIANTS).map((variant) => `${route}.${variant}`);
}

function allCapabilities(): readonly string[] {
  return [
    ...new Set(
      ROUTES.flatMap((route): readonly string[] => DIALECTS[DIALECT_OF_ROUTE[route]].expresses),
    ),
  ];
}

function mapped<Name extends string>(names: readonly Name[], row: (name: Name) => object): object {
  return Object.fromEntries(names.map((name) => [name, row(name)]));
}
