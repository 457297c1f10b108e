import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ProviderRow } from "../../src/canon/table.ts";
import { delta, startRouter, until, type Router } from "../support/router.ts";
import { provider } from "../support/table.ts";
import { DOORS, STREAMED, WHOLE, knock, tableAt, type Door } from "./doors.ts";
import { startRaw, type RawServer } from "./raw.ts";

/**
 * What a hostile or broken provider can do with an answer: the failure has a name, the memory an
 * end, and no other provider is called.
 */

async function routed(
  door: Door,
  answer: Parameters<typeof startRaw>[0],
  more: Partial<ProviderRow> = {},
) {
  const upstream = await startRaw(answer);
  const router = await startRouter({ table: tableAt(upstream.url, door, more) });
  return { upstream, router };
}

/** Kinds of failure of the one request that was made. */
async function failures(router: Router, door: Door): Promise<readonly (string | null)[]> {
  await (await knock(router, door)).text();
  await router.settled(1);
  return router.outcomes[0]?.attempts.map(({ failure }) => failure) ?? [];
}

const typeOf = (door: Door): string =>
  STREAMED.includes(door) ? "text/event-stream" : "application/json";
const head = (door: Door, more: string, status = "200 OK"): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${typeOf(door)}\r\n${more}\r\n\r\n`;

/** Says the piece for ever, as fast as it is taken. */
function flood(socket: Parameters<Parameters<typeof startRaw>[0]>[0], piece: Uint8Array): void {
  const pour = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", pour);
  pour();
}

describe("a redirect is not followed", () => {
  it.each(
    DOORS.flatMap((door) =>
      [301, 302, 303, 307, 308].map((status) => [door.name, status, door] as const),
    ),
  )("%s, %i", async (_, status, door) => {
    const trap = await startRaw((socket) => void socket.end());
    const { router, upstream } = await routed(door, (socket) => {
      socket.end(
        `HTTP/1.1 ${status} X\r\nlocation: ${trap.url}/v1/chat/completions\r\ncontent-length: 0\r\n\r\n`,
      );
    });
    const response = await knock(router, door);
    const text = await response.text();
    expect(response.status).toBe(502);
    expect(text).toContain("upstream_redirect");
    expect(text).not.toContain(trap.url);
    expect(response.headers.has("location")).toBe(false);
    expect([trap.connections(), upstream.heads.length]).toEqual([0, 1]);
  });
});

describe("an answer without end", () => {
  const piece = Buffer.alloc(65_536, "a");

  it.each(WHOLE.map((door) => [door.name, door] as const))(
    "an answer in one piece is ended at the size limit: %s",
    async (_, door) => {
      const { router } = await routed(door, (socket) => {
        socket.write(head(door, "connection: close"));
        flood(socket, piece);
      });
      expect(await failures(router, door)).toEqual(["too_large"]);
    },
  );

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "an answer with an error status is judged by its status: %s",
    async (_, door) => {
      const { router } = await routed(door, (socket) => {
        socket.write(head(door, "connection: close", "400 Bad Request"));
        flood(socket, piece);
      });
      expect(await failures(router, door)).toEqual(["rejected"]);
    },
  );

  it.each(STREAMED.map((door) => [door.name, door] as const))(
    "in one line is ended at the size limit: %s",
    async (_, door) => {
      const { router } = await routed(door, (socket) => {
        socket.write(`${head(door, "connection: close")}data: `);
        flood(socket, piece);
      });
      expect(await failures(router, door)).toEqual(["too_large"]);
    },
  );

  it.each(STREAMED.map((door) => [door.name, door] as const))(
    "in many events ends as a failure: %s",
    async (_, door) => {
      const events = Buffer.from(`data: ${JSON.stringify(delta("piece "))}\n\n`.repeat(200));
      const { router } = await routed(door, (socket) => {
        socket.write(head(door, "connection: close"));
        flood(socket, events);
      });
      const response = await knock(router, door);
      const text = await response.text();
      expect(text).toContain("upstream_too_large");
      // Eight times what an answer in one piece may have, in the client's own format.
      expect(text.length).toBeLessThan(20_000_000);
      await router.settled(1);
      expect(router.outcomes[0]).toMatchObject({ terminal: "failed" });
    },
  );
});

describe("a compressed answer that is larger than the limit", () => {
  const zeros = Buffer.alloc(64_000_000);
  const events = Buffer.alloc(64_000_000, ": keep-alive\n\n");
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  const bombsOf = (plain: Uint8Array) => ({
    gzip: gzipSync(plain),
    br: brotliCompressSync(plain, fast),
  });
  const [whole, streamed] = [bombsOf(zeros), bombsOf(events)];

  it.each(
    DOORS.flatMap((door) => {
      const { gzip, br } = STREAMED.includes(door) ? streamed : whole;
      return [
        [door.name, "gzip", door, gzip],
        [door.name, "br", door, br],
      ] as const;
    }),
  )("is too_large: %s, %s", async (_, encoding, door, bomb) => {
    // Small enough for every limit on what comes over the wire.
    expect(bomb.length).toBeLessThan(200_000);
    const { router } = await routed(door, (socket) => {
      socket.write(head(door, `content-encoding: ${encoding}\r\ncontent-length: ${bomb.length}`));
      socket.write(bomb);
    });
    expect(await failures(router, door)).toEqual(["too_large"]);
  });
});

describe("an answer that is no HTTP", () => {
  it.each(["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc X\r\n\r\n", "\0\0\0\0"])(
    "is malformed: %j",
    async (bytes) => {
      const [door] = WHOLE;
      if (door === undefined) throw new Error("no door");
      const { router } = await routed(door, (socket) => void socket.write(bytes));
      expect(await failures(router, door)).toEqual(["malformed"]);
    },
  );
});

describe("headers of an answer", () => {
  it.each(DOORS.map((door) => [door.name, door] as const))(
    "an answer with too many headers is malformed: %s",
    async (_, door) => {
      const { router } = await routed(door, (socket) => {
        socket.write(head(door, `x-much: ${"a".repeat(70_000)}\r\ncontent-length: 2`));
        socket.write("{}");
      });
      expect(await failures(router, door)).toEqual(["malformed"]);
    },
  );

  it("without end are malformed", async () => {
    const [door] = WHOLE;
    if (door === undefined) throw new Error("no door");
    const { router } = await routed(door, (socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      flood(socket, Buffer.from(`x-a: ${"b".repeat(1_000)}\r\n`));
    });
    expect(await failures(router, door)).toEqual(["malformed"]);
  });

  it("that are announced again and again (103) end at a timeout", async () => {
    const [door] = WHOLE;
    if (door === undefined) throw new Error("no door");
    const timeouts = { ...provider("x").timeouts, firstByte: 300, total: 600 };
    const { router } = await routed(
      door,
      (socket) => {
        const timer = setInterval(
          () => socket.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
          20,
        );
        socket.on("close", () => clearInterval(timer));
      },
      { timeouts },
    );
    expect(["timeout_first_byte", "timeout_attempt"]).toContain((await failures(router, door))[0]);
  });
});

describe.concurrent("an answer that arrives byte by byte", () => {
  const timeouts = { connect: 1_000, firstByte: 200, idle: 200, firstToken: 500, total: 500 };
  const beginnings: readonly (readonly [string, (door: Door) => string])[] = [
    ["in its status line", () => ""],
    ["in its headers", () => "HTTP/1.1 200 OK\r\nx-a: "],
    ["in its body", (door) => head(door, "connection: close")],
    ["in the body of an error", (door) => head(door, "connection: close", "400 Bad Request")],
  ];

  it.each(
    DOORS.flatMap((door) =>
      beginnings.map(([where, begun]) => [door.name, where, begun, door] as const),
    ),
  )("ends at a timeout or as malformed: %s, %s", async (_, __, begun, door) => {
    let closed = false;
    const { router } = await routed(
      door,
      (socket) => {
        socket.write(begun(door));
        const letters = begun(door) === "" ? "HTTP/1.1 200 OK" : " ".repeat(10_000);
        let index = -1;
        const timer = setInterval(
          () => socket.write(letters[Math.min((index += 1), 14)] ?? " "),
          20,
        );
        socket.on("close", () => {
          closed = true;
          clearInterval(timer);
        });
      },
      { timeouts },
    );
    const [kind] = await failures(router, door);
    expect(["timeout_first_byte", "timeout_first_token", "timeout_attempt", "malformed"]).toContain(
      kind,
    );
    await until(() => closed);
  });
});

/** Readers want to know that the trap would have been seen. */
it("a server of these tests detects its callers", async () => {
  const seen: RawServer = await startRaw((socket) =>
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
  );
  await fetch(seen.url);
  expect(seen.connections()).toBe(1);
});
