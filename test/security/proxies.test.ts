import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startRaw } from "./raw.ts";

it("providers are called directly, despite proxies in the environment", async () => {
  const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
  const upstream = await startRaw((socket) => socket.end(answer));
  const proxy = await startRaw((socket) => socket.end(answer));
  const names = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
  ];
  const environment = {
    NODE_USE_ENV_PROXY: "1",
    ...Object.fromEntries(names.map((name) => [name, proxy.url])),
  };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, "proxied-call.ts"), upstream.url],
    { env: { ...process.env, NO_PROXY: "", no_proxy: "", ...environment } },
  );
  expect(stdout).toBe("200");
  expect([upstream.connections(), proxy.connections()]).toEqual([1, 0]);
});
