import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { CASES, CONCURRENCY, pathOf, requestBody } from "../cases.ts";
import { Children, chooseCores } from "../children.ts";
import { isLoadResult } from "../load-messages.ts";
import { BUDGETS, type Budget } from "./budgets.ts";
import { makeStages, type Stage } from "./stages.ts";
import { startRouter, type StartedRouter } from "./started-router.ts";

/**
 * What each stage of a small chat costs the main thread, against its budget (docs/how-we-know.md):
 * CPU time of the thread and bytes allocated, both of the best of several rounds, because other
 * programs can only add to them. The last line is a whole request over sockets, with what no stage
 * has: node:http, h3, undici, the event loop, and handing the records to the store's thread.
 * `npm run bench -- stages`; a stage's name runs that one only.
 */
const ROUNDS = 8;
/** The clock of a thread has ticks of some milliseconds: a round has to last a hundred of them. */
const ROUND_TIME = 400;
const WARM_UP = 5_000;
const WHOLE_ROUNDS = 6;
const WHOLE_REQUESTS = 6_000;

const CHAT = CASES.find(({ name }) => name === "chat-1k");

interface Cost {
  readonly microseconds: number;
  readonly kilobytes: number;
}

/** The best of some rounds, each figure by itself. @param work handles so many requests. */
async function cheapest(
  rounds: number,
  requests: number,
  work: (requests: number) => Promise<void>,
): Promise<Cost> {
  let best: Cost = { microseconds: Infinity, kilobytes: Infinity };
  for (let round = 0; round < rounds; round += 1) {
    const before = {
      cpu: process.threadCpuUsage(),
      bytes: getHeapStatistics().total_allocated_bytes,
    };
    await work(requests);
    const { user, system } = process.threadCpuUsage(before.cpu);
    const bytes = getHeapStatistics().total_allocated_bytes - before.bytes;
    best = {
      microseconds: Math.min(best.microseconds, (user + system) / requests),
      kilobytes: Math.min(best.kilobytes, bytes / requests / 1_000),
    };
  }
  return best;
}

function line(name: string, cost: Cost, budget: Budget | null): string {
  const figure = (value: number): string => value.toFixed(1).padStart(7);
  const over =
    budget !== null &&
    (cost.microseconds > budget.microseconds || cost.kilobytes > budget.kilobytes);
  const allowed =
    budget === null ? "" : `${figure(budget.microseconds)} |${figure(budget.kilobytes)} |`;
  const cells = `| ${name.padEnd(12)} |${figure(cost.microseconds)} |${figure(cost.kilobytes)} |`;
  return `${cells}${allowed || "      – |      – |"}${over ? " over its budget" : ""}`;
}

async function measureStages(stages: readonly Stage[]): Promise<void> {
  const sum = { microseconds: 0, kilobytes: 0 };
  for (const { name, work } of stages) {
    await work(WARM_UP);
    const began = performance.now();
    await work(WARM_UP);
    const cost = await cheapest(
      ROUNDS,
      Math.ceil((WARM_UP * ROUND_TIME) / (performance.now() - began)),
      work,
    );
    sum.microseconds += cost.microseconds;
    sum.kilobytes += cost.kilobytes;
    console.log(line(name, cost, BUDGETS[name]));
  }
  if (stages.length > 1) console.log(line("all stages", sum, null));
}

async function measureWhole(
  children: Children,
  router: StartedRouter,
  body: string,
  path: string,
): Promise<void> {
  const { rest } = chooseCores();
  const generator = children.start(
    process.execPath,
    [join(import.meta.dirname, "../load-generator.ts")],
    rest,
    true,
  );
  const headers = { authorization: `Bearer ${router.key}` };
  const cost = await cheapest(WHOLE_ROUNDS, WHOLE_REQUESTS, async (requests) => {
    const loop = { kind: "closed", requests, concurrency: CONCURRENCY };
    generator.send({ origin: router.server.url, headers, path, body, ending: "}", loop });
    const result = await new Promise<unknown>((resolve) => generator.once("message", resolve));
    if (!isLoadResult(result) || result.failures > 0) {
      throw new Error(`bench: ${isLoadResult(result) ? result.failure : "no result"}`);
    }
  });
  console.log(line("whole", cost, null));
}

async function main(only: string | undefined): Promise<void> {
  if (CHAT === undefined) throw new Error("bench: no such case");
  const children = new Children();
  const folder = mkdtempSync(join(tmpdir(), "signalbox-stages-"));
  try {
    const upstream = await children.startServer(
      process.execPath,
      [join(import.meta.dirname, "../static-upstream.ts")],
      chooseCores().rest,
      true,
    );
    const router = await startRouter(upstream.origin, folder);
    const [body, path] = [requestBody(CHAT), pathOf(CHAT)];
    console.log(
      "| Stage        |  CPU µs |     kB | budget µs | budget kB |\n| --- | ---: | ---: | ---: | ---: |",
    );
    const stages = await makeStages(router, body);
    await measureStages(stages.filter(({ name }) => only === undefined || only === name));
    if (only === undefined || only === "whole") await measureWhole(children, router, body, path);
    await router.server.close();
  } finally {
    await children.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main(process.argv[2]);
