/**
 * Run as a process by `kill.test.ts`, until the server kills it: the real HTTP server, pipeline,
 * dispatch and store over a table of one endpoint; only keys and policies are put by values,
 * because compiling them would take most of a round. Begins when ordered to on stdin, so that the
 * next process is ready before this one dies.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";

import { createDecider } from "../../src/decide/decider.ts";
import { connectionPools } from "../../src/dispatch/connections.ts";
import { SnapshotHolder } from "../../src/http/snapshot.ts";
import { listen } from "../../src/http/listen.ts";
import { createApp } from "../../src/http/server.ts";
import type { Store } from "../../src/store/port.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { isPostgresUrl } from "../../src/store/postgres/settings.ts";
import { BorrowedThread, lentThread } from "../../src/store/sqlite/shared/shared-thread.ts";
import type { Door } from "../../src/store/sqlite/shared/frames.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runtimeOver } from "../support/runtime.ts";
import { endpoint, fakePolicies, identity, provider, route, table } from "../support/table.ts";

const [, , database = "", upstream = "", round = "", role = ""] = process.argv;

/**
 * Workers beside the process that has the store's thread. They load while it waits for its turn.
 */
const workers = (role === "workers" ? [0, 1] : []).map((number) =>
  fork(import.meta.filename, [database, upstream, `${round}_${number}`, "worker"], {
    serialization: "advanced",
  }),
);

async function openStore(): Promise<Store> {
  const evidence = { delay: 20 };
  if (isPostgresUrl(database)) return openPostgresStore({ url: database, evidence });
  if (role === "worker") {
    const [door] = (await once(process, "message")) as [Door];
    const startThread = (): BorrowedThread => new BorrowedThread(door);
    return openSqliteStore({ path: database, evidence, startThread });
  }
  if (role === "") return openSqliteStore({ path: database, evidence });
  const lent = lentThread(() => {});
  const store = await openSqliteStore({ path: database, evidence, startThread: lent.startThread });
  for (const worker of workers) {
    worker.send(lent.door ?? {});
    writeSync(1, `${String((await once(worker, "message"))[0])}\n`);
  }
  return store;
}

async function serve(): Promise<string> {
  const store = await openStore();
  const pools = connectionPools();
  const rows = table({
    providers: [provider("p", { baseUrl: `${upstream}/v1` })],
    endpoints: [endpoint("a", { provider: "p" })],
    routes: [route("r", "a", [])],
  });
  const { connections, releaseConnections: release } = pools.acquire(rows, () => ({
    secret: "",
    simulatedOrigin: null,
  }));
  const decider = createDecider(rows, fakePolicies(), Date.now);
  const snapshots = new SnapshotHolder({ decider, connections, releaseConnections: release });
  let requests = 0;
  const runtime = runtimeOver(snapshots, {
    verify: () => ({ ok: true, identity }),
    evidence: store.evidence,
    evidenceStatus: () => store.evidence.health(),
    newRequestId: () => `req_${round}_${(requests += 1)}`,
  });
  return (await listen(createApp(runtime, "public"), "127.0.0.1", 0, runtime.newRequestId)).url;
}

// The cache is written at the end of a process only, and this one's end leaves no time for it.
if (round === "0") flushCompileCache();
if (role === "worker") {
  // The death of the process that has the thread is the end of its workers.
  process.once("disconnect", () => process.exit());
  const url = await serve();
  process.send?.(url);
} else {
  for await (const _ of createInterface({ input: process.stdin }))
    writeSync(1, `${await serve()}\nready\n`);
}
