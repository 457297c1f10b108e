import { beforeAll, describe, expect, it } from "vitest";
import { SCOPES } from "../../../src/canon/identity.ts";
import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { Fixture, type Answered, type MadeKey } from "./fixture.ts";

const ROWS = ENDPOINTS.filter(({ path }) => path.startsWith("/v1/policies"));
/** Changes, and the simulation, which names every workspace that a promotion concerns. */
const isManaging = ({ method, id }: (typeof ROWS)[number]): boolean =>
  method === "POST" || id === "retrievePolicySimulation";

/** Approving is an authority of its own: approvals, and what has to be looked at before. */
const isApproving = ({ id }: (typeof ROWS)[number]): boolean =>
  ["retrievePolicySimulation", "approvePolicy", "withdrawPolicy"].includes(id);

const BODIES: Readonly<Record<string, object>> = {
  approvePolicy: { digest: digestOf("second") },
  promotePolicy: { expected: { candidate_revision: "r2", enforced_revision: "r1" } },
  rollBackPolicy: { expected: { enforced_revision: "r1" } },
  withdrawPolicy: { what: "candidate", expected: { candidate_revision: "r2" } },
  releasePolicy: { digest: digestOf("second") },
};

const fixture = await Fixture.open({ managedBy: ["office"] });
let etag = "";
let office: MadeKey;
beforeAll(async () => {
  office = await fixture.key("office", SCOPES);
  await fixture.observe({ a: "first" }, "start", "enforce");
  await fixture.observe({ a: "second" });
  ({ etag } = (await fixture.get(office, "/v1/policies/a")).json);
});

function ask(
  key: MadeKey,
  row: (typeof ROWS)[number],
  id = "a",
  body: unknown = BODIES[row.id],
): Promise<Answered> {
  const path = row.path.replace("{id}", id);
  return row.method === "GET"
    ? fixture.get(key, path)
    : fixture.post(key, path, { body, ifMatch: etag });
}

const named = <Row extends { readonly method: string; readonly path: string }>(
  rows: readonly Row[],
) => rows.map((row) => [`${row.method} ${row.path}`, row] as const);

describe("scopes", () => {
  it.each(named(ROWS))("%s needs exactly the scopes of its row", async (_, row) => {
    const reading = ["governance:read", "operations:manage"];
    const managing = isApproving(row)
      ? ["operations:manage", "policies:approve"]
      : ["operations:manage"];
    expect(row.scopes).toEqual(isManaging(row) ? managing : reading);
    for (const scope of SCOPES) {
      // Of a workspace that manages nothing, so that nothing is changed.
      const { status, json } = await ask(await fixture.key("acme", [scope]), row);
      const isEnough = row.scopes.includes(scope);
      const isLetIn = json.error?.code !== "insufficient_scope";
      expect(isLetIn, `${scope}: ${status}`).toBe(isEnough);
      if (isEnough) continue;
      expect(status).toBe(403);
      expect(json.error.message).toContain(row.scopes.join(" or "));
    }
  });
});

describe("policies.managed_by", () => {
  it.each(named(ROWS.filter(isManaging)))(
    "%s is refused to keys of other workspaces",
    async (_, row) => {
      const answer = await ask(await fixture.key("acme"), row);
      expect(answer).toMatchObject({
        status: 403,
        json: { error: { code: "not_managed_here", type: "insufficient_scope" } },
      });
      expect(answer.json.error).toMatchObject({
        message: expect.stringMatching(/policies\.managed_by of routes\.yaml/),
        fix: expect.stringMatching(/^Use a key of one of them/),
      });
      // Nor does it learn which they are, or whether there is such a policy.
      expect(answer.text).not.toContain("office");
      const unknownPolicy = await ask(await fixture.key("acme"), row, "nobody");
      expect(unknownPolicy.json.error.code).toBe("not_managed_here");
    },
  );

  it.each(named(ROWS.filter((row) => !isManaging(row))))(
    "%s is open to keys of every workspace",
    async (_, row) => {
      expect((await ask(await fixture.key("acme"), row)).status).toBe(200);
    },
  );

  it("is required where there are several workspaces, so that no tenant's key manages all policies", async () => {
    const unsaid = await Fixture.open({ managedBy: null });
    await unsaid.observe({ a: "first" });
    for (const workspace of ["acme", "office"]) {
      const { status, json } = await unsaid.change(await unsaid.key(workspace), "a", "promotions");
      expect(status).toBe(403);
      expect(json.error.message).toMatch(
        /policies\.managed_by of routes\.yaml does not name those that manage policies/,
      );
    }
  });

  it("permits keys of these workspaces to change policies", async () => {
    const other = await Fixture.open({ managedBy: ["office", "acme"] });
    await other.observe({ a: "first" });
    expect((await other.change(await other.key("office"), "a", "promotions")).status).toBe(200);
  });
});

const HOSTILE = [
  "nobody",
  "A",
  "constructor",
  "__proto__",
  "..%2f..%2fetc",
  "a%00",
  "a%2Fcontent",
  "%3Cscript%3Ecanary%3C%2Fscript%3E",
  "canary%0d%0aset-cookie:%20x",
  "a'--canary",
  "sbx_production_canary",
  "x".repeat(3_000),
  "%F0%9F%92%A3canary",
];

describe("unknown ids", () => {
  it.each(named(ROWS.filter(({ path }) => path.includes("{"))))(
    "%s answers unknown ids with 404, and a broken escape with 400",
    async (_, row) => {
      for (const id of HOSTILE) {
        const answer = await ask(office, row, id);
        expect(answer.status, id.slice(0, 40)).toBe(404);
        expect(["policy_not_found", "unknown_path"]).toContain(answer.json.error.code);
        expect(answer.text).not.toMatch(/canary|script|etc|xxxx/);
      }
      const broken = await ask(office, row, "%zz");
      expect(broken.status).toBe(400);
    },
  );
});

describe("bodies", () => {
  const CASES: readonly (readonly [string, unknown, string, string | null])[] = [
    ["approvePolicy", {}, "missing_field", "digest"],
    ["approvePolicy", { digest: "abc123" }, "invalid_value", "digest"],
    ["approvePolicy", { digest: digestOf("second").toUpperCase() }, "invalid_value", "digest"],
    ["approvePolicy", { digest: 5 }, "invalid_type", "digest"],
    [
      "approvePolicy",
      { digest: digestOf("second"), comment: "canary" },
      "unknown_field",
      "comment",
    ],
    ["approvePolicy", { digest: digestOf("second"), report: {} }, "missing_field", "report.sha256"],
    [
      "approvePolicy",
      {
        digest: digestOf("second"),
        report: {
          sha256: digestOf("r"),
          table_revision: digestOf("t"),
          complete: true,
          assertions: { passed: -1, failed: 0, waived: 0 },
        },
      },
      "invalid_value",
      "report.assertions.passed",
    ],
    ["promotePolicy", {}, "missing_field", "expected"],
    [
      "promotePolicy",
      { expected: { candidate_revision: "r2" } },
      "missing_field",
      "expected.enforced_revision",
    ],
    [
      "promotePolicy",
      { expected: { candidate_revision: null, enforced_revision: "r1" } },
      "invalid_type",
      "expected.candidate_revision",
    ],
    [
      "promotePolicy",
      { expected: { candidate_revision: 1.5, enforced_revision: "r1" } },
      "invalid_type",
      "expected.candidate_revision",
    ],
    [
      "promotePolicy",
      { expected: { candidate_revision: "r0", enforced_revision: "r1" } },
      "invalid_value",
      "expected.candidate_revision",
    ],
    [
      "promotePolicy",
      { expected: { candidate_revision: "r2", enforced_revision: "r1" }, force: true },
      "unknown_field",
      "force",
    ],
    [
      "promotePolicy",
      '{"expected":{"candidate_revision":"r2","candidate_revision":"r3","enforced_revision":"r1"}}',
      "",
      null,
    ],
    [
      "rollBackPolicy",
      { expected: { enforced_revision: null } },
      "invalid_type",
      "expected.enforced_revision",
    ],
    [
      "rollBackPolicy",
      { expected: { enforced_revision: "r1" }, reason: "canary" },
      "invalid_value",
      "reason",
    ],
    [
      "rollBackPolicy",
      { expected: { enforced_revision: "r1" }, to_revision: 1 },
      "invalid_type",
      "to_revision",
    ],
    ["withdrawPolicy", {}, "missing_field", "what"],
    ["withdrawPolicy", { what: "canary" }, "invalid_value", "what"],
    ["withdrawPolicy", { what: "approval" }, "missing_field", "digest"],
    ["withdrawPolicy", { what: "candidate" }, "missing_field", "expected"],
    [
      "withdrawPolicy",
      { what: "candidate", expected: {} },
      "missing_field",
      "expected.candidate_revision",
    ],
    [
      "withdrawPolicy",
      { what: "candidate", expected: { candidate_revision: "r2" }, digest: digestOf("second") },
      "invalid_value",
      "digest",
    ],
    [
      "withdrawPolicy",
      { what: "approval", digest: digestOf("second"), expected: { candidate_revision: "r2" } },
      "invalid_value",
      "expected",
    ],
    ["releasePolicy", {}, "missing_field", "digest"],
    ["releasePolicy", [], "", null],
    ["releasePolicy", "not json canary", "", null],
  ];

  it.each(CASES)("%s refuses %j", async (id, body, code, param) => {
    const row = ROWS.find((each) => each.id === id);
    if (row === undefined) throw new Error("no such row");
    const answer = await ask(office, row, "a", body);
    expect(answer.status, answer.text).toBe(400);
    if (code !== "") expect(answer.json.error).toMatchObject({ code, param });
    expect(answer.text).not.toContain("canary");
    expect((await fixture.get(office, "/v1/policies/a")).json.etag).toBe(etag);
  });
});
