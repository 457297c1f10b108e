/**
 * Loads one subject at a time: takes a job over the channel, gives back a result. Started by
 * `bench/main.ts`.
 */
import { Pool, type Dispatcher } from "undici";
import {
  isLoadJob,
  type ClosedLoop,
  type LoadJob,
  type LoadResult,
  type OpenLoop,
} from "./load-messages.ts";

/** One request's fate. Times are milliseconds of `performance.now()`. */
interface Sample {
  firstByte: number;
  end: number;
  /** Empty for a complete answer with status 200. */
  failure: string;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #sample: Sample = { firstByte: 0, end: 0, failure: "" };
  readonly #ending: string;
  readonly #done: (sample: Sample) => void;
  #status = 0;
  #last: Buffer = Buffer.alloc(0);

  constructor(ending: string, done: (sample: Sample) => void) {
    this.#ending = ending;
    this.#done = done;
  }

  // undici takes a handler for one of its new kind by the presence of this method.
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#sample.firstByte === 0) this.#sample.firstByte = performance.now();
    // The ending may be cut in two; the bytes before it are kept only where a piece is shorter than
    // it.
    this.#last = chunk.length >= this.#ending.length ? chunk : Buffer.concat([this.#last, chunk]);
  }

  onResponseEnd(): void {
    const complete = this.#last.subarray(-this.#ending.length).toString("latin1") === this.#ending;
    if (this.#status !== 200) this.#finish(`status ${this.#status}`);
    else this.#finish(complete ? "" : "the answer does not end as it should");
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(`the connection failed: ${"code" in error ? String(error.code) : error.name}`);
  }

  #finish(failure: string): void {
    this.#sample.failure = failure;
    this.#sample.end = performance.now();
    this.#done(this.#sample);
  }
}

function send(pool: Pool, job: LoadJob): Promise<Sample> {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", ...job.headers };
    const options = { method: "POST", path: job.path, headers, body: job.body } as const;
    pool.dispatch(options, new Exchange(job.ending, resolve));
  });
}

interface Timed {
  readonly start: number;
  readonly sample: Sample;
}

async function timed(pool: Pool, job: LoadJob): Promise<Timed> {
  const start = performance.now();
  return { start, sample: await send(pool, job) };
}

async function runClosed(pool: Pool, job: LoadJob, loop: ClosedLoop): Promise<readonly Timed[]> {
  const all: Timed[] = [];
  let left = loop.requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      all.push(await timed(pool, job));
    }
  };
  await Promise.all(Array.from({ length: loop.concurrency }, worker));
  return all;
}

/**
 * Sends each request when it is due, however many are still unanswered: a subject that stalls
 * cannot slow its own load down.
 */
async function runOpen(pool: Pool, job: LoadJob, loop: OpenLoop): Promise<readonly Timed[]> {
  const started = performance.now();
  const all: Promise<Timed>[] = [];
  while (all.length < loop.requests) {
    const due = started + (all.length * 1_000) / loop.rate;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(early, 1)));
    else all.push(timed(pool, job));
  }
  return Promise.all(all);
}

function summarise(all: readonly Timed[]): LoadResult {
  const sorted = (of: (item: Timed) => number): Float64Array =>
    Float64Array.from(all, of).toSorted();
  const latency = sorted(({ start, sample }) => sample.end - start);
  const firstByte = sorted(({ start, sample }) => sample.firstByte - start);
  const at = (values: Float64Array, share: number): number =>
    values[Math.ceil(values.length * share) - 1] ?? 0;
  const failed = all.filter(({ sample }) => sample.failure !== "");
  return {
    duration:
      Math.max(...sampled(all, ({ sample }) => sample.end)) -
      Math.min(...sampled(all, ({ start }) => start)),
    p50: at(latency, 0.5),
    p99: at(latency, 0.99),
    firstByteP50: at(firstByte, 0.5),
    firstByteP99: at(firstByte, 0.99),
    failures: failed.length,
    failure: failed[0]?.sample.failure ?? "",
  };
}

/** The first and the last few are enough to find the ends: the list is in order of completion. */
function sampled(all: readonly Timed[], of: (item: Timed) => number): readonly number[] {
  return [...all.slice(0, 1_000), ...all.slice(-1_000)].map(of);
}

async function work(job: LoadJob): Promise<LoadResult> {
  const connections = job.loop.kind === "closed" ? job.loop.concurrency : 256;
  const pool = new Pool(job.origin, {
    connections,
    pipelining: 1,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const { loop } = job;
  const all =
    loop.kind === "closed" ? await runClosed(pool, job, loop) : await runOpen(pool, job, loop);
  await pool.close();
  return summarise(all);
}

process.on("message", (job: unknown) => {
  if (!isLoadJob(job)) return;
  work(job).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(
        `load generator: ${error instanceof Error ? error.message : "failed"}\n`,
      );
      process.exit(1);
    },
  );
});
process.once("disconnect", () => process.exit());
