import { parentPort, workerData } from "node:worker_threads";

import { IN_MEMORY, openDatabase, openToRead, UnusableDatabaseError } from "./database.ts";
import type { FromWorker, ToWorker, WorkerStart } from "./protocol.ts";
import { describeFailure } from "./sqlite-failure.ts";
import { StoreEngine } from "./store-engine.ts";
import { refuseMissingEnd } from "./watch/missing-end.ts";
import { StoreWatch } from "./watch/store-watch.ts";

/** How often changes by other processes are looked for, milliseconds; the port promises one second. */
const POLL = 200;

const port = parentPort;
if (port === null) throw new Error("this file is the store's worker thread; open the store with openSqliteStore");

const post = (message: FromWorker): void => port.postMessage(message);

function start({ path, busyTimeout, readOnly, refuseCutEnd }: WorkerStart): StoreEngine | null {
  try {
    const database = readOnly === true ? openToRead(path, busyTimeout) : openDatabase(path, busyTimeout);
    if (refuseCutEnd === true) refuseMissingEnd(database, path);
    if (path === IN_MEMORY) return new StoreEngine(database, post);
    return new StoreEngine(database, post, new StoreWatch(path, database, readOnly === true), readOnly);
  } catch (error) {
    post({
      type: "not_opened",
      description: error instanceof UnusableDatabaseError ? error.message : describeFailure(error),
    });
    return null;
  }
}

const engine = start(workerData);
if (engine !== null) {
  const poll = setInterval(() => engine.poll(Date.now()), POLL);
  port.on("message", ({ id, request }: ToWorker) => {
    if (request.operation === "close") clearInterval(poll);
    post({ type: "reply", id, reply: engine.answer(request, Date.now()) });
    if (request.operation === "close") port.close();
    else engine.settle();
  });
  post({ type: "opened" });
}
