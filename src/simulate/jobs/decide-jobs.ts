import { mergeTally, type SimulationTally } from "../compare/simulation-tally.ts";
import type { CostliestPolicy, DimensionCut, WidestRoute } from "../report/report.ts";
import type { SimulationRequest, SimulationWatch } from "../request.ts";
import {
  concernsJob,
  type Job,
  jobsTogether,
  shapesOfJob,
  type Space,
} from "../space/job-space.ts";
import type { JobInput, JobRunner } from "./job-runner.ts";
import { neededJobs, unchangedTest } from "./skipped-jobs.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { KEY_LABELS, seenDimensions } from "../space/levels.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { policyReader, projectionFor } from "../space/readers.ts";
import type { CompiledSides } from "../side-contents.ts";
import { valuesOf } from "../space/universe.ts";
import type { CompiledPolicy } from "../../policy/compiled.ts";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { JobAnswer, JobRequest } from "./worker.ts";

export interface DecidedJobs {
  readonly tally: SimulationTally;
  /** Jobs that were not decided in time. */
  readonly cut: readonly DimensionCut[];
}

/**
 * Decides every job that may show something: those that a change may affect, those that an
 * assertion selects, and of the others those without which a report could not name the unused
 * rules.
 *
 * @param needsUsage whether the report names unused rules of head.
 * @throws the signal's reason.
 */
export async function decideJobs(
  runner: JobRunner,
  options: Pick<SimulationRequest, "workers" | "threadsAfter">,
  { onProgress, signal }: SimulationWatch,
  needsUsage: boolean,
): Promise<DecidedJobs> {
  const { input, space } = runner;
  const of = space.jobs.length;
  const { first, skipped } = jobsInOrder(runner);
  await runner.load();
  const indices = first.map(({ index }) => index);
  const { tally, done } = await runJobs(runner, indices, options, signal, (jobs) =>
    onProgress({ done: jobs, of }),
  );
  tally.assertions.set(-1, runner.noAssertions());
  const needed = neededJobs(space, input.head, skipped, tally, needsUsage);
  const decided = await decideSkipped(runner, tally, needed, signal);
  // Requests of jobs that need not be decided count as unchanged.
  for (const job of skipped)
    if (decided?.has(job) !== true)
      tally.shapes += shapesOfJob(space, job) * BigInt(job.pair.members.length);
  const missing = decided === null ? of - done : first.length - done;
  if (missing === 0) return { tally, cut: [] };
  const costliest = costliestPolicy(tally, input, space);
  const widest = widestRoute(space.jobs, input.head.table, costliest);
  const decidedJobs: DimensionCut = {
    dimension: "workspaces_and_routes",
    values: of,
    kept: of - missing,
    ...(costliest !== null && { costliest }),
    ...(widest !== null && { widest }),
    ...(tally.isFull && { ended_by: "memory" as const }),
  };
  return { tally, cut: [decidedJobs] };
}

/**
 * Jobs to decide at once, and those of which nothing changes and no assertion demands anything of
 * head alone.
 */
function jobsInOrder({ input, space }: JobRunner) {
  const isUnchanged = unchangedTest(input, input.promoted);
  const demanding = space.assertions.filter(({ comparesSides }) => !comparesSides);
  const bySkip = Map.groupBy(
    space.jobs,
    (job) => isUnchanged(job) && !demanding.some((assertion) => concernsJob(assertion, job)),
  );
  const inOrder = (skip: boolean) => jobsTogether(space, bySkip.get(skip) ?? []);
  return { first: inOrder(false), skipped: inOrder(true) };
}

/** @returns the jobs that were decided; `null` where the time was not enough. */
async function decideSkipped(
  runner: JobRunner,
  tally: SimulationTally,
  needed: ReturnType<typeof neededJobs>,
  signal: AbortSignal,
): Promise<ReadonlySet<Job> | null> {
  const decided = new Set<Job>();
  runner.takeTally();
  for (const { job, isComplete, onlyVerdicts } of needed) {
    if (isComplete !== null) {
      if (!runner.look(job, tally, isComplete, onlyVerdicts)) return null;
    } else {
      if (decided.has(job)) continue;
      if (!runner.run(job.index)) return null;
      mergeTally(tally, runner.takeTally());
      decided.add(job);
    }
    await pause(signal);
  }
  mergeTally(tally, runner.takeTally());
  return decided;
}

/** The policy that took most of the time; `null` where none was evaluated. */
export function costliestPolicy(
  { evaluations }: Pick<SimulationTally, "evaluations">,
  { base, head }: CompiledSides,
  space: Space,
): CostliestPolicy | null {
  const [most] = [...evaluations].toSorted(([, left], [, right]) => right - left);
  if (most === undefined) return null;
  const [policy, count] = most;
  const rules = [...head.contents, ...base.contents]
    .flatMap((content) => content.rules ?? [])
    .find(({ contract }) => contract.id === policy);
  const dimensions = rules === undefined ? [] : dimensionsOf(rules, space);
  const [widest] = dimensions.toSorted((left, right) => right.distinguished - left.distinguished);
  return widest === undefined ? null : { policy, evaluations: count, ...widest };
}

/**
 * The route with most providers, where callers can leave more sets of its candidates than a policy
 * distinguishes values: then it is the route that takes the time. `null` where it is not.
 */
export function widestRoute(
  jobs: readonly Job[],
  { routes, endpoints }: RoutingTable,
  costliest: Pick<CostliestPolicy, "distinguished"> | null,
): WidestRoute | null {
  const names = new Set(jobs.flatMap(({ pair }) => pair.members.map(({ model }) => model)));
  const [widest] = Object.values(routes)
    .filter(({ id }) => names.has(id))
    .map(({ id: route, tiers }): WidestRoute => {
      const { size: providers } = new Set(
        tiers.flatMap((tier) => tier.endpoints.map((name) => endpoints[name]?.provider)),
      );
      return { route, providers, sets: 2 ** providers - 1 };
    })
    .toSorted((left, right) => right.providers - left.providers);
  return widest !== undefined && widest.sets > (costliest?.distinguished ?? 0) ? widest : null;
}

function dimensionsOf(
  rules: CompiledPolicy,
  { universe, sides: [, side] }: Space,
): readonly Pick<CostliestPolicy, "dimension" | "distinguished">[] {
  const operation = OPERATIONS.find((one) => rules.contract.operations.includes(one));
  if (side === undefined || operation === undefined) return [];
  const values = valuesOf(universe, operation);
  const projection = projectionFor([policyReader(rules)], operation, side.ambiguous);
  const open = seenDimensions(universe, values, [{ projection, table: side.table }]).map(
    ({ name, distinguished }) => ({
      dimension: name,
      distinguished: name === KEY_LABELS ? Math.round(2 ** distinguished) : distinguished,
    }),
  );
  const path = "input.request.needs";
  const needNames = projection.sees(path)
    ? values.needs.filter((need) => projection.distinguishes(path, need)).length
    : 0;
  const others = projection.seesAllOf(path) ? values.needs.length - needNames + 1 : 1;
  return [...open, { dimension: "needs", distinguished: 2 ** needNames * others }];
}

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * One thread, with one request at a time. It compiles nothing, and loads the policies for itself.
 */
function jobThread(input: JobInput) {
  const worker = new Worker(WORKER_FILE, { workerData: input });
  let waiting: PromiseWithResolvers<JobAnswer> | null = null;
  let failure: unknown = null;
  const fail = (reason: unknown) => {
    failure ??= reason;
    waiting?.reject(failure);
    waiting = null;
  };
  const nextAnswer = () => {
    const next = Promise.withResolvers<JobAnswer>();
    if (failure === null) waiting = next;
    else next.reject(failure);
    return next.promise;
  };
  worker.on("message", (answer: JobAnswer) => {
    waiting?.resolve(answer);
    waiting = null;
  });
  worker.on("error", fail);
  worker.on("exit", () =>
    fail(new Error("a thread of the simulation ended; it may have run out of memory")),
  );
  return {
    /** Settles when the thread can be given jobs. */
    ready: nextAnswer(),
    fail,
    ask(request: JobRequest): Promise<JobAnswer> {
      const answer = nextAnswer();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      if (failure === null) worker.postMessage(request);
      return answer;
    },
    end: (): Promise<unknown> => worker.terminate(),
  };
}

type JobThread = ReturnType<typeof jobThread>;

/**
 * Jobs that are handed to a thread together: fewer would be all messages, more would leave others
 * idle at the end.
 */
const JOBS_PER_BATCH = 8;

/** Milliseconds of deciding after which the rest can be estimated. */
const THREADS_AFTER = 300;

/**
 * Milliseconds of deciding that must be left for a thread to be worth it: it starts in half of
 * that, and repeats evaluations that this thread remembers.
 */
const WORTH_A_THREAD = 1_500;

/**
 * Decides jobs until the time is up: this thread from the first one on, and further threads, where
 * there is enough to do, from the last one on.
 *
 * @returns the tally, and how many jobs were decided whole. @throws the signal's reason.
 */
async function runJobs(
  runner: JobRunner,
  jobs: readonly number[],
  { workers, threadsAfter = THREADS_AFTER }: Pick<SimulationRequest, "workers" | "threadsAfter">,
  signal: AbortSignal,
  onDone: (jobs: number) => void,
): Promise<{ readonly tally: SimulationTally; readonly done: number }> {
  const threads: JobThread[] = [];
  const tallies: SimulationTally[] = [];
  let [next, end, done] = [0, jobs.length, 0];
  const count = (more: number) => onDone((done += more));
  const help = async (thread: JobThread) => {
    while (next < end && !runner.isExhausted()) {
      // Smaller batches towards the end, so that all are done at once.
      const from = end - Math.min(JOBS_PER_BATCH, Math.ceil((end - next) / (2 * workers)));
      const batch = jobs.slice(from, end);
      end = from;
      const answer = await thread.ask(batch);
      count(answer.done);
      // Its memory may be full; other threads continue.
      if (answer.done < batch.length) break;
    }
    const { tally } = await thread.ask([]);
    if (tally !== null) tallies.push(tally);
  };
  // A thread may fail while this one waits for nothing.
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  /** The work of threads that are ready; others have nothing yet. */
  const helping: Promise<void>[] = [];
  const start = async () => {
    for (let index = 1; index < workers; index += 1) threads.push(jobThread(runner.input));
    await Promise.all(
      threads.map(async (thread) => {
        await thread.ready;
        helping.push(help(thread).catch(failed));
      }),
    );
  };
  const abort = () => threads.forEach(({ fail }) => fail(signal.reason));
  signal.addEventListener("abort", abort, { once: true });
  const began = performance.now();
  const justifiesThreads = () => {
    const elapsed = performance.now() - began;
    return elapsed >= threadsAfter && (elapsed / next) * (end - next) >= WORTH_A_THREAD;
  };
  try {
    if (threadsAfter === 0) await start();
    while (next < end && failures.length === 0 && !runner.isExhausted()) {
      const job = jobs[next] ?? 0;
      next += 1;
      count(runner.run(job) ? 1 : 0);
      if (threads.length === 0 && justifiesThreads()) start().catch(failed);
      await pause(signal);
    }
    await Promise.all(helping);
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    const tally = runner.takeTally();
    for (const other of tallies) mergeTally(tally, other);
    return { tally, done };
  } finally {
    signal.removeEventListener("abort", abort);
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

/** Lets other work of the process go on. @throws the signal's reason. */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}
