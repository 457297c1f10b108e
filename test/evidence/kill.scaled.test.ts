import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";

import { ChainVerifier, GENESIS, type ChainFault } from "../../src/evidence/chain.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { fewOrMany } from "../support/long.ts";
import { COMPILED } from "../support/node-cache.ts";
import {
  answerJson,
  delta,
  hello,
  sse,
  startSse,
  startUpstream,
  until,
} from "../support/router.ts";
import { fault } from "../store/conformance-log.ts";
import { storedRows } from "../store/stored-rows.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const ROUNDS = Number(process.env["SIGNALBOX_KILL_ROUNDS"] ?? fewOrMany(4, 40));

/** Clients that ask at once, one request after the other. */
const CLIENTS = 12;

/** A round lasts at most so long, milliseconds. */
const LONGEST_ROUND = 150;

const SERVER = join(import.meta.dirname, "kill-server.ts");

/** A process that has loaded everything and waits for its turn. */
function startProcess(database: string, upstream: string, round: number): ChildProcess {
  return spawn(process.execPath, [SERVER, database, upstream, String(round)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...COMPILED },
  });
}

/** Sends requests until the server is gone; gives the ids of those whose answer had begun. */
async function ask(url: string, answered: string[]): Promise<void> {
  for (let number = 0; ; number += 1) {
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        // A deadline that is nearer than the delay of decisions, behind which the answer has its
        // record too.
        headers: {
          authorization: "Bearer good",
          "content-type": "application/json",
          ...(number % 4 < 2 ? {} : { "x-request-timeout-ms": "12" }),
        },
        body: JSON.stringify(number % 2 === 0 ? hello : { ...hello, stream: true }),
      });
      // Headers are the first bytes. Whatever the rest does, this id was answered.
      // A disk that others keep busy may refuse; that says of itself that there is no record.
      if (response.status === 503) expect(await response.text()).toContain("evidence_unavailable");
      else answered.push(response.headers.get("x-request-id") ?? "no id");
      await response.text();
    } catch (error) {
      // The connection is lost, or was refused: the server is gone.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

async function killedRound(child: ChildProcess, round: number): Promise<readonly string[]> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the process has no pipes");
  const exited = once(child, "exit");
  const said = once(stdout, "data");
  stdin.write("go\n");
  const [url] = await said;
  const answered: string[] = [];
  const clients = Array.from({ length: CLIENTS }, () => ask(String(url).trim(), answered));
  // Some die with their first requests; most once answers flow, when there is most to lose.
  if (round % 4 !== 0) await until(() => answered.length > 0, 10_000);
  await delay(Math.random() * LONGEST_ROUND);
  child.kill("SIGKILL");
  await exited;
  await Promise.all(clients);
  return answered;
}

/** What is on disk after a kill, read anew each time. */
function check(
  path: string,
  verifier: ChainVerifier,
  answered: readonly string[],
): ChainFault | null {
  const database = new DatabaseSync(path);
  try {
    const decided = new Set<string>();
    let found: ChainFault | null = null;
    for (const row of storedRows(database, verifier.head.position)) {
      if (row.kind === "decision") decided.add(row.requestId);
      found ??= verifier.add(row);
    }
    expect(answered.filter((requestId) => !decided.has(requestId))).toEqual([]);
    return found;
  } finally {
    database.close();
  }
}

it(
  `has the decision of every answered request over ${ROUNDS} kills`,
  { timeout: 600_000 },
  async () => {
    const upstream = await startUpstream(async (response, { body }) => {
      // Mostly at once, so that the answer is there before its record is on disk; sometimes later,
      // so that kills meet requests at every stage.
      if (Math.random() < 0.2) await delay(Math.random() * 20);
      if (!body.includes('"stream":true')) {
        answerJson(response);
        return;
      }
      startSse(response);
      response.write(sse(delta("hi")));
      await delay(Math.random() * 20);
      response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    });
    const path = join(temporaryFolder(), "signalbox.db");
    const start = (round: number): ChildProcess => startProcess(path, upstream.url, round);
    const verifier = new ChainVerifier({ from: GENESIS });
    let total = 0;
    let next = start(0);
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const child = next;
        next = start(round + 1);
        const answered = await killedRound(child, round);
        expect(check(path, verifier, answered), `after round ${round}`).toBeNull();
        total += answered.length;
      }
    } finally {
      next.kill("SIGKILL");
    }
    expect(total).toBeGreaterThan(ROUNDS * 2);
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    // As if every lease's time had passed.
    database.exec("UPDATE processes SET seen_at = seen_at - 60000");
    database.close();
    const store = await openSqliteStore({ path });
    await store.evidence.prune(0, Date.now());
    const newest = await store.evidence.read({ after: 0, limit: 10_000 });
    expect(newest.filter(({ outcome }) => outcome === null)).toEqual([]);
    expect(newest.some(({ outcome }) => outcome?.terminal === "unknown")).toBe(true);
    if ((await store.evidence.head()).position <= 10_000) expect(await fault(store)).toBeNull();
    await store.close();
  },
);
