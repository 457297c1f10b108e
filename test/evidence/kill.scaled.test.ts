import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { describe, expect, it, onTestFinished } from "vitest";

import { chainVerifier, GENESIS, type ChainRow } from "../../src/evidence/chain.ts";
import type { Store } from "../../src/store/port.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { isPostgresUrl } from "../../src/store/postgres/settings.ts";
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
import { NO_POSTGRES, startTestServer } from "../store/postgres/server.ts";
import { storedRows } from "../store/stored-rows.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const ROUNDS = Number(process.env.SIGNALBOX_KILL_ROUNDS ?? fewOrMany(2, 40));

/** Clients that ask at once, one request after the other. */
const CLIENTS = 12;

/** A round lasts at most so long, milliseconds. */
const LONGEST_ROUND = 300;

/** Of all rounds of an engine, milliseconds. */
const LONGEST = 1_800_000;

const SERVER = join(import.meta.dirname, "kill-server.ts");

/** With `workers`, other processes serve over the thread of the one that is killed. */
type Role = "" | "workers";

/** A process that has loaded everything and waits for its turn. */
function startProcess(database: string, upstream: string, round: number, role: Role): ChildProcess {
  return spawn(process.execPath, [SERVER, database, upstream, String(round), role], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...COMPILED },
  });
}

/** Sends requests until the server is gone; gives the ids of those whose answer had begun. */
async function ask(url: string, answered: string[], refused: string[]): Promise<void> {
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
      // Without a record in time, the router answers by itself: 503, or 504 at the deadline.
      if (response.status >= 500) {
        const text = await response.text();
        expect(text).toMatch(/evidence_unavailable|upstream_timeout_total/);
        refused.push(text);
        continue;
      }
      answered.push(response.headers.get("x-request-id") ?? "no id");
      await response.text();
    } catch (error) {
      // The connection is lost, or was refused: the server is gone.
      if (error instanceof TypeError) {
        refused.push(String(error.cause));
        return;
      }
      throw error;
    }
  }
}

async function killedRound(child: ChildProcess, round: number): Promise<readonly string[]> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the process has no pipes");
  const exited = once(child, "exit");
  let printed = "";
  stdout.on("data", (text: Buffer) => (printed += String(text)));
  stdin.write("go\n");
  await until(() => printed.endsWith("ready\n"), 60_000);
  const urls = printed.split("\n").slice(0, -2);
  const answered: string[] = [];
  const refused: string[] = [];
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    ask(urls[index % urls.length] ?? "", answered, refused),
  );
  // Some die with their first requests; most once answers flow, when there is most to lose.
  if (round % 4 !== 0) {
    await until(() => answered.length > 1, 60_000).catch((error: unknown) => {
      throw new Error(
        `two answers; there were ${answered.length}, and ${refused.slice(-12).join("; ")}`,
        {
          cause: error,
        },
      );
    });
  }
  await delay(Math.random() * LONGEST_ROUND);
  child.kill("SIGKILL");
  await exited;
  await Promise.all(clients);
  return answered;
}

/** The rows after a position as they are on disk, read anew after each kill. */
function rowsOf(path: string, after: number): readonly ChainRow[] {
  const database = new DatabaseSync(path);
  try {
    return [...storedRows(database, after)];
  } finally {
    database.close();
  }
}

interface Rounds {
  readonly database: string;
  readonly role: Role;
  readonly rowsAfter: (position: number) => Promise<readonly ChainRow[]>;
}

/** Kills a process in each round. @returns how many answered requests have no decision on disk */
async function killRounds({ database, role, rowsAfter }: Rounds): Promise<number> {
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
  const start = (round: number): ChildProcess => startProcess(database, upstream.url, round, role);
  const verifier = chainVerifier({ from: GENESIS });
  const decided = new Set<string>();
  const total = { answered: 0, unrecorded: 0 };
  let next: ChildProcess | null = start(0);
  try {
    for (let round = 0; round < ROUNDS && next !== null; round += 1) {
      const child: ChildProcess = next;
      next = round + 1 < ROUNDS ? start(round + 1) : null;
      const answered = await killedRound(child, round);
      for (const row of await rowsAfter(verifier.head.position)) {
        expect(verifier.add(row), `after round ${round}`).toBeNull();
        const { requestId } = JSON.parse(row.record) as { readonly requestId: string };
        if (row.kind === "decision") decided.add(requestId);
      }
      total.answered += answered.length;
      total.unrecorded += answered.filter((requestId) => !decided.has(requestId)).length;
    }
  } finally {
    next?.kill("SIGKILL");
  }
  process.stdout.write(
    `${isPostgresUrl(database) ? "PostgreSQL" : "SQLite"}${role === "" ? "" : " with workers"}: ` +
      `${ROUNDS} kills, ${total.answered} answered, ${decided.size} decisions, ${total.unrecorded} unrecorded\n`,
  );
  expect(total.answered).toBeGreaterThanOrEqual(ROUNDS);
  return total.unrecorded;
}

/** Expects that all requests end once every lease is over, and that the log verifies. */
async function expectEnds(store: Store): Promise<void> {
  await store.evidence.prune(0, Date.now());
  const newest = await store.evidence.read({ after: 0, limit: 10_000 });
  expect(newest.filter(({ outcome }) => outcome === null)).toEqual([]);
  expect(newest.some(({ outcome }) => outcome?.terminal === "unknown")).toBe(true);
  if ((await store.evidence.head()).position <= 10_000) expect(await fault(store)).toBeNull();
  await store.close();
}

describe(`has the decision of every answered request over ${ROUNDS} kills`, () => {
  it.each([
    ["SQLite", ""],
    ["SQLite with workers", "workers"],
  ] as const)("%s", { timeout: LONGEST }, async (_, role) => {
    const path = join(temporaryFolder(), "signalbox.db");
    const rowsAfter = (position: number) => Promise.resolve(rowsOf(path, position));
    expect(await killRounds({ database: path, role, rowsAfter })).toBe(0);
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    // As if every lease's time had passed.
    database.exec("UPDATE processes SET seen_at = seen_at - 60000");
    database.close();
    await expectEnds(await openSqliteStore({ path }));
  });

  it.skipIf(NO_POSTGRES !== null)("PostgreSQL", { timeout: LONGEST }, async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const url = await server.database();
    const store = await openPostgresStore({ url });
    const rowsAfter = async (after: number): Promise<readonly ChainRow[]> => {
      const rows: ChainRow[] = [];
      for (;;) {
        const query = { after: rows.at(-1)?.position ?? after, limit: 10_000 };
        const page = await store.evidence.log(query);
        if (page.length === 0) return rows;
        rows.push(...page);
      }
    };
    expect(await killRounds({ database: url, role: "", rowsAfter })).toBe(0);
    const sql = postgres(url);
    await sql`UPDATE signalbox.evidence_processes SET seen_at = seen_at - 60000`;
    await sql.end();
    await expectEnds(store);
  });
});
