import { FAULTS } from "./leaky-upstream.ts";

/** Protocols of the providers, and the requests of each. */
const DIALECTS = {
  chat: { dialect: "openai-chat", path: "/v1" },
  responses: { dialect: "openai-responses", path: "/v1" },
  messages: { dialect: "anthropic-messages", path: "" },
  completions: { dialect: "openai-completions", path: "/v1" },
  cohere: { dialect: "cohere-chat", path: "" },
} as const;
type Protocol = keyof typeof DIALECTS;

export const GENERATING: readonly Protocol[] = [
  "chat",
  "responses",
  "messages",
  "completions",
  "cohere",
];

/** Routes by what they serve. */
export const OTHER_ROUTES = { embed: "chat", rerank: "cohere", moderate: "chat" } as const;

/**
 * The file that the leak test serves: a provider for each protocol and fault, all with a secret of
 * their own.
 */
export function leakRoutes(upstream: string): object {
  const names = Object.keys(DIALECTS).flatMap((protocol) =>
    FAULTS.map((fault) => `${protocol}-${fault}`),
  );
  const generating = GENERATING.flatMap((protocol) =>
    FAULTS.map((fault) => `${protocol}-${fault}`),
  );
  const others = Object.entries(OTHER_ROUTES).flatMap(([kind, protocol]) =>
    FAULTS.map((fault) => ({
      id: `${kind}-${fault}`,
      model: kind,
      provider: `${protocol}-${fault}`,
    })),
  );
  const routes = {
    ...Object.fromEntries(generating.map((name) => [name, { primary: name }])),
    ...Object.fromEntries(others.map(({ id }) => [id, { primary: id }])),
    saved: { primary: "chat-e500", fallbacks: ["messages-e429", "responses-ok"] },
  };
  const approved = ["tools", "file_input", "json_schema"];
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: Object.fromEntries(
      Object.entries(DIALECTS).flatMap(([protocol, { dialect, path }]) =>
        FAULTS.map((fault) => [
          `${protocol}-${fault}`,
          provider(dialect, `${upstream}/${fault}${path}`),
        ]),
      ),
    ),
    models: {
      generate: {
        operations: ["generate"],
        context_window: 200_000,
        max_output_tokens: 8_000,
        default_max_output_tokens: 1_000,
        capabilities: [...approved, "image_input"],
      },
      embed: {
        operations: ["embed"],
        context_window: 8_000,
        dimensions: [8],
        default_dimensions: 8,
      },
      rerank: { operations: ["rerank"], context_window: 4_000 },
      moderate: { operations: ["moderate"] },
    },
    endpoints: [
      ...generating.map((name) => row(name, "generate", name)),
      ...others.map(({ id, model, provider: at }) => row(id, model, at)),
    ],
    routes,
    workspaces: {
      w: {
        tier: "t",
        approve: {
          routes: Object.keys(routes),
          regions: ["world"],
          providers: names,
          // Models can take images; the workspace may not send any.
          capabilities: approved,
          dimensions: [8],
          context_window: 8_000,
        },
        default_moderation_route: "moderate-ok",
      },
    },
  };
}

function provider(dialect: string, baseUrl: string): object {
  return {
    dialect,
    base_url: baseUrl,
    network: "private",
    region: "global",
    auth: { bearer: { env: "LEAK_PROVIDER_KEY" } },
    retention: "none",
    trains_on_data: false,
    trace_context: true,
    timeouts: { first_byte: "300ms", first_token: "300ms", idle: "300ms", total: "600ms" },
    health: { consecutive_failures: 3 },
  };
}

function row(id: string, model: string, at: string): object {
  const upstreamModel = model === "embed" ? "simulated-embed+dimensions=8" : `simulated-${model}`;
  return { id, model, provider: at, upstream_model: upstreamModel, price: { input: 1, output: 1 } };
}
