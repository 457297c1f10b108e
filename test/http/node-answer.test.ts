import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { NodeAnswer } from "../../src/http/node-answer.ts";

const TYPE = ["content-type", "text/event-stream"];

/**
 * A server that answers each request so, and the bytes that a client gets for a request of this
 * HTTP version, the head cut off.
 */
async function startAnswering(answer: (client: NodeAnswer, response: ServerResponse) => void) {
  const server = createServer({ keepAlive: true }, (_request, response) =>
    answer(new NodeAnswer(response, ["x-common", "yes"], 1_000), response),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    raw: (version: string, isOver: (text: string) => boolean): Promise<string> =>
      new Promise((resolve, reject) => {
        let text = "";
        const socket = connect(port, "127.0.0.1", () =>
          socket.write(`GET / HTTP/${version}\r\nhost: x\r\n\r\n`),
        );
        const end = (): void => {
          socket.destroy();
          resolve(text.slice(text.indexOf("\r\n\r\n") + 4));
        };
        socket.setEncoding("latin1");
        socket.on("data", (data: string) => {
          text += data;
          if (isOver(text)) end();
        });
        socket.on("end", end);
        socket.on("error", reject);
      }),
  };
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "latin1");

describe("an answer over a node response", () => {
  test("joins the bytes of one turn into one chunk, the end included", async () => {
    const { raw } = await startAnswering((client) => {
      client.start(200, TYPE);
      client.write(bytesOf("one "));
      client.write(bytesOf("two "));
      client.end(bytesOf("three"));
    });
    expect(await raw("1.1", (text) => text.endsWith("0\r\n\r\n"))).toBe(
      "d\r\none two three\r\n0\r\n\r\n",
    );
  });

  test("sends written bytes at the end of the turn, before the answer ends", async () => {
    const { raw } = await startAnswering((client) => {
      client.start(200, TYPE);
      client.write(bytesOf("one "));
      client.write(bytesOf("two"));
    });
    expect(await raw("1.1", (text) => text.endsWith("two\r\n"))).toBe("7\r\none two\r\n");
  });

  test("is not chunked for a client of HTTP/1.0", async () => {
    const { raw } = await startAnswering((client) => {
      client.start(200, TYPE);
      client.write(bytesOf("one "));
      setImmediate(() => client.end(bytesOf("two")));
    });
    expect(await raw("1.0", () => false)).toBe("one two");
  });

  test.each([0, 5, 20_000])(
    "an answer of %i bytes with a length arrives unchanged",
    async (length) => {
      const body = Buffer.alloc(length, Buffer.from([0, 10, 128, 255, 65]));
      const { url } = await startAnswering((client) => {
        client.start(200, ["content-length", String(length)]);
        client.end(body);
        expect(client.sent).toBe(length);
      });
      // The second request shows that the connection is fit for another one.
      for (let count = 0; count < 2; count += 1) {
        const response = await fetch(url);
        expect(response.headers.get("x-common")).toBe("yes");
        expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
      }
    },
  );

  test("any writes, in any ticks, arrive unchanged", async () => {
    let steps: readonly (readonly Uint8Array[])[] = [];
    const { url } = await startAnswering(async (client) => {
      client.start(200, TYPE);
      for (const step of steps) {
        for (const bytes of step) client.write(bytes);
        await new Promise(setImmediate);
      }
      client.end();
    });
    const bytes = fc.uint8Array({ maxLength: 40 });
    const large = fc
      .integer({ min: 60_000, max: 70_000 })
      .map((length) => new Uint8Array(length).fill(length % 256));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.oneof(bytes, large), { maxLength: 4 }), { maxLength: 4 }),
        async (given) => {
          steps = given;
          const response = await fetch(url);
          const expected = Buffer.concat(given.flat());
          expect(Buffer.from(await response.arrayBuffer()).equals(expected)).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("the answers of one turn are written together, sixteen at a time", async () => {
    const clients: (readonly [NodeAnswer, ServerResponse])[] = [];
    const allCame = Promise.withResolvers<void>();
    const { url } = await startAnswering((client, response) => {
      if (clients.push([client, response]) === 17) allCame.resolve();
    });
    const answers = Array.from({ length: 17 }, async () => (await fetch(url)).text());
    await allCame.promise;
    const written = (): number =>
      clients.filter(([, { socket }]) => (socket?.bytesWritten ?? 0) > 0).length;
    for (const [index, [client]] of clients.entries()) {
      client.start(200, TYPE);
      client.write(bytesOf(`text ${index}`));
      expect(written()).toBe(index < 15 ? 0 : 16);
    }
    await new Promise(setImmediate);
    expect(written()).toBe(17);
    for (const [client] of clients) client.end();
    expect((await Promise.all(answers)).toSorted()).toEqual(
      clients.map((_, index) => `text ${index}`).toSorted(),
    );
  });

  test("an answer to a request that came before its turn waits for the answers before it", async () => {
    const clients: NodeAnswer[] = [];
    const { port } = await startAnswering(async (client) => {
      clients.push(client);
      client.start(200, TYPE);
      const [first, second] = clients;
      if (second === undefined) return;
      for (const text of ["second, ", "in its turn"]) {
        second.write(bytesOf(text));
        await new Promise(setImmediate);
      }
      second.end();
      first?.write(bytesOf("first"));
      await new Promise(setImmediate);
      first?.end();
    });
    const request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    const socket = connect(port, "127.0.0.1", () => socket.write(request.repeat(2)));
    onTestFinished(() => void socket.destroy());
    let text = "";
    for await (const piece of socket) {
      text += String(piece);
      if (text.split("0\r\n\r\n").length === 3) break;
    }
    const bodies = text.split("\r\n\r\n").filter((part) => !part.startsWith("HTTP") && part !== "");
    expect(bodies).toEqual([
      expect.stringMatching(/^5\r\nfirst\r\n0$/),
      expect.stringMatching(/^(8\r\nsecond, \r\nb\r\nin its turn|13\r\nsecond, in its turn)\r\n0$/),
    ]);
  });

  test("pauses while the client does not read, and resumes when it has read", async () => {
    const paused = Promise.withResolvers<number>();
    const drained = Promise.withResolvers<void>();
    const { port } = await startAnswering((client) => {
      client.onDrain(() => drained.resolve());
      client.start(200, TYPE);
      const fill = (): void => {
        if (client.write(Buffer.alloc(50_000)) || client.sent < 1_000_000) setImmediate(fill);
        else paused.resolve(client.sent);
      };
      fill();
    });
    const socket = connect(port, "127.0.0.1", () =>
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
    );
    onTestFinished(() => void socket.destroy());
    socket.pause();
    // What the kernel buffers, and no more.
    expect(await paused.promise).toBeLessThan(50_000_000);
    socket.resume();
    await drained.promise;
  });

  test("a client that disconnects ends the writes without an error", async () => {
    const left = Promise.withResolvers<void>();
    const { port } = await startAnswering((client) => {
      client.onClose(() => {
        expect(client.write(bytesOf("more"))).toBe(true);
        client.end(bytesOf("end"));
        left.resolve();
      });
      client.start(200, TYPE);
      client.write(bytesOf("one"));
      socket.destroy();
      client.write(bytesOf("two"));
    });
    const socket = connect(port, "127.0.0.1", () =>
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
    );
    await left.promise;
  });
});
