import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";

import { decodeText, LARGEST_FILE, type FileTree } from "../../compile/file-tree.ts";
import { CommandError } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";
import type { Git } from "./git.ts";

interface Entry {
  /** Six octal digits. */
  readonly mode: string;
  readonly type: string;
  readonly object: string;
}

const LINK = "120000";

/**
 * The files of one commit, read from git's objects: no checkout, no filter, no line ending changed.
 * Objects are walked from the root by their ids, so that no path is ever a pattern or an option to
 * git.
 *
 * Its members throw {@link CommandError} for links and submodules on the way, and for objects that
 * the clone does not hold.
 *
 * @param commit id of a commit.
 * @param flag the flag of the command line that chose it; messages name it.
 */
export function gitTree(git: Git, commit: string, flag: string): FileTree {
  const readBlob = blobReader(git, flag);
  const folders = new Map<string, Promise<ReadonlyMap<string, Entry>>>();
  const entriesOf = (object: string): Promise<ReadonlyMap<string, Entry>> => {
    const known = folders.get(object);
    if (known !== undefined) return known;
    const reading = readEntries(git, object, flag);
    folders.set(object, reading);
    return reading;
  };
  const find = async (path: string): Promise<Entry | null> => {
    let entry: Entry = { mode: "040000", type: "tree", object: commit };
    const steps = posix
      .normalize(path)
      .split("/")
      .filter((step) => step !== "." && step !== "");
    if (path.startsWith("/")) return null;
    for (const [index, step] of steps.entries()) {
      if (entry.type !== "tree") return null;
      const next = (await entriesOf(entry.object)).get(step);
      if (next === undefined) return null;
      refuseDoors(next, steps.slice(0, index + 1).join("/"), flag);
      entry = next;
    }
    return entry;
  };
  return {
    readText: async (path) => {
      const entry = await find(path);
      if (entry === null) return { unread: "absent" };
      if (entry.type !== "blob") return { unread: "irregular" };
      const bytes = await readBlob(entry.object);
      return bytes.length > LARGEST_FILE ? { unread: "too_large" } : decodeText(bytes);
    },
    namesIn: async (folder) => {
      const entry = await find(folder);
      return entry?.type === "tree" ? [...(await entriesOf(entry.object)).keys()] : null;
    },
  };
}

/** Links that lead out of the commit are not followed: their files are not reviewed. */
function refuseDoors({ mode, type }: Entry, path: string, flag: string): void {
  if (mode === LINK) {
    throw new CommandError(
      `${flag}: ${printable(path)} is a symbolic link in that commit, and links are not followed there; commit the file itself`,
    );
  }
  if (type === "commit") {
    throw new CommandError(
      `${flag}: ${printable(path)} is a submodule in that commit, whose files another repository holds; compare folders instead, such as ${flag} ./before`,
    );
  }
}

async function readEntries(
  git: Git,
  object: string,
  flag: string,
): Promise<ReadonlyMap<string, Entry>> {
  // Without --full-tree git omits files outside the working directory.
  const { code, stdout } = await git(["ls-tree", "-z", "--full-tree", object]);
  if (code !== 0) throw incomplete(flag);
  const entries = new Map<string, Entry>();
  for (const line of stdout.toString("utf8").split("\0")) {
    const [, mode, type, id, name] = /^(\d{6}) (\w+) ([0-9a-f]+)\t([\s\S]+)$/.exec(line) ?? [];
    if (mode === undefined || type === undefined || id === undefined || name === undefined)
      continue;
    // git shows one of the two, and which one is not defined.
    if (entries.has(name)) {
      const where = `${printable(name)} is twice in one folder of that commit`;
      throw new CommandError(`${flag}: ${where}; git fsck names the folder`);
    }
    entries.set(name, { mode, type, object: id });
  }
  return entries;
}

/**
 * Reads the objects that are requested together in one run of git: to start one takes longer than
 * to read a file.
 */
function blobReader(git: Git, flag: string): (object: string) => Promise<Buffer> {
  let together: { readonly objects: string[]; readonly read: Promise<readonly Buffer[]> } | null =
    null;
  return async (object) => {
    if (together === null) {
      const objects: string[] = [];
      const read = setImmediate().then(() => {
        together = null;
        return readBlobs(git, objects, flag);
      });
      together = { objects, read };
    }
    const { objects, read } = together;
    const at = objects.push(object) - 1;
    const bytes = (await read)[at];
    if (bytes === undefined) throw incomplete(flag);
    return bytes;
  };
}

async function readBlobs(
  git: Git,
  objects: readonly string[],
  flag: string,
): Promise<readonly Buffer[]> {
  const { code, stdout } = await git(
    ["cat-file", "--batch"],
    objects.map((object) => `${object}\n`).join(""),
  );
  if (code !== 0) throw incomplete(flag);
  let from = 0;
  return objects.map((object) => {
    // `ID blob SIZE`, a line feed, the bytes, a line feed; or `ID missing`.
    const end = stdout.indexOf("\n", from);
    const [id, type, size] = stdout.toString("latin1", from, Math.max(end, from)).split(" ");
    if (id !== object || type !== "blob") throw incomplete(flag);
    const bytes = stdout.subarray(end + 1, end + 1 + Number(size));
    from = end + 1 + Number(size) + 1;
    return bytes;
  });
}

function incomplete(flag: string): CommandError {
  return new CommandError(
    `${flag}: this clone does not hold all files of that commit, as partial clones do not; fetch them: git fetch --refetch --no-filter`,
  );
}
