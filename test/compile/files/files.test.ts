import { describe, expect, test } from "vitest";
import { FILE_CODES } from "../../../src/compile/findings/codes.ts";
import { CLEAN } from "../base.ts";
import { compileFiles, FILE_SAMPLES, lines, SPLIT } from "./samples.ts";

const whole = await compileFiles({ "routes.yaml": CLEAN });

test("every code of files has a sample that raises it", async () => {
  expect(Object.keys(FILE_SAMPLES)).toEqual(Object.keys(FILE_CODES));
  for (const [code, { files, environment }] of Object.entries(FILE_SAMPLES)) {
    const { table, diagnostics } = await compileFiles(files, environment ?? null);
    expect(diagnostics.map((one) => one.code)).toContain(code);
    expect(table).toBeNull();
  }
});

describe("included files", () => {
  test("the same rows in three files compile to the same table", async () => {
    const split = await compileFiles(SPLIT);
    expect(split.diagnostics).toEqual([]);
    expect(whole.table).not.toBeNull();
    expect(split.table).toEqual(whole.table);
  });

  test("a change of an included file changes the revision", async () => {
    const changed = await compileFiles({
      ...SPLIT,
      "providers.yaml": (SPLIT["providers.yaml"] ?? "").replace("alpha.example", "other.example"),
    });
    expect(changed.table?.revision).not.toBe(whole.table?.revision);
  });

  test("a finding names the file, line and column of the mistake", async () => {
    const text = SPLIT["providers.yaml"] ?? "";
    const broken = await compileFiles({
      ...SPLIT,
      "providers.yaml": text.replace("region: us-east", "region: us-est"),
    });
    expect(lines(broken)).toEqual([
      "UNKNOWN_REGION providers.yaml:10:13 there is no region `us-est` (did you mean `us-east`?)",
    ]);
    const secret = await compileFiles({
      ...SPLIT,
      "teams/supply.yaml": `# sk-${"a1".repeat(12)}\n${SPLIT["teams/supply.yaml"]}`,
    });
    expect(lines(secret)[0]).toMatch(/^LITERAL_SECRET teams\/supply\.yaml:1:3 /);
    const unknown = await compileFiles({
      ...SPLIT,
      "teams/supply.yaml": `${SPLIT["teams/supply.yaml"]}rotues: {}\n`,
    });
    expect(lines(unknown)[0]).toMatch(
      /^UNKNOWN_KEY teams\/supply\.yaml:6:1 .*did you mean `routes`/,
    );
    const syntax = await compileFiles({ ...SPLIT, "providers.yaml": "providers: {\n" });
    expect(lines(syntax).every((line) => line.startsWith("YAML_SYNTAX providers.yaml:"))).toBe(
      true,
    );
  });

  test("a row that two files define is an error with both locations", async () => {
    const { files } = FILE_SAMPLES.INCLUDE_DUPLICATE ?? { files: {} };
    const [line] = lines(await compileFiles(files));
    expect(line).toMatch(
      /^INCLUDE_DUPLICATE teams\.yaml:2:3 routes\.chat is defined at infra\/routes\.yaml:\d+:3 too \(keep one of the two\)$/,
    );
    const endpoint =
      "endpoints:\n  - { id: large-eu, model: large, provider: alpha-eu, upstream_model: m }\n";
    const again = await compileFiles({
      "routes.yaml": `include: [a.yaml]\n${CLEAN}`,
      "a.yaml": endpoint,
    });
    expect(lines(again)[0]).toMatch(
      /^INCLUDE_DUPLICATE a\.yaml:2:5 endpoints\.large-eu is defined at infra\/routes\.yaml:/,
    );
    const both = await compileFiles({
      ...SPLIT,
      "teams/more.yaml": "vocabulary: { labels: [eu] }\n",
      "teams/other.yaml": "vocabulary: { labels: [us] }\n",
    });
    expect(lines(both)).toEqual([
      "INCLUDE_DUPLICATE teams/other.yaml:1:15 vocabulary.labels is defined at infra/teams/more.yaml:1:15 too (keep one of the two)",
    ]);
  });

  test("two files may configure different policies", async () => {
    const { diagnostics } = await compileFiles({
      ...SPLIT,
      "teams/a.yaml": "policies: { initial_mode: { a: enforce } }\n",
      "teams/b.yaml": "policies: { initial_mode: { b: shadow } }\n",
      "policies/a.rego": "",
      "policies/b.rego": "",
    });
    expect(diagnostics.map(({ code }) => code)).not.toContain("INCLUDE_DUPLICATE");
  });

  test("a pattern does not include routes.yaml, its overlays and hidden files", async () => {
    const { table, diagnostics } = await compileFiles({
      ...SPLIT,
      "routes.yaml": (SPLIT["routes.yaml"] ?? "").replace(
        "providers.yaml, teams",
        "'*.yaml', teams",
      ),
      "routes.production.yaml": "routes: null\n",
      ".hidden.yaml": "not: read\n",
    });
    expect(diagnostics).toEqual([]);
    expect(table).toEqual(whole.table);
  });

  test.each([
    "../other.yaml",
    "/etc/passwd.yaml",
    "a/../../b.yaml",
    "./a.yaml",
    "a.json",
    "**/a.yaml",
    "a/**.yaml",
    ".git/a.yaml",
  ])("%s cannot be included", async (path) => {
    const { diagnostics } = await compileFiles({ "routes.yaml": `include: ["${path}"]\n${CLEAN}` });
    expect(diagnostics.map(({ code, line }) => [code, line])).toEqual([["WRONG_VALUE", 1]]);
  });

  test("an included file that is a list or of another version is an error", async () => {
    const list = await compileFiles({ ...SPLIT, "teams/list.yaml": "- a\n" });
    expect(lines(list)[0]).toMatch(/^WRONG_TYPE teams\/list\.yaml:1:1 /);
    const version = await compileFiles({ ...SPLIT, "teams/next.yaml": "version: 2\n" });
    expect(lines(version)).toEqual([
      "VERSION_UNSUPPORTED teams/next.yaml:1:10 `version` must be 1 (write `version: 1`, or leave it out here)",
    ]);
  });
});

describe("overlays", () => {
  const overlay = (text: string, environment: string | null = "production") =>
    compileFiles(
      { "routes.yaml": CLEAN, "routes.production.yaml": text, "routes.staging.yaml": "{}\n" },
      environment,
    );

  test("without an environment no overlay is read; an empty one changes nothing", async () => {
    expect((await overlay("rotues: 1", null)).table).toEqual(whole.table);
    expect((await overlay("", "staging")).table).toEqual(whole.table);
  });

  test("mappings merge, values and lists replace, null removes, rows are added", async () => {
    const { table, diagnostics } = await overlay(
      [
        "providers:",
        "  alpha-eu: { base_url: https://prod.example/v1, timeouts: { total: 20s } }",
        "  gamma-eu: { dialect: openai-chat, base_url: https://gamma.example/v1, region: eu-west, auth: none }",
        "models:",
        "  large: { capabilities: [tools] }",
        "endpoints:",
        "  large-eu: { upstream_model: large-2 }",
        "  large-us: null",
        "  large-gamma: { model: large, provider: gamma-eu, upstream_model: large-1 }",
        "routes:",
        "  chat: { fallbacks: [large-gamma] }",
        "workspaces:",
        "  acme: { approve: { providers: [alpha-eu, gamma-eu] , capabilities: [tools] } }",
        "",
      ].join("\n"),
    );
    expect(diagnostics.map(({ code }) => code)).toEqual(["UNUSED_PROVIDER"]);
    expect(table?.providers["alpha-eu"]?.baseUrl).toBe("https://prod.example/v1");
    expect(table?.providers["beta-us"]).toEqual(whole.table?.providers["beta-us"]);
    expect(table?.models.large?.capabilities).toEqual(["tools"]);
    expect(Object.keys(table?.endpoints ?? {})).toEqual(["large-eu", "large-gamma"]);
    expect(table?.endpoints["large-eu"]?.upstreamModel).toBe("large-2");
    expect(table?.revision).not.toBe(whole.table?.revision);
  });

  test("null removes a key of a row, and a row", async () => {
    const { table, diagnostics } = await overlay(
      [
        "providers: { beta-us: null }",
        "endpoints: { large-us: null }",
        "routes: { chat: { fallbacks: null } }",
        "workspaces: { acme: { approve: { providers: [alpha-eu], capabilities: null } } }",
        "",
      ].join("\n"),
    );
    expect(diagnostics).toEqual([]);
    expect(Object.keys(table?.providers ?? {})).toEqual(["alpha-eu"]);
    expect(table?.workspaces.acme?.approve.capabilities).toEqual([]);
  });

  test("an unknown environment is an error that lists the known ones", async () => {
    expect(lines(await overlay("{}", "prod"))).toEqual([
      "ENVIRONMENT_UNKNOWN routes.yaml:1:1 `prod` is not an environment of this file: there is no overlay for it (known here: production, staging)",
    ]);
    expect(lines(await compileFiles({ "routes.yaml": CLEAN }, "prod"))[0]).toContain(
      "there are no overlays; write ",
    );
  });

  test("findings name the overlay", async () => {
    expect(lines(await overlay("routes:\n  chat: { primary: large-ue }\n"))).toEqual([
      "UNKNOWN_ENDPOINT routes.production.yaml:2:20 route `chat` names the endpoint `large-ue`, which does not exist (did you mean `large-eu`?)",
    ]);
    expect(
      lines(await overlay("providers:\n  alfa-eu: { base_url: https://a.example }\n"))[0],
    ).toMatch(/^MISSING_KEY routes\.production\.yaml:2:3 providers\.alfa-eu lacks/);
    expect(lines(await overlay("routes:\n  chta: null\n"))).toEqual([
      "OVERLAY_REMOVES_NOTHING routes.production.yaml:2:3 routes.chta does not exist, so null removes nothing (did you mean `chat`?)",
    ]);
    expect(lines(await overlay("endpoints:\n  - { id: a }\n"))[0]).toMatch(
      /^WRONG_TYPE routes\.production\.yaml:2:3 /,
    );
    expect(lines(await overlay("include: [a.yaml]\n"))[0]).toMatch(
      /^INCLUDE_NESTED routes\.production\.yaml:1:1 /,
    );
  });

  test("an overlay changes rows of included files too", async () => {
    const { table } = await compileFiles(
      { ...SPLIT, "routes.eu.yaml": "providers: { alpha-eu: { base_url: https://eu.example } }\n" },
      "eu",
    );
    expect(table?.providers["alpha-eu"]?.baseUrl).toBe("https://eu.example");
  });
});
