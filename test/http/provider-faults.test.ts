import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { startRawProvider as raw } from "../support/raw-provider.ts";
import {
  ANSWER,
  delta,
  errorOf,
  hello,
  post,
  sse,
  startRouter,
  tableOver,
} from "../support/router.ts";

const BODY = JSON.stringify(ANSWER);
const WHOLE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** Sends every byte in a packet of its own. */
async function drip(socket: Socket, text: string): Promise<void> {
  for (const character of text) {
    socket.write(character, "latin1");
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

describe("interim answers that were not requested", () => {
  it.each([
    ["one 100", CONTINUE],
    ["100 with headers and without a reason", "HTTP/1.1 100\r\nx-a: 100\r\n\r\n"],
    [
      "several of all kinds",
      `${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n${CONTINUE}HTTP/1.1 102 P\r\n\r\n`,
    ],
  ])("are ignored: %s", async (_, interim) => {
    for (const send of [
      (socket: Socket) => socket.write(interim + WHOLE),
      (socket: Socket) => drip(socket, interim + WHOLE),
    ]) {
      const upstream = await raw((socket) => void send(socket));
      const router = await startRouter({ table: tableOver([upstream]) });
      // The second request goes over the same connection.
      for (const count of [1, 2]) {
        const response = await post(router, hello);
        expect([response.status, await response.text()]).toEqual([200, BODY]);
        expect(upstream.calls).toHaveLength(count);
      }
      await router.settled(2);
      expect(router.outcomes.map(({ terminal, attempts }) => [terminal, attempts.length])).toEqual([
        ["completed", 1],
        ["completed", 1],
      ]);
    }
  });

  it("do not change an answer with a similar text", async () => {
    const text = "\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
    const body = JSON.stringify({
      ...ANSWER,
      choices: [{ ...ANSWER.choices[0], message: { role: "assistant", content: text } }],
    });
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx: HTTP/1.1 100\r\n\r\n`;
    const upstream = await raw((socket) => void socket.write(CONTINUE + head + body));
    const router = await startRouter({ table: tableOver([upstream]) });
    expect(await (await post(router, hello)).text()).toBe(body);
  });

  it.each([
    "HTTP/1.1 101 Switching\r\n\r\n",
    "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
  ])("are malformed where they change the protocol: %j", async (answer) => {
    const upstream = await raw((socket) => void socket.write(answer));
    const router = await startRouter({ table: tableOver([upstream]) });
    const response = await post(router, hello);
    expect([response.status, (await errorOf(response)).code]).toEqual([502, "upstream_malformed"]);
  });
});

describe("a stream that ends with the connection only", () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
  const said = sse(delta("a")) + sse(delta("b", "stop"));
  const usage = sse({ id: "c", object: "chat.completion.chunk", choices: [], usage: ANSWER.usage });
  const streamed = { ...hello, stream: true };

  async function outcomeOf(body: string, more: Parameters<typeof tableOver>[1] = {}) {
    const upstream = await raw((socket) => socket.end(head + body));
    const router = await startRouter({ table: tableOver([upstream], more) });
    const text = await (await post(router, streamed)).text();
    await router.settled(1);
    return { text, outcome: router.outcomes[0] };
  }

  it("has failed where it ends after the finish without the counts that were requested", async () => {
    const { text, outcome } = await outcomeOf(said);
    expect(outcome?.terminal).toBe("failed");
    expect(outcome?.attempts.at(-1)?.failure).toBe("truncated");
    expect(text).toContain("upstream_truncated");
  });

  it.each([
    ["its counts have come", said + usage, {}],
    ["its protocol's mark has come", `${said}data: [DONE]\n\n`, {}],
    ["no counts were requested", said, { flags: ["no_stream_options"] }],
  ] as const)("is whole where %s", async (_, body, more) => {
    const { text, outcome } = await outcomeOf(body, more);
    expect(outcome).toMatchObject({ terminal: "completed", finish: "stop" });
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
