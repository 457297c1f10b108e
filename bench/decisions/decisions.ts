// `npm run bench -- decisions`: how long a page of 100 decisions takes over a filled SQLite log;
// `-- 5000000` for another number of requests. `-- 5000000 FOLDER` keeps the database in FOLDER and
// uses it again.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { EvidenceEntry, EvidenceSearch } from "../../src/evidence/evidence-store.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { request, WORKSPACES } from "../summary/fixture.ts";
import { fillLog } from "./fill-log.ts";
import { recordDecision } from "../../test/store/records.ts";

/** Each has a decision and an outcome: two records. */
const REQUESTS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 20;
/** Milliseconds between two requests. */
const STEP = 250;

const kept = process.argv[3];
if (kept !== undefined) mkdirSync(kept, { recursive: true });
const folder = kept ?? mkdtempSync(join(tmpdir(), "signalbox-decisions-"));
const path = join(folder, "signalbox.db");
/** Written when all requests are. */
const startFile = join(folder, `start-of-${REQUESTS}`);
const isFilled = existsSync(startFile);
const start = isFilled ? Number(readFileSync(startFile, "utf8")) : Date.now() - REQUESTS * STEP;
const random = generator(7);
if (!isFilled) {
  const began = performance.now();
  const empty = await openSqliteStore({ path });
  await recordDecision(empty.evidence, requestAt(0).decision);
  empty.evidence.settle(requestAt(0).outcome);
  await empty.close();
  fillLog(path, REQUESTS - 1, (index) => requestAt(index + 1));
  writeFileSync(startFile, String(start));
  console.log(
    `${2 * REQUESTS} records written in ${Math.round((performance.now() - began) / 1_000)} s`,
  );
}

const opened = performance.now();
const store = await openSqliteStore({ path });
console.log(`opened in ${Math.round(performance.now() - opened)} ms`);
const plain = { from: null, to: null, cursor: null, limit: 100, contains: [], accepts: () => true };
const own = { ...plain, workspaces: ["workspace-1"] };
const middle = start + (REQUESTS / 2) * STEP;
const oldest = start + 1_000 * STEP;
const denied = {
  contains: ['"outcome":"deny"'],
  accepts: ({ decision }: EvidenceEntry) => decision.outcome === "deny",
};
const ofRoute = {
  contains: ['"route":"route-7"'],
  accepts: ({ decision }: EvidenceEntry) => decision.route === "route-7",
};
const ofKey = {
  contains: ['"keyId":"workspace-1-key-3"'],
  accepts: ({ decision }: EvidenceEntry) => decision.keyId === "workspace-1-key-3",
};
const ofReason = {
  contains: ['"reason":"REGION_NOT_APPROVED"'],
  accepts: ({ decision }: EvidenceEntry) => decision.reason === "REGION_NOT_APPROVED",
};
const SEARCHES: Readonly<Record<string, EvidenceSearch>> = {
  "newest page of one workspace": own,
  "newest page of all five workspaces": { ...plain, workspaces: WORKSPACES },
  "its second page": { ...own, cursor: (await store.evidence.search(own)).next },
  "a page in the middle": { ...own, to: middle },
  "a page in the middle, of all five": { ...plain, workspaces: WORKSPACES, to: middle },
  "the oldest page": { ...own, to: oldest },
  "a page of an hour in the middle": { ...own, from: middle - 3_600_000, to: middle },
  "newest denied requests": { ...own, ...denied },
  "denied requests in the middle": { ...own, ...denied, to: middle },
  "newest of one route": { ...own, ...ofRoute },
  "of one route in the middle": { ...own, ...ofRoute, to: middle },
  "newest of one key": { ...own, ...ofKey },
  "newest of one reason": { ...own, ...ofReason },
  "a filter that matches nothing": { ...own, contains: ['"route":"none"'] },
  "a filter that matches nothing, in the middle": {
    ...own,
    contains: ['"route":"none"'],
    to: middle,
  },
  "a workspace that is not there": { ...plain, workspaces: ["none"] },
};
for (const [name, search] of Object.entries(SEARCHES)) {
  const times: number[] = [];
  let found = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now();
    found = (await store.evidence.search(search)).entries.length;
    times.push(performance.now() - from);
  }
  const sorted = times.toSorted((left, right) => left - right);
  console.log(
    `${name}: ${found} decisions, median ${sorted[ROUNDS / 2]?.toFixed(1)} ms, slowest ${sorted.at(-1)?.toFixed(1)} ms`,
  );
}
// What a person waits for who searches everything for something that is not there.
let calls = 0;
const wholeFrom = performance.now();
for (let cursor: string | null = null; calls === 0 || cursor !== null; calls += 1) {
  cursor = (await store.evidence.search({ ...own, contains: ['"route":"none"'], cursor })).next;
}
console.log(
  `the whole log of one workspace: ${calls} searches, ${Math.round((performance.now() - wholeFrom) / 1_000)} s`,
);
await store.close();
if (kept === undefined) rmSync(folder, { recursive: true });

function requestAt(index: number) {
  const at = start + index * STEP;
  const { decision, outcome } = request(
    index,
    at,
    WORKSPACES[index % WORKSPACES.length] ?? asIdentifier("none"),
    random,
  );
  const requestId = asIdentifier(
    `req_${at.toString(16).padStart(12, "0")}${index.toString(16).padStart(20, "0")}`,
  );
  return { decision: { ...decision, requestId }, outcome: { ...outcome, requestId } };
}

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
