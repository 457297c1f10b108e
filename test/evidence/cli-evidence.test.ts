import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";

import { evidence } from "../../src/cli/evidence/evidence.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { EvidenceEntry } from "../../src/evidence/evidence-store.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

let cwd: string;
let store: Store;
beforeEach(async () => {
  cwd = temporaryFolder();
  store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  return () => store.close();
});
const run = (...argv: string[]) => runCommand(evidence, argv, { cwd });

describe("evidence tail", () => {
  it("prints one readable line a request", async () => {
    await recordDecision(store.evidence, decisionRecord("r1"));
    await recordDecision(
      store.evidence,
      decisionRecord("r2", {
        outcome: "deny",
        route: null,
        plan: [],
        workspace: null,
        reason: asIdentifier("REGION_NOT_APPROVED"),
      }),
    );
    store.evidence.settle(outcomeRecord("r1"));
    await store.evidence.flush();
    const { code, stdout } = await run("tail");
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "2026-11-18T11:06:40.000Z  r1  acme-prod  chat.completions  chat-large -> bedrock-eu/eu-central  completed  200  -  1234+321 tokens  830 ms",
      "2026-11-18T11:06:40.000Z  r2  -  chat.completions  - -> -  deny  -  REGION_NOT_APPROVED  -  -",
      "",
    ]);
  });

  it("prints JSON lines, limited and narrowed", async () => {
    for (const id of ["r1", "r2", "r3"]) {
      await recordDecision(
        store.evidence,
        decisionRecord(id, { workspace: asIdentifier(id === "r3" ? "beta" : "acme") }),
      );
    }
    const { stdout } = await run("tail", "--format", "json", "--workspace", "acme", "--limit", "1");
    const entry = JSON.parse(stdout) as EvidenceEntry;
    expect(entry.decision.requestId).toBe("r2");
  });

  it("filters by route, key, outcome, reason and time", async () => {
    await recordDecision(
      store.evidence,
      decisionRecord("r1", { route: asIdentifier("chat-small") }),
    );
    await recordDecision(
      store.evidence,
      decisionRecord("r2", { outcome: "deny", reason: asIdentifier("REGION_NOT_APPROVED") }),
    );
    await recordDecision(
      store.evidence,
      decisionRecord("r3", { keyId: asIdentifier("k3"), at: Date.now() - 60_000 }),
    );
    store.evidence.settle(outcomeRecord("r1", "failed"));
    await store.evidence.flush();
    const ids = async (...flags: string[]): Promise<string[]> =>
      (await run("tail", ...flags)).stdout.match(/\br\d\b/g) ?? [];
    expect(await ids("--route", "chat-small")).toEqual(["r1"]);
    expect(await ids("--reason", "REGION_NOT_APPROVED")).toEqual(["r2"]);
    expect(await ids("--outcome", "deny")).toEqual(["r2"]);
    expect(await ids("--outcome", "failed")).toEqual(["r1"]);
    expect(await ids("--key", "k3")).toEqual(["r3"]);
    expect(await ids("--since", "1h")).toEqual(["r3"]);
    expect(await ids("--since", "2026-01-01T00:00:00Z", "--limit", "1")).toEqual(["r3"]);
    expect((await run("tail", "--outcome", "denied")).stdout).toBe("");
    expect(await run("tail", "--since", "soon")).toMatchObject({ code: 2 });
    expect(await run("tail", "--outcome", "den")).toMatchObject({ code: 2 });
  });

  it("follows: prints each request once, when it has ended", async () => {
    await recordDecision(store.evidence, decisionRecord("r1"));
    await recordDecision(store.evidence, decisionRecord("r2"));
    store.evidence.settle(outcomeRecord("r2"));
    await store.evidence.flush();
    const stop = new AbortController();
    let printed = "";
    const ended = runCommand(evidence, ["tail", "--follow", "--format", "json"], {
      cwd,
      signal: stop.signal,
      stdout: (text) => (printed += text),
    });
    const ids = (): string[] =>
      printed
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => (JSON.parse(line) as EvidenceEntry).decision.requestId);
    await expect.poll(ids, { timeout: 20_000 }).toEqual(["r2"]);
    await recordDecision(store.evidence, decisionRecord("r3"));
    store.evidence.settle(outcomeRecord("r3"));
    await expect.poll(ids, { timeout: 20_000 }).toEqual(["r2", "r3"]);
    store.evidence.settle(outcomeRecord("r1"));
    await expect.poll(ids, { timeout: 20_000 }).toEqual(["r2", "r3", "r1"]);
    // A later one shows that another round has passed, and that nothing was printed twice in it.
    await recordDecision(store.evidence, decisionRecord("r4"));
    store.evidence.settle(outcomeRecord("r4"));
    await expect.poll(() => ids().includes("r4"), { timeout: 20_000 }).toBe(true);
    expect(ids()).toEqual(["r2", "r3", "r1", "r4"]);
    stop.abort();
    expect((await ended).code).toBe(0);
  });

  it.each([
    [[], "command: give one of tail, verify"],
    [["head"], "command: give one of tail"],
    [["tail", "--limit", "0"], "--limit: must be a whole number from 1 to 10000"],
    [["tail", "--limit", "10001"], "--limit: must be a whole number"],
    [["tail", "--limit", "many"], "--limit: must be a whole number"],
    [["tail", "--yes"], "--yes: has no effect on evidence tail"],
    [["verify", "--follow"], "--follow: has no effect on evidence verify"],
    [["verify", "--expect-head", "1"], "--expect-head: give POSITION:HASH"],
    [["verify", "--anchor", "x:y"], "--anchor: give POSITION:HASH"],
    [["export", "--after", "-1"], "--after: "],
    [["export", "--until", "many"], "--until: give a position"],
    [["prune"], "--before: is missing"],
    [["prune", "--before", "soon"], "--before: give a day"],
    [
      ["prune", "--before", "2026-10-01"],
      "--yes: is missing, so nothing was deleted; requests that ended before 2026-10-01T00:00:00.000Z",
    ],
    [["prune", "--before", "2999-01-01", "--yes"], "--before: is in the future"],
    [["tail", "--nothing"], "--nothing: there is no such flag"],
  ])("refuses %j with exit 2", async (argv, complaint) => {
    const { code, stderr } = await run(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(`signalbox evidence: ${complaint}`);
  });
});
