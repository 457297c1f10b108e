import { describe, expect, it } from "vitest";
import type { Diagnostic } from "../../../../src/canon/diagnostic.ts";
import { FORMATS, type Format } from "../../../../src/cli/simulate/formats/formats.ts";
import { formatDiagnostics } from "../../../../src/cli/terminal/report.ts";
import { HOSTILE, tainted } from "../html/hostile-report.ts";
import { report } from "../html/report-fixture.ts";
import { everything } from "./report-fixture.ts";

const CONTEXT = { colour: false, width: 80, reportDigest: null };
const MARK = "EVIL";

const NAMES = [
  ...HOSTILE,
  "](https://evil.example)",
  "![x](https://evil.example/pixel)",
  "<https://evil.example>",
  "`code` **bold** ",
  "```\n# heading\n",
  "| cell |\n|---|\n",
  "@team #1 ",
  "\n::error file=a.ts::",
  "%0A::error::",
  "::stop-commands::x",
  "\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
].map((name) => [MARK + name] as const);

function printed(format: Format, name: string): string {
  return [report(), everything()]
    .map((each) => FORMATS[format](tainted(each, name), CONTEXT))
    .join("\n");
}

function parsed(format: Format, name: string): readonly unknown[] {
  return [report(), everything()].map((each): unknown =>
    JSON.parse(FORMATS[format](tainted(each, name), CONTEXT)),
  );
}

/** Texts of a JSON document, without the ids of findings, which are digests of ours. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    name === "partialFingerprints" ? [] : textsOf(part),
  );
}

function withoutCode(text: string): string {
  return text
    .replaceAll(/^(`{3,})\w*\n[\s\S]*?^\1$/gm, "")
    .replaceAll(/<code>[^<]*<\/code>/g, "")
    .replaceAll(/(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "");
}

/** Of each line what is neither letters nor digits: all that could be markup. */
function markupOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) =>
      line
        .replaceAll(/(?<=[\p{L}\p{N}])-(?=[\p{L}\p{N}])/gu, "")
        .replaceAll(/[\p{L}\p{N} .,;:?()"'→…·×−%]+/gu, ""),
    );
}

const UNSEEN = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

describe("a hostile name from the repository", () => {
  it.each(NAMES)("has no invisible character in any format: %j", (name) => {
    for (const format of ["terminal", "markdown", "html", "github", "junit"] as const) {
      expect([format, UNSEEN.exec(printed(format, name))]).toEqual([format, null]);
    }
    for (const format of ["sarif", "gitlab", "bitbucket"] as const) {
      const texts = textsOf(parsed(format, name));
      expect([format, texts.filter((text) => UNSEEN.test(text))]).toEqual([format, []]);
    }
  });

  it.each(NAMES)("begins no workflow command of GitHub: %j", (name) => {
    const lines = printed("github", name).split("\n");
    expect(lines.length).toBe(printed("github", MARK).split("\n").length);
    for (const line of lines.filter((each) => each !== ""))
      expect(line).toMatch(/^::(?:error|warning|notice) [^:]*::/);
  });

  it.each(NAMES)("is code or letters and digits in a Markdown comment: %j", (name) => {
    const text = printed("markdown", name);
    expect(text).toContain(MARK);
    const outside = withoutCode(text);
    const plain = printed("markdown", MARK + "x".repeat(name.length - MARK.length));
    expect(markupOf(outside)).toEqual(markupOf(withoutCode(plain)));
    expect(outside).not.toMatch(/@|https?:|www\.|\bGH-\d/i);
    expect(outside).not.toMatch(/^\s*\d+[.)]\s/m);
  });

  it.each(NAMES)("creates no link in SARIF: %j", (name) => {
    for (const text of textsOf(parsed("sarif", name))) expect(text).not.toMatch(/(?<!\\)\]\(/);
  });
});

describe("a hostile name in a finding of check", () => {
  const finding = (name: string): readonly Diagnostic[] => [
    {
      code: "UNKNOWN_ROUTE",
      severity: "error",
      message: name,
      file: `${name}.yaml`,
      line: 1,
      column: 2,
      hint: name,
    },
  ];

  it.each(NAMES)("is shown whole in every format for people: %j", (name) => {
    expect(UNSEEN.exec(formatDiagnostics("terminal", finding(name)))).toBeNull();
    const annotation = formatDiagnostics("github", finding(name));
    expect(UNSEEN.exec(annotation)).toBeNull();
    expect(annotation).toMatch(
      /^::error file=[^:,\n]*,line=1,col=2,title=UNKNOWN_ROUTE::[^\n]*\n$/,
    );
    const texts = textsOf(JSON.parse(formatDiagnostics("sarif", finding(name))));
    expect(texts.filter((text) => UNSEEN.test(text) || /(?<!\\)\]\(/.test(text))).toEqual([]);
  });
});
