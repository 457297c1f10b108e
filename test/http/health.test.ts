import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { HEALTH, type HealthAnswer } from "../../src/http/contract/service-schemas.ts";
import { startTestServer } from "../support/server.ts";

const isHealth = new Ajv2020({ strict: false }).compile(HEALTH);

it("GET /v1/health has the endpoints of the workspace's routes in their order, and of no others, with their state", async () => {
  const test = await startTestServer();
  const { table } = test.server.built.snapshot.decider;
  for (const workspace of Object.values(table.workspaces)) {
    const key = await test.key(workspace.id, ["governance:read"]);
    const response = await fetch(`${test.server.url}/v1/health`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body: HealthAnswer = JSON.parse(await response.text());
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(isHealth(body), JSON.stringify(isHealth.errors)).toBe(true);
    expect(body.replicas?.map(({ state }) => state) ?? []).not.toContain("lost");
    const own = new Set(
      workspace.approve.routes.flatMap(
        (id) => table.routes[id]?.tiers.flatMap(({ endpoints }) => endpoints) ?? [],
      ),
    );
    expect(body.endpoints.map(({ id }) => id)).toEqual([...own]);
    for (const { routes, state, failure } of body.endpoints) {
      expect(routes.every((id) => workspace.approve.routes.includes(id))).toBe(true);
      expect([state, failure]).toEqual(["healthy", null]);
    }
  }
});
