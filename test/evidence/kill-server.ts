/**
 * Run as a process by `kill.test.ts`, until the server kills it: the real HTTP server, pipeline,
 * dispatch and store over a table of one endpoint; only keys and policies are put by values,
 * because compiling them would take most of a round. Begins when ordered to on stdin, so that the
 * next process is ready before this one dies.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";

import { createDecider } from "../../src/decide/decider.ts";
import { ConnectionPools } from "../../src/dispatch/connections.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import { stickyKeys } from "../../src/dispatch/balance.ts";
import { healthSettingsOf, SnapshotHolder } from "../../src/http/snapshot.ts";
import type { Runtime } from "../../src/http/runtime.ts";
import { listen } from "../../src/http/listen.ts";
import { createApp } from "../../src/http/server.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { endpoint, fakePolicies, identity, provider, route, table } from "../support/table.ts";

const [, , database = "", upstream = "", round = ""] = process.argv;

async function serve(): Promise<string> {
  const store = await openSqliteStore({ path: database, evidence: { delay: 20 } });
  const pools = new ConnectionPools();
  const rows = table({
    providers: [provider("p", { baseUrl: `${upstream}/v1` })],
    endpoints: [endpoint("a", { provider: "p" })],
    routes: [route("r", "a", [])],
  });
  const { connections, release } = pools.acquire(rows, () => ({
    secret: "",
    simulatedOrigin: null,
  }));
  const decider = createDecider(rows, fakePolicies(), Date.now);
  const snapshots = new SnapshotHolder({ decider, connections, release });
  let requests = 0;
  const runtime: Runtime = {
    snapshots,
    verify: () => ({ ok: true, identity }),
    evidence: store.evidence,
    evidenceStatus: () => store.evidence.health(),
    metrics: () => ({ contentType: "text/plain", text: "" }),
    endpoints: new EndpointTracker(healthSettingsOf(snapshots)),
    stickyKeyOf: stickyKeys(),
    newRequestId: () => `req_${round}_${(requests += 1)}`,
    limits: {
      bodyBytes: 1_000_000,
      answerBytes: 1_000_000,
      requestTime: 10_000,
      bodyTime: 5_000,
      writeTime: 2_000,
    },
    build: { id: "test", contract: { sha256: "c", text: "{}" }, startedAt: performance.now() },
    degraded: () => [],
    accepting: () => true,
  };
  return (await listen(createApp(runtime, "public"), "127.0.0.1", 0, runtime.newRequestId)).url;
}

// The cache is written at the end of a process only, and this one's end leaves no time for it.
if (round === "0") flushCompileCache();
for await (const _ of createInterface({ input: process.stdin })) writeSync(1, `${await serve()}\n`);
