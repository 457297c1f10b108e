import { describe, expect, test } from "vitest";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { resolveSecrets } from "../../src/compile/secrets.ts";
import { CLEAN } from "./base.ts";

const { table } = compileTable({
  path: "routes.yaml",
  text: CLEAN.replace("{ env: ALPHA_KEY }", "{ env: ALPHA_KEY }, on_missing_secret: simulate"),
}) as { table: RoutingTable };

const ALPHA = { env: "ALPHA_KEY" };
const BETA = { file: "/run/secrets/beta" };

function absent(): never {
  throw new Error("ENOENT: s3cr3t");
}

describe("resolveSecrets", () => {
  test("reads variables and files", () => {
    const { secrets, missing, refused } = resolveSecrets(table, { ALPHA_KEY: "one" }, (path) => `${path}!`);
    expect([...secrets]).toEqual([
      ["alpha-eu", "one"],
      ["beta-us", "/run/secrets/beta!"],
    ]);
    expect([missing, refused]).toEqual([[], []]);
  });

  test.each([
    ["two\n", "two"],
    ["two\r\n", "two"],
    ["two words ", "two words "],
  ])("of a file's text %j the secret is %j", (text, secret) => {
    expect(resolveSecrets(table, {}, () => text).secrets.get("beta-us")).toBe(secret);
  });

  test.each([
    ["unset and unreadable", {}, absent],
    ["empty", { ALPHA_KEY: "" }, () => "\n"],
    ["inherited", Object.create({ ALPHA_KEY: "x" }) as Record<string, string>, absent],
  ])("%s is missing, with what to do about it", (_, environment, readFile) => {
    const { secrets, missing } = resolveSecrets(table, environment, readFile);
    expect(secrets.size).toBe(0);
    expect(missing).toEqual([
      { provider: "alpha-eu", reference: ALPHA, onMissing: "simulate" },
      { provider: "beta-us", reference: BETA, onMissing: "fail" },
    ]);
  });

  test.each(["a\r\nx-evil: 1", "a\nb\n", "a\u0000", "a\tb", "ä", "a\n\n"])(
    "%j could write headers and is refused, not treated as missing",
    (value) => {
      const resolved = resolveSecrets(table, { ALPHA_KEY: value }, () => value);
      expect(resolved.secrets.size).toBe(0);
      expect(resolved.missing).toEqual([]);
      expect(resolved.refused).toEqual([
        { provider: "alpha-eu", reference: ALPHA },
        { provider: "beta-us", reference: BETA },
      ]);
    },
  );

  test("a provider without credentials needs none", () => {
    const open = CLEAN.replace("{ bearer: { env: ALPHA_KEY } }", "none").replace(
      "{ header: X-Api-Key, secret: { file: /run/secrets/beta } }",
      "none",
    );
    const { table: without } = compileTable({ path: "routes.yaml", text: open }) as {
      table: RoutingTable;
    };
    expect(resolveSecrets(without, {}, absent)).toEqual({
      secrets: new Map(),
      missing: [],
      refused: [],
    });
  });
});
