import { parentPort, workerData } from "node:worker_threads";

import { IN_MEMORY, openDatabase, openToRead, UnusableDatabaseError } from "./database.ts";
import {
  type FromWorker,
  type StoreEngine,
  storeEngine,
  type ToWorker,
  type WorkerStart,
} from "./store-engine.ts";
import type { Door } from "./shared/frames.ts";
import { storeDoor, type StoreDoor } from "./shared/store-door.ts";
import { describeFailure } from "./sqlite-failure.ts";
import { refuseMissingEnd } from "./log-end.ts";
import { storeWatch } from "./store-watch.ts";

/** How often changes of other processes are read, milliseconds; the port promises one second. */
const POLL = 200;

const port = parentPort;
if (port === null)
  throw new Error("this file is the store's worker thread; open the store with openSqliteStore");

const post = (message: FromWorker) => port.postMessage(message);
let door: StoreDoor | null = null;

/** Messages that answer no call are for all processes. */
function postToAll(message: FromWorker) {
  post(message);
  door?.broadcast(message);
}

async function start(settings: WorkerStart): Promise<StoreEngine> {
  const { path, busyTimeout, readOnly = false, refuseCutEnd = false } = settings;
  const database = readOnly ? openToRead(path, busyTimeout) : openDatabase(path, busyTimeout);
  if (refuseCutEnd) refuseMissingEnd(database, path);
  const watch = path === IN_MEMORY ? null : storeWatch(path, database, readOnly);
  const engine = storeEngine(database, postToAll, watch);
  if (settings.door !== undefined) door = await openDoor(settings.door, engine);
  return engine;
}

/** Resolves when workers can connect. */
async function openDoor(settings: Door, engine: StoreEngine): Promise<StoreDoor> {
  const opening = storeDoor(settings, {
    answer: (request) => engine.answer(request, Date.now()),
    settle: engine.settle,
    onRefused: (description) => post({ type: "refused", description }),
  });
  try {
    await opening.listen();
  } catch {
    // The system's error has the address.
    throw new UnusableDatabaseError(
      "workers have no way to connect to it on this system; use --workers 1",
    );
  }
  return opening;
}

try {
  const engine = await start(workerData);
  const poll = setInterval(() => engine.poll(Date.now()), POLL);
  port.on("message", ({ id, request }: ToWorker) => {
    const isLast = request.operation === "store.close";
    if (isLast) {
      clearInterval(poll);
      door?.close();
    }
    post({ type: "reply", id, reply: engine.answer(request, Date.now()) });
    if (isLast) port.close();
    else engine.settle();
  });
  post({ type: "opened" });
} catch (error) {
  post({
    type: "not_opened",
    description: error instanceof UnusableDatabaseError ? error.message : describeFailure(error),
  });
}
