import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { DESCRIBED_ERRORS } from "../../src/http/contract/document/error-rows.ts";

const SOURCE = resolve(import.meta.dirname, "../../src");

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

/**
 * Not of an endpoint: answered before a path is known, without a caller, where there is no such
 * path, or by pages for people.
 */
const ELSEWHERE = new Set([
  "malformed_request",
  "header_timeout",
  "headers_too_large",
  "client_closed",
  "not_supported",
  "sign_in_failed",
  "sign_in_unavailable",
  "no_role",
]);

/** Codes that stand as literals where errors are made. */
function codesOf(text: string): readonly string[] {
  const calls =
    /\b(?:invalidRequest|serviceError|codedError|policyError|refusal|badRequest)\(\s*(?:\d{3},\s*"\w+",\s*)?"(\w+)"/g;
  return [...text.matchAll(calls)].map(([, code = ""]) => code);
}

describe("the codes of errors", () => {
  const files = filesBelow(SOURCE).filter(
    (path) => path.endsWith(".ts") && !/\/src\/(cli|mock)\//.test(path),
  );
  const codes = new Set(files.flatMap((path) => codesOf(readFileSync(path, "utf8"))));
  const described = new Set(DESCRIBED_ERRORS.map(({ code }) => code));

  it("in the sources are all in the contract", () => {
    expect(codes.size).toBeGreaterThan(60);
    expect([...codes].filter((code) => !described.has(code) && !ELSEWHERE.has(code))).toEqual([]);
  });

  it("are never listed twice for one status and endpoint with different kinds", () => {
    const kinds = new Map<string, string>();
    for (const { status, code, kind } of DESCRIBED_ERRORS) {
      const key = `${status} ${JSON.stringify(code)}`;
      expect(kinds.get(key) ?? kind, key).toBe(kind);
      kinds.set(key, kind);
    }
  });
});
