import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { programAtHand } from "../support/at-hand.ts";
import { applyMutant, type Mutant } from "./mutants.ts";

export type Verdict = "passed" | "failed" | "timed out";

interface TestReport {
  readonly numTotalTests: number;
  readonly testResults: readonly { readonly name: string; readonly status: string }[];
}

/**
 * A copy of a working tree in a temporary folder. Mutants are written there only: an abort leaves
 * the tree as it was.
 */
export class TreeCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), "signalbox-mutation-"));
  readonly #tree = join(this.#folder, "tree");
  #tests: ChildProcess | undefined;

  /**
   * Copies the files that git knows or does not ignore. Dependencies, and `shared` beside the tree,
   * are linked.
   */
  constructor(root: string) {
    const git = programAtHand("git");
    if (git === null) throw new Error("mutation tests need git, which lists the files to copy");
    const listed = execFileSync(
      git,
      ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      { cwd: root },
    );
    for (const file of listed.toString().split("\0")) {
      if (file === "" || !existsSync(join(root, file))) continue;
      mkdirSync(dirname(join(this.#tree, file)), { recursive: true });
      cpSync(join(root, file), join(this.#tree, file), { verbatimSymlinks: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.#tree, "node_modules"));
    if (existsSync(join(root, "../shared")))
      symlinkSync(join(root, "../shared"), join(this.#folder, "shared"));
  }

  read(file: string): string {
    return readFileSync(join(this.#tree, file), "utf8");
  }

  /** Calls `judge` while the file has the mutant, and puts the file back. */
  async withMutant<T>(file: string, mutant: Mutant, judge: () => Promise<T>): Promise<T> {
    const source = this.read(file);
    writeFileSync(join(this.#tree, file), applyMutant(source, mutant));
    try {
      return await judge();
    } finally {
      writeFileSync(join(this.#tree, file), source);
    }
  }

  /**
   * Test files below the paths that pass in the unchanged copy, relative to it; throws where there
   * are none.
   */
  async passing(paths: readonly string[], limit: number): Promise<readonly string[]> {
    const path = join(this.#folder, "report.json");
    await this.#run([...paths, "--reporter=json", `--outputFile=${path}`], limit);
    const report = existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as TestReport)
      : undefined;
    rmSync(path, { force: true });
    const passed = report?.testResults.filter(({ status }) => status === "passed") ?? [];
    if (passed.length === 0)
      throw new Error(`no test of ${paths.join(", ")} passes in ${limit / 1000} s`);
    return passed.map(({ name }) => name.slice(this.#tree.length + 1));
  }

  /** Runs the test files until the first failure, for at most `limit` milliseconds. */
  async judge(files: readonly string[], limit: number): Promise<Verdict> {
    return this.#run([...files, "--bail=1", "--reporter=dot"], limit);
  }

  /** Ends the tests that run and removes the copy. */
  close(): void {
    endGroup(this.#tests);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #run(parameters: readonly string[], limit: number): Promise<Verdict> {
    const command = ["node_modules/vitest/vitest.mjs", "run", "--project=quick", ...parameters];
    // A group of its own: a test's servers end with it when the time is over.
    const tests = spawn(process.execPath, command, {
      cwd: this.#tree,
      stdio: "ignore",
      detached: true,
    });
    this.#tests = tests;
    return new Promise((resolve) => {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        endGroup(tests);
      }, limit);
      tests.once("exit", (code) => {
        clearTimeout(timer);
        resolve(late ? "timed out" : code === 0 ? "passed" : "failed");
      });
    });
  }
}

function endGroup(tests: ChildProcess | undefined): void {
  if (tests?.pid === undefined || tests.exitCode !== null || tests.signalCode !== null) return;
  process.kill(-tests.pid, "SIGKILL");
}
