import { writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startTestServer } from "../../support/server.ts";
import { call, decisions } from "../keys/support.ts";
import { expectDeclared } from "./fixture.ts";

/** The whole server: files, store, real policies, sockets. */
const running = await startTestServer((routes) =>
  routes
    .replace("policies:\n", "policies:\n  promotion: { '*': { approvals: 1 } }\n")
    .replace("managed_by: [demo]", "managed_by: [acme-prod]"),
);
const { server, folder } = running;
const key = await running.key("acme-prod", ["operations:manage", "inference"]);

async function promote(id: string, by = key) {
  const { json } = await call(server, by, "GET", `/v1/policies/${id}`);
  const response = await fetch(`${server.url}/v1/policies/${id}/promotions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${by}`,
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
  const text = await response.text();
  return { status: response.status, json: JSON.parse(text) };
}

it("promoted content of a policy's file decides before the promotion is answered", async () => {
  const before = (await call(server, key, "GET", "/v1/policies")).json;
  expectDeclared("GET", "/v1/policies", before);
  const [{ id }] = before.data;
  const file = join(folder, "policies", `${id}.rego`);
  writeFileSync(file, readFileSync(file, "utf8").replace(/"?title"?: .*/, "title: Another title"));
  expect((await server.reload()).ok).toBe(true);

  const looked = await call(server, key, "GET", `/v1/policies/${id}`);
  expectDeclared("GET", "/v1/policies/{id}", looked.json);
  const { digest } = looked.json.candidate;
  expect(looked.json).toMatchObject({
    title: "Another title",
    drift: [],
    missing: [{ requirement: "approvals", have: 0, need: 1 }],
  });
  expect((await promote(id)).json.error).toMatchObject({ code: "approvals_required" });

  const approver = await running.key("acme-prod", ["operations:manage"]);
  expect(
    (await call(server, approver, "POST", `/v1/policies/${id}/approvals`, { digest })).status,
  ).toBe(200);
  const content = await call(server, key, "GET", `/v1/policies/${id}/content`);
  expectDeclared("GET", "/v1/policies/{id}/content", content.json);
  expect(content.json).toMatchObject({ digest, contract: { title: "Another title" } });
  expect(content.json.sources.map(({ source }: { source: string }) => source).join("")).toContain(
    "Another title",
  );
  const shadow = await call(server, key, "GET", `/v1/policies/${id}/shadow`);
  expectDeclared("GET", "/v1/policies/{id}/shadow", shadow.json);

  const watched = (await call(server, key, "GET", "/v1/policies")).json.policy_set;
  const promoted = await promote(id);
  expect(promoted.status, JSON.stringify(promoted.json)).toBe(200);
  expect(promoted.json).toMatchObject({ enforced: { digest }, candidate: null });
  const after = (await call(server, key, "GET", "/v1/policies")).json;
  expect(after.policy_set).not.toBe(watched);
  expect((await call(server, key, "GET", "/status")).json.policy_set).toBe(after.policy_set);

  const history = (await call(server, key, "GET", `/v1/policies/${id}/transitions`)).json;
  expectDeclared("GET", "/v1/policies/{id}/transitions", history);
  expect(history.data.at(-1).record).toMatchObject({
    kind: "promoted",
    to: { digest },
    approvals: [{}],
  });
  const recorded = (await decisions(server, 100)).flatMap(({ change }) =>
    change === undefined ? [] : [change],
  );
  expect(recorded).toEqual([
    { what: "policy_approved", id, content: digest },
    { what: "policy_promoted", id, content: digest },
  ]);
});
