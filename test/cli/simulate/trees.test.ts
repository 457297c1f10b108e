import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRepository, type Repository } from "../../../src/cli/simulate/repository.ts";
import { directoryTree, type UnreadText, type FileTree } from "../../../src/compile/file-tree.ts";
import { loadFromTree } from "../../../src/compile/load.ts";
import {
  commit,
  git,
  GIT_ENVIRONMENT,
  NO_GIT,
  repository,
  temporaryFolder,
  writeTo,
} from "./repository.ts";

type Files = Readonly<Record<string, string | Uint8Array>>;

async function committed(files: Files): Promise<FileTree> {
  const folder = repository(files);
  const opened = await open(folder);
  const id = await opened.commitOf("main");
  // What stands in the working tree is of no concern.
  for (const name of Object.keys(files)) rmSync(join(folder, name));
  return opened.tree(id);
}

function open(
  folder: string,
  environment: Readonly<Record<string, string | undefined>> = GIT_ENVIRONMENT,
) {
  return openRepository({ cwd: folder, environment, stderr: () => {} }, "--base");
}

async function textAt(opened: Repository, ref: string, path: string): Promise<string | UnreadText> {
  return opened.tree(await opened.commitOf(ref)).readText(path);
}

const IMPLEMENTATIONS: readonly (readonly [
  string,
  (files: Files) => Promise<FileTree>,
  string | null,
])[] = [
  [
    "a folder",
    async (files) => {
      const folder = temporaryFolder();
      writeTo(folder, files);
      return directoryTree(folder);
    },
    null,
  ],
  ["a commit", committed, NO_GIT],
];

describe.for(IMPLEMENTATIONS)("%s as a tree", ([, make, missing]) => {
  const skip = missing !== null;

  test.skipIf(skip)("reads files unchanged", async () => {
    const cases: readonly (readonly [string, string | Uint8Array, string | null])[] = [
      ["plain", "a: 1\n", "a: 1\n"],
      ["empty", "", ""],
      ["line endings", "a\r\nb\n", "a\r\nb\n"],
      ["no last line feed", "a", "a"],
      ["a byte order mark is no text", "\uFEFFa", "a"],
      ["beyond ASCII", "région: Zürich 🚂\n", "région: Zürich 🚂\n"],
      ["larger than a pipe", "x".repeat(300_000), "x".repeat(300_000)],
      ["no UTF-8", new Uint8Array([0x61, 0xff, 0x62]), null],
      ["half a character", new Uint8Array([0xe2, 0x82]), null],
    ];
    const tree = await make(
      Object.fromEntries(cases.map(([name, content]) => [`folder/${name}`, content])),
    );
    for (const [name, , expected] of cases) {
      expect(await tree.readText(`folder/${name}`), name).toEqual(
        expected ?? { unread: "unreadable" },
      );
    }
  });

  test.skipIf(skip)("no name is a pattern, an option or a member of an object", async () => {
    const names = [
      "with space",
      "-dash",
      "--help",
      ":(glob)*",
      "star*",
      "[ab]",
      "quote\"and'",
      "naïve",
      "a\tb",
      "new\nline",
      "$(id)",
      "constructor",
      "HEAD",
    ];
    const files = names.flatMap((name) => [
      [name, `one ${name}`],
      [`in/${name}/file`, `two ${name}`],
    ]);
    const tree = await make(Object.fromEntries(files));
    for (const name of names) {
      expect(await tree.readText(name)).toBe(`one ${name}`);
      expect(await tree.readText(`in/${name}/file`)).toBe(`two ${name}`);
      expect(await tree.namesIn(`in/${name}`)).toEqual(["file"]);
    }
    expect((await tree.namesIn("in"))?.toSorted()).toEqual(names.toSorted());
    expect((await tree.namesIn(""))?.toSorted()).toEqual([...names, "in"].toSorted());
  });

  test.skipIf(skip)("reports a path that is absent or no file", async () => {
    const tree = await make({ root: "", "folder/a": "", "folder/b": "", "folder/lib/c": "" });
    const noText = [
      "absent",
      "folder/absent",
      "absent/a",
      "folder",
      "folder/",
      "",
      ".",
      "root/below",
      "toString",
    ];
    for (const path of noText) {
      const read = await tree.readText(path);
      expect(read, path).toEqual({ unread: expect.stringMatching(/^(absent|irregular)$/) });
    }
    const names: readonly (readonly [string, readonly string[] | null])[] = [
      ["", ["folder", "root"]],
      [".", ["folder", "root"]],
      ["folder", ["a", "b", "lib"]],
      ["folder/", ["a", "b", "lib"]],
      ["./folder/lib/..", ["a", "b", "lib"]],
      ["folder/lib", ["c"]],
      ["root", null],
      ["absent", null],
      ["folder/absent", null],
      ["toString", null],
    ];
    for (const [path, expected] of names) {
      expect((await tree.namesIn(path))?.toSorted() ?? null, path).toEqual(expected);
    }
  });

  test.skipIf(skip)("has the same files for the compiler", async () => {
    const tree = await make({
      "infra/routes.yaml": "version: 1\npolicies: { dir: rules }\n",
      "infra/rules/b.rego": "b",
      "infra/rules/a.rego": "a",
      "infra/rules/.hidden.rego": "x",
      "infra/rules/notes.md": "x",
      "infra/rules/lib/names.rego": "w",
      "infra/rules/folder.rego/x": "x",
    });
    const files = await loadFromTree(tree, "infra/routes.yaml", "routes.yaml");
    expect(files.policies.map(({ path, text }) => [path, text])).toEqual([
      ["rules/a.rego", "a"],
      ["rules/b.rego", "b"],
      ["rules/folder.rego", ""],
      ["rules/lib/names.rego", "w"],
    ]);
    // A folder with a policy's name is no policy, and is not passed over either.
    expect(files.unreadable?.map(({ file, code }) => [file, code])).toEqual([
      ["rules/folder.rego", "SOURCE_UNREADABLE"],
    ]);
  });
});

describe("a folder as a tree, only", () => {
  test("follows links, as mounted volumes have them", async () => {
    const folder = temporaryFolder();
    writeTo(folder, { "data/real": "x" });
    symlinkSync("data", join(folder, "linked"));
    expect(await directoryTree(folder).readText("linked/real")).toBe("x");
  });
});

describe.skipIf(NO_GIT !== null)("a commit as a tree, only (needs git)", () => {
  const ROUTES = { "infra/routes.yaml": "one", "other/file": "x" };

  test("reads committed files and ignores the working tree", async () => {
    const folder = repository(ROUTES);
    writeTo(folder, { "infra/routes.yaml": "two" });
    const second = commit(folder, "second");
    writeTo(folder, { "infra/routes.yaml": "three" });
    const opened = await open(folder);
    expect(await textAt(opened, "HEAD~1", "infra/routes.yaml")).toBe("one");
    expect(await textAt(opened, "main", "infra/routes.yaml")).toBe("two");
    expect(await opened.commitOf("main")).toBe(second);
    expect(await opened.commitOf(second.slice(0, 10))).toBe(second);
  });

  test("a tag, annotated or not, a branch and a remote's branch name commits", async () => {
    const folder = repository(ROUTES);
    const first = git(folder, "rev-parse", "HEAD");
    git(folder, "tag", "light");
    git(folder, "tag", "--annotate", "--message", "v", "annotated");
    git(folder, "update-ref", "refs/remotes/origin/main", first);
    const opened = await open(folder);
    for (const ref of [
      "light",
      "annotated",
      "main",
      "origin/main",
      "refs/tags/light",
      "HEAD",
      "@",
    ]) {
      expect(await opened.commitOf(ref), ref).toBe(first);
    }
  });

  test("a subfolder reads the whole tree, by its own path in it", async () => {
    const folder = repository(ROUTES);
    const opened = await open(join(folder, "infra"));
    expect(opened.pathFromRoot("routes.yaml", "--config")).toBe("infra/routes.yaml");
    expect(opened.pathFromRoot("../other/file", "--config")).toBe("other/file");
    expect(await textAt(opened, "main", "other/file")).toBe("x");
    expect(await textAt(opened, "main", "infra/routes.yaml")).toBe("one");
    for (const path of ["../../outside", "../..", "/etc/passwd"]) {
      expect(() => opened.pathFromRoot(path, "--config"), path).toThrow(
        /^--config: leads out of the repository/,
      );
    }
  });

  test("bare repositories, linked worktrees and shallow clones have commits too", async () => {
    const folder = repository(ROUTES);
    writeTo(folder, { "infra/routes.yaml": "two" });
    commit(folder, "second");
    const beside = temporaryFolder();
    git(beside, "clone", "--quiet", "--bare", folder, "bare");
    git(folder, "worktree", "add", "--quiet", "--detach", join(beside, "worktree"));
    git(beside, "clone", "--quiet", "--depth", "1", `file://${folder}`, "shallow");
    for (const name of ["bare", "worktree", "shallow"]) {
      const opened = await open(join(beside, name));
      expect(await textAt(opened, "HEAD", "infra/routes.yaml"), name).toBe("two");
      expect(opened.pathFromRoot("routes.yaml", "--config"), name).toBe("routes.yaml");
    }
    const shallow = await open(join(beside, "shallow"));
    await expect(shallow.commitOf("HEAD~1")).rejects.toThrow(
      /^--base: this shallow clone has no commit of that name; in CI, fetch it: git fetch origin main/,
    );
    const worktree = await open(join(beside, "worktree", "infra"));
    expect(worktree.pathFromRoot("routes.yaml", "--config")).toBe("infra/routes.yaml");
  });

  test("a repository with SHA-256 objects is read the same", async ({ skip }) => {
    const folder = temporaryFolder();
    try {
      git(folder, "init", "--quiet", "--initial-branch", "main", "--object-format=sha256");
    } catch {
      skip("this git has no SHA-256 repositories");
    }
    writeTo(folder, ROUTES);
    expect(commit(folder, "first")).toHaveLength(64);
    expect(await textAt(await open(folder), "main", "infra/routes.yaml")).toBe("one");
  });

  test("refuses refs that name no commit", async () => {
    const folder = repository(ROUTES);
    const opened = await open(folder);
    const refs = [
      "nope",
      "origin/main",
      "^main",
      "main..main",
      "main...main",
      "main^!",
      "main:infra",
      "main:infra/routes.yaml",
      "main^{tree}",
      ":infra/routes.yaml",
      "--all",
      "--git-dir",
      "-h",
      "",
      " ",
      "main main",
      "@{upstream}",
      "0".repeat(40),
      "f".repeat(40),
      "constructor",
      "$(touch pwned)",
      "main; touch pwned",
    ];
    for (const ref of refs) {
      await expect(opened.commitOf(ref), ref).rejects.toThrow(
        /^--base: this repository has no commit of that name; in CI, fetch it: git fetch origin main/,
      );
    }
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  describe("a name that several refs have", () => {
    /** A branch with a change that a tag of the same name on main would hide. */
    function hidden() {
      const folder = repository(ROUTES);
      git(folder, "checkout", "--quiet", "-b", "evil");
      writeTo(folder, { "infra/routes.yaml": "changed" });
      const change = commit(folder, "change");
      git(folder, "tag", "evil", "main");
      return { folder, change };
    }

    test("is refused with its candidates, and each full name is a commit", async () => {
      const { folder, change } = hidden();
      git(folder, "update-ref", "refs/remotes/origin/main", change);
      git(folder, "tag", "origin/main", "main");
      git(folder, "update-ref", "refs/remotes/both/HEAD", change);
      git(folder, "branch", "both", "main");
      const opened = await open(folder);
      for (const [name, refs] of [
        ["evil", "refs/heads/evil, refs/tags/evil"],
        ["evil~0", "refs/heads/evil, refs/tags/evil"],
        ["evil^{commit}", "refs/heads/evil, refs/tags/evil"],
        ["origin/main", "refs/remotes/origin/main, refs/tags/origin/main"],
        ["both", "refs/heads/both, refs/remotes/both/HEAD"],
      ] as const) {
        await expect(opened.commitOf(name), name).rejects.toThrow(
          `--base: more than one ref has this name: ${refs}; give one of them in full, or the id of a commit`,
        );
      }
      expect(await opened.commitOf("refs/heads/evil")).toBe(change);
      expect(await opened.commitOf("refs/tags/evil")).not.toBe(change);
      expect(await opened.commitOf(change)).toBe(change);
    });

    test("is refused where a setting of the repository silences git's warning", async () => {
      const { folder } = hidden();
      git(folder, "config", "core.warnAmbiguousRefs", "false");
      await expect((await open(folder)).commitOf("evil")).rejects.toThrow(
        "more than one ref has this name",
      );
    });

    test("is refused where it is also the beginning of a commit's id", async () => {
      const { folder, change } = hidden();
      const short = change.slice(0, 10);
      git(folder, "branch", short, "main");
      await expect((await open(folder)).commitOf(short)).rejects.toThrow(
        `refs/heads/${short}, ${change}`,
      );
      git(folder, "branch", change, "main");
      expect(await (await open(folder)).commitOf(change)).toBe(change);
    });

    test("does not prevent reading HEAD or a full name, and git's warning is printed", async () => {
      const { folder, change } = hidden();
      git(folder, "tag", "HEAD", "main");
      git(folder, "tag", "refs/heads/evil", "main");
      let printed = "";
      const io = {
        cwd: folder,
        environment: GIT_ENVIRONMENT,
        stderr: (text: string) => void (printed += text),
      };
      const opened = await openRepository(io, "--base");
      expect(await opened.commitOf("HEAD")).toBe(change);
      expect(await opened.commitOf("refs/heads/evil")).toBe(change);
      expect(printed).toContain("git: warning: refname 'HEAD' is ambiguous.\n");
    });
  });

  test("two entries of one name in a folder of a commit are refused", async () => {
    const folder = repository(ROUTES);
    const blob = git(folder, "rev-parse", "main:infra/routes.yaml");
    const row = Buffer.concat([Buffer.from("100644 routes.yaml\0"), Buffer.from(blob, "hex")]);
    writeTo(folder, { "tree.bin": Buffer.concat([row, row]) });
    const tree = git(folder, "hash-object", "-t", "tree", "--literally", "-w", "tree.bin");
    const twice = git(folder, "commit-tree", tree, "-m", "twice");
    const opened = await open(folder);
    await expect(textAt(opened, twice, "routes.yaml")).rejects.toThrow(
      "--base: routes.yaml is twice in one folder of that commit; git fsck names the folder",
    );
    await expect(opened.tree(twice).namesIn("")).rejects.toThrow("twice in one folder");
  });

  test("finds the best common ancestor as merge base, and reports that there is none", async () => {
    const folder = repository(ROUTES);
    const fork = git(folder, "rev-parse", "HEAD");
    git(folder, "checkout", "--quiet", "-b", "change");
    const change = commit(folder, "change");
    git(folder, "checkout", "--quiet", "main");
    const main = commit(folder, "main goes on");
    git(folder, "checkout", "--quiet", "--orphan", "unrelated");
    const unrelated = commit(folder, "unrelated");
    const opened = await open(folder);
    expect(await opened.mergeBase(main, change)).toBe(fork);
    expect(await opened.mergeBase(fork, change)).toBe(fork);
    await expect(opened.mergeBase(main, unrelated)).rejects.toThrow(
      /^--merge-base: base and head have no common ancestor; leave/,
    );
    git(folder, "checkout", "--quiet", "main");
    const beside = temporaryFolder();
    git(
      beside,
      "clone",
      "--quiet",
      "--depth",
      "1",
      "--no-single-branch",
      `file://${folder}`,
      "shallow",
    );
    const shallow = await open(join(beside, "shallow"));
    await expect(shallow.mergeBase(main, change)).rejects.toThrow(
      /shallow clone; fetch the history: git fetch --unshallow/,
    );
  });

  test("links are refused where they are met, and only there", async () => {
    const folder = repository({ "policies/a.rego": "a", "real/b.rego": "b", "routes.yaml": "x" });
    symlinkSync("/etc/passwd", join(folder, "policies/out.rego"));
    symlinkSync("../real", join(folder, "policies/lib"));
    symlinkSync("absent", join(folder, "README"));
    commit(folder, "links");
    const opened = await open(folder);
    const tree = opened.tree(await opened.commitOf("main"));
    expect(await tree.readText("routes.yaml")).toBe("x");
    expect((await tree.namesIn("policies"))?.toSorted()).toEqual(["a.rego", "lib", "out.rego"]);
    const refusal = (path: string) =>
      `--base: ${path} is a symbolic link in that commit, and links are not followed there`;
    await expect(tree.readText("policies/out.rego")).rejects.toThrow(refusal("policies/out.rego"));
    await expect(tree.readText("policies/lib/b.rego")).rejects.toThrow(refusal("policies/lib"));
    await expect(tree.namesIn("policies/lib")).rejects.toThrow(refusal("policies/lib"));
    await expect(loadFromTree(tree, "routes.yaml", "routes.yaml")).rejects.toThrow(
      "is a symbolic link",
    );
  });

  test("submodules are refused", async () => {
    const folder = repository({ "routes.yaml": "x" });
    const id = git(folder, "rev-parse", "HEAD");
    git(folder, "update-index", "--add", "--cacheinfo", `160000,${id},policies`);
    git(folder, "commit", "--quiet", "--message", "submodule");
    const opened = await open(folder);
    const tree = opened.tree(await opened.commitOf("main"));
    await expect(tree.namesIn("policies")).rejects.toThrow(
      "--base: policies is a submodule in that commit",
    );
  });

  test("names the objects to fetch in a partial clone, and fetches nothing", async () => {
    const folder = repository(ROUTES);
    git(folder, "config", "uploadpack.allowFilter", "true");
    const beside = temporaryFolder();
    git(
      beside,
      "clone",
      "--quiet",
      "--filter=blob:none",
      "--no-checkout",
      `file://${folder}`,
      "partial",
    );
    const partial = join(beside, "partial");
    const opened = await open(partial);
    const before = git(partial, "count-objects", "-v");
    await expect(textAt(opened, "HEAD", "infra/routes.yaml")).rejects.toThrow(
      "--base: this clone does not hold all files of that commit, as partial clones do not; fetch them: git fetch --refetch --no-filter",
    );
    expect(git(partial, "count-objects", "-v")).toBe(before);
  });

  test("no object replaces another", async () => {
    const folder = repository(ROUTES);
    const first = git(folder, "rev-parse", "HEAD");
    writeTo(folder, { "infra/routes.yaml": "replaced" });
    git(folder, "replace", first, commit(folder, "second"));
    expect(await textAt(await open(folder), first, "infra/routes.yaml")).toBe("one");
  });

  test("runs no program that the repository configures", async () => {
    const folder = repository({
      ...ROUTES,
      ".gitattributes": "* filter=evil diff=evil text eol=crlf\n",
    });
    const script = join(folder, ".git", "evil.sh");
    writeFileSync(script, `#!/bin/sh\ntouch '${folder}/pwned'\ncat\n`);
    chmodSync(script, 0o755);
    for (const key of [
      "core.fsmonitor",
      "core.pager",
      "core.editor",
      "core.sshCommand",
      "core.askPass",
      "filter.evil.smudge",
      "filter.evil.process",
      "diff.evil.textconv",
      "diff.external",
      "alias.cat-file",
      "alias.ls-tree",
      "alias.rev-parse",
      "credential.helper",
    ]) {
      git(folder, "config", key, key.startsWith("alias.") ? `!${script}` : script);
    }
    const hooks = join(folder, ".git", "hooks");
    mkdirSync(hooks, { recursive: true });
    for (const hook of [
      "post-checkout",
      "post-index-change",
      "reference-transaction",
      "pre-auto-gc",
    ]) {
      writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch '${folder}/pwned'\n`);
      chmodSync(join(hooks, hook), 0o755);
    }
    const opened = await open(folder);
    expect(await textAt(opened, "main", "infra/routes.yaml")).toBe("one");
    await opened.mergeBase(await opened.commitOf("main"), await opened.commitOf("HEAD"));
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  test("reading changes nothing in the repository", async () => {
    const folder = repository(ROUTES);
    writeTo(folder, { "infra/routes.yaml": "two" });
    const state = () => [
      git(folder, "status", "--porcelain"),
      git(folder, "for-each-ref"),
      git(folder, "count-objects", "-v"),
    ];
    const before = state();
    await textAt(await open(folder), "main", "infra/routes.yaml");
    expect(state()).toEqual(before);
  });

  test("a folder outside of any repository is refused with the fix", async () => {
    await expect(
      open(temporaryFolder(), { ...GIT_ENVIRONMENT, GIT_CEILING_DIRECTORIES: "/" }),
    ).rejects.toThrow(
      "--base: this folder is not in a git repository; run the command in one, or give two folders, such as --base ./before",
    );
  });

  test("a repository of another user is refused", async () => {
    const folder = repository(ROUTES);
    await expect(
      open(folder, { ...GIT_ENVIRONMENT, GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" }),
    ).rejects.toThrow("--base: git does not trust this repository, which belongs to another user");
  });
});

test("without git the message suggests to install it or to give two folders", async () => {
  const empty = temporaryFolder();
  await expect(open(empty, { PATH: empty })).rejects.toThrow(
    "--base: git cannot be run; install it, or give two folders, such as --base ./before",
  );
});
