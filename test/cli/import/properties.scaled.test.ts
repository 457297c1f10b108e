import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ImportAnswers } from "../../../src/cli/import/configuration/imported-configuration.ts";
import {
  formatImportJson,
  formatImportMarkdown,
  runImport,
  IMPORT_SOURCES,
} from "../../../src/cli/import/import.ts";
import { formatDiagnostics } from "../../../src/cli/terminal/report.ts";
import { TEST_CACHE } from "../../support/cache.ts";
import { fewOrMany } from "../../support/long.ts";

const ANSWERS: ImportAnswers = {
  workspace: "demo",
  trainsOnData: false,
  models: ["openai/gpt-5"],
  providers: new Map(),
};

/** Everything that an import would print or write. */
async function outputs(
  source: string,
  text: string,
): Promise<{ readonly text: string; readonly errors: unknown }> {
  const imported = await runImport(
    source,
    { shown: "source", text, path: "/nowhere/source" },
    ANSWERS,
    TEST_CACHE,
  );
  if (!("files" in imported)) return { text: formatDiagnostics("terminal", imported), errors: [] };
  const { result } = imported;
  const written = [
    ...imported.files.values(),
    formatImportMarkdown(result),
    formatImportJson(result),
  ];
  return {
    text: written.join("\n"),
    errors: result.check.errors.filter(({ code }) => code !== "PLACEHOLDER_LEFT"),
  };
}

/** A secret that no form of a credential gives away. */
const SECRET = "planted-secret-value";

const model = fc.constantFrom(
  "openai/gpt-5",
  "azure/deployment",
  "anthropic/claude-sonnet-4-6",
  "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
  "vertex_ai/gemini-2.5-pro",
  "ollama/llama3.1",
  "hosted_vllm/Qwen/Qwen3-32B",
  "text-embedding-3-small",
  "openai/text-embedding-3-large",
  "cohere/rerank-v3.5",
  "openai/*",
  "*",
  "unknown/model",
  "gpt 4",
  "",
);
type Odd = fc.Arbitrary<unknown>;
/** Values that may stand wherever a value can. */
const ODD: Odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom("", "os.environ/X", "-1", 0, -5, 1e12, null, true, "💥"),
);
/** Values that most keys can have. */
const USUAL: Odd = fc.nat(3);
const key = fc.constantFrom(SECRET, "os.environ/OPENAI_API_KEY", "none");
const name = fc.constantFrom("a", "b", "c", "a b", "openai/*", "*", "é", "a/b");
const names = (odd: Odd) => fc.array(fc.oneof(name, odd), { maxLength: 3 });
const maybe = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });

const parameters = (odd: Odd) =>
  fc.record({
    model: fc.oneof({ weight: 9, arbitrary: model }, odd),
    api_key: maybe(key),
    api_base: maybe(
      fc.constantFrom(
        "https://x.openai.azure.com",
        "http://10.0.0.1:8000/v1",
        `https://u:${SECRET}@h.example/v1?k=${SECRET}`,
        "nowhere",
        "http://h.example",
      ),
    ),
    api_version: maybe(fc.constantFrom("2024-10-21", "preview")),
    aws_region_name: maybe(fc.constantFrom("eu-west-1", "us-east-1")),
    aws_secret_access_key: maybe(fc.constant(SECRET)),
    vertex_credentials: maybe(
      fc.constantFrom(`{"private_key":"${SECRET}"}`, "keys/v.json", "/etc/v.json"),
    ),
    vertex_location: maybe(fc.constantFrom("europe-west4", "global")),
    region_name: maybe(fc.constantFrom("eu", "us", "Atlantis!")),
    rpm: maybe(fc.oneof(fc.nat(), odd)),
    weight: maybe(fc.oneof(fc.nat(5), odd)),
    order: maybe(fc.oneof(fc.nat(3), odd)),
    timeout: maybe(fc.oneof(fc.double({ min: 0, max: 1e9, noNaN: true }), odd)),
    max_parallel_requests: maybe(fc.oneof(fc.nat(), odd)),
    input_cost_per_token: maybe(fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), odd)),
    output_cost_per_token: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
    tags: maybe(names(odd)),
    guardrails: maybe(names(odd)),
    headers: maybe(fc.constant({ authorization: SECRET })),
    unknown: maybe(fc.constant(SECRET)),
  });
const liteLlm = (odd: Odd) =>
  fc.record({
    model_list: fc.array(
      fc.record({
        model_name: fc.oneof({ weight: 9, arbitrary: name }, odd),
        litellm_params: parameters(odd),
        model_info: maybe(
          fc
            .record({
              mode: maybe(
                fc.constantFrom(
                  "chat",
                  "embedding",
                  "rerank",
                  "image_generation",
                  "responses",
                  "completion",
                  "zzz",
                ),
              ),
              max_tokens: maybe(fc.oneof(fc.nat(), odd)),
              base_model: maybe(fc.constantFrom("azure/gpt-5", SECRET.repeat(1), "é")),
              output_vector_size: maybe(fc.oneof(fc.nat(), odd)),
              max_input_tokens: maybe(fc.nat()),
              supports_vision: maybe(fc.oneof(fc.boolean(), odd)),
            })
            .map(({ base_model: base, ...rest }) =>
              base === SECRET ? rest : { ...rest, base_model: base },
            ),
        ),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    router_settings: maybe(
      fc.record({
        routing_strategy: maybe(
          fc.constantFrom(
            "simple-shuffle",
            "least-busy",
            "latency-based-routing",
            "cost-based-routing",
            "x",
          ),
        ),
        num_retries: maybe(fc.oneof(fc.integer(), odd)),
        cooldown_time: maybe(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), odd)),
        allowed_fails: maybe(fc.oneof(fc.integer(), odd)),
        fallbacks: maybe(fc.array(fc.dictionary(name, names(odd)), { maxLength: 3 })),
        default_fallbacks: maybe(names(odd)),
        model_group_alias: maybe(fc.dictionary(name, fc.oneof(name, odd))),
        enable_tag_filtering: maybe(fc.boolean()),
        redis_password: maybe(fc.constant(SECRET)),
      }),
    ),
    litellm_settings: maybe(
      fc.record({
        max_budget: maybe(fc.oneof(fc.double({ noNaN: true }), odd)),
        budget_duration: maybe(fc.constantFrom("1d", "30d", "7d")),
      }),
    ),
    teams: maybe(
      fc.array(
        fc.record({
          team_id: fc.oneof(name, odd),
          models: maybe(names(odd)),
          rpm_limit: maybe(fc.oneof(fc.nat(), odd)),
          allowed_model_region: maybe(fc.constantFrom("eu", "us")),
        }),
        { maxLength: 2 },
      ),
    ),
    keys: maybe(
      fc.array(
        fc.record({
          key_alias: maybe(name),
          key: fc.constant(SECRET),
          team_id: maybe(name),
          models: maybe(names(odd)),
        }),
        { maxLength: 2 },
      ),
    ),
    guardrails: maybe(
      fc.constant([{ guardrail_name: "x", litellm_params: { default_on: true, api_key: SECRET } }]),
    ),
  });

describe.each(Object.keys(IMPORT_SOURCES))("import %s", (source) => {
  test("any JSON value is a result or an error, and never a throw", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.jsonValue(),
          fc.string(),
          fc.dictionary(
            fc.constantFrom("model_list", "targets", "strategy", "data", "configs", "include"),
            fc.jsonValue(),
          ),
        ),
        async (value) => {
          const { errors } = await outputs(
            source,
            typeof value === "string" ? value : JSON.stringify(value),
          );
          expect(errors).toEqual([]);
        },
      ),
      { numRuns: fewOrMany(20, 100) },
    );
  });
});

test.each([
  ["usual", USUAL],
  ["odd", ODD],
])(
  "a configuration like LiteLLM's with %s values compiles or is refused, and none of its secrets is written",
  { timeout: 240_000 },
  async (_, odd) => {
    await fc.assert(
      fc.asyncProperty(liteLlm(odd), async (value) => {
        const { text, errors } = await outputs("litellm", JSON.stringify(value));
        expect(errors).toEqual([]);
        expect(text).not.toContain(SECRET);
      }),
      { numRuns: fewOrMany(15, 100) },
    );
  },
);
