import { parentPort, workerData } from "node:worker_threads";

import { openDatabase, openToRead, UnusableDatabaseError } from "./database.ts";
import { FileIdentity } from "./file-identity.ts";
import type { FromWorker, ToWorker, WorkerStart } from "./protocol.ts";
import { describeFailure } from "./sqlite-failure.ts";
import { StoreEngine } from "./store-engine.ts";

/** How often changes by other processes are looked for, milliseconds; the port promises one second. */
const POLL = 200;

const port = parentPort;
if (port === null) throw new Error("this file is the store's worker thread; open the store with openSqliteStore");

const post = (message: FromWorker): void => port.postMessage(message);

function start({ path, busyTimeout, readOnly }: WorkerStart): StoreEngine | null {
  try {
    const database = readOnly === true ? openToRead(path, busyTimeout) : openDatabase(path, busyTimeout);
    return new StoreEngine(database, post, new FileIdentity(path));
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
  });
  post({ type: "opened" });
}
