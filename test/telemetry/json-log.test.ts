import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runCommands } from "../../src/cli/commands.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { openJsonLog } from "../../src/telemetry/log-record.ts";
import { until } from "../support/router.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-log-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Line = Readonly<Record<string, unknown>>;

function linesOf(text: string): readonly Line[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}

describe("a log of JSON lines", () => {
  it("writes messages of its level and above, all before it is closed", async () => {
    const path = join(temporaryFolder(), "log");
    const descriptor = openSync(path, "w");
    const log = await openJsonLog({ level: "info", descriptor });
    log.write("debug", { event: "stopped" });
    log.write("info", { event: "draining", in_flight: 3 });
    log.write("error", {
      event: "reload_failed",
      errors: 1,
      warnings: 0,
      code: null,
      file: null,
      line: null,
    });
    expect([log.takes("debug"), log.takes("warn")]).toEqual([false, true]);
    await log.close(1_000);
    const lines = linesOf(readFileSync(path, "utf8"));
    expect(lines).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: "draining",
        in_flight: 3,
      },
      expect.objectContaining({ level: "error", event: "reload_failed", errors: 1 }),
    ]);
  });

  it("drops lines when its reader does not read, counts them, and does not wait", async () => {
    const fifo = join(temporaryFolder(), "fifo");
    execFileSync("mkfifo", [fifo]);
    // Open for both: a writer alone would wait for a reader.
    const descriptor = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    const log = await openJsonLog({ level: "info", descriptor, bufferBytes: 10_000 });
    const line = {
      event: "key_changed",
      key_id: asIdentifier("k".repeat(200)),
      workspace: asIdentifier("w"),
      change: "added",
    } as const;
    let longest = 0;
    for (let round = 0; round < 60; round += 1) {
      const begun = performance.now();
      for (let time = 0; time < 20; time += 1) log.write("info", line);
      longest = Math.max(longest, performance.now() - begun);
      await new Promise((done) => {
        setImmediate(done);
      });
    }
    expect(log.dropped()).toBeGreaterThan(100);
    expect(longest).toBeLessThan(10_000);
    const begun = performance.now();
    await log.close(200);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it("does not keep a process alive when its lines are not read", async () => {
    const fifo = join(temporaryFolder(), "fifo");
    execFileSync("mkfifo", [fifo]);
    const script = `
      import { constants, openSync } from "node:fs";
      const { openJsonLog } = await import(${JSON.stringify(join(ROOT, "src/telemetry/log-record.ts"))});
      const descriptor = openSync(${JSON.stringify(fifo)}, constants.O_RDWR | constants.O_NONBLOCK);
      const log = await openJsonLog({ level: "info", descriptor });
      for (let line = 0; line < 5000; line += 1) log.write("info", { event: "draining", in_flight: line });
      await log.close(300);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: "ignore",
    });
    cleanups.push(() => void child.kill("SIGKILL"));
    const ended = new Promise((done) => {
      child.once("exit", done);
    });
    expect(await ended).toBe(0);
  });

  it("counts dropped lines, and continues, when its reader has gone", async () => {
    const pipe = join(temporaryFolder(), "fifo");
    execFileSync("mkfifo", [pipe]);
    const read = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const descriptor = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    const log = await openJsonLog({ level: "info", descriptor });
    closeSync(read);
    for (let line = 0; line < 3; line += 1)
      log.write("info", { event: "draining", in_flight: line });
    await until(() => log.dropped() === 3);
    log.write("info", { event: "draining", in_flight: 4 });
    expect(log.dropped()).toBe(4);
    const begun = performance.now();
    await log.close(40_000);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

interface Running {
  readonly child: ChildProcess;
  readonly closed: Promise<unknown>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

function serveJson(folder: string, more: readonly string[] = []): Running {
  const argv = [
    "serve",
    "--demo",
    "--port",
    "0",
    "--cache",
    join(ROOT, ".signalbox", "test-cache"),
    ...more,
  ];
  const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...argv], {
    cwd: folder,
    env: { ...COMPILED, PATH: process.env.PATH ?? "" },
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  // After `exit` the pipes may still hold the last lines.
  const closed = once(child, "close");
  return { child, closed, stdout: () => stdout, stderr: () => stderr };
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

describe("signalbox serve --log-format json", () => {
  it("writes every event as a line of known fields to stdout, and messages as JSON lines to stderr", async () => {
    const folder = temporaryFolder();
    cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
    const routes = readFileSync(join(ROOT, "routes.yaml"), "utf8");
    writeFileSync(join(folder, "routes.yaml"), routes);
    const running = serveJson(folder, ["--log-format", "json", "--log-level", "debug"]);
    await until(() => running.stderr().includes("try it"), 40_000);
    const [, url = ""] = /listening on (\S+)/.exec(running.stderr()) ?? [];
    const [, key = ""] = /demo key .*\n {2}(sbx_\S+)/.exec(running.stderr()) ?? [];
    const events = (): readonly unknown[] => linesOf(running.stdout()).map(({ event }) => event);
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({
        model: "chat-small",
        messages: [{ role: "user", content: "my-secret-prompt" }],
      }),
    });
    expect(response.status).toBe(200);
    await until(() => events().includes("attempt"));
    writeFileSync(join(folder, "routes.yaml"), routes.replace("chat-small", "chat-tiny"));
    running.child.kill("SIGHUP");
    await until(() => events().includes("reloaded") || events().includes("reload_failed"), 40_000);
    writeFileSync(join(folder, "routes.yaml"), `nonsense: true\n${routes}`);
    running.child.kill("SIGHUP");
    // The first reload may have failed too, for another reason.
    await until(() => linesOf(running.stdout()).some(({ code }) => code === "UNKNOWN_KEY"), 40_000);
    running.child.kill("SIGTERM");
    await running.closed;
    expect(running.child.exitCode, running.stderr()).toBe(0);
    const lines = linesOf(running.stdout());
    for (const event of [
      "key_changed",
      "started",
      "request",
      "attempt",
      "reload_failed",
      "draining",
      "stopped",
    ]) {
      expect(events(), event).toContain(event);
    }
    expect(lines.at(-1)?.event).toBe("stopped");
    expect(lines.findLast(({ event }) => event === "reload_failed")).toMatchObject({
      errors: 1,
      warnings: 0,
      code: "UNKNOWN_KEY",
      file: expect.stringMatching(/routes\.yaml$/) as string,
      line: 1,
    });
    // The texts of --demo are for a person.
    const messages = linesOf(
      `${running
        .stderr()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .join("\n")}\n`,
    );
    expect(messages).toContainEqual(
      expect.objectContaining({
        level: "error",
        event: "finding",
        code: "UNKNOWN_KEY",
        line: 1,
      }),
    );
    expect(messages).toContainEqual(
      expect.objectContaining({
        level: "error",
        event: "message",
        message: "reload failed; the last good configuration keeps serving",
      }),
    );
    const request = lines.find(({ event }) => event === "request");
    expect(request).toMatchObject({
      level: "info",
      request_id: response.headers.get("x-request-id"),
      // Without a collector too.
      trace_id: TRACE,
      operation: "chat.completions",
      route: "chat-small",
      workspace: "demo",
      terminal: "completed",
      status: 200,
      attempts: 1,
    });
    expect(key).toContain(String(request?.key_id));
    for (const secret of ["my-secret-prompt", key]) expect(running.stdout()).not.toContain(secret);
    const documented = readFileSync(join(ROOT, "docs/observability.md"), "utf8");
    for (const line of lines) {
      expect(documented).toContain(`\`${String(line.event)}\``);
      for (const field of Object.keys(line))
        expect(documented, String(line.event)).toContain(`\`${field}\``);
    }
  });

  it.each([
    [["--log-format", "xml"], "--log-format: must be one of text, json"],
    [["--log-level", "loud"], "--log-level: must be one of debug, info, warn, error"],
  ])("refuses %j", async (flags, message) => {
    let printed = "";
    const io = {
      stdout: () => {},
      stderr: (text: string) => void (printed += text),
      environment: {},
      cwd: temporaryFolder(),
    };
    expect(await runCommands(["serve", "--demo", ...flags], io)).toBe(2);
    expect(printed).toContain(message);
  });
});
