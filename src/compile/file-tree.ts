import { readdir, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { readRegularFile, type UnreadFile } from "../policy/read-regular-file.ts";

/** Bytes that one file of a configuration may have. */
export const LARGEST_FILE = 4 * 1024 * 1024;

/**
 * Why there is no text of a file. `outside`: a link leads out of the folder of the configuration.
 * `unreadable`: no permission, or not UTF-8.
 */
export interface UnreadText {
  readonly unread: UnreadFile | "outside";
}

/**
 * Where configurations are read from: a folder on disk, or a commit. Paths have `/` and begin at
 * the tree's root.
 */
export interface FileTree {
  /**
   * The text of a regular file of at most {@link LARGEST_FILE} bytes.
   *
   * @param within folder that no link may lead out of; the tree's root unless given. A tree that
   * follows no link does without it.
   */
  readonly readText: (path: string, within?: string) => Promise<string | UnreadText>;
  /** Names of what stands in a folder, in no order; `null` where there is no such folder. */
  readonly namesIn: (folder: string) => Promise<readonly string[] | null>;
  /**
   * Whether the path leads, by links, out of a folder that it is written below. Absent where no
   * link is followed.
   */
  readonly leadsOut?: (folder: string, path: string) => Promise<boolean>;
}

/**
 * A folder on disk. Links are followed as long as they stay inside, as mounted volumes have them
 * (`..data` of a ConfigMap).
 */
export function directoryTree(root: string): FileTree {
  return {
    readText: async (path, within = ".") => {
      let target: string;
      try {
        target = await realpath(resolve(root, path));
        const folder = await realpath(resolve(root, within));
        // A folder that is written below the root has to be there; one that is written elsewhere
        // was chosen by the caller.
        const isFolderOutside = isOutside(resolve(root), resolve(root, within));
        if (
          isOutside(folder, target) ||
          (!isFolderOutside && isOutside(await realpath(root), folder))
        )
          return { unread: "outside" };
      } catch (error) {
        const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
        return { unread: code === "ENOENT" || code === "ENOTDIR" ? "absent" : "unreadable" };
      }
      const bytes = await readRegularFile(target, LARGEST_FILE);
      return typeof bytes === "string" ? { unread: bytes } : decodeText(bytes);
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
        const [within, target] = await Promise.all([
          realpath(resolve(root, folder)),
          realpath(resolve(root, path)),
        ]);
        return isOutside(within, target);
      } catch {
        // A missing file is reported as missing.
        return false;
      }
    },
  };
}

function isOutside(folder: string, target: string): boolean {
  const below = relative(folder, target);
  // A name may begin with two dots, as `..data` of a mounted ConfigMap does.
  return below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
}

/** The text without a byte order mark. */
export function decodeText(bytes: Uint8Array): string | UnreadText {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { unread: "unreadable" };
  }
}

/** The fault of a file, and the fix; without content of the file or the target of a link. */
export const UNREAD_SENTENCES: Readonly<
  Record<UnreadText["unread"], { readonly what: string; readonly fix: string }>
> = {
  absent: {
    what: "there is no such file",
    fix: "check the path",
  },
  unreadable: {
    what: "the file cannot be read, or is not UTF-8 text",
    fix: "check the path and its permissions",
  },
  outside: {
    what: "this symbolic link points out of the folder of the configuration",
    fix: "put the file or the folder itself there",
  },
  irregular: {
    what: "this is a folder, a device, a FIFO or a socket where a file should be",
    fix: "put a file there, or remove it",
  },
  too_large: {
    what: "the file is larger than 4 MiB",
    fix: "split the file, or remove parts that do not belong there",
  },
};
