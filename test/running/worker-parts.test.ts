import { describe, expect, it } from "vitest";
import { Restarts } from "../../src/server/workers/start-workers.ts";
import {
  formatExposition,
  joinFamilies,
  readFamilies,
  reading,
} from "../../src/telemetry/families.ts";
import { parseServeOptions } from "../../src/cli/serve/options.ts";
import { UsageError } from "../../src/cli/terminal/command-io.ts";

describe("one page of several processes", () => {
  const gauge = (name: string, value: number, route?: string) =>
    reading("gauge", name, `Of ${name}.`, route === undefined ? [] : ["route"], () =>
      route === undefined ? [[value]] : [[value, route]],
    );
  const merged = (accept?: string): string => {
    const first = readFamilies([gauge("a", 1, "r {x} y"), gauge("b", 2)]);
    const second = readFamilies([gauge("a", 3, "s"), gauge("c", 4)]);
    const joined = joinFamilies([
      ["0", first],
      ["1", second],
    ]);
    return formatExposition(joined, accept).text;
  };

  it("has each family once, and the worker of each sample as a label", () => {
    expect(merged()).toBe(
      '# HELP a Of a.\n# TYPE a gauge\na{worker="0",route="r {x} y"} 1\na{worker="1",route="s"} 3\n' +
        '# HELP b Of b.\n# TYPE b gauge\nb{worker="0"} 2\n# HELP c Of c.\n# TYPE c gauge\nc{worker="1"} 4\n',
    );
  });

  it("ends with OpenMetrics' end once", () => {
    expect(merged("application/openmetrics-text").split("# EOF")).toHaveLength(2);
  });
});

it("the wait before a restart grows for a worker that exits soon, and is brief after one that ran long", () => {
  const restarts = new Restarts();
  const waits = Array.from({ length: 12 }, () => restarts.next(0));
  expect(waits.slice(0, 4)).toEqual([100, 200, 400, 800]);
  expect(waits.at(-1)).toBe(30_000);
  expect(restarts.next(60_000)).toBe(100);
  expect(restarts.total).toBe(13);
});

describe("--workers", () => {
  const io = (environment: Record<string, string> = {}) => ({
    stdout: () => {},
    stderr: () => {},
    stdin: () => Promise.resolve(""),
    environment,
    cwd: "/",
    terminal: false,
    columns: 80,
    stderrTerminal: false,
  });

  it("is a number, auto, or the value of SIGNALBOX_WORKERS", () => {
    expect(parseServeOptions([], io()).workers).toBe(1);
    expect(parseServeOptions(["--workers", "3"], io()).workers).toBe(3);
    expect(parseServeOptions([], io({ SIGNALBOX_WORKERS: "2" })).workers).toBe(2);
    expect(parseServeOptions(["--workers", "auto"], io()).workers).toBeGreaterThan(0);
  });

  it.each(["0", "65", "1.5", "many", ""])("refuses %j by its name, without the value", (given) => {
    const parse = (): unknown => parseServeOptions(["--workers", given], io());
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow("--workers: must be a whole number from 1 to 64, or auto");
  });
});
