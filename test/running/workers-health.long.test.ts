import { describe, expect, it } from "vitest";
import { openStore } from "../../src/server/parts.ts";
import { ask, chat } from "../replicas/clients.ts";
import { addKey, writeFixture } from "./running-server.ts";
import { SpawnedServer } from "./spawned-server.ts";

interface Health {
  readonly workers: unknown;
  readonly endpoints: readonly { readonly state: string }[];
}

describe("endpoints on the admin listener of a server with workers", () => {
  it("are ejected when a worker has ejected them, although the first process calls none", async () => {
    const fixture = writeFixture("http://127.0.0.1:9");
    const store = await openStore(fixture.database);
    const { text } = await addKey(store, "large", ["inference", "governance:read"]);
    await store.close();
    const server = await SpawnedServer.start(fixture, [
      "--workers",
      "2",
      "--no-watch",
      "--console",
      "admin",
    ]);
    const health = async (): Promise<Health> => {
      const headers = { authorization: `Bearer ${text}` };
      const answer = await fetch(`${server.adminUrl}/v1/health`, { headers });
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is compared below fails for any other answer
      return (await answer.json()) as Health;
    };
    expect((await health()).workers).toEqual({ worker: 0, configured: 2, ready: 2 });
    const states = async (): Promise<readonly string[]> => {
      await ask(server.url, text, chat("large"));
      return (await health()).endpoints.map(({ state }) => state);
    };
    await expect.poll(states).toContain("ejected");
  }, 120_000);
});
