import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeCertificate, NO_OPENSSL } from "../../running/certificate.ts";
import { shortenTimers } from "../../support/clock.ts";
import { freePort } from "../../support/ports.ts";
import { configuration, demo, end, ROOT, run, type Demo } from "./served.ts";

// The watcher's looks at the files.
shortenTimers(500, 100);

/** A folder that goes when the test ends. */
function folderOfTest(edit?: (routes: string) => string): string {
  const folder = configuration(edit);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** SIGHUP as this process would get it. */
function hangUp(): void {
  const emit: NodeJS.Process["emit"] = process.emit.bind(process);
  expect(emit("SIGHUP", "SIGHUP")).toBe(true);
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

describe("a server that watches its files", () => {
  let server: Demo;
  beforeAll(async () => {
    server = await demo(configuration());
  });
  afterAll(() => end(server));

  it("serves a key that the command line creates and revokes; its evidence is read there, without any content", async () => {
    const { folder } = server;
    const grant = [
      "--workspace",
      "demo",
      "--scopes",
      "inference",
      "--owner",
      "me",
      "--expires",
      "1d",
      "--quiet",
    ];
    const create = run(folder, ["keys", "create", ...grant]);
    expect(await create.ended).toBe(0);
    const key = create.printed.all.trim();
    const call = async (): Promise<number> =>
      (await server.chat({}, { authorization: `Bearer ${key}` })).status;
    // Another connection made it a moment ago: the server looks once instead of waiting for its
    // next round.
    expect(await call()).toBe(200);
    const id = key.split("_")[2] ?? "";
    expect(await run(folder, ["keys", "revoke", id]).ended).toBe(0);
    const revokedAt = performance.now();
    while ((await call()) !== 401) {
      expect(performance.now() - revokedAt).toBeLessThan(1_000);
      await delay(20);
    }
    const tail = async (): Promise<string> => {
      const { ended, printed } = run(folder, ["evidence", "tail", "--format", "json"]);
      expect(await ended).toBe(0);
      return printed.all;
    };
    // The answer of a refusal does not wait for its record. The first call that was refused may
    // have been under way when the key was revoked.
    await expect.poll(tail, { timeout: 5_000 }).toMatch(/invalid_api_key|key_revoked/);
    const printed = await tail();
    expect(printed.trim().split("\n").length).toBeGreaterThan(1);
    expect(printed).toContain(id);
    expect(printed + server.printed.all).not.toContain("my-secret-prompt");
    expect(printed).not.toContain(key);
    for (const file of ["signalbox.db", "signalbox.db-wal"]) {
      expect(readFileSync(join(folder, ".signalbox", file)).includes("my-secret-prompt")).toBe(
        false,
      );
    }
  });

  it("reloads a changed file, or keeps the last good configuration and reports the error", async () => {
    const routes = join(server.folder, "routes.yaml");
    const good = readFileSync(routes, "utf8");
    const status = async (): Promise<Record<string, unknown>> => {
      const body: unknown = await (await fetch(`${server.url}/status`)).json();
      return body as Record<string, unknown>;
    };
    const before = await status();
    writeFileSync(routes, good.replace("primary: gpt-5-mini-us", "primary: gpt-5-mini-su"));
    await server.printed.next(/reload failed/);
    expect(server.printed.all).toMatch(/gpt-5-mini-su`[\s\S]*did you mean/i);
    const degraded = { uptime_seconds: expect.any(Number) as number, degraded: ["reload_failed"] };
    expect(await status()).toMatchObject({ ...before, ...degraded });
    expect((await server.chat()).status).toBe(200);
    writeFileSync(routes, good.replace("on_gap: narrow", "on_gap: deny"));
    await server.printed.next(/reloaded, table/);
    expect(await status()).toMatchObject({ degraded: [] });
    expect(await status()).not.toMatchObject({ table_sha256: before.table_sha256 });
  });

  it("detects changes after the policy folder was removed and created again", async () => {
    const policies = join(server.folder, "policies");
    rmSync(policies, { recursive: true });
    await server.printed.next(/reload failed/);
    cpSync(join(ROOT, "policies"), policies, { recursive: true });
    await server.printed.next(/reloaded, table/);
    writeFileSync(join(policies, "gate.rego"), gatePolicy("is not rego"));
    await server.printed.next(/reload failed/);
    expect(server.printed.all).toContain("gate.rego");
  });

  it("a public port in use is one line for a second server, which closes the admin listener that it opened before", async () => {
    const admin = `${await freePort()}`;
    const argv = ["serve", "--port", new URL(server.url).port, "--admin-port", admin];
    const second = run(folderOfTest(), argv);
    expect(await second.ended).toBe(1);
    expect(second.printed.all).toContain(
      "in use; stop the program that uses it, or choose another port with --port",
    );
    expect(second.printed.all).not.toMatch(/listening|\n\s+at /);
    await expect(fetch(`http://127.0.0.1:${admin}/status`)).rejects.toThrow("fetch failed");
  });
});

describe("a server that reloads on SIGHUP", () => {
  let server: Demo;
  beforeAll(async () => {
    const folder = configuration((routes) =>
      routes.replace("eu-residency: enforce", "gate: enforce, eu-residency: enforce"),
    );
    writeFileSync(join(folder, "policies", "gate.rego"), gatePolicy("input.request.stream"));
    server = await demo(folder, ["--no-watch"]);
  });
  afterAll(() => end(server));

  it("takes a changed policy into shadow, and keeps the enforced revision", async () => {
    const denied = await server.chat();
    expect(denied.status).toBe(403);
    expect(await denied.text()).toContain("gate@r1");
    writeFileSync(join(server.folder, "policies", "gate.rego"), gatePolicy('"generate" != ""'));
    hangUp();
    await server.printed.next(/reloaded, table/);
    expect((await server.chat()).status).toBe(403);
    expect((await server.chat({ stream: true })).status).toBe(200);
    const gate = { enforced: { revision: "r1" }, candidate: { revision: "r2" } };
    expect(await (await fetch(`${server.url}/status`)).json()).toMatchObject({
      policy_revisions: { gate },
    });
  });
});

describe("signalbox serve", () => {
  it.each([
    ["a port that is none", ["serve", "--port", "many"], 2, "--port"],
    ["a public address without TLS", ["serve", "--host", "0.0.0.0"], 2, "--insecure-http"],
    ["an unknown command", ["sreve"], 2, "no command"],
    ["an unknown flag", ["serve", "--prot", "1"], 2, "--prot"],
    ["no file of that name", ["serve", "--config", "nowhere.yaml"], 1, "there is no nowhere.yaml"],
  ])(
    "%s exits with its code and a clear message, without a stack",
    async (_, argv, code, message) => {
      const running = run(folderOfTest(), argv);
      expect(await running.ended).toBe(code);
      expect(running.printed.all).toContain(message);
      expect(running.printed.all).not.toMatch(/\n\s+at /);
    },
  );

  it("does not start with a missing secret unless the row allows it, and names the variable", async () => {
    const folder = folderOfTest((routes) => routes.replaceAll(", on_missing_secret: simulate", ""));
    const running = run(folder, ["serve", "--port", "0"]);
    expect(await running.ended).toBe(1);
    expect(running.printed.all).toMatch(
      /SECRET_NOT_SET[\s\S]*OPENAI_API_KEY[\s\S]*on_missing_secret/,
    );
  });

  it("an invalid bootstrap key is a one-line error, before anything is opened", async () => {
    const folder = folderOfTest();
    const secret = "sbx_production_not-a-key";
    const running = run(folder, ["serve", "--port", "0"], { SIGNALBOX_BOOTSTRAP_KEY: secret });
    expect(await running.ended).toBe(1);
    expect(running.printed.all).toMatch(/^signalbox serve: SIGNALBOX_BOOTSTRAP_KEY: [^\n]*\n$/);
    expect(running.printed.all).not.toContain(secret);
    expect(existsSync(join(folder, ".signalbox"))).toBe(false);
  });

  it("a stop after the database was removed exits with 1, and names the lost records", async () => {
    const server = await demo(folderOfTest());
    rmSync(join(server.folder, ".signalbox"), { recursive: true });
    const refused = await server.chat({}, { authorization: "Bearer x" });
    expect(refused.status).toBe(401);
    server.stop();
    expect(await server.ended).toBe(1);
    expect(server.printed.all).toMatch(
      /signalbox serve: stopped, but not closed: .*the evidence store has not been able to write/,
    );
    expect(server.printed.all).not.toMatch(/\n\s+at /);
  });

  it.skipIf(NO_OPENSSL !== null)(
    `a renewed certificate that does not fit its key is reported, and one that does is loaded ${NO_OPENSSL ?? ""}`,
    async () => {
      const folder = folderOfTest();
      const [served, other] = [makeCertificate(folder, "served"), makeCertificate(folder, "other")];
      const tls = ["--tls-cert", served.cert, "--tls-key", served.key];
      const server = await demo(folder, [...tls, "--no-watch"]);
      copyFileSync(other.key, served.key);
      hangUp();
      await server.printed.next(/--tls-key: is not the key of the certificate/);
      copyFileSync(other.cert, served.cert);
      hangUp();
      await server.printed.next(/reloaded, table/);
      server.stop();
      expect(await server.ended).toBe(0);
    },
  );

  it("a first boot writes one management key without inference into a file and no log; a second writes none", async () => {
    const folder = folderOfTest();
    const first = await demo(folder, ["--log-format", "json"]);
    const [, file = ""] = /first key \(operations:manage.*in (\S+);/.exec(first.printed.all) ?? [];
    expect(file).toBe(join(folder, ".signalbox", "first-key"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const management = readFileSync(file, "utf8").trim();
    expect(first.printed.all).not.toContain(management);
    expect((await first.chat({}, { authorization: `Bearer ${management}` })).status).toBe(403);
    // Of a workspace that manages policies, where routes.yaml names one.
    expect(first.printed.all).toContain("operations:manage, workspace demo,");
    first.stop();
    expect(await first.ended).toBe(0);
    // SIGHUP at the first line of `serve`, before the store is open, does not end it either.
    const starting = demo(folder);
    while (process.listenerCount("SIGHUP") === 0) await delay(0);
    hangUp();
    const second = await starting;
    await second.printed.next(/reloaded, table/);
    expect(second.printed.all).not.toContain("first key");
    expect(readFileSync(file, "utf8").trim()).toBe(management);
    expect((await second.chat({}, { authorization: `Bearer ${first.key}` })).status).toBe(401);
    second.stop();
    expect(await second.ended).toBe(0);
    expect(process.listeners("SIGHUP")).toEqual([]);
  });

  it("reloads when a symbolic link points elsewhere, as in a mounted ConfigMap, and follows `policies.dir`", async () => {
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
    onTestFinished(() => end(server));
    symlinkSync("second", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    await server.printed.next(/reloaded, table/);
    writeFileSync(
      join(folder, "second", "routes.yaml"),
      good.replace("dir: policies", "dir: elsewhere"),
    );
    await server.printed.next(/reload failed/);
    cpSync(join(ROOT, "policies"), join(folder, "elsewhere"), { recursive: true });
    await server.printed.next(/reloaded, table/);
    expect((await server.chat()).status).toBe(200);
  });
});
