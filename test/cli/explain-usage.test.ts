import { describe, expect, it } from "vitest";
import { explainRequest } from "../../src/cli/explain/explain.ts";
import { runCommand } from "../keys/command.ts";
import { point, ROOT } from "./explain-command.ts";

describe("a command line that cannot be used", () => {
  const good = { operation: "chat.completions", workspace: "demo", model: "chat-small" };
  it.each<[string, object, readonly string[], string]>([
    ["no operation", { operation: undefined }, [], "--point: operation is required"],
    [
      "an operation with a typo",
      { operation: "chat.completion" },
      [],
      "--point: operation must be one of",
    ],
    ["no model", { model: undefined }, [], "--point: model is required; give it as in {"],
    ["no workspace", { workspace: undefined }, [], "--point: workspace is required"],
    ["an unknown need", { needs: ["tols"] }, [], "--point: needs[0] must be one of"],
    [
      "an unknown size",
      { context: "to_4" },
      [],
      "--point: context must be one of unspecified, to_1k",
    ],
    [
      "dimensions as text",
      { dimensions: "many" },
      [],
      "--point: dimensions must be number or null",
    ],
    ["half a time", { time: { day: "weekday" } }, [], "--point: time.hour is required"],
    ["an unknown member", { modle: "x" }, [], "--point: Unknown field modle"],
    [
      "an unknown preference",
      { preferences: { onyl: ["p"] } },
      [],
      "--point: Unknown field preferences.onyl",
    ],
    [
      "an unknown format",
      {},
      ["--format", "jsn"],
      "--format: must be one of terminal, json; did you mean json?",
    ],
    ["an unknown flag", {}, ["--modle", "x"], "--modle: there is no such flag"],
    [
      "a request and its shape",
      { maxOutput: "to_1k" },
      ["--request", "-"],
      "--request, --point: the body in --request has maxOutput; remove it from --point",
    ],
    [
      "a request that is not there",
      {},
      ["--request", "nowhere.json"],
      "--request: the file cannot be read",
    ],
    [
      "a server and files",
      {},
      ["--server", "http://127.0.0.1:1", "--config", "x"],
      "--server, --config: the decision comes from files or from a server",
    ],
  ])("with %s is refused with its fix", async (_, members, flags, message) => {
    const argv = ["--point", JSON.stringify({ ...good, ...members }), ...flags];
    const { code, stdout, stderr } = await runCommand(explainRequest, argv, { cwd: ROOT });
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([2, ""]);
  });

  it.each([["hello"], ["[]"], [""]])(
    "with %j as --point is refused with an example",
    async (text) => {
      const { code, stderr } = await runCommand(explainRequest, [`--point=${text}`], { cwd: ROOT });
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /--point: (?:must be a JSON object|is missing; give it, such as --point '\{)/,
      );
    },
  );

  it("repeats no secret that was typed for the wrong flag", async () => {
    const secret = "sbx_live_0123456789abcdef0123456789abcdef";
    const lines = [
      ["--point", secret],
      point({ ...good, operation: secret }),
      ...["--format", "--server"].map((flag) => [...point(good), flag, secret]),
    ];
    for (const argv of lines) {
      const { stderr } = await runCommand(explainRequest, argv, { cwd: ROOT });
      expect(stderr, argv[0]).not.toContain(secret);
      expect(stderr, argv[0]).toContain("--");
    }
  });

  it("--help prints usage with every option and exits with 0, without prompting", async () => {
    const { code, stdout } = await runCommand(explainRequest, ["--help"]);
    expect(code).toBe(0);
    for (const flag of ["--point", "--promoted", "--server", "signatureFamilies"])
      expect(stdout).toContain(flag);
  });
});
