import type { Model, ModelList, RouteSimulation } from "../../../console/api/types.ts";

interface Made {
  readonly id: string;
  readonly provider: string;
  readonly region: string;
  readonly price: { readonly input: number; readonly output: number } | null;
  readonly health?: string;
}

const ENDPOINTS: Readonly<Record<string, Made>> = {
  us: {
    id: "gpt-5-us",
    provider: "openai-us",
    region: "us",
    price: { input: 1.25, output: 10 },
    health: "ejected",
  },
  eu: {
    id: "gpt-5-eu",
    provider: "openai-eu",
    region: "eu",
    price: { input: 1.4, output: 11.2 },
  },
  west: {
    id: "mistral-large-eu",
    provider: "mistral-eu",
    region: "eu-west",
    price: { input: 2, output: 6 },
  },
  claude: { id: "claude-sonnet-us", provider: "anthropic-global", region: "us", price: null },
};

const ROUTES: Readonly<Record<string, readonly string[]>> = {
  "chat-large": ["us", "eu", "west"],
  "chat-large-eu": ["eu", "west"],
  claude: ["claude"],
};

export function model(id: string, changes: Partial<Model> = {}): Model {
  return {
    id,
    object: "model",
    created: 0,
    owned_by: "signalbox",
    capabilities: ["tools", "json_schema", "image_input"],
    available: id !== "claude",
    denial:
      id === "claude"
        ? {
            policy: { id: "eu-residency", revision: "r1", mode: "enforce" },
            failed_constraint: "processed_in_eu",
            reason_code: "NO_EU_ENDPOINT",
          }
        : null,
    plaintext: false,
    operations: ["chat.completions", "messages"],
    regions: (ROUTES[id] ?? []).map((name) => ENDPOINTS[name]?.region ?? ""),
    context_window: 128_000,
    max_output_tokens: 16_000,
    dimensions: [],
    fallbacks: [],
    ...changes,
  };
}

export const MODELS: ModelList = {
  object: "list",
  data: Object.keys(ROUTES).map((id) => model(id)),
};

/**
 * A simulation of a plain request to a route: what is in the US is excluded from the EU's routes
 * and of `claude`.
 */
export function simulation(route: string): RouteSimulation {
  const made = (ROUTES[route] ?? []).flatMap((name) => ENDPOINTS[name] ?? []);
  const isDenied = route === "claude";
  const facts = ({ id, provider, region, price }: Made): object => ({
    endpoint: id,
    model: id.replace(/-(us|eu)$/, ""),
    provider,
    region,
    dialect: "openai-chat",
    capabilities: ["tools", "json_schema"],
    price,
  });
  return {
    object: "route.simulation",
    operation: "chat.completions",
    model: route,
    outcome: isDenied ? "deny" : "route",
    plan: isDenied
      ? []
      : made.map((each) => ({ ...facts(each), status: { state: each.health ?? "healthy" } })),
    arrangement: null,
    denial: null,
    error: isDenied
      ? { status: 403, code: "NO_EU_ENDPOINT", message: "No endpoint of the route is in the EU." }
      : null,
    candidates: made.map((each) => ({
      ...facts(each),
      endpoint: each.id,
      in_plan: !isDenied,
      constraints: [
        {
          policy: "eu-residency",
          revision: "r1",
          slot: "enforced",
          constraint: "processed_in_eu",
          verdict: isDenied ? "fail" : "pass",
          reason: isDenied ? "NO_EU_ENDPOINT" : null,
        },
      ],
    })),
    constraints: [
      {
        policy: "eu-residency",
        revision: "r1",
        slot: "enforced",
        constraint: "processed_in_eu",
        verdict: isDenied ? "fail" : "pass",
        reason: isDenied ? "NO_EU_ENDPOINT" : null,
        effect: isDenied ? "denied" : "none",
        failing: isDenied ? made.map(({ id }) => id) : [],
      },
    ],
    table_revision: "42aeb633e909",
  };
}
