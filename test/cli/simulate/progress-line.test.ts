import { expect, test } from "vitest";
import { progressLine } from "../../../src/cli/simulate/simulate.ts";

function line(stderrTerminal: boolean, quiet = false) {
  const written: string[] = [];
  let now = 0;
  const io = {
    stdout: () => {
      throw new Error("progress is not for stdout");
    },
    stderr: (text: string) => void written.push(text),
    environment: {},
    cwd: "/nowhere",
    stderrTerminal,
  };
  const shown = progressLine(io, quiet, () => now);
  return { shown, written, wait: (milliseconds: number) => (now += milliseconds) };
}

const CLEAR = "\r\u001b[2K";

test("progress is one line that is overwritten, and cleared at the end", () => {
  const { shown, written, wait } = line(true);
  shown.show({ done: 0, of: 3184 });
  wait(200);
  shown.show({ done: 1200, of: 3184 });
  shown.clear();
  shown.clear();
  expect(written).toEqual([
    `${CLEAR}Deciding requests: 0 of 3,184 pairs of workspace and route, by operation`,
    `${CLEAR}Deciding requests: 1,200 of 3,184 pairs of workspace and route, by operation`,
    CLEAR,
  ]);
});

test("progress is written at most five times a second", () => {
  const { shown, written, wait } = line(true);
  for (let done = 0; done < 1000; done += 1) {
    shown.show({ done, of: 1000 });
    wait(1);
  }
  expect(written).toHaveLength(5);
});

test.for([
  [false, false],
  [true, true],
  [false, true],
] as const)(
  "progress is printed only to a terminal and without --quiet: terminal %j, quiet %j",
  ([terminal, quiet]) => {
    const { shown, written } = line(terminal, quiet);
    shown.show({ done: 1, of: 2 });
    shown.clear();
    expect(written).toEqual([]);
  },
);

test("a progress line that was never shown is not cleared", () => {
  const { shown, written } = line(true);
  shown.clear();
  expect(written).toEqual([]);
});
