import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { join } from "node:path";
import { programAtHand } from "../support/at-hand.ts";
import { knownVariables, ROOT, seconds, serveOptions, text } from "./deployed.ts";

const UNIT = "deploy/systemd/signalbox.service";

/** The assignments of `[Service]`; one that is repeated has several values. */
const service = new Map<string, readonly string[]>();
for (const line of (text(UNIT).split("[Service]")[1] ?? "").split("[Install]")[0]?.split("\n") ??
  []) {
  const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? [];
  if (name !== "") service.set(name, [...(service.get(name) ?? []), value]);
}
const only = (name: string): string | undefined => service.get(name)?.at(-1);

/** The command line, with the flags that the environment's file adds. */
const commandLine = (flags = ""): readonly string[] =>
  (only("ExecStart") ?? "").replace("$SERVE_FLAGS", flags).trim().split(" ");

describe("the systemd unit", () => {
  it("reads further flags from its environment", () => {
    const flags = "--egress-proxy --keep-alive 620 --max-answer-bytes 9";
    expect(serveOptions(commandLine(flags).slice(2))).toMatchObject({
      egressProxy: true,
      keepAlive: 620_000,
      limits: { answerBytes: 9 },
    });
  });

  it("starts the server with existing flags, in its own folder", () => {
    const [program, command, ...argv] = commandLine();
    expect([program, command]).toEqual(["/usr/bin/env", "signalbox"]);
    const options = serveOptions(argv);
    expect(options).toMatchObject({
      config: "/etc/signalbox/routes.yaml",
      adminHost: "127.0.0.1",
      log: { format: "json" },
    });
    expect(only("WorkingDirectory")).toBe(`/var/lib/${only("StateDirectory")}`);
    // Neither flag is given: what is written goes below the folder above, or to the database that
    // the environment names.
    expect(argv.filter((flag) => ["--database", "--cache"].includes(flag))).toEqual([]);
  });

  it("reloads on SIGHUP, and leaves time for the drain", () => {
    const drain = serveOptions(commandLine().slice(2)).drain / 1_000;
    expect(only("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    expect(only("KillSignal")).toBe("SIGTERM");
    expect(seconds(only("TimeoutStopSec") ?? "")).toBeGreaterThan(drain);
  });

  it("may write nothing but its state, and has no privilege", () => {
    const wanted = {
      DynamicUser: "yes",
      NoNewPrivileges: "yes",
      ProtectSystem: "strict",
      ProtectHome: "yes",
      PrivateTmp: "yes",
      PrivateDevices: "yes",
      StateDirectoryMode: "0700",
      UMask: "0077",
      CapabilityBoundingSet: "",
      AmbientCapabilities: "",
      RestrictSUIDSGID: "yes",
    };
    expect(Object.fromEntries(Object.keys(wanted).map((name) => [name, only(name)]))).toEqual(
      wanted,
    );
    expect(service.has("User")).toBe(false);
    expect(service.has("ReadWritePaths")).toBe(false);
    // V8 could not start.
    expect(service.has("MemoryDenyWriteExecute")).toBe(false);
  });

  it("reads secrets from a file, and names variables that exist", () => {
    expect(only("EnvironmentFile")).toBe("-/etc/signalbox/environment");
    expect(service.get("Environment")).toEqual([
      `XDG_CACHE_HOME=/var/cache/${only("CacheDirectory")}`,
    ]);
    expect(only("CacheDirectoryMode")).toBe("0700");
    const named = text(UNIT).match(/\bSIGNALBOX_[A-Z_]+\b/g) ?? [];
    expect(named.filter((name) => !knownVariables().has(name))).toEqual([]);
  });

  it("is valid for systemd, and little exposed", (context) => {
    if (programAtHand("systemd-analyze") === null)
      return context.skip("systemd-analyze is not here");
    const verified = spawnSync("systemd-analyze", ["verify", join(ROOT, UNIT)], {
      encoding: "utf8",
    });
    expect(verified.stderr.split("\n").filter((line) => line.includes("signalbox"))).toEqual([]);
    const flags = ["security", "--offline=true", "--threshold=20", join(ROOT, UNIT)];
    const judged = spawnSync("systemd-analyze", flags, { encoding: "utf8" });
    if (/unrecognized option/.test(judged.stderr))
      return context.skip("this systemd cannot judge a unit that is not installed");
    // At most 2.0 of 10.
    expect([judged.status, /Overall exposure level.*/.exec(judged.stdout)?.[0]]).toEqual([
      0,
      expect.any(String),
    ]);
  });
});
