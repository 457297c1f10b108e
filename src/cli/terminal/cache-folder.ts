import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { CommandIo } from "./command-io.ts";

/** The folder for caches of this user, by the platform's convention; `null` where there is no home. */
export function userCacheFolder(
  environment: CommandIo["environment"],
  platform: NodeJS.Platform = process.platform,
): string | null {
  const home = absolute(environment["HOME"]) ?? homeOfUser();
  const below = (...parts: readonly string[]): string | null => (home === null ? null : join(home, ...parts));
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
