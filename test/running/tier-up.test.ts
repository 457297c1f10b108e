import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { startSmall, tierUpEarly } from "../../src/server/tier-up.ts";
import { spawnServer } from "../support/spawned.ts";

it("V8 has the settings by which a server's code is compiled early", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const settings = tierUpEarly.toString().match(/--invocation[\w-]+/g) ?? [];
  expect(settings).toHaveLength(2);
  for (const setting of settings) expect(options).toContain(` ${setting} (`);
  expect(startSmall.toString()).toContain("--semi-space-growth-factor=1");
  expect(options).toContain(" --semi-space-growth-factor (");
});

const ROUTES = {
  version: 1,
  regions: { world: ["global"] },
  providers: {
    p: { dialect: "openai-chat", base_url: "https://p.example/v1", region: "global", auth: "none" },
  },
  models: { m: { operations: ["generate"] } },
  endpoints: [{ id: "e", model: "m", provider: "p", upstream_model: "m" }],
  routes: { r: { primary: "e" } },
  workspaces: {
    w: { tier: "t", approve: { routes: ["r"], regions: ["world"], providers: ["p"] } },
  },
};

/**
 * In the server's process: for each signal prints the megabytes of its young generation, and then
 * allocates much.
 */
const PROBE = `
import { getHeapSpaceStatistics } from "node:v8";
import { isMainThread } from "node:worker_threads";
const answer = () => {
  console.log("young " + getHeapSpaceStatistics()[1].space_size / 1e6);
  let kept = [];
  for (let index = 0; index < 4e6; index += 1) kept.length < 2e5 ? kept.push({ index }) : (kept = []);
};
if (isMainThread) process.on("SIGUSR2", answer);
`;

it("a server starts with a small young generation, which grows with its work", async () => {
  const server = await spawnServer(ROUTES, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROBE)}`,
  });
  const sizes = (): readonly number[] =>
    [...server.stdout().matchAll(/young ([\d.]+)/g)].map(([, size]) => Number(size));
  const grown = (): number => {
    server.child.kill("SIGUSR2");
    return (sizes().at(-1) ?? 0) / (sizes()[0] ?? 1);
  };
  await expect.poll(grown, { interval: 300, timeout: 20_000 }).toBeGreaterThan(3);
  expect(sizes()[0]).toBeLessThan(8);
  await server.stop();
});
