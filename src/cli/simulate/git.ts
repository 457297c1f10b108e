import { execFile } from "node:child_process";

import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";

/** Folder and environment in which git runs, and where its warnings are printed. */
export type GitSurroundings = Pick<CommandIo, "cwd" | "environment" | "stderr">;

/** Result of a git command. */
interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
  /**
   * Messages in English, independent of the locale. Warnings of a command that succeeds are printed
   * besides.
   */
  readonly stderr: string;
}

/**
 * Runs git with these arguments. @param input default: none. @throws {CommandError} where there is
 * no git, or the answer is absurdly large.
 */
export type Git = (argv: readonly string[], input?: string) => Promise<GitAnswer>;

/** Bytes of one answer: files that are read together, or the names of one folder. */
const LARGEST_ANSWER = 64 * 1024 * 1024;

/**
 * Ahead of every command: nothing that a repository's configuration names is run, and none of its
 * settings hides an ambiguous name.
 */
const GUARDS: readonly string[] = [
  "--no-pager",
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.warnAmbiguousRefs=true"].flatMap(
    (set) => ["-c", set],
  ),
];

/** No prompt, no lock, no network (older gits have the protocols only), no replaced objects. */
const GUARDED_ENVIRONMENT = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_REPLACE_OBJECTS: "1",
  LC_ALL: "C",
} as const;

/**
 * The git program in one folder, for reading only.
 *
 * @param flag the flag of the command line that needs it; messages name it.
 */
export function gitIn({ cwd, environment, stderr: print }: GitSurroundings, flag: string): Git {
  const printed = new Set<string>();
  const options = {
    cwd,
    env: { ...environment, ...GUARDED_ENVIRONMENT },
    encoding: "buffer",
    maxBuffer: LARGEST_ANSWER,
    windowsHide: true,
  } as const;
  return (argv, input) =>
    new Promise((resolve, reject) => {
      const child = execFile("git", [...GUARDS, ...argv], options, (error, stdout, stderr) => {
        const messages = stderr.toString("utf8");
        if (error === null) {
          for (const line of messages
            .split("\n")
            .filter((one) => one !== "" && !printed.has(one))) {
            printed.add(line);
            print(`git: ${printable(line)}\n`);
          }
          return resolve({ code: 0, stdout, stderr: messages });
        }
        if (error.code === "ENOENT" || error.code === "EACCES") {
          return reject(
            new CommandError(
              `${flag}: git cannot be run; install it, or give two folders, such as ${flag} ./before`,
            ),
          );
        }
        if (typeof error.code !== "number") {
          return reject(
            new CommandError(
              `${flag}: git did not finish (${error.code ?? error.signal ?? "unknown"})`,
            ),
          );
        }
        return resolve({ code: error.code, stdout, stderr: messages });
      });
      // A git that prompts must not wait, and one that has ended reads nothing.
      child.stdin?.on("error", () => {}).end(input);
    });
}
