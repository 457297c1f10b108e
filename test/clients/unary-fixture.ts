import { startTestServer, type TestServer } from "../support/server.ts";

/**
 * Endpoints that embed, one for each wire protocol and each flag that changes it. All make the same
 * vectors of the same texts.
 */
const EMBEDDERS: Readonly<
  Record<string, { readonly dialect: string; readonly flags?: readonly string[] }>
> = {
  openai: { dialect: "openai-chat" },
  floats: { dialect: "openai-chat", flags: ["float_vectors"] },
  mistral: { dialect: "openai-chat", flags: ["output_dimension_field", "no_encoding_format"] },
  voyage: { dialect: "voyage" },
  cohere: { dialect: "cohere-chat" },
  "cohere-invoke": { dialect: "cohere-chat", flags: ["bedrock_invoke"] },
  gemini: { dialect: "gemini" },
  vertex: { dialect: "gemini", flags: ["predict_embeddings"] },
  titan: { dialect: "bedrock-titan-embed" },
  nova: { dialect: "bedrock-nova-embed" },
};

const RERANKERS: Readonly<
  Record<string, { readonly dialect: string; readonly flags?: readonly string[] }>
> = {
  "rank-cohere": { dialect: "cohere-chat" },
  "rank-invoke": { dialect: "cohere-chat", flags: ["bedrock_invoke"] },
  "rank-jina": { dialect: "openai-chat" },
  "rank-voyage": { dialect: "voyage" },
  "rank-bedrock": { dialect: "bedrock-rerank" },
};

export const EMBED_ROUTES: readonly string[] = Object.keys(EMBEDDERS);
export const RERANK_ROUTES: readonly string[] = Object.keys(RERANKERS);

/** Length of the simulated vectors. */
export const DIMENSION = 8;

export interface UnaryFixture {
  readonly test: TestServer;
  readonly url: string;
  readonly key: string;
  /** Of a workspace that approves no vector length and no endpoint that reranks. */
  readonly poorKey: string;
}

/**
 * A whole server whose simulated providers embed, rerank and moderate, each in a protocol of its
 * own.
 */
export async function startUnaryFixture(): Promise<UnaryFixture> {
  const test = await startTestServer(() => JSON.stringify(routesFile()));
  const expiresAt = Date.now() + 600_000;
  const key = await test.key("everything", ["inference", "catalogue:read", "route:simulate"], {
    expiresAt,
  });
  const poorKey = await test.key("poor", ["inference"], { expiresAt });
  return { test, url: test.server.url, key, poorKey };
}

function routesFile(): object {
  const embedders = { ...EMBEDDERS, ...RERANKERS, judge: { dialect: "openai-chat" } };
  const names = Object.keys(embedders);
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: Object.fromEntries(
      Object.entries(embedders).map(([name, { dialect, ...more }]) => [
        name,
        {
          dialect,
          base_url: `https://${name}.example.com/v1`,
          region: "global",
          auth: { bearer: { env: "SIGNALBOX_TEST_KEY" }, on_missing_secret: "simulate" },
          retention: "none",
          trains_on_data: false,
          ...more,
        },
      ]),
    ),
    models: {
      vectors: {
        operations: ["embed"],
        context_window: 8_000,
        dimensions: [4, DIMENSION],
        default_dimensions: DIMENSION,
      },
      ranks: { operations: ["rerank"], context_window: 4_000 },
      verdicts: { operations: ["moderate"], capabilities: ["image_input"] },
      "other-verdicts": {
        operations: ["moderate"],
        moderation_categories: {
          sexual: ["sexual"],
          hate_and_discrimination: ["hate", "harassment"],
          violence_and_threats: ["violence"],
          dangerous: ["illicit"],
          criminal: ["illicit", "illicit/violent"],
          selfharm: ["self-harm"],
          health: [],
          financial: [],
          law: [],
          pii: [],
          jailbreaking: [],
        },
      },
    },
    endpoints: [
      ...EMBED_ROUTES.map((name) => row(name, "vectors", name, "simulated-vectors")),
      row("openai.poisoned", "vectors", "openai", "simulated-vectors+poison"),
      row("openai.permuted", "vectors", "openai", "simulated-vectors+permute"),
      row("openai.short", "vectors", "openai", "simulated-vectors+short=1"),
      ...RERANK_ROUTES.map((name) =>
        row(name, "ranks", name, name === "rank-bedrock" ? ARN : "simulated-ranks"),
      ),
      row("judge", "verdicts", "judge", "simulated-verdicts"),
      row("judge.other", "other-verdicts", "judge", "simulated-verdicts+categories=other"),
    ],
    routes: {
      ...Object.fromEntries(
        [...EMBED_ROUTES, ...RERANK_ROUTES].map((name) => [name, { primary: name }]),
      ),
      "openai.poisoned": { primary: "openai.poisoned" },
      "openai.permuted": { primary: "openai.permuted" },
      "openai.short": { primary: "openai.short" },
      "openai.saved": { primary: "openai.poisoned", fallbacks: ["titan"] },
      judge: { primary: "judge" },
      "judge.other": { primary: "judge.other" },
    },
    workspaces: {
      everything: {
        tier: "standard",
        approve: {
          routes: [
            ...EMBED_ROUTES,
            ...RERANK_ROUTES,
            "openai.poisoned",
            "openai.permuted",
            "openai.short",
            "openai.saved",
            "judge",
            "judge.other",
          ],
          regions: ["world"],
          providers: names,
          capabilities: ["image_input"],
          dimensions: [4, DIMENSION],
          context_window: 8_000,
        },
        default_moderation_route: "judge",
      },
      poor: {
        tier: "standard",
        approve: {
          routes: ["openai", "rank-cohere"],
          regions: ["world"],
          providers: ["openai", "rank-cohere"],
        },
      },
    },
    policies: { dir: "policies", initial_mode: { "*": "shadow" } },
  };
}

/** What Bedrock's agent runtime calls a model. */
const ARN = "arn:aws:bedrock:eu-central-1::foundation-model/simulated-ranks";

function row(id: string, model: string, provider: string, upstreamModel: string): object {
  return { id, model, provider, upstream_model: upstreamModel, price: { input: 1, output: 0 } };
}
