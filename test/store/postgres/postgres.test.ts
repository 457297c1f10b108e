import { afterAll, beforeAll, describe } from "vitest";

import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { describeStore } from "../conformance.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

describe.skipIf(NO_POSTGRES !== null)(`a real PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());

  describeStore("PostgreSQL", async () => openPostgresStore({ url: await server.database() }));
});
