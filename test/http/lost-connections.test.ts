import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { RouteRow, RoutingTable } from "../../src/canon/table.ts";
import { startRawProvider } from "../support/raw-provider.ts";
import {
  ANSWER,
  errorOf,
  hello,
  post,
  startRouter,
  tableOver,
  type Upstream,
} from "../support/router.ts";

const BODY = JSON.stringify(ANSWER);
const WHOLE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

const answers = (socket: Socket): void => void socket.write(WHOLE);
const resets = (socket: Socket): void => void socket.resetAndDestroy();

function tableWith(upstreams: readonly Upstream[], more: Partial<RouteRow>): RoutingTable {
  const base = tableOver(upstreams);
  const row = base.routes.r;
  if (row === undefined) throw new Error("no route");
  return { ...base, routes: { r: { ...row, maxAttempts: 4, ...more } } };
}

describe("a provider that closes idle connections without notice", () => {
  // A dead flow of a load balancer: no FIN, and a reset for whatever is sent.
  const forgetful = () =>
    startRawProvider(answers, (socket, number) => {
      if (number === 1) return true;
      socket.resetAndDestroy();
      return false;
    });

  it("answers each of 200 requests once, in one attempt", async () => {
    const upstream = await forgetful();
    const router = await startRouter({ table: tableWith([upstream], {}) });
    const statuses: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      // Twenty connections are open after the first round, and every one of them is dead.
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(router, hello)));
      for (const response of responses) {
        statuses.push(response.status);
        await response.text();
      }
    }
    expect(statuses).toEqual(Array.from({ length: 200 }, () => 200));
    expect(upstream.calls).toHaveLength(200);
    await router.settled(200);
    expect(
      router.outcomes.every(
        ({ attempts }) => attempts.length === 1 && attempts[0]?.failure === null,
      ),
    ).toBe(true);
  });
});

describe("a provider that reads a request and resets its connection", () => {
  it.each([false, true])(
    "is sent the request again only where the route allows it: %s",
    async (resendAfterReset) => {
      const upstream = await startRawProvider(resets);
      const router = await startRouter({
        table: tableWith([upstream], resendAfterReset ? { resendAfterReset } : {}),
      });
      const response = await post(router, hello);
      expect([response.status, (await errorOf(response)).code]).toEqual([502, "upstream_reset"]);
      expect(upstream.calls).toHaveLength(resendAfterReset ? 2 : 1);
      await router.settled(1);
      expect(router.outcomes[0]?.attempts.map(({ failure }) => failure)).toEqual(
        resendAfterReset ? ["reset", "reset"] : ["reset"],
      );
    },
  );

  it("does not get it again where a byte of an answer had arrived over a connection that had been idle", async () => {
    const upstream = await startRawProvider((socket, number) => {
      if (number === 1) answers(socket);
      else socket.write("HTTP/1.1 20", () => socket.resetAndDestroy());
    });
    const router = await startRouter({ table: tableWith([upstream], {}) });
    expect((await post(router, hello)).status).toBe(200);
    expect((await post(router, hello)).status).toBe(502);
    expect(upstream.calls).toHaveLength(2);
  });

  it("is replaced by the next endpoint of the route", async () => {
    const upstreams = [await startRawProvider(resets), await startRawProvider(answers)];
    const router = await startRouter({ table: tableWith(upstreams, {}) });
    expect((await post(router, hello)).status).toBe(200);
    expect(upstreams.map(({ calls }) => calls.length)).toEqual([1, 1]);
  });
});
