import { CAPABILITY_NAMES, FEATURE_NAMES } from "../canon/capability.ts";
import { isJsonObject, type JsonValue } from "../canon/json.ts";
import type { ValueOf } from "../canon/json/schema.ts";
import { MODEL_OPERATIONS } from "../canon/operation.ts";
import { REASONING_EFFORTS } from "../canon/request.ts";
import { RETENTIONS } from "../canon/table.ts";
import { auth, endpoint, model, provider } from "./authored/schema-supply.ts";
import {
  alerts,
  consoleSection,
  policies,
  route,
  vocabulary,
  workloadIdentity,
  workspace,
} from "./authored/schema-use.ts";
import { list, object, range, rows, text, type Schema } from "./authored/schema.ts";
import { INCLUDE } from "./includes.ts";
import { PRESET_NAMES } from "./presets.ts";

/**
 * An example for each key whose type is not self-explanatory; editors offer them. A key has the
 * same meaning everywhere.
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
  time_zone: "Europe/Berlin",
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
  denial_link: "https://wiki.example.com/ai-policies/{policy}#{reason}",
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

/** Keywords that show the possible values. */
const SELF_EXPLANATORY = [
  "enum",
  "const",
  "default",
  "examples",
  "properties",
  "if",
  "oneOf",
] as const;

/** The schema with an example at every key of {@link EXAMPLES} that has none and needs one. */
function withExamples(schema: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "properties" && isJsonObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, property]) => [name, annotate(name, property)]),
          )
        : below(value),
    ]),
  );
}

function annotate(name: string, property: Schema[string]): Schema[string] {
  if (!isJsonObject(property)) return property;
  const inner = withExamples(property);
  const example = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : undefined;
  const listsValues =
    SELF_EXPLANATORY.some((keyword) => keyword in property) ||
    property.type === "boolean" ||
    property.type === "object";
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
    return value.map((item: JsonValue) => (isJsonObject(item) ? withExamples(item) : item));
  return isJsonObject(value) ? withExamples(value) : value;
}

/** `$id` of the schema; a name, not an address that has to be reachable. */
const SCHEMA_ID = "urn:signalbox:routes:1";

/**
 * The shape of routes.yaml, the one source of compiler checks, editor completion
 * (`routes.schema.json`) and `docs/configuration.md`. Rules beyond a shape (references, parity,
 * regions) are checked in `resolve/` and `checks/`.
 */
export function routesSchema(dialects: readonly string[]): Schema {
  return withExamples({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: SCHEMA_ID,
    title: "routes.yaml",
    ...FILE,
    $defs: definitions(dialects),
  });
}

const FILE = object(
  "Everything that Signalbox may route to, and the workspaces that may use it. Unknown keys are errors.",
  {
    version: { const: 1, description: "Version of this format." },
    include: list(
      "Further files with the same sections, relative to this one and inside its folder. `*` matches any part of a name. Only routes.yaml can include files. A key that two files define is an error.",
      {
        ...text(
          INCLUDE,
          "a path to files, such as `providers.yaml` or `teams/*.yaml`: inside the folder, without `./`, `..`, `**` and names that begin with a dot",
        ),
        examples: ["providers.yaml", "teams/*.yaml"],
      },
    ),
    regions: {
      ...rows(
        "Region groups and the regions in each. Only regions listed here exist. A group named after an area (`eu`, `us`, `apac`) lets the compiler compare its regions with hosts and model ids.",
        { $ref: "#/$defs/identifier" },
        {
          type: "array",
          items: { $ref: "#/$defs/identifier" },
          minItems: 1,
          uniqueItems: true,
          description: "Regions of the group.",
        },
      ),
    },
    providers: rows(
      "Services that serve models, by id. A vendor with two regions is two providers.",
      { $ref: "#/$defs/identifier" },
      provider,
    ),
    models: rows(
      "Abilities of models, by id, for all their endpoints.",
      { $ref: "#/$defs/name" },
      model,
    ),
    endpoints: {
      type: "array",
      items: endpoint,
      description: "One row for each model at each provider.",
    },
    routes: rows(
      "Public model names: one primary endpoint and its fallbacks.",
      { $ref: "#/$defs/name" },
      route,
    ),
    workspaces: rows(
      "Tenants, and what each may use. Everything that is not approved is denied.",
      { $ref: "#/$defs/identifier" },
      workspace,
    ),
    policies,
    vocabulary,
    console: consoleSection,
    workload_identity: workloadIdentity,
    alerts,
  },
  ["version", "regions", "providers", "models", "endpoints", "routes", "workspaces"],
);

function definitions(dialects: readonly string[]) {
  return {
    identifier: text(
      "^[a-z0-9][a-z0-9_-]{0,62}$",
      "1 to 63 lower-case letters, digits, `-` or `_`, beginning with a letter or digit",
    ),
    name: text(
      "^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$",
      "1 to 127 letters, digits or `.` `_` `:` `/` `-`, beginning with a letter or digit",
    ),
    dialect: { type: "string", enum: dialects },
    preset: { type: "string", enum: PRESET_NAMES },
    capability: { type: "string", enum: CAPABILITY_NAMES },
    operation: { type: "string", enum: MODEL_OPERATIONS },
    feature: { type: "string", enum: FEATURE_NAMES },
    effort: {
      type: "string",
      enum: REASONING_EFFORTS.filter((effort) => effort !== "unspecified"),
    },
    retention: { type: "string", enum: RETENTIONS },
    duration: text(
      "^[1-9][0-9]{0,6}(?:ms|s|m|h)$",
      "a duration such as `500ms`, `30s`, `10m` or `1h`",
    ),
    soak: text(
      "^(?:none|[1-9][0-9]{0,6}(?:s|m|h|d))$",
      "`none`, or a duration such as `30m`, `12h` or `7d`",
    ),
    tokens: range("integer", 1, 1_000_000_000),
    dollars: range("number", 0, 1_000_000),
    path: text("^[^\\u0000-\\u001f]{1,1024}$", "the path of a file"),
    auth,
    secret: {
      type: "object",
      description: "Where the secret is read from; never the secret itself.",
      properties: {
        env: text(
          "^[A-Za-z_][A-Za-z0-9_]{0,126}$",
          "the name of an environment variable",
          "Name of an environment variable.",
        ),
        file: {
          $ref: "#/$defs/path",
          description: "Path of a file that holds the secret; one line feed at its end is ignored.",
        },
      },
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
    },
  } as const satisfies Readonly<Record<string, Schema>>;
}

/** A shape's meaning, in its type. */
type Authored<Shape> = ValueOf<Shape, ReturnType<typeof definitions>>;

/**
 * routes.yaml as its author writes it: the first of three stages. No reference has been followed
 * yet; includes and presets have been expanded.
 */
export type RoutesFile = Omit<Authored<typeof FILE>, "providers"> & {
  readonly providers: Readonly<Record<string, AuthoredProvider>>;
};

/** With the keys that its preset gives. */
export type AuthoredProvider = Authored<typeof provider> &
  Required<Pick<Authored<typeof provider>, (typeof provider)["else"]["required"][number]>>;

export type AuthoredModel = Authored<typeof model>;
export type AuthoredEndpoint = Authored<typeof endpoint>;
export type AuthoredRoute = Authored<typeof route>;
export type AuthoredWorkspace = Authored<typeof workspace>;
export type AuthoredConsole = Authored<typeof consoleSection>;
export type AuthoredWorkloads = Authored<typeof workloadIdentity>;
export type AuthoredAlerts = Authored<typeof alerts>;
export type AuthoredPolicies = Authored<typeof policies>;
