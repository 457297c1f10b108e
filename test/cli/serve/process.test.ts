import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { missingPrograms } from "../../support/at-hand.ts";
import { fixture } from "../../replicas/fixture.ts";
import { COMPILED } from "../../support/node-cache.ts";
import { spawnServer } from "../../support/spawned.ts";
import { configuration, listening, Printed, ROOT, withCache, type Demo } from "./served.ts";

function start(folder: string, argv: readonly string[]) {
  const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...withCache(argv)], {
    cwd: folder,
    env: { ...COMPILED, PATH: process.env.PATH ?? "" },
  });
  const printed = new Printed();
  child.stdout.on("data", (chunk: Buffer) => printed.add(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => printed.add(chunk.toString()));
  const ended = new Promise<number | null>((done) => {
    child.on("close", done);
  });
  return { printed, ended, stop: () => void child.kill("SIGKILL"), child };
}

/** The tests share one server in their order: the last one ends it. */
describe("signalbox serve in a separate process", () => {
  let server: Demo;
  let signal: (name: NodeJS.Signals) => void;
  beforeAll(async () => {
    const folder = configuration((routes) =>
      routes.replaceAll("upstream_model: gpt-5-mini", "upstream_model: gpt-5-mini+slow"),
    );
    const running = start(folder, ["serve", "--demo", "--port", "0"]);
    signal = (name) => void running.child.kill(name);
    server = await listening(folder, running);
  });
  afterAll(() => {
    server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  });

  const CURL = missingPrograms("bash", "curl");
  it.skipIf(CURL !== null)(`prints a curl line that works when pasted ${CURL ?? ""}`, async () => {
    const [curl] = await server.printed.next(/curl -s [\s\S]*?\}'\n/);
    const shell = spawn("bash", ["-c", curl]);
    let answer = "";
    shell.stdout.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    await new Promise((done) => {
      shell.on("close", done);
    });
    expect(JSON.parse(answer)).toMatchObject({ object: "chat.completion" });
    expect(server.printed.all).toContain(
      "OPENAI_API_KEY is not set; the simulated upstream answers",
    );
  });

  it("an admin port in use is reported with its own flag, and nothing stays open that would hold the process", async () => {
    const folder = configuration();
    const running = start(folder, [
      "serve",
      "--port",
      "0",
      "--admin-port",
      new URL(server.admin).port,
    ]);
    onTestFinished(() => {
      running.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    expect(await Promise.race([running.ended, delay(40_000, "still running")])).toBe(1);
    expect(running.printed.all).toContain(
      "in use; stop the program that uses it, or choose another port with --admin-port",
    );
    expect(running.printed.all).not.toMatch(/listening|\n\s+at /);
  });

  it("SIGTERM finishes a request in flight and accepts no new one; SIGHUP during the drain does not end it", async () => {
    const inFlight = server.chat({ stream: true });
    // The provider's first byte takes half a second.
    await delay(150);
    signal("SIGTERM");
    await server.printed.next(/stopping/);
    signal("SIGHUP");
    await delay(50);
    await expect(fetch(`${server.url}/status`)).rejects.toThrow("fetch failed");
    const text = await (await inFlight).text();
    expect(text).toMatch(/"finish_reason":"stop"[\s\S]*\[DONE\]\n\n$/);
    expect(await server.ended).toBe(0);
    expect(server.printed.all).not.toContain("reload");
    expect(server.printed.all).toMatch(/stopped\n$/);
  });
});

const ROUTES = fixture("http://127.0.0.1:9");

describe("SIGTERM", () => {
  it("waits for the reload under way where many were requested", async () => {
    const server = await spawnServer(ROUTES, { PROVIDER_KEY: "x" });
    for (let count = 0; count < 40; count += 1) {
      server.child.kill("SIGHUP");
      await delay(5);
    }
    expect(await server.stop()).toBe(0);
    expect(server.stderr()).not.toContain("not closed");
    // One stands for all that come while another runs.
    const reloads = server.stdout().match(/"event":"reloaded"/g) ?? [];
    expect(reloads.length).toBeGreaterThan(0);
    expect(reloads.length).toBeLessThan(15);
  });

  // While the other one waits for the forced exit.
  it.concurrent("of two workers whose database was removed exits with 1, names the lost records, and prints no stack", async () => {
    const server = await spawnServer(ROUTES, { PROVIDER_KEY: "x" }, ["--workers", "2"]);
    rmSync(dirname(server.database), { recursive: true });
    const answer = await fetch(`${server.url}/v1/models`, {
      headers: { authorization: "Bearer x" },
    });
    expect(answer.status).toBe(401);
    expect(await server.stop()).toBe(1);
    expect(server.stderr()).toMatch(
      /worker [12]: stopped, but not closed: .*the evidence store has not been able to write/,
    );
    expect(server.stderr()).not.toMatch(/\n\s+at /);
  });

  it.concurrent("of a server whose processes each have a timer that never ends is followed by an exit that names it", async () => {
    const held = "--import=data:text/javascript,setInterval(()=>{},1e6)";
    const server = await spawnServer(ROUTES, { PROVIDER_KEY: "x", NODE_OPTIONS: held }, [
      "--workers",
      "2",
    ]);
    expect(await server.stop()).toBe(1);
    expect(server.stdout()).toMatch(/stopped\n$/);
    expect(server.stderr()).toContain("Timeout");
  });
});
