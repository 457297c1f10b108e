import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { GENERATE_DIALECTS, isGenerateDialect } from "../../src/dialects/names.ts";
import { UPSTREAMS } from "../../src/dialects/table.ts";
import { readSections, readText, type Section } from "../policy/documents/document.ts";

const PAGE = "docs/providers.md";

const sections = readSections(PAGE);

/** The regions that the page's blocks are meant for. */
const regions = /^```yaml regions\n([^]*?)^```$/m.exec(readText(PAGE))?.[1] ?? "";

/** The rows of a section, as they are to be pasted. */
function rowsOf(section: Section): { readonly text: string; readonly rows: JsonObject; readonly needs: string | null } {
  const [block, ...others] = section.blocks.filter(({ language }) => language === "yaml");
  if (block === undefined || others.length > 0) throw new Error(`${section.heading} has not exactly one block`);
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
  const endpoints: readonly JsonValue[] = Array.isArray(rows["endpoints"]) ? rows["endpoints"] : [];
  const ids = endpoints.flatMap((endpoint) =>
    isJsonObject(endpoint) && typeof endpoint["id"] === "string" ? [endpoint["id"]] : [],
  );
  const placed = [...Object.values(providers), ...endpoints].flatMap((row) =>
    isJsonObject(row) && typeof row["region"] === "string" ? [row["region"]] : [],
  );
  const capabilities = Object.values(objectAt(rows, "models")).flatMap((model) =>
    isJsonObject(model) && Array.isArray(model["capabilities"]) ? model["capabilities"] : [],
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
          capabilities: [...new Set(capabilities)],
        },
      },
    },
  };
  const rest = Object.entries(added).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return ["version: 1", regions, text, ...rest, ""].join("\n");
}

/** What a line of the list below a block says. */
function said(section: Section, name: string): string {
  return new RegExp(`^- ${name}: (.+)$`, "m").exec(section.text)?.[1] ?? "";
}

/** Where a translated request goes that asks for nothing but text. */
function destination({ endpoints, models, providers }: RoutingTable, id: string): string {
  const endpoint = endpoints[id];
  const model = endpoint === undefined ? undefined : models[endpoint.model];
  const provider = endpoint === undefined ? undefined : providers[endpoint.provider];
  if (endpoint === undefined || model === undefined || provider === undefined) throw new Error(id);
  if (!isGenerateDialect(endpoint.dialect)) throw new Error(endpoint.dialect);
  const upstream = UPSTREAMS[endpoint.dialect];
  const target = { endpoint, model, provider };
  const formatted = upstream.format(REQUEST, target);
  if ("code" in formatted) throw new Error(`${id}: ${formatted.message}`);
  return provider.baseUrl + (upstream.host?.(formatted, target) ?? formatted).path;
}

const REQUEST = {
  purpose: "generate",
  turns: [{ role: "user", name: null, content: [{ kind: "text", text: "hello", cache: null }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  format: null,
  maxOutputTokens: 100,
  temperature: null,
  topP: null,
  topK: null,
  frequencyPenalty: null,
  presencePenalty: null,
  logitBias: null,
  seed: null,
  stop: [],
  logprobs: null,
  reasoning: null,
  verbosity: null,
  hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
  stream: false,
} as const;

describe("docs/providers.md", () => {
  it("has rows for at least twenty providers, under names of their own", () => {
    const names = sections.map(({ heading }) => heading);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(names.map((name) => name.split(",", 1)[0])).size).toBeGreaterThanOrEqual(20);
    const ids = sections.flatMap((section) => Object.keys(objectAt(rowsOf(section).rows, "providers")));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("knows the regions that its rows name", () => {
    expect(regions).toContain("regions:");
  });

  describe.each(sections.map((section) => [section.heading, section] as const))("%s", (_name, section) => {
    const { text, rows, needs } = rowsOf(section);
    const isMissing = needs !== null && !Object.hasOwn(GENERATE_DIALECTS, needs);

    it("says where it goes, what is not verified, and whence it knows", () => {
      for (const line of ["Goes to", "Not verified", "Source"]) expect(said(section, line), line).not.toBe("");
      expect(said(section, "Source")).toMatch(/https:\/\/|recorded exchanges/);
    });

    it("leaves to the contract what the contract says", () => {
      for (const member of ["retention", "trains_on_data"]) expect(text).not.toContain(member);
    });

    it("is marked with the dialect that it waits for, and with no other", () => {
      const dialects = Object.values(objectAt(rows, "providers")).map((row) =>
        isJsonObject(row) ? row["dialect"] : null,
      );
      for (const dialect of dialects) {
        if (needs === null) expect(Object.keys(GENERATE_DIALECTS)).toContain(dialect);
        else expect(dialect).toBe(needs);
      }
    });

    it.skipIf(isMissing)("compiles without a finding, and goes where the page says", () => {
      const { table, diagnostics } = compileTable({ path: PAGE, text: wholeFile({ text, rows }) });
      expect(diagnostics.map(({ code, line, message }) => `${code} ${line}: ${message}`)).toEqual([]);
      if (table === null) throw new Error("no table");
      for (const id of Object.keys(table.endpoints)) {
        expect(`\`${destination(table, id)}\``).toBe(said(section, "Goes to"));
      }
    });
  });

  it("would find a row that is wrong", () => {
    const [section] = sections;
    if (section === undefined) throw new Error("no section");
    const { text, rows } = rowsOf(section);
    const wrong = text.replace("region: eu", "region: us").replace("dialect: openai-chat", "dialect: openai-chats");
    expect(wrong).not.toBe(text);
    const { table, diagnostics } = compileTable({ path: PAGE, text: wholeFile({ text: wrong, rows }) });
    expect(table).toBeNull();
    expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
  });
});
