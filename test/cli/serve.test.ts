import { spawn, type ChildProcess } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { serve } from "../../src/cli/serve/serve.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/main.ts");
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function configuration(edit: (routes: string) => string = (routes) => routes): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-serve-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "routes.yaml"), edit(readFileSync(join(ROOT, "routes.yaml"), "utf8")));
  return folder;
}

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
  says(pattern: RegExp, milliseconds?: number): Promise<RegExpExecArray>;
}

function run(folder: string, argv: readonly string[], environment: Record<string, string> = {}): Running {
  const cache = ["--cache", join(ROOT, ".signalbox", "test-cache")];
  const child = spawn(process.execPath, [MAIN, ...argv, ...(argv[0] === "serve" ? cache : [])], {
    cwd: folder,
    env: { ...COMPILED, PATH: process.env["PATH"] ?? "", ...environment },
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<number | null>((done) => {
    child.on("close", done);
  });
  const says = async (pattern: RegExp, milliseconds = 50_000): Promise<RegExpExecArray> => {
    const end = performance.now() + milliseconds;
    for (;;) {
      const found = pattern.exec(text);
      if (found !== null) return found;
      if (performance.now() > end) throw new Error(`never said ${String(pattern)}:\n${text}`);
      await pause(10);
    }
  };
  return { child, output: () => text, exited, says };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, milliseconds);
  });
}

async function demo(folder: string, environment: Record<string, string> = {}, argv: readonly string[] = []) {
  const running = run(folder, ["serve", "--demo", "--port", "0", ...argv], environment);
  const [, url = "", admin = ""] = await running.says(/listening on (\S+) \(admin on (\S+)\)/);
  const [, key = ""] = await running.says(/demo key .*\n {2}(sbx_\S+)/);
  await running.says(/try it/);
  const chat = (more: object = {}, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "chat-small", messages: [{ role: "user", content: "my-secret-prompt" }], ...more }),
    });
  return { ...running, url, admin, key, chat };
}

function gatePolicy(condition: string): string {
  return `# METADATA
# scope: package
# title: A gate for this test
# custom:
#   signalbox:
#     contract: 1
#     id: gate
#     owners: [group:test]
#     constraints:
#       open: {effect: gate, reasons: [GATE_CLOSED]}
package signalbox.policy.gate

pass.open if ${condition}
`;
}

describe("signalbox serve", () => {
  const CURL = missingPrograms("bash", "curl");
  it.skipIf(CURL !== null)(`prints a curl line that works when pasted, and stops when told ${CURL ?? ""}`, async () => {
    const folder = configuration();
    const server = await demo(folder);
    const [curl = ""] = await server.says(/curl -s [\s\S]*?\}'\n/);
    const shell = spawn("bash", ["-c", curl]);
    let answer = "";
    shell.stdout.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    await new Promise((done) => {
      shell.on("close", done);
    });
    expect(JSON.parse(answer)).toMatchObject({ object: "chat.completion" });
    expect(server.output()).toContain("OPENAI_API_KEY is not set; the simulated upstream answers");
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    expect(server.output()).toMatch(/stopped\n$/);
  });

  it("lets a request in flight end before it stops, and takes no new one", async () => {
    const server = await demo(
      configuration((routes) => routes.replaceAll("upstream_model: gpt-5-mini", "upstream_model: gpt-5-mini+slow")),
    );
    const inFlight = server.chat({ stream: true });
    await pause(150);
    server.child.kill("SIGTERM");
    await server.says(/stopping/);
    await pause(50);
    await expect(fetch(`${server.url}/status`)).rejects.toThrow("fetch failed");
    const text = await (await inFlight).text();
    expect(text).toMatch(/"finish_reason":"stop"[\s\S]*\[DONE\]\n\n$/);
    expect(await server.exited).toBe(0);
  });

  it("reloads when a file changes, keeps the last good configuration when it cannot, and says which", async () => {
    const folder = configuration();
    const server = await demo(folder);
    const routes = join(folder, "routes.yaml");
    const good = readFileSync(routes, "utf8");
    const table = async (): Promise<unknown> => {
      const status: { table_sha256: string; degraded: string[] } = JSON.parse(
        await (await fetch(`${server.url}/status`)).text(),
      );
      return status;
    };
    const before = await table();
    writeFileSync(routes, good.replace("primary: gpt-5-mini-us", "primary: gpt-5-mini-su"));
    await server.says(/reload failed/);
    expect(server.output()).toMatch(/gpt-5-mini-su`[\s\S]*did you mean/i);
    expect(await table()).toMatchObject({
      ...(before as object),
      uptime_seconds: expect.any(Number),
      degraded: ["reload_failed"],
    });
    expect((await server.chat()).status).toBe(200);
    writeFileSync(routes, good.replace("on_gap: narrow", "on_gap: deny"));
    await server.says(/reloaded, table/);
    expect(await table()).toMatchObject({ degraded: [] });
    expect(await table()).not.toMatchObject({ table_sha256: (before as { table_sha256: string }).table_sha256 });
  });

  it(
    "reloads a policy on SIGHUP; what is new is watched, and what was enforced goes on acting",
    { timeout: 60_000 },
    async () => {
      const folder = configuration((routes) =>
        routes.replace("eu-residency: enforce", "gate: enforce, eu-residency: enforce"),
      );
      const policy = join(folder, "policies", "gate.rego");
      writeFileSync(policy, gatePolicy("input.request.stream"));
      const server = await demo(folder, {}, ["--no-watch"]);
      const denied = await server.chat();
      expect(denied.status).toBe(403);
      expect(await denied.text()).toContain("gate@r1");
      writeFileSync(policy, gatePolicy('"generate" != ""'));
      server.child.kill("SIGHUP");
      await server.says(/reloaded, table/);
      expect((await server.chat()).status).toBe(403);
      expect((await server.chat({ stream: true })).status).toBe(200);
      const gate = { enforced: { revision: "r1" }, candidate: { revision: "r2" } };
      expect(await (await fetch(`${server.url}/status`)).json()).toMatchObject({ policy_revisions: { gate } });
    },
  );

  it("loses no request while it reloads under load", async () => {
    const folder = configuration();
    const server = await demo(folder, {}, ["--no-watch"]);
    const routes = join(folder, "routes.yaml");
    const good = readFileSync(routes, "utf8");
    const load = new AbortController();
    const statuses: number[] = [];
    const clients = [1, 2, 3, 4].map(async () => {
      while (!load.signal.aborted) {
        const response = await server.chat({ stream: true });
        await response.text();
        statuses.push(response.status);
      }
    });
    for (let round = 0; round < 3; round += 1) {
      writeFileSync(routes, good.replace("Small and quick, anywhere", `round ${round}`));
      server.child.kill("SIGHUP");
      await server.says(new RegExp(`(reloaded[\\s\\S]*){${round + 1}}`));
    }
    load.abort();
    await Promise.all(clients);
    expect(statuses.length).toBeGreaterThan(10);
    expect([...new Set(statuses)]).toEqual([200]);
  });

  it("a key made, used and revoked by the command line; its evidence read there, without a word of content", async () => {
    const folder = configuration();
    const server = await demo(folder);
    const create = run(folder, [
      "keys",
      "create",
      "--workspace",
      "demo",
      "--scopes",
      "inference",
      "--owner",
      "me",
      "--expires",
      "1d",
      "--quiet",
    ]);
    expect(await create.exited).toBe(0);
    const key = create.output().trim();
    const call = async (): Promise<number> => (await server.chat({}, { authorization: `Bearer ${key}` })).status;
    const becomes = async (status: number): Promise<number> => {
      const began = performance.now();
      while ((await call()) !== status) {
        if (performance.now() - began > 3_000) throw new Error(`never became ${status}`);
        await pause(20);
      }
      return performance.now() - began;
    };
    // Made by another process a moment ago: the server looks once instead of waiting for its next round.
    expect(await call()).toBe(200);
    const id = key.split("_")[2] ?? "";
    expect(await run(folder, ["keys", "revoke", id]).exited).toBe(0);
    expect(await becomes(401)).toBeLessThan(1_000);
    const tail = run(folder, ["evidence", "tail", "--json"]);
    expect(await tail.exited).toBe(0);
    const lines = tail.output().trim().split("\n");
    expect(lines.length).toBeGreaterThan(1);
    // The first call that was refused may have been under way when the key was revoked.
    expect(tail.output()).toMatch(/invalid_api_key|key_revoked/);
    expect(tail.output()).toContain(id);
    expect(tail.output() + server.output()).not.toContain("my-secret-prompt");
    expect(tail.output()).not.toContain(key);
    for (const file of ["signalbox.db", "signalbox.db-wal"]) {
      expect(readFileSync(join(folder, ".signalbox", file)).includes("my-secret-prompt")).toBe(false);
    }
  });

  it("a first boot puts one management key, which cannot infer, into a file and into no log; a second makes none", async () => {
    const folder = configuration();
    const first = await demo(folder, {}, ["--workers", "2", "--log-format", "json"]);
    const [, file = ""] = await first.says(/first key \(operations:manage.*in (\S+);/);
    expect(file).toBe(join(folder, ".signalbox", "first-key"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const management = readFileSync(file, "utf8").trim();
    expect(first.output()).not.toContain(management);
    expect((await first.chat({}, { authorization: `Bearer ${management}` })).status).toBe(403);
    // Of a workspace that manages policies, where routes.yaml says which do.
    expect(first.output()).toContain("operations:manage, workspace demo,");
    first.child.kill("SIGTERM");
    await first.exited;
    const second = await demo(folder);
    expect(second.output()).not.toContain("first key");
    expect(readFileSync(file, "utf8").trim()).toBe(management);
    expect((await second.chat({}, { authorization: `Bearer ${first.key}` })).status).toBe(401);
  });

  it.each([
    ["an unknown flag", ["serve", "--prot", "1"], 2, "--prot"],
    ["a port that is none", ["serve", "--port", "many"], 2, "--port"],
    ["a public address without TLS", ["serve", "--host", "0.0.0.0"], 2, "--insecure-http"],
    ["an unknown command", ["sreve"], 2, "no command"],
    ["no routes.yaml", ["serve", "--config", "nowhere.yaml"], 1, "SOURCE_UNREADABLE"],
  ])("%s: a clear word and an exit code", async (_, argv, code, word) => {
    const running = run(configuration(), argv);
    expect(await running.exited).toBe(code);
    expect(running.output()).toContain(word);
    expect(running.output()).not.toMatch(/\n\s+at /);
  });

  it("a missing secret stops the start unless the row says otherwise, and names the variable", async () => {
    const folder = configuration((routes) => routes.replaceAll(", on_missing_secret: simulate", ""));
    const running = run(folder, ["serve", "--port", "0"]);
    expect(await running.exited).toBe(1);
    expect(running.output()).toMatch(/SECRET_NOT_SET[\s\S]*OPENAI_API_KEY[\s\S]*on_missing_secret/);
  });

  it("a port in use is said in one line", async () => {
    const first = await demo(configuration());
    const running = run(configuration(), ["serve", "--port", new URL(first.url).port]);
    expect(await running.exited).toBe(1);
    expect(running.output()).toContain("the port is in use");
    expect(running.output()).not.toMatch(/\n\s+at /);
  });

  it("an admin port in use is said with its own flag, and nothing stays open that would hold the process", async () => {
    const first = await demo(configuration());
    const folder = configuration();
    const argv = ["serve", "--port", "0", "--admin-port", new URL(first.admin).port];
    const running = run(folder, argv);
    expect(await within(running.exited, 40_000)).toBe(1);
    expect(running.output()).toContain("the port is in use; choose another with --admin-port");
    expect(running.output()).not.toMatch(/listening|\n\s+at /);
  });

  it("a public port in use closes the admin listener that was opened before it", async () => {
    const first = await demo(configuration());
    const running = run(configuration(), ["serve", "--port", new URL(first.url).port, "--admin-port", "0"]);
    expect(await within(running.exited, 40_000)).toBe(1);
    expect(running.output()).toContain("choose another with --port");
  });

  it("a bootstrap key that is none is one line, before anything is opened", async () => {
    const folder = configuration();
    const secret = "sbx_production_not-a-key";
    const running = run(folder, ["serve", "--port", "0"], { SIGNALBOX_BOOTSTRAP_KEY: secret });
    expect(await within(running.exited, 40_000)).toBe(1);
    expect(running.output()).toMatch(/^signalbox serve: SIGNALBOX_BOOTSTRAP_KEY: [^\n]*\n$/);
    expect(running.output()).not.toContain(secret);
    expect(existsSync(join(folder, ".signalbox"))).toBe(false);
  });

  it("SIGHUP never ends it: not while it starts, not while it drains", async () => {
    const folder = configuration((routes) =>
      routes.replaceAll("upstream_model: gpt-5-mini", "upstream_model: gpt-5-mini+slow"),
    );
    const server = await demo(folder);
    const inFlight = server.chat({ stream: true });
    await pause(150);
    server.child.kill("SIGTERM");
    await server.says(/stopping/);
    server.child.kill("SIGHUP");
    expect(await (await inFlight).text()).toMatch(/\[DONE\]\n\n$/);
    expect(await server.exited).toBe(0);
    expect(server.output()).not.toContain("reload");
    const hungUp: NodeJS.Process["emit"] = process.emit.bind(process);
    const stop = new AbortController();
    let text = "";
    const started = serve(["--port", "0", "--no-watch", "--cache", join(ROOT, ".signalbox", "test-cache")], {
      stdout: (more) => void (text += more),
      stderr: (more) => void (text += more),
      environment: {},
      cwd: configuration(),
      signal: stop.signal,
    });
    // At the first line of `serve`: the store is not even open.
    expect(hungUp("SIGHUP", "SIGHUP")).toBe(true);
    const end = performance.now() + 40_000;
    while (!text.includes("reloaded, table") && performance.now() < end) await pause(10);
    stop.abort();
    expect(await started).toBe(0);
    expect(text).toMatch(/listening on[\s\S]*reloaded, table/);
    expect(process.listeners("SIGHUP")).toEqual([]);
  });

  it("keeps seeing changes after the policy folder was removed and made again", async () => {
    const folder = configuration();
    const server = await demo(folder);
    const policies = join(folder, "policies");
    cpSync(policies, join(folder, "kept"), { recursive: true });
    rmSync(policies, { recursive: true });
    await server.says(/reload failed/);
    cpSync(join(folder, "kept"), policies, { recursive: true });
    await server.says(/reloaded, table/);
    writeFileSync(join(policies, "gate.rego"), gatePolicy("is not rego"));
    await server.says(/reload failed[\s\S]*reload failed/);
    expect(server.output()).toContain("gate.rego");
  });

  it("sees a symbolic link pointed elsewhere, as a mounted ConfigMap does it, and follows `policies.dir`", async () => {
    const folder = configuration();
    const good = readFileSync(join(folder, "routes.yaml"), "utf8");
    for (const [name, text] of [
      ["first", good],
      ["second", good.replace("on_gap: narrow", "on_gap: deny")],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "routes.yaml"), text);
      cpSync(join(ROOT, "policies"), join(folder, name, "policies"), { recursive: true });
    }
    rmSync(join(folder, "routes.yaml"));
    rmSync(join(folder, "policies"), { recursive: true });
    symlinkSync("first", join(folder, "..data"));
    symlinkSync(join("..data", "routes.yaml"), join(folder, "routes.yaml"));
    symlinkSync(join("..data", "policies"), join(folder, "policies"));
    const server = await demo(folder);
    symlinkSync("second", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    await server.says(/reloaded, table/);
    writeFileSync(join(folder, "second", "routes.yaml"), good.replace("dir: policies", "dir: elsewhere"));
    await server.says(/reload failed/);
    cpSync(join(ROOT, "policies"), join(folder, "elsewhere"), { recursive: true });
    await server.says(/reload failed[\s\S]*reloaded, table/);
    expect((await server.chat()).status).toBe(200);
  });
});

function within<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value | "still running"> {
  return Promise.race([promise, pause(milliseconds).then(() => "still running" as const)]);
}
