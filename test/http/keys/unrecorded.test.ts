import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";

import type { Runtime } from "../../../src/http/runtime.ts";
import { manageKeys } from "../../../src/keys/key-management.ts";
import { StoreUnavailableError } from "../../../src/canon/error.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { errorOf, startRouter } from "../../support/router.ts";
import { identity, table } from "../../support/table.ts";
import { keyRecord } from "../../store/records.ts";
import { evidenceOf } from "../../support/evidence-of.ts";

async function start(more: Partial<Runtime> = {}) {
  const store = await openSqliteStore({ path: ":memory:" });
  await store.keys.create(
    keyRecord("k", { workspace: "w", expiresAt: Date.now() + 600_000, createdAt: Date.now() }),
  );
  const router = await startRouter({
    table: table(),
    identity: { ...identity, scopes: new Set(["operations:manage"]) },
    runtime: { keys: manageKeys(store.keys, Date.now, randomBytes), ...more },
  });
  const post = (path: string, body: object = {}): Promise<Response> =>
    fetch(`${router.url}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { store, router, post };
}

const CHANGES = [
  ["/v1/keys", { scopes: ["inference"], owner: "o", expires_in: 60 }],
  ["/v1/keys/k/rotate", {}],
  ["/v1/keys/k/revoke", {}],
] as const;

describe("a change of keys", () => {
  it.each(CHANGES)("that cannot be recorded is not applied: %s", async (path, body) => {
    const evidence = evidenceOf(() => Promise.reject(new Error("the disk is full")));
    const { store, post } = await start({ evidence });
    const before = await store.keys.list();
    const response = await post(path, body);
    const error = await errorOf(response);
    expect([response.status, error.code]).toEqual([503, "evidence_unavailable"]);
    expect(error.message).not.toContain("disk");
    expect(await store.keys.list()).toEqual(before);
    await store.close();
  });

  it.each(CHANGES)(
    "that the store refuses is answered with 503 and recorded as failed: %s",
    async (path, body) => {
      const broken = (): Promise<never> =>
        Promise.reject(new StoreUnavailableError("a secret path"));
      const { store, router, post } = await start();
      const failing = { ...store.keys, create: broken, rotate: broken, revoke: broken };
      const { router: other, ...rest } = await start({
        keys: manageKeys(failing, Date.now, randomBytes),
      });
      await rest.store.close();
      const response = await fetch(`${other.url}${path}`, {
        method: "POST",
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const error = await errorOf(response);
      expect([response.status, error.code]).toEqual([503, "store_unavailable"]);
      expect(error.message).not.toContain("secret");
      await other.settled(1);
      expect(other.decisions).toMatchObject([
        { outcome: "answer", change: { id: expect.any(String) } },
      ]);
      expect(other.outcomes).toMatchObject([{ status: 503, terminal: "failed" }]);
      expect((await post(path, body)).status).toBe(200);
      await router.settled(1);
      expect(router.outcomes).toMatchObject([{ status: 200, terminal: "completed" }]);
      await store.close();
    },
  );
});
