import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/canon/json.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compileTable, type TableOptions } from "../../src/compile/compile-table.ts";
import { CLEAN, DEFAULT } from "./base.ts";

function compiled(text: string, path = "routes.yaml", options: TableOptions = {}): RoutingTable {
  const { table, diagnostics } = compileTable({ path, text }, options);
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return table;
}

describe("the default routes.yaml", () => {
  test("compiles without a finding, against the policies that it names", () => {
    const policies = ["eu-residency", "data-retention"];
    expect(compileTable({ path: "routes.yaml", text: DEFAULT }, { policies }).diagnostics).toEqual(
      [],
    );
  });

  test("starts without any key: every secret may be missing", () => {
    for (const { auth } of Object.values(compiled(DEFAULT).providers))
      expect(auth).toMatchObject({ onMissing: "simulate" });
  });

  test("keeps the regulated workspace in the European Union on every path", () => {
    const table = compiled(DEFAULT);
    const workspace = table.workspaces["acme-prod"];
    const endpoints = workspace?.approve.routes.flatMap((id) => [
      table.routes[id]?.primary,
      ...(table.routes[id]?.fallbacks ?? []),
    ]);
    expect(endpoints?.length).toBeGreaterThan(2);
    for (const id of endpoints ?? [])
      expect(table.regionGroups.eu).toContain(table.endpoints[id ?? ""]?.region);
  });
});

describe("the table is a function of the file's meaning", () => {
  const table = compiled(CLEAN);

  test.each([
    ["another path", compiled(CLEAN, "/elsewhere/other.yaml")],
    ["CR LF line endings", compiled(CLEAN.replaceAll("\n", "\r\n"))],
    ["CR line endings", compiled(CLEAN.replaceAll("\n", "\r"))],
    ["a byte order mark", compiled(`\uFEFF${CLEAN}`)],
    ["comments and blank lines", compiled(`# a comment\n\n${CLEAN.replaceAll("\n", "\n\n")}`)],
    [
      "lists in another order",
      compiled(
        CLEAN.replaceAll("[tools, json_schema]", "[json_schema, tools]").replace(
          "[alpha-eu, beta-us]",
          "[beta-us, alpha-eu]",
        ),
      ),
    ],
    [
      "rows in another order",
      compiled(CLEAN.replace(/( {2}- \{ id: large-eu.*\n)( {2}- \{ id: large-us.*\n)/, "$2$1")),
    ],
    [
      "a default written out",
      compiled(
        CLEAN.replace(
          "    region: eu-west\n",
          "    region: eu-west\n    retention: unlimited\n    timeouts: { connect: 2000ms }\n",
        ),
      ),
    ],
  ])("%s changes nothing", (_, other) => {
    expect(canonicalJson(other)).toBe(canonicalJson(table));
    expect(JSON.stringify(other)).toBe(JSON.stringify(table));
  });

  test.each([
    ["the order of fallbacks", "fallbacks: [large-us]", "fallbacks: []"],
    ["a region", "region: eu-west", "region: eu-central"],
    ["a secret's reference", "ALPHA_KEY", "OTHER_KEY"],
    ["a tier", "tier: standard", "tier: regulated"],
  ])("%s changes the revision", (_, from, to) => {
    expect(CLEAN).toContain(from);
    expect(compiled(CLEAN.replace(from, to)).revision).not.toBe(table.revision);
  });

  test.each([
    ["what promotions require", "promotion: { '*': { approvals: 1 } }", true],
    ["who manages", "managed_by: [acme]", true],
    ["where denials link to", "denial_link: 'https://wiki.example/{policy}'", true],
    ["no requirement", "promotion: {}", false],
    ["the initial mode's default", "initial_mode: { '*': shadow }", false],
  ])("%s changes the revision, if it changes the meaning", (_, member, isOther) => {
    expect(compiled(`${CLEAN}\npolicies: { ${member} }`).revision !== table.revision).toBe(isOther);
  });

  test("a soak has the same revision in every notation", () => {
    const revisions = ["2d", "48h", "2880m", "172800s"].map(
      (soak) => compiled(`${CLEAN}\npolicies: { promotion: { a: { soak: ${soak} } } }`).revision,
    );
    expect(new Set(revisions).size).toBe(1);
  });

  test("diagnostics have the same locations under CR LF", () => {
    const broken = CLEAN.replace("region: us-east", "regon: us-east");
    const unix = compileTable({ path: "a", text: broken }).diagnostics;
    expect(compileTable({ path: "a", text: broken.replaceAll("\n", "\r\n") }).diagnostics).toEqual(
      unix,
    );
    expect(unix.length).toBeGreaterThan(1);
  });

  test("the revision is the SHA-256 of the canonical form without it", () => {
    const { revision, ...content } = table;
    expect(revision).toBe(createHash("sha256").update(canonicalJson(content)).digest("hex"));
  });
});

describe("the table cannot be changed or fooled", () => {
  const table = compiled(DEFAULT);

  test("every value in it is frozen", () => {
    const visit = (value: unknown): number => {
      if (typeof value !== "object" || value === null) return 0;
      expect(Object.isFrozen(value)).toBe(true);
      return 1 + Object.values(value).reduce((sum: number, member) => sum + visit(member), 0);
    };
    expect(visit(table)).toBeGreaterThan(100);
  });

  test.each(["regionGroups", "providers", "models", "endpoints", "routes", "workspaces"] as const)(
    "%s has no prototype",
    (name) => {
      expect(Object.getPrototypeOf(table[name])).toBeNull();
      expect(table[name].constructor).toBeUndefined();
    },
  );

  test("the initial modes have no prototype", () => {
    expect(Object.getPrototypeOf(table.policies.initialMode)).toBeNull();
  });

  test("the promotion requirements have no prototype", () => {
    const { policies } = compiled(`${CLEAN}\npolicies: { promotion: { "*": { approvals: 1 } } }`);
    expect(Object.getPrototypeOf(policies.promotion)).toBeNull();
    expect(Object.isFrozen(policies.promotion?.["*"]?.roles)).toBe(true);
  });
});

test("a file of more than a megabyte is refused before it is parsed", () => {
  const { table, diagnostics } = compileTable({
    path: "routes.yaml",
    text: `# ${"x".repeat(1_100_000)}\n${CLEAN}`,
  });
  expect(table).toBeNull();
  expect(diagnostics.map(({ code }) => code)).toEqual(["SOURCE_TOO_LARGE"]);
});
