import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { encodeBatch, FrameCursor } from "../../src/store/batch/frames.ts";
import type { StoreReply, StoreRequest, ToWorker } from "../../src/store/sqlite/protocol.ts";
import { newDoor, removeDoor } from "../../src/store/sqlite/shared/door.ts";
import { encodeMessage, writeMessage } from "../../src/store/sqlite/shared/frames.ts";
import { StoreDoor } from "../../src/store/sqlite/shared/store-door.ts";
import { decisionRecord } from "./records.ts";

const APPENDED: StoreReply = { kind: "appended", duplicates: [], lost: 0, head: { position: 1, hash: "" } };
const FULL: StoreReply = { kind: "failed", description: "the disk is full", refused: false, done: "no" };

it("ends the open requests of a worker that is gone once the store can write again, once", async () => {
  const replies = [APPENDED, FULL, FULL];
  /** Request ids of the batches, in order. */
  const requested: string[][] = [];
  const answer = (request: StoreRequest): StoreReply => {
    if (request.operation !== "evidence.append") throw new Error("another request");
    const cursor = new FrameCursor(request.batch.bytes);
    const batch: string[] = [];
    while (cursor.next()) batch.push(`${cursor.kind} ${cursor.requestId}`);
    requested.push(batch);
    return replies.shift() ?? APPENDED;
  };
  const settings = newDoor();
  const door = new StoreDoor(settings, { answer, settle: () => {}, refused: () => {} });
  await door.listen();
  onTestFinished(() => {
    door.close();
    removeDoor(settings);
  });

  const worker = async (requestId: string): Promise<void> => {
    const socket = connect(settings.address);
    socket.write(settings.workerSecret);
    await new Promise((resolve) => socket.once("data", resolve));
    const batch = encodeBatch([1, requestId, "acme", JSON.stringify(decisionRecord(requestId))], []);
    const before = requested.length;
    writeMessage(socket, encodeMessage({ id: 1, request: { operation: "evidence.append", batch } } satisfies ToWorker));
    await expect.poll(() => requested.length).toBe(before + 1);
    socket.destroy();
  };
  await worker("a");
  const end = ["outcome a"];
  await expect.poll(() => requested, { timeout: 10_000 }).toEqual([["decision a"], end, end, end]);
  await worker("b");
  await expect.poll(() => requested.slice(4)).toEqual([["decision b"], ["outcome b"]]);
});
