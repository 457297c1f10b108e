import { readdir, readFile, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";

/** Where configurations are read from: a folder on disk, or a commit. Paths have `/` and begin at the tree's root. */
export interface FileTree {
  /** `null` for what is not there, is not a file, or is not UTF-8. */
  readonly readText: (path: string) => Promise<string | null>;
  /** Names of what stands in a folder, in no order; `null` where there is no such folder. */
  readonly namesIn: (folder: string) => Promise<readonly string[] | null>;
  /** Whether the path leads, by links, out of a folder that it is written below. Absent where no link is followed. */
  readonly leadsOut?: (folder: string, path: string) => Promise<boolean>;
}

/** A folder on disk. Links are followed, as mounted volumes have them, and paths may lead out of it. */
export function directoryTree(root: string): FileTree {
  return {
    readText: async (path) => {
      try {
        return decodeText(await readFile(resolve(root, path)));
      } catch {
        return null;
      }
    },
    namesIn: async (folder) => {
      try {
        return await readdir(resolve(root, folder));
      } catch {
        return null;
      }
    },
    leadsOut: async (folder, path) => {
      try {
        const [within, target] = await Promise.all([realpath(resolve(root, folder)), realpath(resolve(root, path))]);
        const below = relative(within, target);
        // A name may begin with two dots, as `..data` of a mounted ConfigMap does.
        return below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
      } catch {
        // What is not there is reported as that.
        return false;
      }
    },
  };
}

/** The text without a byte order mark; `null` where the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
