import { lstatSync, mkdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { enableCompileCache, flushCompileCache } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseJson } from "../../canon/json.ts";
import { EXIT, type CommandIo } from "./command-io.ts";

/**
 * The package's version. `package.json` is three folders up, from `src/cli/terminal` and from
 * `dist/cli/terminal` alike.
 */
export function readVersion(): string {
  const version = member(readManifest(), "version");
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}

/**
 * Checks the version of Node against `engines.node` of package.json. npm only warns, and a missing
 * function of Node would fail requests later.
 *
 * @param node version of the running Node, such as `22.20.0`
 * @returns one sentence, or `null` for a Node that is new enough
 */
export function unfitNode(node: string): string | null {
  const ranges = [
    ...String(member(member(readManifest(), "engines"), "node")).matchAll(
      /(\^|>=)(\d+)\.(\d+)\.\d+/g,
    ),
  ];
  const [isMajor = 0, isMinor = 0] = node.split(".").map(Number);
  const fits = ranges.some(([, operator, major, minor]) =>
    isMajor === Number(major)
      ? isMinor >= Number(minor)
      : operator === ">=" && isMajor > Number(major),
  );
  if (fits) return null;
  const versions = ranges.map(
    ([, operator, major, minor]) =>
      `${major}.${minor} ${operator === "^" ? `or a later ${major}` : "or newer"}`,
  );
  return `signalbox needs Node ${versions.join(", or ")}; this is ${node}`;
}

function readManifest(): unknown {
  return parseJson(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * The files beside the code in every installation: three folders up from `src/cli/terminal` and
 * from `dist/cli/terminal` alike.
 */
const PACKAGE = new URL("../../..", import.meta.url);

/** The text of a file that comes with Signalbox, by its path from the root of the package. */
export function packagedText(path: string): Promise<string> {
  return readFile(new URL(path, PACKAGE), "utf8");
}

/** Write bits of group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Enables Node's compile cache in the user's cache folder, so that the next start need not compile
 * again. Call it before other imports: modules that are loaded earlier are not cached.
 *
 * Cached code is executed, so a folder that others can write to, or that may have come with a
 * checkout, is not used. Without a folder each start compiles again, without a message, because
 * only time is lost. `NODE_COMPILE_CACHE` names another folder and `NODE_DISABLE_COMPILE_CACHE`
 * switches the cache off, as for every program of Node.
 */
export function keepCompiledCode(environment: Record<string, string | undefined>): void {
  if (
    environment.NODE_COMPILE_CACHE !== undefined ||
    environment.NODE_DISABLE_COMPILE_CACHE !== undefined
  )
    return;
  const caches = userCacheFolder(environment);
  if (caches === null) return;
  const folder = join(caches, "code");
  if (!isUsable(folder)) return;
  enableCompileCache(folder);
  // Threads and the processes of workers look here; the call above is this thread's alone.
  environment.NODE_COMPILE_CACHE = folder;
}

/**
 * Writes the compile cache now: a killed process would not. No-op if nothing was compiled.
 */
export function saveCompiledCode(): void {
  flushCompileCache();
}

/**
 * Creates the folder if it is missing. @returns whether it belongs to this user, no other user can
 * write to it, and no commit can contain it.
 */
function isUsable(folder: string): boolean {
  try {
    if (isInWorkingTree(dirname(folder))) return false;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return [dirname(folder), folder].every((path) => {
      const found = lstatSync(path);
      // Node reports no owner on Windows; a profile's folder belongs to its user there.
      if (!found.isDirectory() || process.getuid === undefined) return found.isDirectory();
      return found.uid === process.getuid() && (found.mode & WRITABLE_BY_OTHERS) === 0;
    });
  } catch {
    // The folder cannot be created or examined.
    return false;
  }
}

/** Whether a file of the folder could be a committed one. */
function isInWorkingTree(folder: string): boolean {
  for (let above = resolve(folder); ; above = dirname(above)) {
    if (lstatSync(join(above, ".git"), { throwIfNoEntry: false }) !== undefined) return true;
    if (dirname(above) === above) return false;
  }
}

/**
 * The folder for caches of this user, by the platform's convention; `null` without a home folder.
 */
export function userCacheFolder(
  environment: CommandIo["environment"],
  platform: NodeJS.Platform = process.platform,
): string | null {
  const home = absolute(environment.HOME) ?? homeOfUser();
  const below = (...parts: readonly string[]) => (home === null ? null : join(home, ...parts));
  const caches =
    platform === "win32"
      ? (absolute(environment.LOCALAPPDATA) ?? below("AppData", "Local"))
      : platform === "darwin"
        ? below("Library", "Caches")
        : // The specification ignores a path that is not absolute.
          (absolute(environment.XDG_CACHE_HOME) ?? below(".cache"));
  return caches === null ? null : join(caches, "signalbox");
}

function absolute(path: string | undefined) {
  return path !== undefined && isAbsolute(path) ? path : null;
}

function homeOfUser(): string | null {
  try {
    return absolute(homedir());
  } catch {
    // The user has no entry in the system's list of users.
    return null;
  }
}

/** Resolves on the signal to stop: SIGINT, SIGTERM, or the signal of a test. */
export function stopRequested(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((stopped) => {
    const stop = () => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      signal?.removeEventListener("abort", stop);
      stopped();
    };
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted === true) stop();
  });
}

/**
 * Milliseconds from the end of a server's command to a forced exit: threads and connections take
 * seconds to end on a busy machine.
 */
const LAST_WAIT = 5_000;

/**
 * Exits with a failure if a socket, timer or child keeps the process alive, and prints which.
 */
export function endWhereHeld(): void {
  const end = () => {
    const resources = [...new Set(process.getActiveResourcesInfo())].join(", ");
    process.stderr.write(
      `signalbox: everything is stopped, and something holds the process; ended it (open: ${resources})\n`,
    );
    // oxlint-disable-next-line unicorn/no-process-exit -- it would never end
    process.exit(EXIT.failed);
  };
  setTimeout(end, LAST_WAIT).unref();
}

/** Commands that keep running when the reader of their output is gone. */
const SERVING: readonly string[] = ["serve", "mock"];

/**
 * Handles a closed output; without listeners such an error would end every command with a stack
 * trace. A command that only prints ends: quietly if its reader has closed the pipe, as after
 * `head`, and otherwise with a message.
 *
 * @param command the first argument of the command line
 */
export function listenToOutput(command: string | undefined): void {
  const serves = command !== undefined && SERVING.includes(command);
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (serves) return;
    if (error.code !== "EPIPE") {
      process.stderr.write(
        `signalbox: standard output cannot be written (${error.code ?? "unknown error"})\n`,
      );
    }
    // oxlint-disable-next-line unicorn/no-process-exit -- the reader is gone
    process.exit(EXIT.failed);
  });
}
