import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { FromWorker, ToWorker } from "../../src/store/sqlite/store-engine.ts";
import {
  BorrowedThread,
  lentThread,
  type LentThread,
} from "../../src/store/sqlite/shared/shared-thread.ts";
import type { Door } from "../../src/store/sqlite/shared/frames.ts";
import { newDoor } from "../../src/store/sqlite/shared/shared-thread.ts";
import { encodeMessage, messageReader } from "../../src/store/sqlite/shared/frames.ts";
import { fewOrMany } from "../support/long.ts";
import { readVerifiedLog } from "./verified-log.ts";
import { describeStore } from "./conformance.ts";
import { decisionOf } from "../../src/store/stored-evidence.ts";
import { decisionRecord, keyRecord, outcomeRecord, recordDecision } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

interface Lending {
  readonly path: string;
  readonly lent: LentThread;
  readonly threads: readonly Worker[];
  /** Lines for operators. */
  readonly said: readonly string[];
  /** Of the process that has the thread. */
  readonly own: Store;
  readonly borrow: () => Promise<Store>;
}

/** A store that lends its thread, and stores as those of workers. */
async function lending(): Promise<Lending> {
  const path = join(temporaryFolder(), "signalbox.db");
  const said: string[] = [];
  const threads: Worker[] = [];
  const lent = lentThread((line) => said.push(line));
  const own = await openSqliteStore({
    path,
    startThread: (start) => {
      const thread = lent.startThread(start);
      threads.push(thread);
      return thread;
    },
  });
  onTestFinished(() => own.close());
  const borrow = async (): Promise<Store> => {
    const store = await openSqliteStore({
      path,
      startThread: () => new BorrowedThread(doorOf(lent)),
    });
    onTestFinished(() => store.close());
    return store;
  };
  return { path, lent, threads, said, own, borrow };
}

function doorOf({ door }: LentThread): Door {
  if (door === null) throw new Error("the thread is not open");
  return door;
}

/** A connection that sends bytes of its own, after the secret. */
async function rawConnection(door: Door): Promise<Socket> {
  const socket = connectTo(door);
  socket.write(door.workerSecret);
  await new Promise((resolve) => socket.once("data", resolve));
  return socket;
}

/** Whether the other side's end reaches it as one or as a reset depends on what it has read. */
function connectTo(door: Door): Socket {
  const socket = connect(door.address).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve()).resume();
  });
}

const decided = (...requestIds: string[]) =>
  ({
    operation: "evidence.append",
    parameters: [requestIds.map((requestId) => decisionOf(decisionRecord(requestId)))],
  }) as const;

const bytesOf = (message: unknown): Buffer => Buffer.from(encodeMessage(message));

const appended = (id: number, ...requestIds: string[]): Buffer =>
  bytesOf({ id, request: decided(...requestIds) } satisfies ToWorker);

async function outcomes(store: Store): Promise<Readonly<Record<string, string | null>>> {
  const rows = await store.evidence.read({ after: 0, limit: 1_000 });
  return Object.fromEntries(
    rows.map(({ decision, outcome }) => [decision.requestId, outcome?.terminal ?? null]),
  );
}

describe.runIf(fewOrMany(false, true))("over a worker's connection", () => {
  describeStore("SQLite", async () => {
    const path = join(temporaryFolder(), "signalbox.db");
    const lent = lentThread(() => {});
    const own = await openSqliteStore({ path, startThread: lent.startThread });
    const store = await openSqliteStore({
      path,
      startThread: () => new BorrowedThread(doorOf(lent)),
    });
    const close = async (): Promise<void> => {
      await store.close();
      await own.close();
    };
    return { ...store, close };
  });
});

describe("a thread that is lent", () => {
  it("has one chain for all workers, and notifies all of them of a new key", async () => {
    const { own, borrow } = await lending();
    const [one, two] = [await borrow(), await borrow()];
    const heard: string[] = [];
    await two.keys.watch((records) => heard.push(...records.map(({ id }) => id)));
    await Promise.all([
      recordDecision(one.evidence, decisionRecord("a")),
      recordDecision(two.evidence, decisionRecord("b")),
    ]);
    one.evidence.settle(outcomeRecord("a"));
    await one.evidence.flush();
    await one.keys.create(keyRecord("k"));
    await expect.poll(() => heard).toContain("k");
    expect(await outcomes(own)).toEqual({ a: "completed", b: null });
    await readVerifiedLog(own.evidence);
  });

  it("continues for others when a worker closes its store", async () => {
    const { own, borrow } = await lending();
    const [one, two] = [await borrow(), await borrow()];
    await one.close();
    await recordDecision(two.evidence, decisionRecord("a"));
    expect(await outcomes(own)).toEqual({ a: null });
  });

  it("ends the open requests of a worker that is gone, also those of a batch that was under way, and no others", async () => {
    const { lent, own, borrow, said } = await lending();
    const other = await borrow();
    await recordDecision(other.evidence, decisionRecord("other"));
    const socket = await rawConnection(doorOf(lent));
    const replied = new Promise((resolve) => socket.once("data", resolve));
    socket.write(appended(1, "a", "b"));
    await replied;
    socket.write(appended(2, "c"), () => socket.destroy());
    // Whether a batch arrives that was not announced is chance; if it does, it is ended too.
    const ends = async () => ({ c: "unknown", ...(await outcomes(own)) });
    await expect.poll(ends).toEqual({ other: null, a: "unknown", b: "unknown", c: "unknown" });
    other.evidence.settle(outcomeRecord("other"));
    await other.evidence.flush();
    expect(await outcomes(own)).toMatchObject({ other: "completed" });
    await readVerifiedLog(own.evidence);
    expect(said).toEqual([]);
  });

  it("serves workers over a new connection after its restart", async () => {
    const { own, borrow, threads, lent } = await lending();
    const store = await borrow();
    await recordDecision(store.evidence, decisionRecord("a"));
    const before = doorOf(lent);
    await threads[0]?.terminate();
    await expect(store.keys.get("k")).rejects.toThrow("store's thread");
    await expect
      .poll(
        () =>
          store.keys.get("k").then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
    await recordDecision(store.evidence, decisionRecord("b"));
    expect(Object.keys(await outcomes(own))).toEqual(["a", "b"]);
    expect(doorOf(lent).address).not.toBe(before.address);
    expect(doorOf(lent).workerSecret).not.toEqual(before.workerSecret);
  });
});

describe("bytes that are no request", () => {
  const whole = appended(1, "a");
  const changed = (at: number, value: number): Buffer => {
    const bytes = Buffer.from(whole);
    bytes[at] = value ^ (bytes[at] ?? 0);
    return bytes;
  };

  const shortened = (bytes: Buffer): Buffer => {
    const message = Buffer.from(bytes);
    message.writeUInt32LE(bytes.readUInt32LE() - 1);
    return message;
  };

  it.each([
    [
      "a message that ends too early",
      whole.subarray(0, whole.length - 1),
      "it ended within a message",
    ],
    ["the head of a message alone", whole.subarray(0, 4), "it ended within a message"],
    ["an impossible length", changed(3, 0xff), "the length of a message is impossible"],
    ["a length that is too small", shortened(whole), "a message cannot be read"],
    ["a message of another kind", bytesOf({ hello: 1 }), "a message is of another kind"],
    [
      "a batch that is none",
      bytesOf({ id: 1, request: { operation: "evidence.append", parameters: [] } }),
      "a message could not be handled",
    ],
  ])("end only their connection: %s", async (_name, bytes, reason) => {
    const { lent, own, borrow, said } = await lending();
    const other = await borrow();
    const socket = await rawConnection(doorOf(lent));
    socket.end(bytes);
    await closed(socket);
    await expect
      .poll(() => said)
      .toEqual([`a worker's connection to the store was closed: ${reason}`]);
    await recordDecision(other.evidence, decisionRecord("other"));
    expect(await outcomes(own)).toEqual({ other: null });
  });

  it("are not answered without the secret", async () => {
    const { lent, said } = await lending();
    const socket = connectTo(doorOf(lent));
    const got: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => got.push(chunk));
    socket.write(Buffer.alloc(32, 1));
    socket.write(whole);
    await closed(socket);
    expect(got).toEqual([]);
    await expect
      .poll(() => said)
      .toEqual([
        "a worker's connection to the store was closed: the other side does not know the secret",
      ]);
  });

  it("are reported once a minute without the secret: a program that can connect cannot fill the log", async () => {
    const { lent, said, borrow } = await lending();
    for (let time = 0; time < 3; time += 1) {
      const socket = connectTo(doorOf(lent));
      socket.write(Buffer.alloc(32, 1));
      await closed(socket);
    }
    // Reports are in order: this one comes after any of theirs.
    const worker = await rawConnection(doorOf(lent));
    worker.end(Buffer.alloc(9));
    await closed(worker);
    await expect.poll(() => said.length).toBeGreaterThan(1);
    expect(said.filter((line) => line.includes("does not know the secret"))).toHaveLength(1);
    await borrow();
  });

  it("do not lock workers out, for any number of connections without the secret", async () => {
    const { lent, borrow } = await lending();
    const connections = Array.from({ length: 300 }, () => connectTo(doorOf(lent)));
    await Promise.race(connections.map(closed));
    const store = await borrow();
    expect(await store.keys.get("k")).toBe(null);
  });

  it("are refused from a thread without the secret", async () => {
    const { lent } = await lending();
    const door = { ...doorOf(lent), threadSecret: newDoor().threadSecret };
    const opening = openSqliteStore({
      path: "unused",
      startThread: () => new BorrowedThread(door),
    });
    await expect(opening).rejects.toThrow("the store's thread");
  });
});

describe("messages over a socket", () => {
  const isMessage = (value: unknown): value is FromWorker => typeof value === "object";

  it("arrive whole and in order for every cut of their bytes", () => {
    const secret = Buffer.alloc(32, 7);
    const messages = [
      { type: "opened" },
      {
        bytes: [new Uint8Array([1, 2, 3]), new Uint8Array(0), new Uint8Array([4])],
        none: undefined,
      },
      {},
    ];
    const bytes = Buffer.concat([secret, ...messages.map(bytesOf)]);
    for (let size = 1; size <= bytes.length; size += 1) {
      const reader = messageReader(secret, isMessage);
      const read: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        const chunk = Buffer.from(bytes.subarray(at, at + size));
        read.push(...reader.read(chunk));
      }
      expect([read, reader.complete]).toEqual([messages, true]);
    }
  });
});
