import { AnswerBytes } from "../../src/dialects/unary/answer-bytes.ts";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { PRESETS } from "../../src/compile/presets.ts";
import type { Target } from "../../src/dialects/dialect.ts";
import { DIALECTS, isDialectName } from "../../src/dialects/table.ts";
import { readSections, readText, type Section } from "../policy/documents/document.ts";
import { ADDRESSES } from "./provider-addresses.ts";
import { MODERATE_REQUEST, PRINTERS } from "./provider-requests.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const PAGE = "docs/providers.md";

const sections = readSections(PAGE);

/** The regions that the page's blocks are meant for. */
const regions = /^```yaml regions\n([^]*?)^```$/m.exec(readText(PAGE))?.[1] ?? "";

/** The rows of a section, as they are to be pasted. */
function rowsOf(section: Section): {
  readonly text: string;
  readonly rows: JsonObject;
  readonly needs: string | null;
} {
  const [block, ...others] = section.blocks.filter(({ language }) => language === "yaml");
  if (block === undefined || others.length > 0)
    throw new Error(`${section.heading} has not exactly one block`);
  const rows: JsonValue = parse(block.text);
  if (!isJsonObject(rows)) throw new Error(`the block of ${section.heading} is no mapping`);
  const needs = block.file.startsWith("needs ") ? block.file.slice("needs ".length) : null;
  return { text: block.text, rows, needs };
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (!isJsonObject(value)) throw new Error(`no mapping ${name}`);
  return value;
}

/** The rows in a whole file, in which one workspace may use all of them. */
function wholeFile({ text, rows }: { readonly text: string; readonly rows: JsonObject }): string {
  const providers = objectAt(rows, "providers");
  const endpoints: readonly JsonValue[] = Array.isArray(rows.endpoints) ? rows.endpoints : [];
  const ids = endpoints.flatMap((endpoint) =>
    isJsonObject(endpoint) && typeof endpoint.id === "string" ? [endpoint.id] : [],
  );
  const placed = [...Object.values(providers), ...endpoints].flatMap((row) =>
    isJsonObject(row) && typeof row.region === "string" ? [row.region] : [],
  );
  const models = Object.values(objectAt(rows, "models"));
  const listed = (member: string): readonly JsonValue[] => [
    ...new Set(
      models.flatMap((model) =>
        isJsonObject(model) && Array.isArray(model[member]) ? model[member] : [],
      ),
    ),
  ];
  const windows = models.flatMap((model) =>
    isJsonObject(model) && typeof model.context_window === "number" ? [model.context_window] : [],
  );
  const added = {
    routes: Object.fromEntries(ids.map((id) => [`route-${id}`, { primary: id }])),
    workspaces: {
      w: {
        tier: "standard",
        approve: {
          routes: ids.map((id) => `route-${id}`),
          regions: [...new Set(placed)],
          providers: Object.keys(providers),
          capabilities: listed("capabilities"),
          dimensions: listed("dimensions"),
          ...(windows.length === 0 ? {} : { context_window: Math.max(...windows) }),
        },
      },
    },
  };
  const rest = Object.entries(added).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return ["version: 1", regions, text, ...rest, ""].join("\n");
}

const PRESET_ROWS: ReadonlySet<string> = new Set(Object.values(PRESETS).map(({ row }) => row));

function targetOf({ endpoints, models, providers }: RoutingTable, id: string): Target {
  const endpoint = endpoints[id];
  const model = endpoint === undefined ? undefined : models[endpoint.model];
  const provider = endpoint === undefined ? undefined : providers[endpoint.provider];
  if (endpoint === undefined || model === undefined || provider === undefined) throw new Error(id);
  return { endpoint, model, provider };
}

/**
 * What an endpoint that embeds is sent of the most that a request can say, and whether it is sent
 * tokens.
 */
const EMBED_MEMBERS: Readonly<Record<string, readonly [members: string, takesTokens: boolean]>> = {
  "embed-small-openai-eu": ["dimensions encoding_format input model", true],
  "embed-small-azure-chat-eu": ["dimensions encoding_format input model", true],
  "embed-small-azure-deployments-eu": ["dimensions encoding_format input model", true],
  "embed-small-openrouter-europe": ["dimensions encoding_format input model", true],
  "bge-m3-vllm": ["encoding_format input model", true],
  // Refuses members that it does not know, the encoding among them.
  "jina-embeddings-v3-jina": ["dimensions input model task", false],
  "multilingual-e5-large-together": ["input model", false],
  "cohere-embed-v3-english-azure-ai-eu": ["input model", false],
  // Signed bytes are what it sends unasked.
  "embed-perplexity": ["dimensions input model", false],
  "codestral-embed-mistral-eu": ["encoding_format input model output_dimension", false],
  "voyage-4-voyage": ["encoding_format input input_type model output_dimension truncation", false],
  "cohere-embed-v4-cohere": [
    "embedding_types input_type model output_dimension texts truncate",
    false,
  ],
  "cohere-embed-v4-bedrock-us": [
    "embedding_types input_type output_dimension texts truncate",
    false,
  ],
  "titan-embed-v2-bedrock-us": ["dimensions inputText", false],
  "nova-embed-bedrock-us": ["singleEmbeddingParams taskType", false],
  "gemini-embedding-001-gemini-api": ["requests", false],
  "gemini-embedding-2-gemini-api": ["requests", false],
  "gemini-embedding-001-vertex-eu": ["instances parameters", false],
  "gemini-embedding-2-vertex-global": ["content embedContentConfig", false],
};

/** A section's rows, compiled; with a workspace and routes that use all of them. */
function compiled(section: Section): RoutingTable {
  const { table } = compileTable({ path: PAGE, text: wholeFile(rowsOf(section)) });
  if (table === null) throw new Error(`${section.heading} does not compile`);
  return table;
}

/** Everything that embeds on the page. */
function embedTargets(): readonly Target[] {
  return sections.flatMap((section) => {
    const table = compiled(section);
    const targets = Object.keys(table.endpoints).map((id) => targetOf(table, id));
    return targets.filter(({ model }) => model.operations.includes("embed"));
  });
}

describe("docs/providers.md", () => {
  it("has rows for at least twenty providers, under names of their own", () => {
    const names = sections.map(({ heading }) => heading);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(names.map((name) => name.split(",", 1)[0])).size).toBeGreaterThanOrEqual(20);
    const ids = sections.flatMap((section) =>
      Object.keys(objectAt(rowsOf(section).rows, "providers")),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("describes every region of its rows", () => {
    expect(regions).toContain("regions:");
  });

  describe.each(sections.map((section) => [section.heading, section] as const))(
    "%s",
    (_name, section) => {
      const { text, rows, needs } = rowsOf(section);
      const isMissing = needs !== null && !isDialectName(needs);

      it("names its source, here or in the preset that has the same row", () => {
        const isPreset = Object.keys(objectAt(rows, "providers")).some((id) => PRESET_ROWS.has(id));
        expect(
          isPreset || /^- Source: .*(?:https:\/\/|recorded exchanges)/m.test(section.text),
        ).toBe(true);
      });

      it("omits facts that belong to the contract with a provider", () => {
        for (const member of ["retention", "trains_on_data"]) expect(text).not.toContain(member);
      });

      it("is marked with the dialect that it waits for, and with no other", () => {
        const dialects = Object.values(objectAt(rows, "providers")).map((row) =>
          isJsonObject(row) ? row.dialect : null,
        );
        for (const dialect of dialects) {
          if (needs === null) expect(Object.keys(DIALECTS)).toContain(dialect);
          else expect(dialect).toBe(needs);
        }
      });

      it.skipIf(isMissing)(
        "compiles without a finding, and sends its requests to the known addresses",
        () => {
          const { table, diagnostics } = compileTable({
            path: PAGE,
            text: wholeFile({ text, rows }),
          });
          // Names of the reader's own account are left to the reader, and `check` says so.
          const others = diagnostics.filter(({ code }) => code !== "PLACEHOLDER_LEFT");
          expect(others.map(({ code, line, message }) => `${code} ${line}: ${message}`)).toEqual(
            [],
          );
          expect(others.length < diagnostics.length).toBe(/base_url: \S*[A-Z]{4}/.test(text));
          if (table === null) throw new Error("no table");
          const addresses = Object.keys(table.endpoints).flatMap((id) => {
            const target = targetOf(table, id);
            const served = table.routes[`route-${id}`]?.operations ?? [];
            // A kind of work that the model's row claims and the endpoint's protocol does not have
            // would be read as offered.
            expect(served, id).toEqual(target.model.operations);
            return served.map(
              (operation) => target.provider.baseUrl + PRINTERS[operation](target).path,
            );
          });
          expect([...new Set(addresses)].toSorted()).toEqual(
            (ADDRESSES[section.heading] ?? []).toSorted(),
          );
        },
      );
    },
  );

  it("lists for endpoints that embed only members of their vendors", () => {
    const sent = embedTargets().map((target) => {
      const { id, features } = target.endpoint;
      const sentBody = JSON.parse(JSON.stringify(PRINTERS.embed(target).body)) as object;
      const members = Object.keys(sentBody).toSorted().join(" ");
      return [id, [members, features.includes("token_inputs")]];
    });
    expect(Object.fromEntries(sent)).toEqual(EMBED_MEMBERS);
  });

  it("documents the purpose of vectors only where it changes them", () => {
    const reported = embedTargets().filter(({ endpoint }) =>
      endpoint.features.includes("input_purpose"),
    );
    expect(reported.map(({ endpoint }) => endpoint.id).toSorted()).toEqual([
      "cohere-embed-v4-bedrock-us",
      "cohere-embed-v4-cohere",
      "gemini-embedding-001-gemini-api",
      "gemini-embedding-001-vertex-eu",
      "jina-embeddings-v3-jina",
      "nova-embed-bedrock-us",
      "voyage-4-voyage",
    ]);
  });

  it("describes a model that embeds the same way at every vendor, so that sections can be merged", () => {
    const described = new Map<string, JsonValue>();
    for (const section of sections) {
      for (const [name, model] of Object.entries(objectAt(rowsOf(section).rows, "models"))) {
        if (!isJsonObject(model) || model.dimensions === undefined) continue;
        expect(model, name).toEqual(described.get(name) ?? model);
        described.set(name, model);
      }
    }
    expect(described.size).toBeGreaterThan(10);
  });

  it("maps the categories of a vendor with its own moderations", () => {
    const section = sections.find(({ heading }) => heading === "Mistral");
    const mapping =
      section === undefined
        ? null
        : compiled(section).models["mistral-moderation"]?.moderationCategories;
    if (section === undefined || mapping === null || mapping === undefined)
      throw new Error("no mapping");
    const target = targetOf(compiled(section), "mistral-moderation-mistral-eu");
    const categories = Object.fromEntries(
      Object.keys(mapping).map((name) => [name, name === "selfharm"]),
    );
    const category_scores = Object.fromEntries(Object.keys(mapping).map((name) => [name, 0.25]));
    const result = { categories, category_scores };
    const answer = { id: "1", model: "m", results: [result, result] };
    const verdict = upstreamFor("moderate", target.endpoint.dialect).parseAnswer(
      new AnswerBytes([new TextEncoder().encode(JSON.stringify(answer))]),
      MODERATE_REQUEST,
      target,
    );
    expect(verdict).toMatchObject({
      verdicts: [
        {
          flagged: true,
          categories: {
            "self-harm": { flagged: true, score: 0.25 },
            violence: { flagged: false, score: 0.25 },
          },
        },
        { flagged: true },
      ],
    });
  });

  it("a wrong row would be an error", () => {
    const [section] = sections;
    if (section === undefined) throw new Error("no section");
    const { text, rows } = rowsOf(section);
    const wrong = text
      .replace("region: eu", "region: us")
      .replace("dialect: openai-chat", "dialect: openai-chats");
    expect(wrong).not.toBe(text);
    const { table, diagnostics } = compileTable({
      path: PAGE,
      text: wholeFile({ text: wrong, rows }),
    });
    expect(table).toBeNull();
    expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
  });
});
