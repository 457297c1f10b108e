import { Worker } from "node:worker_threads";
import { canonicalJson } from "../../canon/json.ts";
import { ARTEFACT_DIRECTORY, readArtefact, readManifest, type Artefact } from "./artefact.ts";
import { ToolchainError } from "./error.ts";
import type {
  BuildRequest,
  BuildResponse,
  CheckRequest,
  CheckResponse,
  Command,
  FormatRequest,
  FormatResponse,
  Run,
  RunResult,
  TestRequest,
  TestResponse,
} from "./protocol.ts";
import { ResultCache } from "./result-cache.ts";

/** Milliseconds that one run may take: an ordinary one takes half a second, a test may loop for ever. */
const DEFAULT_TIME_LIMIT = 120_000;

export interface ToolchainOptions {
  /** Where results of `check` and `build` are kept between runs; `null` for nowhere. */
  readonly cacheDirectory: string | null;
  /** Milliseconds; see {@link DEFAULT_TIME_LIMIT}. */
  readonly timeLimit?: number;
  /** Folder of the artefact and its manifest, for tests; it ends with a slash. */
  readonly artefactDirectory?: URL;
}

/**
 * OPA's compiler, checker, test runner and formatter, without anything installed. Every run is a thread of its own, so
 * that a server keeps answering while it reloads, and its memory goes when it ends.
 *
 * All reject with {@link ToolchainError} when the installation is damaged or a run does not end; what is wrong with a
 * policy stands in `errors`.
 */
export interface Toolchain {
  check(request: CheckRequest): Promise<CheckResponse>;
  build(request: BuildRequest): Promise<BuildResponse>;
  test(request: TestRequest): Promise<TestResponse>;
  format(request: FormatRequest): Promise<FormatResponse>;
}

export function createToolchain(options: ToolchainOptions): Toolchain {
  const directory = options.artefactDirectory ?? ARTEFACT_DIRECTORY;
  const timeLimit = options.timeLimit ?? DEFAULT_TIME_LIMIT;
  const cache = new ResultCache(options.cacheDirectory);
  const run = async (command: Command, request: string): Promise<string> =>
    await runOnThread({ module: (await artefactOf(directory)).module, command, request }, timeLimit);
  const runCached = async (command: Command, request: string): Promise<string> => {
    const { wasm_sha256 } = await readManifest(directory);
    const key = ResultCache.key([wasm_sha256, command, request]);
    const kept = await cache.read(key);
    if (kept !== null) return kept;
    const response = await run(command, request);
    await cache.write(key, response);
    return response;
  };
  // The program that wrote these responses was verified by its digest, and so was what comes from the cache: the types
  // of `protocol.ts` describe our own output.
  return {
    check: async (request): Promise<CheckResponse> => JSON.parse(await runCached("check", canonicalJson(request))),
    build: async (request): Promise<BuildResponse> => JSON.parse(await runCached("build", canonicalJson(request))),
    test: async (request): Promise<TestResponse> => JSON.parse(await run("test", canonicalJson(request))),
    format: async (request): Promise<FormatResponse> => JSON.parse(await run("fmt", canonicalJson(request))),
  };
}

/** How long the compiled artefact is kept after its last use, milliseconds: a server would hold its 300 MB for ever. */
const ARTEFACT_KEPT = 30_000;

/** Decompressed and compiled once for runs that follow each other: 0.2 s that each of them would pay again. */
const artefacts = new Map<string, { readonly artefact: Promise<Artefact>; readonly forget: NodeJS.Timeout }>();

async function artefactOf(directory: URL): Promise<Artefact> {
  const known = artefacts.get(directory.href);
  if (known !== undefined) {
    known.forget.refresh();
    return await known.artefact;
  }
  const artefact = readArtefact(directory);
  const drop = (): void => void artefacts.delete(directory.href);
  artefacts.set(directory.href, { artefact, forget: setTimeout(drop, ARTEFACT_KEPT).unref() });
  // A damaged installation may be repaired while the process runs.
  artefact.catch(drop);
  return await artefact;
}

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

async function runOnThread(run: Run, timeLimit: number): Promise<string> {
  const worker = new Worker(WORKER_FILE, { workerData: run });
  const deadline = AbortSignal.timeout(timeLimit);
  try {
    const result = await new Promise<RunResult>((resolve, reject) => {
      worker.once("message", (message: RunResult) => resolve(message));
      worker.once("error", () => resolve({ ok: false }));
      worker.once("exit", () => resolve({ ok: false }));
      deadline.addEventListener("abort", () => {
        reject(new ToolchainError("TOOLCHAIN_TIMEOUT", `rego ${run.command} did not end within ${timeLimit / 1000} s`));
      });
    });
    if (result.ok) return result.response;
    throw new ToolchainError(
      "TOOLCHAIN_FAILED",
      `rego ${run.command} ended without an answer; the sources may be too large`,
    );
  } finally {
    await worker.terminate();
  }
}
