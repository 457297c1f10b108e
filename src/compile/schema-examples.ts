import type { JsonValue } from "../canon/json.ts";
import type { Schema } from "./authored/schema.ts";

/**
 * A value for each key whose type does not say what is meant; editors offer them. A key means the
 * same wherever it stands.
 */
const EXAMPLES: Readonly<Record<string, JsonValue>> = {
  include: ["providers.yaml", "teams/*.yaml"],
  path: "/models",
  base_url: "https://api.example.com/v1",
  api_version: "2024-10-21",
  region: "eu-west",
  flags: ["no_store_field"],
  beta_flags: ["context-management-2025-06-27"],
  context_window: 128_000,
  max_output_tokens: 16_000,
  default_max_output_tokens: 4_000,
  dimensions: [512, 1536],
  default_dimensions: 1536,
  signature_family: "openai",
  input: 1.25,
  output: 10,
  cached_input: 0.125,
  cache_write: 1.5625,
  cache_write_1h: 2.5,
  reasoning: 12,
  search: 2,
  url: "https://signalbox.example.com",
  issuer: "https://idp.example.com",
  client_id: "signalbox",
  name_claim: "name",
  group: "platform-operators",
  inputs: 2048,
  tokens: 300_000,
  id: "gpt-5-eu",
  model: "gpt-5",
  provider: "openai-eu",
  upstream_model: "gpt-5",
  max_concurrency: 50,
  route: "chat-large",
  title: "Large, processed in the European Union",
  primary: "gpt-5-eu",
  peers: ["gpt-5-eu-2"],
  hedge_after: "2s",
  routes: ["chat-large"],
  regions: ["eu"],
  providers: ["openai-eu"],
  usd: 50,
  requests_per_minute: 600,
  tokens_per_minute: 1_000_000,
  concurrency: 50,
  tier: "standard",
  labels: ["eu"],
  default_moderation_route: "moderation",
  managed_by: ["platform"],
  workloads: ["batch"],
  owners: ["group:payments"],
  service: "bedrock",
  file: "/run/secrets/openai",
  scopes: ["https://www.googleapis.com/auth/cloud-platform"],
  header: "x-api-key",
  prefix: "Bearer ",
  env: "OPENAI_API_KEY",
  issued_by: "cluster",
  audience: "signalbox",
  jwks_uri: "https://cluster.example.com/openid/v1/jwks",
  jwks_file: "keys/cluster.json",
  claims: { sub: "system:serviceaccount:shop:checkout" },
  workspace: "shop",
  workload: "batch",
  owner: "group:payments",
};

/** What shows its values by itself. */
const TELLING = ["enum", "const", "default", "examples", "properties", "if", "oneOf"] as const;

/** The schema with an example at every key of {@link EXAMPLES} that has none and needs one. */
export function withExamples(schema: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "properties" && isSchema(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, property]) => [name, annotate(name, property)]),
          )
        : below(value),
    ]),
  );
}

function annotate(name: string, property: Schema[string]): Schema[string] {
  if (!isSchema(property)) return property;
  const inner = withExamples(property);
  const example = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : undefined;
  const listsValues =
    TELLING.some((keyword) => keyword in property) ||
    property["type"] === "boolean" ||
    property["type"] === "object";
  // A list of values of a closed list shows them itself; a mapping has its own keys.
  return example === undefined || listsValues || !fits(example, property)
    ? inner
    : { ...inner, examples: [example] };
}

/** `tokens`, `regions` and others are the name of a number here and of a section there. */
function fits(example: JsonValue, { type, $ref }: Schema): boolean {
  if (type === "array") return Array.isArray(example);
  if (type === "integer" || type === "number") return typeof example === "number";
  return type === "string"
    ? typeof example === "string"
    : $ref !== undefined && !Array.isArray(example);
}

function below(value: Schema[string]): Schema[string] {
  if (Array.isArray(value))
    return value.map((item: Schema | JsonValue) => (isSchema(item) ? withExamples(item) : item));
  return isSchema(value) ? withExamples(value) : value;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
