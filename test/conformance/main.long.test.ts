import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

describe("on the command line", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-conformance-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  const run = async (
    ...args: string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> => {
    const main = join(import.meta.dirname, "main.ts");
    return await promisify(execFile)(process.execPath, [main, ...args]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  };

  test("exits with 0 only if every case has its known result", async () => {
    const right = {
      note: "right",
      query: "data.t.p = x",
      modules: ["package t\n\np := 1\n"],
      want_result: [{ x: 1 }],
    };
    const wrong = { ...right, note: "wrong", modules: ["package t\n\np := 2\n"] };
    const path = await write("cli.jsonl", `${JSON.stringify(right)}\n${JSON.stringify(wrong)}\n`);
    const [all, first, second] = await Promise.all([
      run(path),
      run(path, "--every", "2"),
      run(path, "--only", "wron"),
    ]);
    expect(all).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/2 cases[^]*1 {2}right[^]*wrong \([^]*gives/),
    });
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("1 cases") });
    expect(second).toMatchObject({ code: 1, stdout: expect.stringContaining("0  right") });
  });

  test.each([
    [["a", "b"], "give one PATH only"],
    [["--every", "0"], "--every must be a whole number from 1"],
    [["--none"], "--none"],
    [["absent.jsonl"], "absent.jsonl does not exist"],
  ])("refuses %j", async (args, complaint) => {
    expect(await run(...args)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(complaint),
    });
  });
});
