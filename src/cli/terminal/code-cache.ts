import { lstatSync, mkdirSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import { dirname, join, resolve, isAbsolute } from "node:path";
import { homedir } from "node:os";
import type { CommandIo } from "./command-io.ts";

/** Permissions of others that let them change what is in a folder. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Has Node keep what it compiles of the program, in the user's cache folder, so that the next start
 * does not compile it again. Before anything else is imported, or it is compiled without.
 *
 * What is kept there is run. So a folder that others can write to, or that may have come with a
 * checkout, is not used, and where there is none, as with a home that cannot be written, each start
 * compiles anew; nothing is said of it, since nothing but time is lost. `NODE_COMPILE_CACHE` names
 * another folder and `NODE_DISABLE_COMPILE_CACHE` switches it off, as for every program of Node.
 */
export function keepCompiledCode(environment: Record<string, string | undefined>): void {
  if (
    environment["NODE_COMPILE_CACHE"] !== undefined ||
    environment["NODE_DISABLE_COMPILE_CACHE"] !== undefined
  )
    return;
  const own = userCacheFolder(environment);
  if (own === null) return;
  const folder = join(own, "code");
  if (!isUsable(folder)) return;
  enableCompileCache(folder);
  // Threads and the processes of workers look here; the call above is this thread's alone.
  environment["NODE_COMPILE_CACHE"] = folder;
}

/**
 * Writes what was compiled so far: a process that is killed would never do it. A start that
 * compiled nothing anew writes nothing.
 */
export function saveCompiledCode(): void {
  flushCompileCache();
}

/**
 * Makes the folder where it is missing. Whether it belongs to this user, no other user can write to
 * it, and no commit can contain it.
 */
function isUsable(folder: string): boolean {
  try {
    if (isInWorkingTree(dirname(folder))) return false;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return [dirname(folder), folder].every((path) => {
      const found = lstatSync(path);
      // Windows has no owner that Node knows; a profile's folder is its user's there.
      if (!found.isDirectory() || process.getuid === undefined) return found.isDirectory();
      return found.uid === process.getuid() && (found.mode & WRITABLE_BY_OTHERS) === 0;
    });
  } catch {
    // It cannot be made, or not be looked at.
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
 * The folder for caches of this user, by the platform's convention; `null` where there is no home.
 */
export function userCacheFolder(
  environment: CommandIo["environment"],
  platform: NodeJS.Platform = process.platform,
): string | null {
  const home = absolute(environment["HOME"]) ?? homeOfUser();
  const below = (...parts: readonly string[]): string | null =>
    home === null ? null : join(home, ...parts);
  const caches =
    platform === "win32"
      ? (absolute(environment["LOCALAPPDATA"]) ?? below("AppData", "Local"))
      : platform === "darwin"
        ? below("Library", "Caches")
        : // The specification ignores a path that is not absolute.
          (absolute(environment["XDG_CACHE_HOME"]) ?? below(".cache"));
  return caches === null ? null : join(caches, "signalbox");
}

function absolute(path: string | undefined): string | null {
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
