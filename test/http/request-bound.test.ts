import { describe, expect, it } from "vitest";
import type { Identity } from "../../src/canon/identity.ts";
import { sendRaw, statusesOf } from "../security/raw.ts";
import {
  answerJson,
  post,
  hello,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { identity } from "../support/table.ts";

const BOUND = 1_000;
const CALLER: Identity = { ...identity, scopes: new Set(["inference", "catalogue:read"]) };
const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;

async function router(unrouted: number[] = [], onVerify: () => void = () => {}) {
  const upstream = await startUpstream((response) => answerJson(response));
  return startRouter({
    table: tableOver([upstream]),
    runtime: {
      verify: (token) => {
        onVerify();
        return token === "good"
          ? { ok: true, identity: CALLER }
          : { ok: false, code: "invalid_api_key" };
      },
      observer: {
        began: () => {},
        ended: () => {},
        unrouted: (status) => void unrouted.push(status),
      },
    },
  });
}

describe("one connection", () => {
  it("is closed after a thousand failed requests, with connection: close on the last answer", async () => {
    const { url } = await router();
    // Bytes that are not read reset the connection, and answers before them are lost; so there are
    // none.
    const said = await sendRaw(url, get("/nowhere").repeat(BOUND), 2_000);
    expect(statusesOf(said)).toEqual(Array.from({ length: BOUND }, () => 404));
    expect(said.match(/connection: close/gi)).toHaveLength(1);
  });

  it("with 30,000 wrong keys is closed soon after a thousand", async () => {
    let verified = 0;
    const { url } = await router([], () => (verified += 1));
    await sendRaw(
      url,
      get("/v1/models", "authorization: Bearer bad\r\n").repeat(30_000),
      2_000,
    ).catch(() => "");
    // Requests of one piece are looked at before the first of them is refused.
    expect(verified).toBeGreaterThanOrEqual(BOUND);
    expect(verified).toBeLessThan(5 * BOUND);
  });

  it("with 200,000 failing requests gets a thousand answers", async () => {
    const unrouted: number[] = [];
    const { url } = await router(unrouted);
    await sendRaw(url, get("/nowhere").repeat(200_000), 2_000).catch(() => "");
    expect(unrouted).toHaveLength(BOUND);
  });

  it("stays open for a caller with a key, for any number of requests", async () => {
    const { url } = await router();
    const good = "authorization: Bearer good\r\n";
    const said = await sendRaw(
      url,
      get("/v1/models", good).repeat(3 * BOUND) + get("/v1/models", `${good}connection: close\r\n`),
      2_000,
    );
    expect(statusesOf(said)).toEqual(Array.from({ length: 3 * BOUND + 1 }, () => 200));
    // The last one's own.
    expect(said.match(/connection: close/gi)).toHaveLength(1);
  });

  it("that is closed closes no other", async () => {
    const running = await router();
    const [, response] = await Promise.all([
      sendRaw(running.url, get("/nowhere").repeat(20_000), 2_000),
      post(running, hello),
    ]);
    expect(response.status).toBe(200);
  });
});
