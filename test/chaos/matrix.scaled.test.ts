import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvidenceEntry } from "../../src/evidence/evidence-store.ts";
import { startMock, type MockServer } from "../../mock/server.ts";
import { fewOrMany } from "../support/long.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { ask } from "./ask.ts";
import { COLUMNS, type Column, type Surface } from "./columns.ts";
import { fateOf, judge, type Undamaged } from "./judge.ts";
import { KNOWN, isKnown } from "./known.ts";
import { CELLS, chaosRoutes, representatives } from "./routes.ts";
import { inParallel, recordProblems, undamagedOf, type Played } from "./run.ts";

/**
 * Cells under way at once: enough that those which wait for a silent provider cost no time of their
 * own.
 */
const AT_ONCE = 64;

/** Every cell in `npm run test:long`. */
const PLAYED = fewOrMany(representatives(CELLS), CELLS);

/** Milliseconds for the whole matrix on two busy cores. */
const LONGEST = 90_000;

let mock: MockServer;
let server: TestServer;
/** Paths that the simulated provider does not serve: a redirect that was followed. */
const strays: string[] = [];
const unhandled: unknown[] = [];
const undamaged = new Map<string, Undamaged>();
let played: readonly Played[] = [];
/** Request id → records. */
const entries = new Map<string, EvidenceEntry[]>();
/** Records of requests, those of the undamaged answers included. */
let recorded = 0;

const note = (error: unknown): void => void unhandled.push(error);

beforeAll(async () => {
  process.on("unhandledRejection", note);
  process.on("uncaughtExceptionMonitor", note);
  const log = (line: string): void => void (line.includes("unknown path") && strays.push(line));
  mock = await startMock({ host: "127.0.0.1", port: 0, log });
  server = await startTestServer(() => JSON.stringify(chaosRoutes(mock.url, PLAYED)));
  const { url, store } = server.server;
  const key = await server.key("chaos", ["inference"], { expiresAt: Date.now() + 600_000 });
  for (const [index, answers] of (
    await inParallel(COLUMNS, AT_ONCE, (column) => undamagedOf(url, key, column))
  ).entries()) {
    const column = COLUMNS[index];
    if (column !== undefined) undamaged.set(column.id, answers);
  }
  played = await inParallel(PLAYED, AT_ONCE, async (cell) => ({
    cell,
    answer: await ask(url, key, cell.column, cell.id),
  }));
  await quiet();
  await store.evidence.flush();
  const all = await store.evidence.read({ after: 0, limit: 10_000 });
  recorded = all.length;
  for (const entry of all) {
    const id = entry.decision.requestId;
    entries.set(id, [...(entries.get(id) ?? []), entry]);
  }
}, LONGEST);

afterAll(async () => {
  process.off("unhandledRejection", note);
  process.off("uncaughtExceptionMonitor", note);
  await mock.close();
});

/** Waits, at most two seconds, until no call is under way at the upstream. */
async function quiet(): Promise<void> {
  const end = performance.now() + 2_000;
  while ((await underWay()) > 0 && performance.now() < end) {
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

async function underWay(): Promise<number> {
  const log: { readonly counts: { readonly underWay: number } } = JSON.parse(
    await (await fetch(`${mock.url}/mock/requests`)).text(),
  );
  return log.counts.underWay;
}

function problemsOf(one: Played): readonly string[] {
  const { cell, answer } = one;
  const whole = undamaged.get(cell.column.id);
  if (whole === undefined) throw new Error("no undamaged answer");
  const id = answer.headers["x-request-id"] ?? "";
  return [...judge(cell, answer, whole), ...recordProblems(one, entries.get(id) ?? [])];
}

const named = ({ cell }: Played): string =>
  `${cell.column.id}: ${cell.fault.name}${cell.hasFallback ? ", with a fallback" : ""} (${cell.fault.settings.join("+")})`;

describe.each(COLUMNS)("$id", (column: Column) => {
  it("answers without a fault", () => {
    const { own, spare } = undamaged.get(column.id) ?? {};
    for (const answer of [own, spare]) {
      expect(answer).toMatchObject({
        status: 200,
        broken: null,
        seen: { end: "whole", problems: [] },
      });
      expect(answer?.seen?.text).not.toBe("");
    }
  });

  it("answers whole or fails visibly under every fault, and records which", () => {
    const wrong = played
      .filter(({ cell }) => cell.column === column && !isKnown(cell))
      .flatMap((one) => problemsOf(one).map((problem) => `${named(one)}: ${problem}`));
    expect(wrong).toEqual([]);
  });
});

const STREAMED = new Set(COLUMNS.filter(({ stream }) => stream).map(({ surface }) => surface));

describe.each([...STREAMED])("$name, streamed", (surface: Surface) => {
  const saidAt = (moment: RegExp): readonly string[] =>
    played
      .filter(({ cell }) => cell.column.surface === surface && cell.column.stream)
      .filter(({ cell }) => !cell.hasFallback && cell.fault.alone === "failed")
      .filter(({ cell }) => moment.test(cell.fault.name))
      .map(({ answer }) => answer.seen?.text ?? "");

  it("has each fault at the moment in its name", () => {
    const early = saidAt(/^(cut|close|stall), .* the (first output|headers)$/);
    expect(early.length).toBeGreaterThan(fewOrMany(2, 10));
    expect(early.filter((text) => text !== "")).toEqual([]);
    const late = saidAt(/^(cut|close|stall), (between two events|within an event)$/);
    // Slow as a disk may be, some text has left before some of them.
    expect(late.some((text) => text !== "")).toBe(true);
  });
});

describe("all requests together", () => {
  it("each request has one decision record and one outcome record", () => {
    expect(recorded).toBe(PLAYED.length + 2 * COLUMNS.length);
    expect(server.server.store.evidence.health()).toMatchObject({
      state: "ok",
      refused: 0,
      lost: 0,
    });
  });

  it("leave no running call: neither at the upstream nor in a limiter", async () => {
    expect(await underWay()).toBe(0);
    for (const { limiter, provider } of server.server.built.snapshot.connections.values()) {
      expect(limiter.inFlight, provider.id).toBe(0);
    }
  });

  it("follow no redirect", () => {
    expect(strays).toEqual([]);
  });

  it("leave no unhandled rejection or exception", () => {
    expect(unhandled).toEqual([]);
  });

  it("include enough broken streams and enough saved ones to prove something", () => {
    const streams = played.filter(({ cell }) => cell.column.stream);
    const broken = streams.filter(({ cell, answer }) => fateOf(cell, answer) === "broken stream");
    expect(broken.length).toBeGreaterThan(fewOrMany(50, 100));
    expect(
      streams.filter(({ cell, answer }) => fateOf(cell, answer) === "saved").length,
    ).toBeGreaterThan(fewOrMany(50, 100));
  });

  it.each(KNOWN)("still fail as known: $reason", (known) => {
    const failing = played
      .filter(({ cell }) => known.cells(cell))
      .filter((one) => problemsOf(one).length > 0);
    // When this fails, the row can go.
    expect(failing).not.toEqual([]);
  });
});
