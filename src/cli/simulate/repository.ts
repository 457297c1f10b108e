import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import { decodeText, type FileTree, LARGEST_FILE } from "../../compile/file-tree.ts";
import { remembered } from "../../simulate/remembered.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";
import { execFile } from "node:child_process";

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
function gitTree(git: Git, commit: string, flag: string): FileTree {
  const readBlob = blobReader(git, flag);
  const folders = new Map<string, Promise<ReadonlyMap<string, Entry>>>();
  const entriesOf = (object: string) =>
    remembered(folders, object, () => readEntries(git, object, flag));
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
function refuseDoors({ mode, type }: Entry, path: string, flag: string) {
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

function incomplete(flag: string) {
  return new CommandError(
    `${flag}: this clone does not hold all files of that commit, as partial clones do not; fetch them: git fetch --refetch --no-filter`,
  );
}

/** Folder and environment in which git runs, and where its warnings are printed. */
type GitSurroundings = Pick<CommandIo, "cwd" | "environment" | "stderr">;

/**
 * Runs git with these arguments. @param input default: none. @throws {CommandError} where there is
 * no git, or the answer is absurdly large.
 */
type Git = ReturnType<typeof gitIn>;

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
function gitIn({ cwd, environment, stderr: print }: GitSurroundings, flag: string) {
  const printed = new Set<string>();
  const options = {
    cwd,
    env: { ...environment, ...GUARDED_ENVIRONMENT },
    encoding: "buffer",
    maxBuffer: LARGEST_ANSWER,
    windowsHide: true,
  } as const;
  return (argv: readonly string[], input?: string) =>
    /**
     * `stderr`: messages in English, independent of the locale. Warnings of a command that succeeds
     * are printed besides.
     */
    new Promise<{ code: number; stdout: Buffer; stderr: string }>((resolve, reject) => {
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

/** A git repository, seen from a folder in it. */
export type Repository = Awaited<ReturnType<typeof openRepository>>;

const COMMIT = /^[0-9a-f]{40,64}$/;
/**
 * Names that git reads in one way only, regardless of the refs (gitrevisions, "Specifying
 * revisions").
 */
const UNAMBIGUOUS = /^(?:HEAD|@|refs\/.*|[0-9a-f]{40}(?:[0-9a-f]{24})?)(?=$|[~^])/;

/**
 * Opens the repository that a folder belongs to: a checkout, a linked worktree, or a bare one.
 *
 * @param flag the flag of the command line that needs it. @throws {CommandError} where there is
 * none.
 */
export async function openRepository(surroundings: GitSurroundings, flag: string) {
  const git = gitIn(surroundings, flag);
  const location = await git(["rev-parse", "--show-prefix", "--is-shallow-repository"]);
  if (location.code !== 0) throw notOpened(location.stderr, flag);
  const [prefix = "", shallow] = location.stdout.toString("utf8").split("\n");
  return {
    /** The commit that a ref names. @throws {CommandError} where there is none here. */
    commitOf: async (ref: string): Promise<string> => {
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
    /** The best common ancestor. @throws {CommandError} where there is none here. */
    mergeBase: async (left: string, right: string): Promise<string> => {
      const { code, stdout } = await git(["merge-base", left, right]);
      const [commit = ""] = stdout.toString("utf8").split("\n");
      if (code === 0 && COMMIT.test(commit)) return commit;
      throw new CommandError(
        shallow === "true"
          ? "--merge-base: base and head have no common ancestor in this shallow clone; fetch the history: git fetch --unshallow"
          : "--merge-base: base and head have no common ancestor; leave --merge-base out to compare them as they are",
      );
    },
    tree: (commit: string) => gitTree(git, commit, flag),
    /**
     * A path that is relative to the folder, from the root of the repository.
     *
     * @param from the flag that gave the path. @throws {CommandError} for a path that leads out of
     * the repository.
     */
    pathFromRoot: (path: string, from: string): string => {
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
  const matchingRefs = await git([
    "for-each-ref",
    "--format=%(refname)",
    ...refs.map((one) => `refs/${one}`),
  ]);
  // A pattern also matches what is below it.
  const found = matchingRefs.stdout
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
