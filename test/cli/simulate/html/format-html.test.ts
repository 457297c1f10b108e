import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { textOf, tokenize } from "./page-tokens.ts";
import { comparison, dataPath, denied, group, report } from "./report-fixture.ts";

const CONTEXT = { colour: false, width: 80, reportDigest: "ab".repeat(32) };
const page = FORMATS.html(report(), CONTEXT);
const opened = (text: string) => tokenize(text).filter(({ kind }) => kind === "open");
const valuesOf = (text: string, name: string) =>
  opened(text).flatMap(({ attributes }) => attributes.get(name) ?? []);

const REPORTS = {
  full: report(),
  empty: report({
    declared: comparison(),
    promoted: comparison(),
    promoted_policies: [],
    findings: [],
    changed_settings: [],
    evidence: null,
    assertions: null,
  }),
  incomplete: report({ complete: false, cut: [{ dimension: "needs", values: 20, kept: 4 }] }),
};

describe.each(Object.entries(REPORTS))("the page of a report, %s", (_name, value) => {
  const text = FORMATS.html(value, CONTEXT);

  test("requests nothing from a network", () => {
    expect(text).not.toMatch(
      /https?:|url\(|@import|\/\/[a-z]|<link|<img|<iframe|fetch\(|XMLHttpRequest|sendBeacon/i,
    );
    expect(valuesOf(text, "src")).toEqual([]);
    expect(valuesOf(text, "href").filter((href) => !href.startsWith("#"))).toEqual([]);
  });

  test("allows its own style and script by their hashes, and nothing else", () => {
    const policy = valuesOf(text, "content").find((content) => content.includes("default-src"));
    const tokens = tokenize(text);
    const hashes = ["script", "style"].map((name) => {
      const index = tokens.findIndex((token) => token.kind === "open" && token.value === name);
      return `'sha256-${createHash("sha256")
        .update(tokens[index + 1]?.value ?? "")
        .digest("base64")}'`;
    });
    expect(policy).toBe(
      `default-src 'none'; script-src ${hashes[0]}; style-src ${hashes[1]}; base-uri 'none'; form-action 'none'`,
    );
    const attributes = opened(text).flatMap((token) => [...token.attributes.keys()]);
    expect(attributes.filter((name) => name === "style" || name.startsWith("on"))).toEqual([]);
  });

  test("has each id once, and every label, anchor and heading that is pointed at", () => {
    const ids = valuesOf(text, "id");
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = [
      ...valuesOf(text, "aria-labelledby"),
      ...valuesOf(text, "href").map((href) => href.slice(1)),
    ];
    expect(wanted.filter((id) => !id.includes("=") && !ids.includes(id))).toEqual([]);
  });

  test("has one main, a header, a footer, a navigation, and headings without gaps", () => {
    const tags = opened(text).map((token) => token.value);
    for (const landmark of ["main", "nav", "footer", "h1"])
      expect(tags.filter((tag) => tag === landmark)).toEqual([landmark]);
    const levels = tags.filter((tag) => /^h[1-6]$/.test(tag)).map((tag) => Number(tag[1]));
    expect(
      levels.filter((level, index) => index > 0 && level - (levels[index - 1] ?? 0) > 1),
    ).toEqual([]);
  });

  test("has no block in a paragraph, which would end it early", () => {
    const blocks = new Set([
      "div",
      "details",
      "ul",
      "ol",
      "dl",
      "p",
      "table",
      "section",
      "article",
      "h4",
    ]);
    let inParagraph = false;
    const bad: string[] = [];
    for (const { kind, value: tag } of tokenize(text)) {
      if (kind === "open" && inParagraph && blocks.has(tag)) bad.push(tag);
      if (tag === "p" && kind !== "text") inParagraph = kind === "open";
    }
    expect(bad).toEqual([]);
  });

  test("has a caption for every table and a scope for every heading of one", () => {
    const all = opened(text);
    expect(all.filter((token) => token.value === "th" && !token.attributes.has("scope"))).toEqual(
      [],
    );
    const amount = (tag: string) => all.filter((token) => token.value === tag).length;
    expect(amount("caption")).toBe(amount("table"));
  });

  test("is the same for the same report", () => {
    expect(FORMATS.html(value, CONTEXT)).toBe(text);
  });
});

describe("the text of the page", () => {
  const shown = textOf(page);

  test.each([
    "Incomparable",
    "16 of 3,184 classes change (20,480 request shapes)",
    "3,184 classes stand for 1,926,400 request shapes",
    "assertions 1 failed, 1 waived, 1 passed; 1 coverage gate fails",
    "2 of 4 changes seen: 1,977 decisions, 4.1 %",
    "less than 0.1 %",
    "newly denied",
    "+ denied by eu-residency/processed_in_eu: NOT_IN_EU",
    "+ at most 4096 output tokens",
    "+ takes out user",
    "+ takes out metadata",
    "+ claude-sonnet-global: claude-sonnet at anthropic-global in global",
    "- gpt-5-eu: gpt-5 at openai-eu in eu",
    "(was number",
    "seen 41 times in evidence",
    "not seen in evidence",
    "1 decision was made differently than base decides: under other files, or with data that an older record does not have",
    "2 lines are not evidence and not counted",
    "signalbox explain --workspace acme --route chat-large --label 'it'\\''s here'",
    "routes.yaml:214:7",
    "As if 1 candidate was promoted (web-search): ",
    "9 of 14 (64.2 %), 80 % required",
    "NOT_IN_EU, IN_OFFICE_HOURS",
    "waived until 2026-12-31 by group:platform: Migration of research.",
    "workspaces.acme.limits",
    "policy web-search calls startswith",
    "endpoints.claude-sonnet-global has no price. Give it one",
    "df534b4e0c5d4e6f7a8b9c0d1e2f3a4b5c6d7e8f",
    `Report, which an approver signs: sha256:${"ab".repeat(32)}`,
  ])("contains: %s", (sentence) => {
    expect(shown).toContain(sentence);
  });

  test.each([
    ["new data paths before lost ones", "Lost data paths", "New data paths 2", "Lost data paths 1"],
    ["lost data paths before changes", "Changes 4", "Lost data paths 1", "Changes 4"],
    ["failures before passes", "PASS", "Regulated workspaces stay", "Interactive chat is always"],
    [
      "new findings before known ones",
      "base",
      "web-search/search_approved new in head",
      "chat-large → gpt-5-us in base already",
    ],
  ])("has %s", (_what, _between, first, second) => {
    expect(shown.indexOf(first)).toBeGreaterThan(-1);
    expect(shown.indexOf(first)).toBeLessThanOrEqual(shown.indexOf(second));
  });

  test("every group and every data path is readable without script", () => {
    const { declared, promoted } = report();
    const ids = valuesOf(page, "id");
    for (const { id } of declared.groups) expect(ids).toContain(`declared-${id}`);
    for (const { id } of promoted.groups) expect(ids).toContain(`promoted-${id}`);
    expect(valuesOf(page, "data-facets")).toHaveLength(
      declared.groups.length + promoted.groups.length + 3,
    );
  });

  test("an incomplete report begins with INCOMPLETE and lists the cut dimensions", () => {
    const text = textOf(FORMATS.html(REPORTS.incomplete, CONTEXT));
    expect(text).toContain("INCOMPLETE: not every class of requests was decided.");
    expect(text).toMatch(/decided.*needs 4 of 20 values/);
    expect(text.indexOf("INCOMPLETE: not every class")).toBeLessThan(
      text.indexOf("New data paths"),
    );
  });

  test("groups common to both views are printed once, for both", () => {
    const { declared } = report();
    const text = FORMATS.html(report({ promoted: declared }), CONTEXT);
    expect(valuesOf(text, "class").filter((each) => each.startsWith("panel"))).toEqual([
      "panel declared promoted",
    ]);
    expect(textOf(text)).toContain(
      "As if 1 candidate was promoted (web-search): the same changes.",
    );
  });

  test("an empty report states that nothing changes", () => {
    const text = textOf(FORMATS.html(REPORTS.empty, { ...CONTEXT, reportDigest: null }));
    expect(text).toContain("Equivalent");
    expect(text).toContain("Equivalent, no class changes");
    expect(text).toContain("No request is decided differently.");
    expect(text).toContain("There is no assertions file.");
    expect(text).toContain("There is no candidate to promote");
    expect(text).not.toContain("SHA-256");
  });

  test("a newly indeterminate class is in the verdict", () => {
    const declared = comparison({
      changed_classes: 1,
      changed_shapes: "1",
      kinds: [{ kind: "indeterminate_new", classes: 1, shapes: "1" }],
      groups: [
        group("4a1b2c3d4e5f", ["indeterminate_new"], { classes: 1, shapes: "1", head: denied() }),
      ],
    });
    const text = textOf(FORMATS.html(report({ declared }), CONTEXT));
    expect(text).toContain("INDETERMINATE: in 1 class a policy cannot be evaluated any more.");
    expect(text).toContain("1 of 3,184 classes changes (1 request shape)");
  });

  test("long lists are folded, not cut", () => {
    const workspaces = Array.from({ length: 40 }, (_, index) => `workspace-${index}`);
    const declared = comparison({
      groups: [group("5a1b2c3d4e5f", ["newly_denied"], { workspaces })],
    });
    const text = textOf(FORMATS.html(report({ declared, promoted: comparison() }), CONTEXT));
    expect(text).toContain("and 28 more");
    for (const workspace of workspaces) expect(text).toContain(workspace);
  });

  test("a path of moderations that leave the route to the workspace is described", () => {
    const declared = comparison({ new_data_paths: [dataPath({ routes: [""] })] });
    const text = FORMATS.html(report({ declared }), CONTEXT);
    expect(textOf(text)).toContain("by (no model)");
  });
});
