// `npm run bench:decisions`: how long a page of 100 decisions takes over a filled SQLite log; `-- 2000000` for another number of decisions.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asIdentifier } from "../src/evidence/record.ts";
import type { EvidenceSearch } from "../src/evidence/evidence-store.ts";
import { openSqliteStore } from "../src/store/sqlite/open.ts";
import { request, WORKSPACES } from "./summary/fixture.ts";

const DECISIONS = Number(process.argv[2] ?? 1_000_000);
/** Handed over together, as a busy server does within a commit. */
const TOGETHER = 20;
const ROUNDS = 20;
/** Milliseconds between two requests. */
const STEP = 250;

const folder = mkdtempSync(join(tmpdir(), "signalbox-decisions-"));
const store = await openSqliteStore({ path: join(folder, "signalbox.db") });
const random = generator(7);
const start = Date.now() - DECISIONS * STEP;
const began = performance.now();
for (let made = 0; made < DECISIONS; made += TOGETHER) {
  const batch = Array.from({ length: Math.min(TOGETHER, DECISIONS - made) }, (_, index) => {
    const at = start + (made + index) * STEP;
    const workspace = WORKSPACES[(made + index) % WORKSPACES.length] ?? asIdentifier("workspace-1");
    const { decision, outcome } = request(made + index, at, workspace, random);
    const requestId = asIdentifier(
      `req_${at.toString(16).padStart(12, "0")}${(made + index).toString(16).padStart(20, "0")}`,
    );
    return { decision: { ...decision, requestId }, outcome: { ...outcome, requestId } };
  });
  await Promise.all(batch.map(({ decision }) => store.evidence.decide(decision)));
  for (const { outcome } of batch) store.evidence.settle(outcome);
}
await store.evidence.flush();
console.log(`${DECISIONS} decisions with outcomes written in ${Math.round((performance.now() - began) / 1_000)} s`);

const plain = { from: null, to: null, cursor: null, limit: 100, contains: [], accepts: () => true };
const SEARCHES: Readonly<Record<string, EvidenceSearch>> = {
  "newest page of one workspace": { ...plain, workspaces: ["workspace-1"] },
  "newest page of all five workspaces": { ...plain, workspaces: WORKSPACES },
  "a page in the middle": { ...plain, workspaces: ["workspace-1"], to: start + (DECISIONS / 2) * STEP },
  "denied requests": {
    ...plain,
    workspaces: ["workspace-1"],
    contains: ['"outcome":"deny"'],
    accepts: ({ decision }) => decision.outcome === "deny",
  },
  "a filter that matches nothing": { ...plain, workspaces: ["workspace-1"], contains: ['"route":"none"'] },
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
await store.close();
rmSync(folder, { recursive: true });

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
