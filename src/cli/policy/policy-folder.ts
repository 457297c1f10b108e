import { isAbsolute, join, posix, resolve } from "node:path";

import type { Source } from "../../canon/diagnostic.ts";
import { directoryTree, UNREAD_SENTENCES, type UnreadText } from "../../compile/file-tree.ts";
import { regoFiles } from "../../compile/load.ts";
import { ToolchainError } from "../../policy/toolchain/protocol.ts";
import { CommandError, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { shownPath } from "../terminal/command-line.ts";

export const DEFAULT_DIRECTORY = "policies";

/** The files of a policy folder. */
export type PolicyFolder = Awaited<ReturnType<typeof readPolicyFolder>>;

/** @throws {UsageError} when the flag is empty. */
export function directoryOf(
  io: CommandIo,
  flag: string,
): { readonly path: string; readonly shown: string } {
  if (flag === "")
    throw new UsageError(
      "--dir: is empty; give the folder of the policies, such as --dir policies",
    );
  const path = resolve(io.cwd, flag);
  return { path, shown: shownPath(io.cwd, path) };
}

/**
 * Reads the files that a server reads: `*.rego` of the folder and of its `lib`.
 *
 * @throws {CommandError} when a file cannot be read: it would be neither checked nor tested.
 */
export async function readPolicyFolder(io: CommandIo, flag: string) {
  const { path, shown } = directoryOf(io, flag);
  const outside = await linkOutside(io, path);
  if (outside !== null) throw unread(shownPath(io.cwd, outside), { unread: "outside" });
  const tree = directoryTree(path);
  const names = await regoFiles(tree, ".");
  if (names === null) {
    throw new CommandError(
      `--dir: there is no folder ${shown}; name the folder of the policies, or create a policy: signalbox policy new ID`,
    );
  }
  const sources: Source[] = [];
  for (const name of names) {
    const file = posix.join(shown, name);
    const text = await tree.readText(name);
    if (typeof text !== "string") throw unread(file, text);
    sources.push({ path: file, text });
  }
  return {
    /**
     * Path for messages: relative and with `/` below the working directory; `.` for that itself.
     */
    shown,
    /** Policies, tests and libraries, sorted by path; paths begin with `shown`. */
    sources,
  };
}

function unread(file: string, { unread: reason }: UnreadText) {
  const { what, fix } = UNREAD_SENTENCES[reason];
  return new CommandError(`${file}: ${what}; ${fix}`);
}

/**
 * The folder or its `lib`, if it is a symbolic link that leads out of the working directory or of
 * the folder.
 */
async function linkOutside(io: CommandIo, path: string) {
  const here = directoryTree(io.cwd);
  const isInFolder = !isAbsolute(shownPath(io.cwd, path));
  if (isInFolder && (await here.leadsOut?.(".", path)) === true) return path;
  const libraries = join(path, "lib");
  return (await here.leadsOut?.(path, libraries)) === true ? libraries : null;
}

/** Turns a failure of the toolchain into an error for the user. */
export async function usingToolchain<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ToolchainError
      ? new CommandError(`the policy toolchain: ${error.message}`)
      : error;
  }
}
