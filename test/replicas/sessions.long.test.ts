import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserOf, ask, signIn } from "../http/console/support.ts";
import { addKey, startRunning, writeFixture } from "../running/running-server.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";

const HEALTH = "/v1/health";

describe.skipIf(NO_POSTGRES !== null)(
  `sessions of two servers over one PostgreSQL ${NO_POSTGRES ?? ""}`,
  () => {
    let postgres: TestServer;
    beforeAll(async () => {
      postgres = await startTestServer();
    }, 60_000);
    afterAll(() => postgres.close());

    it(
      "are good at both, and a sign-out or a revoked key ends them at both",
      { timeout: 120_000 },
      async () => {
        const fixture = {
          ...writeFixture("http://127.0.0.1:9"),
          database: await postgres.database(),
        };
        const [first, second] = [
          await startRunning(fixture, { console: "admin" }),
          await startRunning(fixture, { console: "admin" }),
        ];
        const key = await addKey(first.store, "large", ["governance:read"]);
        const here = await signIn(first.adminUrl, key.text);
        const there = browserOf(second.adminUrl, here.answer);
        const codeThere = async (): Promise<unknown> =>
          (await there.get(HEALTH)).json.error?.code ?? "good";
        await expect.poll(codeThere, { timeout: 5_000 }).toBe("good");

        // The token of the page is that of the cookie, so the other replica takes it.
        expect(
          (await there.post("/console/session/end", {}, { "x-signalbox-csrf": "wrong" })).status,
        ).toBe(403);
        const ended = await there.post("/console/session/end");
        expect([ended.status, ended.json]).toEqual([200, { signed_in: false }]);
        expect((await there.get(HEALTH)).json.error.code).toBe("session_ended");
        const began = Date.now();
        await expect
          .poll(async () => (await here.get(HEALTH)).json.error?.code, {
            interval: 50,
            timeout: 5_000,
          })
          .toBe("session_ended");
        // docs/console.md#access: within one second; a busy machine gets some more to answer.
        expect(Date.now() - began).toBeLessThan(3_000);
        expect(
          (await ask(`${first.adminUrl}/console/session`, { headers: { cookie: here.cookie } }))
            .json.signed_in,
        ).toBe(false);

        const again = await signIn(first.adminUrl, key.text);
        const elsewhere = browserOf(second.adminUrl, again.answer);
        await expect.poll(async () => (await elsewhere.get(HEALTH)).status).toBe(200);
        await second.store.keys.revoke(key.id, Date.now());
        await expect
          .poll(async () => (await again.get(HEALTH)).json.error?.code, { timeout: 5_000 })
          .toBe("session_ended");
      },
    );
  },
);
