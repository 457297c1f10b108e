import { canonicalJson } from "../../canon/json.ts";
import { ARTEFACT_DIRECTORY, readManifest } from "./artefact.ts";
import type {
  BuildRequest,
  BuildResponse,
  CheckRequest,
  CheckResponse,
  Command,
  FormatRequest,
  FormatResponse,
  TestRequest,
  TestResponse,
} from "./protocol.ts";
import type { CompileCache } from "./compile-cache.ts";
import { ResultCache } from "./result-cache.ts";
import { withoutFolder } from "./same-anywhere.ts";
import { runOnThread } from "./threads.ts";

/** Milliseconds that one run may take: an ordinary one takes half a second, a test may loop for ever. */
const DEFAULT_TIME_LIMIT = 120_000;

export interface ToolchainOptions {
  /** Where results of `check` and `build` are kept between runs; `null` for nowhere. */
  readonly cache: CompileCache | null;
  /** Milliseconds; see {@link DEFAULT_TIME_LIMIT}. */
  readonly timeLimit?: number;
  /** Folder of the artefact and its manifest, for tests; it ends with a slash. */
  readonly artefactDirectory?: URL;
}

/**
 * OPA's compiler, checker, test runner and formatter, without anything installed. Runs have threads of their own, so that a
 * server keeps answering while it reloads, and their memory goes soon after the last one.
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

/**
 * Names everything that a build comes from: the toolchain by the SHA-256 of its module, and all that it is given. Two builds with one name give the same
 * bytes. Lower-case hexadecimal SHA-256.
 *
 * @throws {ToolchainError} when the installation is damaged.
 */
export async function buildDigest(request: BuildRequest): Promise<string> {
  const { wasm_sha256 } = await readManifest(ARTEFACT_DIRECTORY);
  return ResultCache.key([wasm_sha256, "build", canonicalJson(request)]);
}

export function createToolchain(options: ToolchainOptions): Toolchain {
  const directory = options.artefactDirectory ?? ARTEFACT_DIRECTORY;
  const timeLimit = options.timeLimit ?? DEFAULT_TIME_LIMIT;
  const cache = new ResultCache(options.cache);
  const run = async (command: Command, request: string): Promise<string> =>
    await runOnThread(directory, { command, request }, timeLimit);
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
    check: async (requested): Promise<CheckResponse> => {
      const { request, restore } = withoutFolder(requested);
      const response = restore(JSON.parse(await runCached("check", canonicalJson(request))));
      return response ?? JSON.parse(await runCached("check", canonicalJson(requested)));
    },
    build: async (request): Promise<BuildResponse> => JSON.parse(await runCached("build", canonicalJson(request))),
    test: async (request): Promise<TestResponse> => JSON.parse(await run("test", canonicalJson(request))),
    format: async (request): Promise<FormatResponse> => JSON.parse(await run("fmt", canonicalJson(request))),
  };
}
