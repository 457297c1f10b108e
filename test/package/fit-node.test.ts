import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unfitNode } from "../../src/cli/terminal/process.ts";
import { ROOT } from "./packed.ts";

describe("the running Node", () => {
  it.each(["20.20.2", "22.18.0", "22.19.9", "23.11.0", "24.6.0"])(
    "%s is refused as too old",
    (version) => {
      expect(unfitNode(version)).toBe(
        `signalbox needs Node 22.20 or a later 22, or 24.7 or newer; this is ${version}`,
      );
    },
  );

  it.each(["22.20.0", "22.23.3", "24.7.0", "24.21.0", "25.0.0", "26.10.0", "100.0.0"])(
    "%s is accepted",
    (version) => {
      expect(unfitNode(version)).toBeNull();
    },
  );

  it("is checked before any command is loaded", () => {
    const older =
      "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})";
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--import", older, join(ROOT, "src/main.ts"), "--version"],
      {
        encoding: "utf8",
      },
    );
    expect([status, stderr]).toEqual([
      1,
      "signalbox needs Node 22.20 or a later 22, or 24.7 or newer; this is 20.1.0\n",
    ]);
  });
});
