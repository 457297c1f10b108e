import { posix } from "node:path";

import type { FileTree } from "../../compile/file-tree.ts";
import { CommandError } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";
import { gitTree } from "./git-tree.ts";
import { type Git, gitIn, type GitSurroundings } from "./git-tree.ts";

/** A git repository, seen from a folder in it. */
export interface Repository {
  /** The commit that a ref names. @throws {CommandError} where there is none here. */
  readonly commitOf: (ref: string) => Promise<string>;
  /** The best common ancestor. @throws {CommandError} where there is none here. */
  readonly mergeBase: (left: string, right: string) => Promise<string>;
  readonly tree: (commit: string) => FileTree;
  /**
   * A path that is relative to the folder, from the root of the repository.
   *
   * @param flag the flag that gave the path. @throws {CommandError} for a path that leads out of
   * the repository.
   */
  readonly pathFromRoot: (path: string, flag: string) => string;
}

const COMMIT = /^[0-9a-f]{40,64}$/;
/**
 * Names that git reads in one way only, whatever refs there are (gitrevisions, "Specifying
 * revisions").
 */
const UNAMBIGUOUS = /^(?:HEAD|@|refs\/.*|[0-9a-f]{40}(?:[0-9a-f]{24})?)(?=$|[~^])/;

/**
 * Opens the repository that a folder belongs to: a checkout, a linked worktree, or a bare one.
 *
 * @param flag the flag of the command line that needs it. @throws {CommandError} where there is
 * none.
 */
export async function openRepository(
  surroundings: GitSurroundings,
  flag: string,
): Promise<Repository> {
  const git = gitIn(surroundings, flag);
  const location = await git(["rev-parse", "--show-prefix", "--is-shallow-repository"]);
  if (location.code !== 0) throw notOpened(location.stderr, flag);
  const [prefix = "", shallow] = location.stdout.toString("utf8").split("\n");
  return {
    commitOf: async (ref) => {
      // Without --quiet, which would suppress the warning about an ambiguous name.
      const { code, stdout, stderr } = await git([
        "rev-parse",
        "--verify",
        "--end-of-options",
        `${ref}^{commit}`,
      ]);
      const commit = stdout.toString("utf8").trim();
      if (code === 0 && stderr.includes("is ambiguous") && !UNAMBIGUOUS.test(ref))
        throw await ambiguous(git, ref, flag);
      // `^main` and `a..b` are no commits, although git takes them.
      if (code === 0 && COMMIT.test(commit)) return commit;
      throw unknownCommit(flag, shallow === "true");
    },
    mergeBase: async (left, right) => {
      const { code, stdout } = await git(["merge-base", left, right]);
      const [commit = ""] = stdout.toString("utf8").split("\n");
      if (code === 0 && COMMIT.test(commit)) return commit;
      throw new CommandError(
        shallow === "true"
          ? "--merge-base: base and head have no common ancestor in this shallow clone; fetch the history: git fetch --unshallow"
          : "--merge-base: base and head have no common ancestor; leave --merge-base out to compare them as they are",
      );
    },
    tree: (commit) => gitTree(git, commit, flag),
    pathFromRoot: (path, from) => {
      const whole = posix.join(prefix, path);
      if (whole === ".." || whole.startsWith("../") || posix.isAbsolute(path)) {
        throw new CommandError(`${from}: leads out of the repository; give a path inside it`);
      }
      return whole;
    },
  };
}

/** A tag of the same name would hide a branch: git takes the tag. */
async function ambiguous(git: Git, ref: string, flag: string): Promise<CommandError> {
  const [name = ""] = ref.split(/[~^:]|@\{/);
  const refs = [name, `tags/${name}`, `heads/${name}`, `remotes/${name}`, `remotes/${name}/HEAD`];
  const listed = await git([
    "for-each-ref",
    "--format=%(refname)",
    ...refs.map((one) => `refs/${one}`),
  ]);
  // A pattern also matches what is below it.
  const found = listed.stdout
    .toString("utf8")
    .split("\n")
    .filter((one) => refs.includes(one.replace(/^refs\//, "")));
  const objects = /^[0-9a-f]{4,}$/.test(name)
    ? await git(["rev-parse", `--disambiguate=${name}`])
    : null;
  const ids =
    objects?.stdout
      .toString("utf8")
      .split("\n")
      .filter((id) => id !== "") ?? [];
  const candidates = [...found, ...ids].map(printable).join(", ");
  return new CommandError(
    `${flag}: more than one ref has this name: ${candidates}; give one of them in full, or the id of a commit`,
  );
}

function notOpened(stderr: string, flag: string): CommandError {
  if (stderr.includes("dubious ownership")) {
    return new CommandError(
      `${flag}: git does not trust this repository, which belongs to another user; if you do, name its folder: git config --global --add safe.directory FOLDER`,
    );
  }
  return new CommandError(
    `${flag}: this folder is not in a git repository; run the command in one, or give two folders, such as ${flag} ./before`,
  );
}

function unknownCommit(flag: string, shallow: boolean): CommandError {
  const where = shallow ? "this shallow clone" : "this repository";
  return new CommandError(
    `${flag}: ${where} has no commit of that name; in CI, fetch it: git fetch origin main; to name a folder, begin with ./`,
  );
}
