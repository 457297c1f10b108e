import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { code } from "../../../../src/cli/document/markdown.ts";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { MARKER } from "../../../../src/cli/simulate/formats/markdown.ts";
import type { SideReport, SimulationReport } from "../../../../src/simulate/report/report.ts";
import {
  comparison,
  everything,
  group,
  HOSTILE,
  huge,
  named,
  path,
  report,
  usFallback,
  WIDENED,
} from "./report-fixture.ts";
import { codePoint } from "../../../support/code-point.ts";

const DIGEST = "ab".repeat(32);

function shown(one: SimulationReport, reportDigest: string | null = DIGEST): string {
  return FORMATS.markdown(one, { colour: false, width: 80, reportDigest });
}

interface Read {
  /** What GitHub would read as markdown or HTML, with all code taken out. */
  readonly markup: string;
  readonly code: readonly string[];
}

/**
 * Reads as GitHub does: fenced blocks first, then HTML blocks and code spans line by line. Throws
 * where a block or an element stays open.
 */
function readMarkdown(text: string): Read {
  const found: string[] = [];
  const markup: string[] = [];
  let fence = "";
  for (const line of text.split(/\r\n?|\n/)) {
    if (fence !== "") {
      if (/^`+$/.test(line) && line.length >= fence.length) fence = "";
      else found.push(line);
    } else if (/^`{3,}[a-z]*$/.test(line)) fence = /^`+/.exec(line)?.[0] ?? "";
    else if (line.startsWith("<summary>")) {
      markup.push(
        line.replaceAll(/<code>([^<]*)<\/code>/g, (_, inner: string) => {
          found.push(inner);
          return "CODE";
        }),
      );
    } else {
      const row = line.replaceAll(/(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)/g, (_, __, inner: string) => {
        found.push(inner.replaceAll("\\|", "|"));
        return line.startsWith("|")
          ? `CODE${inner.replaceAll(/\\\|/g, "").includes("|") ? "|" : ""}`
          : "CODE";
      });
      markup.push(row);
    }
  }
  if (fence !== "") throw new Error("a code block stays open");
  const open: string[] = [];
  for (const [, closing, name = ""] of markup.join("\n").matchAll(/<(\/?)([a-z]+)>/g)) {
    if (name === "br") continue;
    if (closing === "") open.push(name);
    else if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
  }
  if (open.length > 0) throw new Error(`<${open.join("> <")}> stays open`);
  return { markup: markup.join("\n"), code: found };
}

/** Tables whose rows do not have as many cells as their head. */
function brokenRows(markup: string): readonly string[] {
  let cells = 0;
  return markup.split("\n").filter((line) => {
    if (!line.startsWith("|")) {
      cells = 0;
      return false;
    }
    const here = line.split("|").length;
    if (cells === 0) cells = here;
    return here !== cells || !line.endsWith("|");
  });
}

test("the comment lists changed policies, also where no class changes", () => {
  const policy = (
    id: string,
    slot: "enforced" | "candidate",
    digest = "d",
  ): SideReport["policies"][number] => ({
    id,
    digest,
    slot,
    content: "rules",
    from: "head",
  });
  const one = report();
  const text = shown({
    ...one,
    base: {
      ...one.base,
      policies: [
        policy("gone", "enforced"),
        policy("muted", "enforced"),
        policy("same", "enforced"),
      ],
    },
    head: {
      ...one.head,
      policies: [
        policy("added", "candidate"),
        policy("muted", "candidate", "e"),
        policy("same", "enforced"),
      ],
    },
  });
  expect(text).toContain("## Signalbox simulation: SAME, no request is treated differently\n");
  expect(text).toContain("No request is treated differently. 3 policies differ.**\n");
  expect(text.split("\n").filter((line) => line.startsWith("- policy"))).toEqual([
    "- policy + `added` new, candidate",
    "- policy - `gone` gone, it was enforced",
    "- policy ~ `muted` enforced → candidate, text changed d → e",
  ]);
});

describe("the comment", () => {
  test("begins with its marker, and lists the worst changes first", () => {
    const text = shown(usFallback());
    expect(text.startsWith(`${MARKER}\n## Signalbox simulation: REVIEW\n`)).toBe(true);
    const order = ["### New data paths (1)", "### Changes (1)", "3,184 classes stand for"];
    const positions = order.map((part) => text.indexOf(part));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((left, right) => left - right));
    expect(text).toContain("- `+` `acme-eu` `chat.completions` → openai in us-east by `chat-eu`\n");
    expect(text).toContain("+ openai-us-gpt5: gpt-5 at openai in us-east\n");
  });

  test("ends with both revisions and the digest that an approver signs", () => {
    expect(shown(report())).toMatch(
      new RegExp(
        `\\n---\\n.* Table \`3b1c9a0e77d21f00aa\` → \`88f0aa12c3d4ee0011\`\\. Report, which an approver signs: \`sha256:${DIGEST}\`\\.\\n$`,
      ),
    );
    expect(shown(report(), null)).not.toContain("Report");
  });

  test("has SAME in its headline where nothing changes", () => {
    expect(shown(report())).toContain("## Signalbox simulation: SAME, no changes\n");
    expect(readMarkdown(shown(report())).markup).not.toMatch(/<details>|###/);
  });

  test("begins with INCOMPLETE for an incomplete report, and promises nothing", () => {
    const text = shown(everything());
    expect(text.indexOf("INCOMPLETE: not every class")).toBeLessThan(text.indexOf("###"));
    expect(text).toContain("- `!` `key.labels` 16 of 4,096 values\n");
    expect(text).not.toContain("Head allows");
    expect(text).toContain("1,200 decisions were made differently than base decides: ");
    expect(text).toContain("1 line is not evidence and not counted\n");
  });

  test("lists assertions and coverage, failed ones first", () => {
    const rows = shown(everything()).match(/^- (❌|⚠️|✅) .*(?:classes|%.*)$/gmu) ?? [];
    expect(rows.map((row) => row.slice(0, 40))).toMatchInlineSnapshot(`
      [
        "- ❌ **FAIL** \`no-us-for-eu\` EU tenants n",
        "- ⚠️ **WAIVED** \`prod-always-routable\` P",
        "- ✅ **PASS so far** \`embeddings-stay\` EU",
        "- ⚠️ **not judged** routes 12 of 14 (85.",
      ]
    `);
  });

  test("groups that are equal in both views are printed once", () => {
    const both = comparison("more_permissive", [WIDENED], { new_data_paths: [path()] });
    const text = shown(report({ declared: both, promoted: both, promoted_policies: ["a"] }));
    expect(text.split("<details>")).toHaveLength(3);
    expect(text).toContain("As if 1 candidate was promoted (`a`): the same changes.");
  });
});

describe("the length of the comment", () => {
  test("a huge report is cut between elements, and the omitted sections are named", () => {
    const text = shown(huge());
    expect(text.length).toBeLessThanOrEqual(60_000);
    const { markup } = readMarkdown(text);
    expect(markup).toMatch(/… [\d,]+ more groups, see the HTML report/);
    expect(markup).toMatch(/… 4,970 more paths, see the HTML report/);
    // One fold holds all details.
    const groups = markup.split("<details>").length - 2;
    expect(groups).toBeGreaterThan(20);
    expect(markup).toContain(`… ${(5_000 - groups).toLocaleString("en-US")} more groups`);
    expect(text).toContain(DIGEST);
  });

  test("is bounded for long names and many values", () => {
    const name = fc.constantFrom("x", "`", "|", "\\|", "&", "\u{1F600}", "` ", "é");
    fc.assert(
      fc.property(
        name,
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 1, max: 100 }),
        (unit, length, count) => {
          const long = named(unit.repeat(length));
          const times = <T>(items: readonly T[]): readonly T[] =>
            Array.from({ length: count }, () => items).flat();
          const { declared, assertions } = long;
          const many: SimulationReport = {
            ...long,
            cut: times(long.cut),
            declared: {
              ...declared,
              groups: times(declared.groups),
              new_route_paths: times(declared.new_route_paths),
              new_data_paths: times(declared.new_data_paths),
            },
            findings: times(long.findings),
            changed_settings: times(long.changed_settings),
            assertions:
              assertions === null
                ? null
                : {
                    ...assertions,
                    results: times(assertions.results),
                    coverage: times(assertions.coverage),
                  },
          };
          const text = shown(many);
          expect(text.length).toBeLessThanOrEqual(60_000);
          expect(text).toContain(DIGEST);
          readMarkdown(text);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("names from files", () => {
  const part = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.string({ unit: codePoint, maxLength: 5 }),
  );
  const name = fc
    .array(part, { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(""))
    .filter((text) => text !== "");

  /** Without code, letters and digits, which are no markup, mention, link or reference. */
  const bare = (markup: string): string =>
    markup
      .replaceAll(/CODE|(?<=[\p{L}\p{N}])-(?=[\p{L}\p{N}])/gu, "")
      .replaceAll(/[\p{L}\p{N} .,;:?()"'→…·×−%]+/gu, "");

  test("are code, letters or digits: no markup, mention, link, reference or row of a table", () => {
    const expected = bare(readMarkdown(shown(named("name"))).markup);
    fc.assert(
      fc.property(name, (text) => {
        const { markup } = readMarkdown(shown(named(text)));
        expect(bare(markup)).toBe(expected);
        expect(markup).not.toMatch(/^\s*\d+[.)]\s|\bGH-\d/im);
        expect(brokenRows(markup)).toEqual([]);
      }),
    );
  });

  test("a combining mark is no letter", () => {
    const { markup } = readMarkdown(shown(named("\u0345")));
    expect(markup).not.toContain("\u0345");
  });

  test.each(HOSTILE)("%j has no effect", (text) => {
    const { markup } = readMarkdown(shown(named(text)));
    expect(markup).not.toMatch(/@|https?:|\]\(|script|owned|#12/);
    expect(markup.match(/<!--/g)).toHaveLength(1);
  });

  test("put no invisible character into the comment", () => {
    for (const text of HOSTILE)
      expect(shown(named(text))).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  });

  test("stay unchanged as code where Markdown can hold them", () => {
    const one = group({ workspaces: ["a`b", "``", " c ", "a|b"] });
    const read = readMarkdown(shown(report({ declared: comparison("incomparable", [one]) }))).code;
    for (const text of ["a`b", "a|b"]) expect(read).toContain(text);
    expect(code("``")).toBe("``` `` ```");
    expect(code("")).toBe("`(empty)`");
    expect(code("a\\|b")).toBe("`a\uFFFD\\|b`");
  });
});
