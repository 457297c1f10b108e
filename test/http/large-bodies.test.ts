import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { readBody } from "../../src/http/read-body.ts";

const LIMITS = {
  bodyBytes: 8_000_000,
  answerBytes: 1_000,
  requestTime: 10_000,
  bodyTime: 60_000,
  writeTime: 1_000,
};

/** A request whose body of so many bytes is here already. */
function requestOf(size: number): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers = { "content-type": "application/json" };
  request.push(JSON.stringify({ text: "x".repeat(size) }));
  request.push(null);
  return request;
}

/** How often the event loop had gone round when each of four bodies was read that came at once. */
async function turnsOf(size: number): Promise<readonly number[]> {
  let turn = 0;
  let isCounting = true;
  const count = (): void => {
    turn += 1;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const turns = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      expect(await readBody(requestOf(size), LIMITS)).toMatchObject({
        value: { text: expect.any(String) },
      });
      return turn;
    }),
  );
  isCounting = false;
  return turns;
}

test("between concurrent large bodies the event loop handles other requests", async () => {
  const turns = (await turnsOf(3_000_000)).toSorted((left, right) => left - right);
  expect(new Set(turns).size).toBe(4);
});

test("small bodies do not wait", async () => {
  await turnsOf(3_000_000);
  expect(new Set(await turnsOf(3_000)).size).toBe(1);
});
