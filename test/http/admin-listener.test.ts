import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { startRunning, writeFixture } from "../running/running-server.ts";
import { freePort } from "../support/ports.ts";

describe("the admin listener", () => {
  it.each<readonly [string, Readonly<Record<string, string>>, number]>([
    [
      "a browser that reached it under a public name",
      { host: "rebind.example.com", "accept-language": "en" },
      400,
    ],
    [
      "a page that emptied Accept-Language",
      { host: "rebind.example.com:1", "accept-language": "" },
      400,
    ],
    ["a browser at the address", { host: "127.0.0.1", "accept-language": "en" }, 200],
    [
      "a browser at a name that only this network has",
      { host: "signalbox.internal:1", "accept-language": "en" },
      200,
    ],
    ["a scraper that uses a public name", { host: "metrics.example.com" }, 200],
  ])("answers /metrics to %s", async (_, headers, expected) => {
    const adminPort = await freePort();
    await startRunning(writeFixture("http://127.0.0.1:9"), { adminPort });
    const status = await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port: adminPort, path: "/metrics", headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(expected);
  });
});
