import { describe, expect, it } from "vitest";
import { Restarts, mergePages } from "../../src/server/workers/worker-pool.ts";
import { parseServeOptions } from "../../src/cli/serve/options.ts";
import { UsageError } from "../../src/cli/terminal/command-io.ts";

describe("one page of several processes", () => {
  const page = (text: string) => ({ contentType: "t", text });

  it("says a family once and of each sample whose it is", () => {
    const first = page(
      '# HELP a Of a.\n# TYPE a counter\na_total{route="r {x} y"} 1\n# HELP b Of b.\n# TYPE b gauge\nb 2\n',
    );
    const second = page(
      '# HELP a Of a.\n# TYPE a counter\na_total{route="s"} 3\n# HELP c Of c.\n# TYPE c gauge\nc 4\n',
    );
    expect(mergePages({ worker: "0", page: first }, [{ worker: "1", page: second }])).toEqual(
      page(
        '# HELP a Of a.\n# TYPE a counter\na_total{worker="0",route="r {x} y"} 1\na_total{worker="1",route="s"} 3\n' +
          '# HELP b Of b.\n# TYPE b gauge\nb{worker="0"} 2\n# HELP c Of c.\n# TYPE c gauge\nc{worker="1"} 4\n',
      ),
    );
  });

  it("keeps OpenMetrics' end at the end", () => {
    const one = page("# TYPE a gauge\na 1\n# EOF\n");
    const merged = mergePages({ worker: "0", page: one }, [{ worker: "1", page: one }]);
    expect(merged.text).toBe('# TYPE a gauge\na{worker="0"} 1\na{worker="1"} 1\n# EOF\n');
  });
});

it("waits longer before each start of a worker that does not stay, and briefly again for one that had", () => {
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

  it("is a number, auto, or what the environment says", () => {
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
