import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

describe.skipIf(NO_POSTGRES !== null)(`a process that is busy ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());

  it("does not mistake its own silence for the server's: answers that arrived meanwhile count", async () => {
    const store = await openPostgresStore({
      url: await server.database(),
      bounds: { statementTimeout: 1_000 },
    });
    onTestFinished(() => store.close());
    await store.policyLog.head();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const requested = Promise.all([
        store.policyLog.head(),
        store.keys.list(),
        store.policyLog.read({ after: 0, limit: 9 }),
      ]);
      // The queries are sent; then a start that loads much, or a container that has used up its
      // share of the processor.
      await new Promise((left) => setImmediate(left));
      for (const end = performance.now() + 4_000; performance.now() < end;);
      expect(await requested).toEqual([expect.objectContaining({ position: 0 }), [], []]);
    }
  });
});
