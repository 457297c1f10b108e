import { describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { contractChanges, patchText, sourceDiff } from "../../../src/cli/policy/lifecycle/diff.ts";
import {
  content as answeredContent,
  DIGESTS,
  fakeServer,
  slot,
  view,
  type Reply,
} from "./fake-server.ts";

const GET = "GET /v1/policies/eu-residency";
const CONTRACT: JsonObject = {
  title: "Stays in the European Union",
  owners: ["group:privacy"],
  constraints: [{ name: "processed_in_eu", effect: "filter", reasons: ["REGION_NOT_IN_EU"] }],
  obligations: [],
  operations: ["chat.completions", "messages"],
};
const BEFORE =
  'package policies.eu_residency\n\nregions := {"eu"}\n\nprocessed_in_eu.pass if {\n\tinput.a == 1\n}\n';

function content(revision: number, digest: string, more: JsonObject = {}): Reply {
  const sources = [{ package: "policies.eu_residency", source: BEFORE }];
  return answeredContent(revision, digest, { contract: CONTRACT, sources, ...more });
}

const at = (digest: string) => `${GET}/content?digest=${digest}`;

describe("signalbox policy diff", () => {
  const after = content(2, DIGESTS.r2, {
    contract: {
      ...CONTRACT,
      constraints: [{ name: "processed_in_eu", effect: "gate", reasons: ["NOT_EU"] }],
    },
    sources: [
      { package: "policies.eu_residency", source: BEFORE.replace('{"eu"}', '{"eu", "eu-west"}') },
      { package: "lib.regions", source: "package lib.regions\n" },
    ],
  });

  it("lists the changes of the contract, and shows the rules line by line", async () => {
    const server = await fakeServer({
      [GET]: { body: view() },
      [at(DIGESTS.r1)]: content(1, DIGESTS.r1),
      [at(DIGESTS.r2)]: after,
    });
    const { code, stdout, stderr } = await server.run(["diff", "eu-residency"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatchInlineSnapshot(`
      "eu-residency: r1 (1a1a1a1a) → r2 (2b2b2b2b)

      Contract
        ~ constraint processed_in_eu: filter → gate
        - reason REGION_NOT_IN_EU of processed_in_eu: no. 1
        + reason NOT_EU of processed_in_eu: no. 1

      Rules
      --- /dev/null
      +++ lib.regions r2 (2b2b2b2b)
      @@ -0,0 +1,1 @@
      +package lib.regions
      --- policies.eu_residency r1 (1a1a1a1a)
      +++ policies.eu_residency r2 (2b2b2b2b)
      @@ -1,6 +1,6 @@
       package policies.eu_residency

      -regions := {"eu"}
      +regions := {"eu", "eu-west"}

       processed_in_eu.pass if {
           input.a == 1
      "
    `);
  });

  it("shows all lines of a policy that ends as gone, and of a first one as new", async () => {
    const end = content(3, DIGESTS.end, { content: "removal", contract: null, sources: [] });
    const ending = await fakeServer({
      [GET]: { body: view({ candidate: slot(3, DIGESTS.end, { content: "removal" }) }) },
      [at(DIGESTS.r1)]: content(1, DIGESTS.r1),
      [at(DIGESTS.end)]: end,
    });
    const gone = (await ending.run(["diff", "eu-residency"])).stdout;
    expect(gone).toContain("r1 (1a1a1a1a) → r3 (edededed), the policy's removal\n");
    expect(gone).toContain("  - constraint processed_in_eu: filter\n");
    expect(gone).toContain("+++ /dev/null\n@@ -1,7 +0,0 @@\n-package policies.eu_residency\n");
    const first = await fakeServer({
      [GET]: { body: view({ enforced: null }) },
      [at(DIGESTS.r2)]: after,
    });
    const fresh = (await first.run(["diff", "eu-residency"])).stdout;
    expect(fresh).toContain("nothing → r2 (2b2b2b2b)\n");
    expect(fresh).toContain("  + operation messages\n");
    expect(fresh).toContain("--- /dev/null\n");
  });

  it("compares the given revisions, and names an empty slot", async () => {
    const server = await fakeServer({
      [GET]: {
        body: view({ candidate: null, rollback_to: null }),
      },
      [at(DIGESTS.r1)]: content(1, DIGESTS.r1),
      [`${GET}/content?revision=r3`]: content(3, DIGESTS.r3),
    });
    expect(
      (await server.run(["diff", "eu-residency", "--from", "r3", "--to", "enforced"])).stdout,
    ).toBe(
      "eu-residency: r3 (3c3c3c3c) → r1 (1a1a1a1a)\n\nContract\n  the contract is unchanged\n",
    );
    const { code, stderr } = await server.run(["diff", "eu-residency"]);
    expect([code, stderr]).toEqual([
      1,
      "signalbox policy diff: --to: the policy has no candidate content; name another one of: signalbox policy history eu-residency\n",
    ]);
    expect((await server.run(["diff", "eu-residency", "--to", "3"])).code).toBe(2);
  });

  it("prints both contents, the changes and a patch as JSON", async () => {
    const from = content(1, DIGESTS.r1);
    const server = await fakeServer({
      [GET]: { body: view() },
      [at(DIGESTS.r1)]: from,
      [at(DIGESTS.r2)]: after,
    });
    const said: JsonObject = JSON.parse(
      (await server.run(["diff", "eu-residency", "--format", "json"])).stdout,
    );
    expect(said).toMatchObject({ from: from.body, to: after.body });
    expect(said.contract).toEqual([
      { mark: "~", text: "constraint processed_in_eu: filter → gate" },
      { mark: "-", text: "reason REGION_NOT_IN_EU of processed_in_eu: no. 1" },
      { mark: "+", text: "reason NOT_EU of processed_in_eu: no. 1" },
    ]);
    expect(said.patch).toContain('-regions := {"eu"}\n+regions := {"eu", "eu-west"}\n');
  });

  it("escapes sources, so that none moves the cursor or commands a workflow", async () => {
    const evil = content(2, DIGESTS.r2, {
      sources: [{ package: "a\u001b[2J", source: '::error::x\n\u001b[2J\u202e"\n' }],
    });
    const server = await fakeServer({
      [GET]: { body: view({ enforced: null }) },
      [at(DIGESTS.r2)]: evil,
    });
    const { stdout } = await server.run(["diff", "eu-residency"]);
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stdout).not.toMatch(/^\s*::/m);
  });

  it("names the revision whose content the server does not keep", async () => {
    const error = { code: "content_not_found", message: "No content." };
    const server = await fakeServer({
      [GET]: { body: view() },
      [at(DIGESTS.r2)]: { status: 404, body: { error } },
    });
    const { code, stderr } = await server.run(["diff", "eu-residency", "--from", "candidate"]);
    expect(code).toBe(1);
    expect(stderr).toContain("answered with 404, content_not_found: No content.");
  });
});

describe("contracts", () => {
  const constraint = (name: string, effect = "gate", reasons = ["A"]) => ({
    name,
    effect,
    reasons,
  });
  const obligation = (name: string, value: string | number, kind = "max_output_tokens") => ({
    name,
    kind,
    value,
  });

  it.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ["nothing", CONTRACT, CONTRACT, []],
    [
      "a new constraint",
      { constraints: [] },
      { constraints: [constraint("a")] },
      ["+ constraint a: gate", "+ reason A of a: no. 1"],
    ],
    [
      "one that is gone",
      { constraints: [constraint("a")] },
      { constraints: [] },
      ["- constraint a: gate", "- reason A of a: no. 1"],
    ],
    [
      "an effect",
      { constraints: [constraint("a", "filter")] },
      { constraints: [constraint("a", "require_all")] },
      ["~ constraint a: filter → require_all"],
    ],
    [
      "reasons",
      { constraints: [constraint("a", "gate", ["A", "B"])] },
      { constraints: [constraint("a", "gate", ["B", "C"])] },
      ["- reason A of a: no. 1", "~ reason B of a: no. 2 → no. 1", "+ reason C of a: no. 2"],
    ],
    [
      "the reason that speaks for the others",
      { constraints: [constraint("a", "gate", ["A", "B"])] },
      { constraints: [constraint("a", "gate", ["B", "A"])] },
      ["~ reason A of a: no. 1 → no. 2", "~ reason B of a: no. 2 → no. 1"],
    ],
    [
      "obligations",
      { obligations: [obligation("a", 500), obligation("b", "user", "strip_field")] },
      { obligations: [obligation("a", 200), obligation("c", "eu", "prefer_region")] },
      [
        "~ obligation a: max_output_tokens 500 → max_output_tokens 200",
        "- obligation b: strip_field user",
        "+ obligation c: prefer_region eu",
      ],
    ],
    [
      "operations",
      { operations: ["a", "b"] },
      { operations: ["b", "c"] },
      ["- operation a", "+ operation c"],
    ],
    [
      "whose it is",
      { owners: ["a"], title: "x" },
      { owners: ["b"], title: "y" },
      ["~ title: x → y", "- owner a", "+ owner b"],
    ],
    [
      "a member that a newer server adds",
      { constraints: [{ ...constraint("a"), weight: 1 }] },
      { constraints: [{ ...constraint("a"), weight: 2 }] },
      ["~ constraint a: gate 1 → gate 2"],
    ],
  ])("differ in %s", (_name, from, to, changes) => {
    expect(contractChanges(from, to).map(({ mark, text }) => `${mark} ${text}`)).toEqual(changes);
  });
});

describe("sources", () => {
  it("that have little in common are not compared for longer than two seconds", () => {
    const lines = (text: string) =>
      Array.from({ length: 2_000 }, (_, index) => `${text} ${index}`).join("\n");
    const side = (name: string) => ({ name, modules: [{ package: "a", source: lines(name) }] });
    let now = 0;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => (now += 50));
    const diffs = sourceDiff(side("x"), side("y"));
    clock.mockRestore();
    expect(diffs).toEqual([{ package: "a", patch: null }]);
    expect(now).toBeLessThan(3_000);
  });

  it("are compared package by package, in the order of their names", () => {
    const side = (name: string, modules: Readonly<Record<string, string>>) => ({
      name,
      modules: Object.entries(modules).map(([key, source]) => ({ package: key, source })),
    });
    const diffs = sourceDiff(
      side("r1", { b: "1\n", a: "1\n", constructor: "x\n" }),
      side("r2", { a: "2\n", c: "1\n" }),
    );
    expect(diffs.map((diff) => diff.package)).toEqual(["a", "b", "c", "constructor"]);
    expect(patchText(diffs)).toContain("--- b r1\n+++ /dev/null\n");
  });
});
