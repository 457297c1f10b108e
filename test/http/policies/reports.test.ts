import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { startTestServer } from "../../support/server.ts";
import { call } from "../keys/support.ts";
import { Fixture, expectDeclared } from "./fixture.ts";

const FORGED = {
  sha256: "f".repeat(64),
  table_revision: "e".repeat(64),
  complete: true,
  assertions: { passed: 99, failed: 0, waived: 0 },
};

const ASSERTIONS = `version: 1
assertions:
  - kind: no_new_access
    id: nothing-new
    title: No workspace reaches a provider that it did not reach before
`;

/**
 * Two workspaces and one endpoint: simulating the repository's own table eight times takes a
 * quarter of a minute.
 */
const ROUTES = `version: 1
regions: { eu: [europe], us: [united-states] }
providers:
  p:
    dialect: openai-chat
    base_url: https://provider.example/v1
    region: europe
    auth: { bearer: { env: ABSENT }, on_missing_secret: simulate }
    retention: none
    trains_on_data: false
models:
  m: { operations: [generate], context_window: 20000, max_output_tokens: 1000, capabilities: [] }
endpoints: [{ id: e, model: m, provider: p, upstream_model: upstream }]
routes: { r: { primary: e } }
workspaces:
  acme-prod: &approved
    tier: regulated
    approve: { routes: [r], regions: [eu], providers: [p], capabilities: [], context_window: 20000 }
  demo: *approved
policies:
  promotion: { "*": { approvals: 1, report: true, assertions: true } }
  managed_by: [acme-prod]
`;

/**
 * A server whose policy `a` has a candidate; promotions require a report with assertions that
 * passed.
 */
async function serverWithCandidate() {
  const running = await startTestServer(() => ROUTES);
  const { server, folder } = running;
  const [approver, promoter] = [
    await running.key("acme-prod", ["operations:manage"]),
    await running.key("acme-prod", ["operations:manage"]),
  ];
  const [{ id }] = (await call(server, promoter, "GET", "/v1/policies")).json.data;
  const file = join(folder, "policies", `${id}.rego`);
  writeFileSync(file, readFileSync(file, "utf8").replace(/"?title"?: .*/, "title: Another title"));
  writeFileSync(join(folder, "policies/assertions.yaml"), ASSERTIONS);
  expect((await server.reload()).ok).toBe(true);
  const path = `/v1/policies/${id}`;
  const promote = async () => {
    const { json } = await call(server, promoter, "GET", path);
    const response = await fetch(`${server.url}${path}/promotions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${promoter}`,
        "content-type": "application/json",
        "if-match": json.etag,
      },
      body: JSON.stringify({
        expected: {
          candidate_revision: json.candidate.revision,
          enforced_revision: json.enforced?.revision ?? null,
        },
      }),
    });
    return { status: response.status, json: JSON.parse(await response.text()) };
  };
  const { digest } = (await call(server, promoter, "GET", path)).json.candidate;
  const approve = (report: object) =>
    call(server, approver, "POST", `${path}/approvals`, { digest, report });
  const simulation = async () => {
    const response = await fetch(`${server.url}${path}/simulation`, {
      headers: { authorization: `Bearer ${approver}` },
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    const report = JSON.parse(text);
    expectDeclared("GET", "/v1/policies/{id}/simulation", report);
    return { text, report };
  };
  return { running, path, digest, approve, promote, simulation };
}

const { running, path, digest, approve, promote, simulation } = await serverWithCandidate();
const { server, folder } = running;

function referenceOf(text: string) {
  const { head, complete, assertions } = JSON.parse(text);
  const { passed = 0, failed = 0, waived = 0 } = assertions ?? {};
  const sha256 = createHash("sha256").update(text).digest("hex");
  return {
    sha256,
    table_revision: head.table_revision,
    complete,
    assertions: { passed, failed, waived },
  };
}

describe("an approval with a simulation report", () => {
  it("does not satisfy a promotion where the server computes another report", async () => {
    const approved = await approve(FORGED);
    expect(approved.status).toBe(200);
    expectDeclared("POST", "/v1/policies/{id}/approvals", approved.json);
    expect(approved.json.approvals).toMatchObject([
      { report: { ...FORGED, status: "claimed", claimed_because: "differs" } },
    ]);
    const { status, json } = await promote();
    expect(status).toBe(409);
    expect(json.error).toMatchObject({
      code: "report_required",
      missing: [
        { requirement: "report", claimed: 1, outdated: 0 },
        { requirement: "assertions", have: 0 },
      ],
    });
  });

  it("does not satisfy a promotion with the right digest and false facts", async () => {
    const own = referenceOf((await simulation()).text);
    const approved = await approve({ ...own, assertions: FORGED.assertions });
    expect(approved.json.approvals[0].report).toMatchObject({
      status: "claimed",
      claimed_because: "differs",
    });
    expect((await promote()).status).toBe(409);
  });

  it("satisfies `report` and not `assertions` where the server has no assertions", async () => {
    rmSync(join(folder, "policies/assertions.yaml"));
    expect((await server.reload()).ok).toBe(true);
    const { text, report } = await simulation();
    expect(report.assertions).toBeNull();
    const approved = await approve(referenceOf(text));
    expect(approved.json.approvals[0].report).toMatchObject({
      status: "verified",
      claimed_because: null,
    });
    const { json } = await promote();
    expect(json.error).toMatchObject({
      code: "assertions_not_passed",
      missing: [{ requirement: "assertions" }],
    });
  });

  it("is not verified while the server's assertions have errors, and the simulation reports them", async () => {
    writeFileSync(join(folder, "policies/assertions.yaml"), "version: 2\n");
    expect((await server.reload()).ok).toBe(true);
    const manager = await running.key("acme-prod", ["operations:manage"]);
    const refused = await call(server, manager, "GET", `${path}/simulation`);
    expect(refused).toMatchObject({ status: 409, json: { error: { code: "assertions_invalid" } } });
    const approved = await approve(FORGED);
    expect(approved.json.approvals[0].report).toMatchObject({
      status: "claimed",
      claimed_because: "not_computed",
    });
  });

  it("no longer satisfies after a change of the table, and does with a new report", async () => {
    writeFileSync(join(folder, "policies/assertions.yaml"), ASSERTIONS);
    expect((await server.reload()).ok).toBe(true);
    const { text, report } = await simulation();
    expect(report).toMatchObject({
      complete: true,
      assertions: { passed: 1, failed: 0 },
      base: { name: "enforced" },
    });
    expect((await approve(referenceOf(text))).json.approvals[0].report).toMatchObject({
      status: "verified",
    });

    const routes = join(folder, "routes.yaml");
    writeFileSync(
      routes,
      readFileSync(routes, "utf8").replace("approvals: 1,", "approvals: 1, self_approval: true,"),
    );
    expect((await server.reload()).ok).toBe(true);
    const seen = (
      await call(server, await running.key("acme-prod", ["operations:manage"]), "GET", path)
    ).json;
    expect(seen.approvals).toMatchObject([
      { report: { status: "outdated", claimed_because: null } },
    ]);
    const outdated = await promote();
    expect(outdated.json.error).toMatchObject({
      code: "report_required",
      missing: [{ requirement: "report", claimed: 0, outdated: 1 }, {}],
    });

    expect((await approve(referenceOf((await simulation()).text))).status).toBe(200);
    const promoted = await promote();
    expect(promoted.status, JSON.stringify(promoted.json)).toBe(200);
    expect(promoted.json.enforced.digest).toBe(digest);
  });

  it("is simulated for keys of the managing workspaces only", async () => {
    const reader = await running.key("acme-prod", ["governance:read"]);
    expect((await call(server, reader, "GET", `${path}/simulation`)).json.error.code).toBe(
      "insufficient_scope",
    );
    const other = await running.key("demo", ["operations:manage"]);
    expect((await call(server, other, "GET", `${path}/simulation`)).json.error.code).toBe(
      "not_managed_here",
    );
  });
});

describe("a server that cannot simulate now", () => {
  it.each([
    ["busy", "simulation_busy"],
    ["unavailable", "store_unavailable"],
  ] as const)("takes no approval with a report while it is %s", async (fault, code) => {
    const fixture = await Fixture.open();
    fixture.simulations.set(digestOf("first"), fault);
    const manager = await fixture.key();
    await fixture.observe({ a: "first" });
    const body = { digest: digestOf("first"), report: FORGED };
    expect(await fixture.post(manager, "/v1/policies/a/approvals", { body })).toMatchObject({
      status: 503,
      json: { error: { code } },
    });
    expect((await fixture.get(manager, "/v1/policies/a")).json.approvals).toEqual([]);
    expect(await fixture.get(manager, "/v1/policies/a/simulation")).toMatchObject({
      status: 503,
      json: { error: { code } },
    });
  });

  it.each([
    ["too_large", "simulation_too_large"],
    ["no_change", "nothing_to_simulate"],
  ] as const)("answers with the reason for the missing simulation: %s", async (fault, code) => {
    const fixture = await Fixture.open();
    fixture.simulations.set(digestOf("first"), fault);
    const manager = await fixture.key();
    await fixture.observe({ a: "first" });
    expect(await fixture.get(manager, "/v1/policies/a/simulation")).toMatchObject({
      status: 409,
      json: { error: { code } },
    });
  });
});
