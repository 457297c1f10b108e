import type { ChildProcess } from "node:child_process";
import { CONCURRENCY, pathOf, requestBody, type Case } from "./cases.ts";
import { isLoadResult, type LoadJob, type LoadResult } from "./load-messages.ts";
import { cpuMicroseconds, familyCpuMicroseconds, residentMegabytes } from "./process-figures.ts";
import type { Subject } from "./subjects.ts";

/**
 * One subject, one case, one run. Times are milliseconds unless the name says otherwise; `null`
 * where there is nothing to measure.
 */
export interface Figures {
  readonly requestsPerSecond: number;
  /**
   * Of the open loop, requests a second: that of the case, or half of what a slow subject can do.
   */
  readonly rate: number;
  /**
   * Of the subject's process and those that it started, all threads, per request of the closed
   * loop.
   */
  readonly cpuMicroseconds: number | null;
  /** The same of the subject's process alone. */
  readonly firstCpuMicroseconds: number | null;
  /** The same of the load generator and of what else {@link Plan.load} names. */
  readonly loadCpuMicroseconds: number | null;
  readonly p50: number;
  readonly p99: number;
  readonly firstByteP50: number;
  readonly firstByteP99: number;
  readonly residentMegabytes: number | null;
}

export interface Plan {
  /** 1 for a whole benchmark, less for a quick one. */
  readonly scale: number;
  /** Seconds of the open loop. */
  readonly openSeconds: number;
  /** Requests that come before the measured ones; a fifth of those where absent. */
  readonly warmUp?: number;
  /** The upstream, where its CPU is measured too. */
  readonly load?: number | undefined;
}

/** Milliseconds that one job may take. */
const JOB_LIMIT = 120_000;

/**
 * Warms the subject up, runs the closed loop for CPU and throughput, then the open loop for
 * latency.
 *
 * @throws {Error} when any answer is not complete: errors are quick, and would look like speed.
 */
export async function measure(
  generator: ChildProcess,
  subject: Subject,
  testCase: Case,
  plan: Plan,
): Promise<Figures> {
  const requests = Math.ceil(testCase.requests * plan.scale * (subject.share ?? 1));
  const job = (loop: LoadJob["loop"]): LoadJob => ({
    origin: subject.origin,
    headers: subject.headers,
    body: requestBody(testCase),
    path: pathOf(testCase),
    ending: testCase.kind === "stream" ? "data: [DONE]\n\n" : "}",
    loop,
  });
  const warmUp = plan.warmUp ?? Math.ceil(requests / 5);
  await run(
    generator,
    subject,
    job({ kind: "closed", requests: warmUp, concurrency: CONCURRENCY }),
  );
  const before = cpuOf(subject);
  const loadBefore = cpuOfAll([generator.pid, plan.load]);
  const closed = await run(
    generator,
    subject,
    job({ kind: "closed", requests, concurrency: CONCURRENCY }),
  );
  const after = cpuOf(subject);
  const loadAfter = cpuOfAll([generator.pid, plan.load]);
  const requestsPerSecond = (requests * 1_000) / closed.duration;
  // Beyond what a subject can do, its queue would be measured.
  const rate = Math.min(testCase.rate, Math.max(1, Math.floor(requestsPerSecond / 2)));
  const open = await run(
    generator,
    subject,
    job({ kind: "open", requests: Math.ceil(rate * plan.openSeconds), rate }),
  );
  return {
    requestsPerSecond,
    rate,
    cpuMicroseconds: perRequest(before.family, after.family, requests),
    firstCpuMicroseconds: perRequest(before.first, after.first, requests),
    loadCpuMicroseconds: perRequest(loadBefore, loadAfter, requests),
    p50: open.p50,
    p99: open.p99,
    firstByteP50: open.firstByteP50,
    firstByteP99: open.firstByteP99,
    residentMegabytes: subject.pid === null ? null : residentMegabytes(subject.pid),
  };
}

function cpuOf({ pid }: Subject): {
  readonly first: number | null;
  readonly family: number | null;
} {
  return pid === null
    ? { first: null, family: null }
    : { first: cpuMicroseconds(pid), family: familyCpuMicroseconds(pid) };
}

function cpuOfAll(pids: readonly (number | undefined)[]): number | null {
  let sum = 0;
  for (const pid of pids) {
    if (pid === undefined) continue;
    const own = cpuMicroseconds(pid);
    if (own === null) return null;
    sum += own;
  }
  return sum;
}

function perRequest(before: number | null, after: number | null, requests: number): number | null {
  return before === null || after === null ? null : (after - before) / requests;
}

async function run(generator: ChildProcess, subject: Subject, job: LoadJob): Promise<LoadResult> {
  const result = await new Promise<LoadResult>((resolve, reject) => {
    const limit = setTimeout(
      () => finish(new Error(`${subject.name} took longer than ${JOB_LIMIT / 1_000} s`)),
      JOB_LIMIT,
    );
    const onMessage = (message: unknown): void =>
      finish(isLoadResult(message) ? message : new Error("the load generator sent no result"));
    const onExit = (): void => finish(new Error("the load generator ended"));
    const finish = (outcome: LoadResult | Error): void => {
      clearTimeout(limit);
      generator.off("message", onMessage);
      generator.off("exit", onExit);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    generator.on("message", onMessage);
    generator.on("exit", onExit);
    generator.send(job);
  });
  if (result.failures > 0) {
    throw new Error(
      `${subject.name}: ${result.failures} of ${job.loop.requests} answers failed, the first one so: ${result.failure}`,
    );
  }
  return result;
}

/** The median of each figure over the runs. */
export function medians(runs: readonly Figures[]): Figures {
  const of = (read: (figures: Figures) => number): number => median(runs.map(read));
  const maybe = (read: (figures: Figures) => number | null): number | null => {
    const values = runs.map(read).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  return {
    requestsPerSecond: of((figures) => figures.requestsPerSecond),
    rate: of((figures) => figures.rate),
    cpuMicroseconds: maybe((figures) => figures.cpuMicroseconds),
    firstCpuMicroseconds: maybe((figures) => figures.firstCpuMicroseconds),
    loadCpuMicroseconds: maybe((figures) => figures.loadCpuMicroseconds),
    p50: of((figures) => figures.p50),
    p99: of((figures) => figures.p99),
    firstByteP50: of((figures) => figures.firstByteP50),
    firstByteP99: of((figures) => figures.firstByteP99),
    residentMegabytes: maybe((figures) => figures.residentMegabytes),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
