import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { FAILURE_KINDS } from "../../src/canon/failure.ts";
import { ROUTE_CODES } from "../../src/compile/findings/codes.ts";
import { TARGETS } from "../fuzz/targets.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = ["docs/security.md", "SECURITY.md"];
const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

describe("the documentation of security", () => {
  it.each(PAGES)("%s links only to existing files", (page) => {
    const links = [...textOf(page).matchAll(/\]\((?!https:)([^)#]+)/g)].map(
      ([, link = ""]) => link,
    );
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !existsSync(resolve(ROOT, dirname(page), link)))).toEqual([]);
  });

  it("names a test for every threat", () => {
    const rows = textOf("docs/security.md")
      .split("\n## ")
      .filter((section) => /\| Test \|\n/.test(section))
      .flatMap((section) => section.split("\n").filter((line) => /^\| (?!Threat|---)/.test(line)));
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => !/\]\(\.\.\/test\/[\w./-]+\.test\.ts\)[^|]*\|$/.test(row))).toEqual(
      [],
    );
  });

  it("names failures and diagnostics that exist", () => {
    const page = textOf("docs/security.md");
    const kinds = page
      .split("\n")
      .filter((line) => line.startsWith("| ") && line.split("|").length === 6)
      .flatMap((line) =>
        [...(line.split("|")[3] ?? "").matchAll(/`([a-z_]+)`/g)].map(([, kind = ""]) => kind),
      );
    expect(kinds).toContain("address_refused");
    const known: ReadonlySet<string> = new Set(FAILURE_KINDS);
    expect(kinds.filter((kind) => !known.has(kind))).toEqual([]);
    const codes = [...page.matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, code = ""]) => code);
    const environment = ["HTTPS_PROXY"];
    expect(
      codes.filter((code) => !Object.hasOwn(ROUTE_CODES, code) && !environment.includes(code)),
    ).toEqual([]);
  });

  it("names every target of the fuzz job", () => {
    const names = TARGETS.map(({ name }) => name).join("\n");
    for (const part of [
      "SSE",
      "AWS event stream",
      "keys",
      "headers",
      "query",
      "forms",
      "routes.yaml",
      "evidence",
    ]) {
      expect(names).toContain(part);
    }
  });

  it("invents no address to write to", () => {
    expect(textOf("SECURITY.md")).not.toMatch(/[\w.]+@[\w.]+/);
  });
});
