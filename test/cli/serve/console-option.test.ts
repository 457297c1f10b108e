import { describe, expect, it } from "vitest";
import { parseServeOptions } from "../../../src/cli/serve/options.ts";
import type { CommandIo } from "../../../src/cli/terminal/command-io.ts";

const io: CommandIo = {
  cwd: "/nowhere",
  environment: {},
  stdout: () => {},
  stderr: () => {},
  signal: new AbortController().signal,
};

const consoleOf = (...argv: readonly string[]): string | undefined =>
  parseServeOptions(argv, io).console;

describe("--console", () => {
  it("defaults to the admin listener where only this machine reaches it, and to off elsewhere", () => {
    expect(consoleOf()).toBe("admin");
    expect(consoleOf("--admin-host", "::1")).toBe("admin");
    expect(consoleOf("--admin-host", "0.0.0.0")).toBe("off");
    expect(consoleOf("--admin-host", "0.0.0.0", "--behind-proxy")).toBe("off");
  });

  it("selects the listener of the console, and refuses other values", () => {
    for (const listener of ["admin", "public", "off"])
      expect(consoleOf("--console", listener)).toBe(listener);
    expect(() => consoleOf("--console", "both")).toThrow(
      "--console: must be one of admin, public, off",
    );
  });

  it("lets no key be pasted into a page of another machine in clear, unless that is requested", () => {
    const exposed = ["--console", "admin", "--admin-host", "0.0.0.0"];
    expect(() => consoleOf(...exposed)).toThrow(
      "--console: --admin-host is reached from other machines",
    );
    expect(consoleOf(...exposed, "--behind-proxy")).toBe("admin");
    expect(consoleOf(...exposed, "--insecure-http")).toBe("admin");
    expect(consoleOf("--console", "public", "--admin-host", "0.0.0.0")).toBe("public");
  });
});
