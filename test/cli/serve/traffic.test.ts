import { rmSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { configuration, demo, end, run } from "./served.ts";

describe("serve --demo --traffic", () => {
  it("sends requests as several workspaces until it is stopped, and prints how they ended", async () => {
    const server = await demo(configuration(), ["--traffic"]);
    await server.printed.next(/a minute of made-up requests/);
    // The fourth round of three workspaces meets a route that is not approved.
    await new Promise((wake) => setTimeout(wake, 3_500));
    await end(server);
    expect(server.printed.all).toMatch(/made-up traffic: \d+ × 200, .*\d+ × 404/);
  });

  it("is refused where a provider has its secret, because each request would cost money", async () => {
    const folder = configuration();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const running = run(folder, ["serve", "--demo", "--traffic", "--port", "0"], {
      MISTRAL_API_KEY: "secret",
    });
    await running.printed.next(/--traffic: mistral-eu would be called and paid/);
    running.stop();
    expect(await running.ended).toBe(0);
  });

  it("needs --demo", async () => {
    const folder = configuration();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const running = run(folder, ["serve", "--traffic"]);
    expect(await running.ended).toBe(2);
    expect(running.printed.all).toContain("add --demo, or leave it out");
  });
});
