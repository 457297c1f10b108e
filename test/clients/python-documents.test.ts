import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { fencesOf, textOf } from "../docs/commands/blocks.ts";
import { startTestServer } from "../support/server.ts";
import { INTERPRETER, NEEDS } from "./python/interpreter.ts";

const ADDRESS = "http://127.0.0.1:8080";
const PROGRAMS = ["README.md", "docs/calling.md"].flatMap((page) =>
  fencesOf(page, textOf(page)).filter(({ language }) => language === "python"),
);

it("the documents contain a program in Python, and one that streams", () => {
  expect(PROGRAMS.length).toBeGreaterThan(1);
  expect(PROGRAMS.some(({ text }) => text.includes("stream=True"))).toBe(true);
  expect(PROGRAMS.filter(({ text }) => !text.includes(`${ADDRESS}/v1`))).toEqual([]);
});

it.skipIf(INTERPRETER === null)(
  `the programs in Python print the answer of the shipped route (${NEEDS})`,
  async () => {
    const test = await startTestServer();
    const environment = { ...process.env, SIGNALBOX_KEY: await test.key("demo", ["inference"]) };
    for (const { text } of PROGRAMS) {
      const program = text.replace(ADDRESS, test.server.url);
      const { stdout } = await promisify(execFile)(INTERPRETER ?? "", ["-c", program], {
        env: environment,
      });
      expect(stdout).toContain("Simulated answer from gpt-5-mini to 1 message.");
    }
  },
);
