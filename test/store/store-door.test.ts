import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { decisionOf } from "../../src/store/stored-evidence.ts";
import type { StoreReply, StoreRequest, ToWorker } from "../../src/store/sqlite/store-engine.ts";
import { newDoor, removeDoor } from "../../src/store/sqlite/shared/shared-thread.ts";
import { encodeMessage } from "../../src/store/sqlite/shared/frames.ts";
import { storeDoor } from "../../src/store/sqlite/shared/store-door.ts";
import { decisionRecord } from "./records.ts";

const APPENDED: StoreReply = {
  kind: "done",
  value: { duplicates: [], lost: 0, head: { position: 1, hash: "" } },
};
const FULL: StoreReply = {
  kind: "failed",
  description: "the disk is full",
  permanent: false,
  applied: "no",
};

it("open requests of a lost worker are ended once, when the store can write again", async () => {
  const replies = [APPENDED, FULL, FULL];
  /** Request ids of the batches, in order. */
  const requested: string[][] = [];
  const answer = (request: StoreRequest): StoreReply => {
    if (request.operation !== "evidence.append") throw new Error("another request");
    const [records] = request.parameters;
    requested.push(records.map(({ kind, requestId }) => `${kind} ${requestId}`));
    return replies.shift() ?? APPENDED;
  };
  const settings = newDoor();
  const door = storeDoor(settings, { answer, settle: () => {}, onRefused: () => {} });
  await door.listen();
  onTestFinished(() => {
    door.close();
    removeDoor(settings);
  });

  const worker = async (requestId: string): Promise<void> => {
    const socket = connect(settings.address);
    socket.write(settings.workerSecret);
    await new Promise((resolve) => socket.once("data", resolve));
    const records = [decisionOf(decisionRecord(requestId))];
    const request = { operation: "evidence.append", parameters: [records] } as const;
    const before = requested.length;
    socket.write(encodeMessage({ id: 1, request } satisfies ToWorker));
    await expect.poll(() => requested.length).toBe(before + 1);
    socket.destroy();
  };
  await worker("a");
  const end = ["outcome a"];
  await expect.poll(() => requested, { timeout: 10_000 }).toEqual([["decision a"], end, end, end]);
  await worker("b");
  await expect.poll(() => requested.slice(4)).toEqual([["decision b"], ["outcome b"]]);
});
