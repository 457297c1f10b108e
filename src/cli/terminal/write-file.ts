import { randomUUID } from "node:crypto";
import { mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { CommandError, errorCode } from "./command-io.ts";

/** A file to write; `shown` is its path as messages print it. */
interface FileToWrite {
  readonly path: string;
  readonly shown: string;
  readonly text: string;
}

/** A file of a folder. @param name below it, with `/`. */
export function fileBelow(
  folder: Pick<FileToWrite, "path" | "shown">,
  name: string,
  text: string,
): FileToWrite {
  return { path: join(folder.path, name), shown: posix.join(folder.shown, name), text };
}

/**
 * Replaces a file's text whole: a reader, also after a crash, finds the old text or the new one.
 * Mode and symbolic links stay.
 *
 * @throws {CommandError} when it cannot be written.
 */
export async function replaceFile({ path, shown, text }: FileToWrite): Promise<void> {
  try {
    const target = await realpath(path);
    await writeWhole(target, text, (await stat(target)).mode);
  } catch (error) {
    throw notWritten(shown, error);
  }
}

/**
 * Creates new files, all or none, and missing folders.
 *
 * @throws {CommandError} when one exists already, which is then left as it is, or cannot be
 * written.
 */
export async function createFiles(files: readonly FileToWrite[]): Promise<void> {
  const claimed: string[] = [];
  let current = "";
  try {
    for (const { path, shown } of files) {
      current = shown;
      await makeFolder(dirname(path), dirname(shown));
      // Claims the name before anything is written: between a check and a write another process
      // could create the file.
      await (await open(path, "wx")).close();
      claimed.push(path);
    }
    for (const { path, shown, text } of files) {
      current = shown;
      await writeWhole(path, text, (await stat(path)).mode);
    }
  } catch (error) {
    await Promise.all(claimed.map((path) => rm(path, { force: true })));
    throw error instanceof CommandError ? error : notWritten(current, error);
  }
}

/** Apart from the files: `EEXIST` here is a file with the folder's name. */
async function makeFolder(path: string, shown: string) {
  try {
    await mkdir(path, { recursive: true });
  } catch {
    throw new CommandError(
      `${shown}: the folder cannot be created; check what is at this path, and the permissions`,
    );
  }
}

async function writeWhole(target: string, text: string, mode: number) {
  const unfinished = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    await writeFile(unfinished, text, { mode, flag: "wx" });
    await rename(unfinished, target);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

function notWritten(shown: string, error: unknown): CommandError {
  const code = errorCode(error);
  if (code === "EEXIST")
    return new CommandError(
      `${shown}: exists already and is left as it is; choose another name or folder`,
    );
  const detail = typeof code === "string" ? ` (${code})` : "";
  return new CommandError(
    `${shown}: cannot be written${detail}; check the folder and its permissions`,
  );
}
