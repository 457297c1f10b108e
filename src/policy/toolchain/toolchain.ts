import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { canonicalJson } from "../../canon/json.ts";
import { ARTEFACT_DIRECTORY, readManifest } from "./artefact.ts";
import { ResultCache, type CompileCache } from "./compile-cache.ts";
import {
  ToolchainError,
  type BuildRequest,
  type BuildResponse,
  type CheckRequest,
  type CheckResponse,
  type Command,
  type FormatRequest,
  type FormatResponse,
  type Run,
  type RunResult,
  type TestRequest,
  type TestResponse,
} from "./protocol.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * How long a thread waits for its next run, milliseconds. It holds the compiled artefact, so it
 * must not stay.
 */
const IDLE_TIME = 2_000;

interface IdleThread {
  readonly worker: Worker;
  readonly expiry: NodeJS.Timeout;
}

/**
 * Threads that have done a run, by the folder of their artefact: the next run saves the 0.2 s of
 * reading and compiling it.
 */
const idle = new Map<string, IdleThread[]>();

/**
 * Runs under way, and those that wait for one of them: a thread beyond the cores would compile an
 * artefact for nothing.
 */
let running = 0;
const queue: (() => void)[] = [];

/**
 * Runs the toolchain once. Runs at the same time have a thread each, as many as there are cores.
 *
 * @param timeLimit milliseconds; the thread of a run that takes longer is ended.
 * @throws {ToolchainError}
 */
async function runOnThread(directory: URL, run: Run, timeLimit: number): Promise<string> {
  // A waiting caller gets the slot of a run that ends.
  if (running < availableParallelism()) running += 1;
  else await new Promise<void>((resolve) => queue.push(resolve));
  const worker = takeThread(directory);
  const result = await answerOf(worker, run, timeLimit);
  if (result === "late" || !result.ok) await worker.terminate();
  else keepThread(directory, worker);
  const next = queue.shift();
  if (next === undefined) running -= 1;
  else next();
  if (result === "late") {
    throw new ToolchainError(
      "TOOLCHAIN_TIMEOUT",
      `rego ${run.command} did not finish within ${timeLimit / 1000} s`,
    );
  }
  if (result.ok) return result.response;
  if (result.error !== null) throw new ToolchainError(result.error.code, result.error.message);
  throw new ToolchainError(
    "TOOLCHAIN_FAILED",
    `rego ${run.command} ended without an answer; the sources may be too large`,
  );
}

function answerOf(worker: Worker, run: Run, timeLimit: number): Promise<RunResult | "late"> {
  return new Promise((resolve) => {
    const settle = (result: RunResult | "late"): void => {
      clearTimeout(timer);
      worker.off("message", settle).off("error", ended).off("exit", ended);
      resolve(result);
    };
    const ended = (): void => settle({ ok: false, error: null });
    const timer = setTimeout(() => settle("late"), timeLimit);
    worker.on("message", settle).on("error", ended).on("exit", ended);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(run);
  });
}

function takeThread(directory: URL): Worker {
  const waiting = idle.get(directory.href)?.pop();
  // A thread that has died has no id any more, and would never answer.
  if (waiting === undefined || waiting.worker.threadId === -1) {
    const worker = new Worker(WORKER_FILE, { workerData: directory.href });
    // An idle thread that fails must not end the process; its run, if it has one, learns of it too.
    worker.on("error", () => {});
    return worker;
  }
  clearTimeout(waiting.expiry);
  waiting.worker.ref();
  return waiting.worker;
}

/** An idle thread keeps no process alive. */
function keepThread(directory: URL, worker: Worker): void {
  const waiting = idle.get(directory.href) ?? [];
  idle.set(directory.href, waiting);
  const expiry = setTimeout(() => {
    waiting.splice(waiting.indexOf(thread), 1);
    void worker.terminate();
  }, IDLE_TIME);
  const thread: IdleThread = { worker, expiry };
  expiry.unref();
  worker.unref();
  waiting.push(thread);
}

/**
 * Milliseconds that one run may take: an ordinary one takes half a second, a test may loop for
 * ever.
 */
const DEFAULT_TIME_LIMIT = 120_000;

interface ToolchainOptions {
  /** Where results of `check` and `build` are kept between runs; `null` for nowhere. */
  readonly cache: CompileCache | null;
  /** Milliseconds; see {@link DEFAULT_TIME_LIMIT}. */
  readonly timeLimit?: number;
  /** Folder of the artefact and its manifest, for tests; it ends with a slash. */
  readonly artefactDirectory?: URL;
}

/**
 * OPA's compiler, checker, test runner and formatter, without anything installed. Runs have threads
 * of their own, so that a server keeps answering while it reloads, and their memory goes soon after
 * the last one.
 *
 * All reject with {@link ToolchainError} when the installation is damaged or a run does not end;
 * what is wrong with a policy stands in `errors`.
 */
export interface Toolchain {
  check(request: CheckRequest): Promise<CheckResponse>;
  build(request: BuildRequest): Promise<BuildResponse>;
  test(request: TestRequest): Promise<TestResponse>;
  format(request: FormatRequest): Promise<FormatResponse>;
}

/**
 * Names everything that a build comes from: the toolchain by the SHA-256 of its module, and all
 * that it is given. Two builds with one name give the same bytes. Lower-case hexadecimal SHA-256.
 *
 * @throws {ToolchainError} when the installation is damaged.
 */
export async function buildDigest(request: BuildRequest): Promise<string> {
  const { wasm_sha256 } = await readManifest(ARTEFACT_DIRECTORY);
  return ResultCache.key([wasm_sha256, "build", canonicalJson(request)]);
}

/**
 * Cached runs that have not ended, by their keys: both sides of a simulation mostly have the same
 * policies, and are compiled at the same time.
 */
const underWay = new Map<string, Promise<string>>();

export function createToolchain(options: ToolchainOptions): Toolchain {
  const directory = options.artefactDirectory ?? ARTEFACT_DIRECTORY;
  const timeLimit = options.timeLimit ?? DEFAULT_TIME_LIMIT;
  const cache = new ResultCache(options.cache);
  const run = async (command: Command, request: string): Promise<string> =>
    await runOnThread(directory, { command, request }, timeLimit);
  const runCached = async (command: Command, request: string): Promise<string> => {
    const { wasm_sha256 } = await readManifest(directory);
    const key = ResultCache.key([wasm_sha256, command, request]);
    const same = underWay.get(key) ?? runAndKeep(key, command, request);
    underWay.set(key, same);
    try {
      return await same;
    } finally {
      underWay.delete(key);
    }
  };
  const runAndKeep = async (key: string, command: Command, request: string): Promise<string> => {
    const cached = await cache.read(key);
    if (cached !== null) return cached;
    const response = await run(command, request);
    await cache.write(key, response);
    return response;
  };
  // The program that wrote these responses was verified by its digest, and so was what comes from
  // the cache: the types of `protocol.ts` describe our own output.
  return {
    check: async (requested): Promise<CheckResponse> => {
      const { request, restore } = withoutFolder(requested);
      const response = restore(JSON.parse(await runCached("check", canonicalJson(request))));
      return response ?? JSON.parse(await runCached("check", canonicalJson(requested)));
    },
    build: async (request): Promise<BuildResponse> =>
      JSON.parse(await runCached("build", canonicalJson(request))),
    test: async (request): Promise<TestResponse> =>
      JSON.parse(await run("test", canonicalJson(request))),
    format: async (request): Promise<FormatResponse> =>
      JSON.parse(await run("fmt", canonicalJson(request))),
  };
}

/** A check whose paths start at the folder that all of its modules are in. */
interface Anchored {
  readonly request: CheckRequest;
  /**
   * Gives the response the paths of the original request; `null` where a message has a path in its
   * text.
   */
  readonly restore: (response: CheckResponse) => CheckResponse | null;
}

/**
 * Takes the folder that all modules are in out of their paths. Results are cached by their input:
 * without this, the same policies in another folder (another checkout, a mounted ConfigMap) would
 * be checked again, which takes a second.
 */
function withoutFolder(request: CheckRequest): Anchored {
  const folder = commonFolder(request.modules.map(({ path }) => path));
  const inner = (path: string): string => path.slice(folder.length);
  const modules = request.modules.map(({ path, text }) => ({ path: inner(path), text }));
  return {
    request: { ...request, modules, units: request.units.map((unit) => unit.map(inner)) },
    restore: (response) => {
      if (folder === "") return response;
      const texts = response.errors.flatMap(({ message, details }) => [
        message,
        ...(details ?? []),
      ]);
      if (texts.some((text) => modules.some(({ path }) => text.includes(path)))) return null;
      return {
        errors: response.errors.map((error) =>
          error.file === "" ? error : { ...error, file: `${folder}${error.file}` },
        ),
        modules: response.modules.map((facts) => ({ ...facts, path: `${folder}${facts.path}` })),
      };
    },
  };
}

/** The longest beginning of all paths that ends with a slash; empty where there is none. */
function commonFolder(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  let folder = first.slice(0, first.lastIndexOf("/") + 1);
  while (others.some((path) => !path.startsWith(folder))) {
    folder = folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
  }
  return folder;
}
