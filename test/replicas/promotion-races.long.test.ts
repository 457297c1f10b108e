import { spawn, type ChildProcess } from "node:child_process";
import { promotion } from "../../src/lifecycle/changes.ts";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { openStore } from "../../src/server/parts.ts";
import {
  entityTag,
  type PolicyLifecycle,
  type PolicyStatus,
} from "../../src/lifecycle/lifecycle.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import { PolicyLogVerifier, type PolicyLogFault } from "../../src/lifecycle/fold.ts";
import type { PolicyLogStore, PolicyRecord } from "../../src/lifecycle/records.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";
import { until } from "../support/router.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { keptPolicy, referenceTo } from "../lifecycle/kept-policies.ts";
import { POLICY } from "../lifecycle/policy-rows.ts";
import type { Race, Said } from "./racing-process.ts";
import { actor, NOTHING_REQUIRED, TABLE } from "../lifecycle/lifecycle-context.ts";

const RACER = fileURLToPath(new URL("./racing-process.ts", import.meta.url));
const ROUNDS = 6;
const PROCESSES = 4;

type Result = Extract<Said, { said: "result" }>;

/** One process that races. */
class Racer {
  readonly results: Result[] = [];
  readonly #child: ChildProcess;
  readonly #done = new Set<number>();
  #opened: Extract<Said, { said: "open" }> | null = null;

  private constructor(database: string, name: string) {
    this.#child = spawn(process.execPath, [RACER, database, name], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("no output");
    createInterface({ input: stdout }).on("line", (text) => {
      const line = parse(text);
      if (line?.said === "open") this.#opened = line;
      else if (line?.said === "done") this.#done.add(line.round);
      else if (line !== null) this.results.push(line);
    });
  }

  static async start(database: string, name: string): Promise<Racer> {
    const racer = new Racer(database, name);
    onTestFinished(() => racer.kill());
    await until(() => racer.#opened !== null || !racer.isAlive, 30_000);
    return racer;
  }

  /** What a fresh process found. */
  get opened(): Extract<Said, { said: "open" }> | null {
    return this.#opened;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  ask(race: Race): void {
    this.#child.stdin?.write(`${JSON.stringify(race)}\n`);
  }

  hasDone(round: number): boolean {
    return this.#done.has(round);
  }

  /** Without warning. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }
}

/** `null` for a line that was cut off by the death of its process. */
function parse(text: string): Said | null {
  try {
    return JSON.parse(text) as Said;
  } catch {
    return null;
  }
}

/**
 * Makes it so that something is enforced that can be rolled back, and something else is the
 * candidate.
 */
async function prepare(
  log: PolicyLogStore,
  lifecycle: PolicyLifecycle,
  round: number,
): Promise<PolicyStatus> {
  for (let step = 0; ; step += 1) {
    const line = (await lifecycle.refresh()).policies.get(POLICY);
    const isReady = line !== undefined && line.former.length > 0 && line.enforced !== null;
    if (isReady && line.candidate !== null && !line.held.has(line.candidate.digest)) return line;
    if (line?.candidate == null || line.held.has(line.candidate.digest)) {
      const kept = keptPolicy(`${round}-${step}`);
      await log.keep(kept);
      const { digest, module } = referenceTo(kept, 1);
      await lifecycle.observe(
        [{ policy: POLICY, digest, module: module ?? "", initialMode: "shadow" }],
        "reload",
        TABLE,
      );
      continue;
    }
    await lifecycle.change(
      promotion({
        policy: POLICY,
        expected: { etag: entityTag(line) },
        by: actor("prepares"),
        requirements: NOTHING_REQUIRED,
        revoked: new Set(),
        tableRevision: TABLE,
        figures: () =>
          Promise.resolve({
            since: 0,
            judged: 0,
            wouldDeny: 0,
            newlyDenied: 0,
            wouldNarrow: 0,
            indeterminate: 0,
          }),
      }),
    );
  }
}

async function recordsAfter(log: PolicyLogStore, after: number): Promise<readonly PolicyRecord[]> {
  const rows = await log.read({ after, limit: 10_000 });
  return rows.map(({ record }) => JSON.parse(record) as PolicyRecord);
}

const isTransition = ({ kind }: PolicyRecord): boolean =>
  kind === "promoted" || kind === "rolled_back";

/**
 * A hundred request one policy's next state at once, again and again, while processes are killed.
 * Gives what won, and what is wrong with the log.
 */
async function raceAndKill(
  database: string,
): Promise<{ readonly wins: number; readonly fault: PolicyLogFault | null }> {
  const store = await openStore(database);
  onTestFinished(() => store.close());
  const log = store.policyLog;
  const lifecycle = await openLifecycle(log, Date.now);
  const racers = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => Racer.start(database, `p${index}`)),
  );
  const winners: string[] = [];
  let killed = 0;

  for (let round = 1; round <= ROUNDS; round += 1) {
    const line = await prepare(log, lifecycle, round);
    const base = (await log.head()).position;
    const candidate = line.candidate?.digest ?? "";
    const changes = { promotions: 15, rollbacks: 10, approvals: 3 };
    for (const racer of racers) racer.ask({ round, etag: entityTag(line), candidate, ...changes });
    // In every round but one at least one dies, at a moment of its own; in some two.
    const victims =
      round === 1
        ? []
        : racers.filter(
            (_, index) => index === round % PROCESSES || (round % 3 === 0 && index === 0),
          );
    await Promise.all(
      victims.map(async (victim) => {
        await delay(Math.random() * 40);
        if (!victim.hasDone(round)) killed += 1;
        await victim.kill();
      }),
    );
    const isOver = (racer: Racer): boolean => racer.hasDone(round) || !racer.isAlive;
    await expect.poll(() => racers.every(isOver), { timeout: 20_000, interval: 5 }).toBe(true);

    const results = racers.flatMap((racer) =>
      racer.results.filter((result) => result.round === round),
    );
    const won = results.filter(({ result }) => result === "promoted" || result === "rolled_back");
    const records = await recordsAfter(log, base);
    const transitions = records.filter(isTransition);
    // The winner may have died before it could say so; the log has it, and no other process claims
    // it.
    expect(transitions).toHaveLength(1);
    expect(won.length).toBeLessThanOrEqual(1);
    const [winner] = transitions;
    if (winner === undefined) throw new Error("no process has won");
    if (won[0] !== undefined) expect(won[0].result).toBe(winner.kind);
    if (victims.length === 0) expect(won).toHaveLength(1);
    // Every other process got the error that the state had changed, and nothing else.
    const lost = results.filter(
      (result) => result.requested !== "approve" && !won.includes(result),
    );
    expect(new Set(lost.map(({ result }) => result))).toEqual(new Set(["changed"]));
    expect(
      results.filter(({ requested }) => requested !== "approve").length,
    ).toBeGreaterThanOrEqual(25);
    // Approvals have no precondition: every one that was answered stands.
    const approved = results.filter(({ requested }) => requested === "approve");
    expect(new Set(approved.map(({ result }) => result))).toEqual(new Set(["approved"]));
    expect(records.filter(({ kind }) => kind === "approved").length).toBeGreaterThanOrEqual(
      approved.length,
    );
    winners.push(winner.kind);

    // A process that begins now, instead of one that died, serves what won.
    const expected =
      winner.kind === "promoted"
        ? { enforced: candidate, candidate: null }
        : { enforced: line.former.at(-1) ?? null, candidate };
    const all = racers.every(({ isAlive }) => isAlive);
    await Promise.all(
      racers.map(async (racer, index) => {
        if (racer.isAlive && !(all && index === 0)) return;
        await racer.kill();
        const fresh = await Racer.start(database, `p${index}-${round}`);
        expect(fresh.opened).toEqual({ said: "open", head: base + records.length, ...expected });
        racers[index] = fresh;
      }),
    );
  }
  await Promise.all(racers.map((racer) => racer.kill()));

  expect(killed).toBeGreaterThan(0);
  const verifier = new PolicyLogVerifier([await log.head()]);
  for (const row of await log.read({ after: 0, limit: 10_000 })) {
    const fault = verifier.add(row);
    if (fault !== null) return { wins: winners.length, fault };
  }
  return { wins: winners.length, fault: verifier.end() };
}

describe("exactly one of a hundred promotions and rollbacks with one precondition wins, though any process is killed", () => {
  it("on one SQLite file", { timeout: 120_000 }, async () => {
    expect(await raceAndKill(join(temporaryFolder(), "signalbox.db"))).toEqual({
      wins: ROUNDS,
      fault: null,
    });
  });

  describe.skipIf(NO_POSTGRES !== null)(`on one PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer();
    }, 60_000);
    afterAll(() => server.close());

    it("database", { timeout: 120_000 }, async () => {
      expect(await raceAndKill(await server.database())).toEqual({ wins: ROUNDS, fault: null });
    });
  });
});
