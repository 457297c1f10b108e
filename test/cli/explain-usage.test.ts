import { describe, expect, it } from "vitest";
import { explainRequest } from "../../src/cli/explain/explain.ts";
import { runCommand } from "../keys/command.ts";
import { OF, ROOT } from "./explain-command.ts";

describe("a command line that cannot be used", () => {
  const good = { operation: "chat.completions", workspace: "demo", model: "chat-small" };
  const workspaceOnly = JSON.stringify({ workspace: "w" });
  it.each<[string, Record<string, string | boolean>, string]>([
    ["no operation", { operation: "" }, "--operation: is missing; give it, such as --operation chat.completions"],
    [
      "an operation with a typo",
      { operation: "chat.completion" },
      "moderations; did you mean chat.completions? (given: `chat.completion`)",
    ],
    ["no model", { model: "" }, "--model: is missing"],
    ["no workspace", { workspace: "" }, "--workspace: is missing"],
    ["a need with a typo", { needs: "tols" }, "--needs: is not an allowed value; did you mean `tools`?"],
    ["a second need with a typo", { needs: "tools,json_shema" }, "did you mean `json_schema`?"],
    ["a feature with a typo", { features: "sead" }, "--features: is not an allowed value; did you mean `seed`?"],
    ["a bucket with a typo", { context: "to_4" }, "over_1m; did you mean to_4k? (given: `to_4`)"],
    ["another bucket", { "max-output": "lots" }, "--max-output: must be one of unspecified, to_1k"],
    ["an effort", { "reasoning-effort": "hihg" }, "max; did you mean high? (given: `hihg`)"],
    ["dimensions", { dimensions: "many" }, "--dimensions: must be a whole number from 1 to 1000000"],
    ["no dimensions", { dimensions: "0" }, "--dimensions: must be a whole number"],
    [
      "data collection",
      { "data-collection": "alow" },
      "--data-collection: must be one of allow, deny; did you mean allow?",
    ],
    ["an empty list", { only: "," }, "--only: needs a name"],
    ["a window", { time: "weekday" }, "--time: must be a day and an hour, such as weekday/night"],
    [
      "an hour",
      { time: "weekday/nigth" },
      "--time: must be one of night, morning, afternoon, evening; did you mean night?",
    ],
    ["a time", { at: "yesterday" }, "--at: must be an RFC 3339 time"],
    ["two times", { at: "2026-03-01T22:00:00Z", time: "weekday/night" }, "--at, --time: give one of them"],
    ["a format", { format: "jsn" }, "--format: must be one of terminal, json; did you mean json?"],
    ["an unknown flag", { modle: "x" }, "--modle: there is no such flag"],
    ["preferences that are no JSON", { preferences: "{only" }, "--preferences: must be a JSON object"],
    ["a preference that is none", { preferences: '{"onyl":["p"]}' }, "--preferences: Unknown field onyl"],
    ["preferences twice", { preferences: "{}", zdr: true }, "--preferences, --zdr: give one of them"],
    [
      "a request and its shape",
      { request: "-", needs: "tools" },
      "--request, --needs: the body in --request has this already",
    ],
    ["a request that is not there", { request: "nowhere.json" }, "--request: the file cannot be read"],
    ["a point and flags", { point: workspaceOnly }, "--point, --workspace: --point has the whole request"],
    [
      "a server and files",
      { server: "http://127.0.0.1:1", config: "x" },
      "--server, --config: the decision comes from files or from a server",
    ],
    [
      "a server and a key's attributes",
      { server: "http://127.0.0.1:1" },
      "--server, --workspace: the server reads it from the key in SIGNALBOX_KEY",
    ],
  ])("%s", async (_, more, message) => {
    const flags = Object.entries({ ...good, ...more }).flatMap(([name, value]) =>
      value === "" ? [] : typeof value === "boolean" ? [`--${name}`] : [`--${name}`, value],
    );
    const { code, stdout, stderr } = await runCommand(explainRequest, flags, { cwd: ROOT });
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([2, ""]);
  });

  it.each([
    ["nothing", "{}", "workspace is required"],
    ["text", "hello", "must be a JSON object"],
    ["a list", "[]", "must be a JSON object"],
    ["an unknown value", '{"needs":["flying"]}', "is required"],
  ])("a point of %s", async (_, sample, message) => {
    const { code, stderr } = await runCommand(explainRequest, ["--point", sample], { cwd: ROOT });
    expect(code).toBe(2);
    expect(stderr).toContain(`--point: `);
    expect(stderr).toContain(message);
  });

  it("repeats no secret that was typed for the wrong flag", async () => {
    const secret = "sbx_live_0123456789abcdef0123456789abcdef";
    for (const flag of [
      "--operation",
      "--needs",
      "--context",
      "--time",
      "--at",
      "--format",
      "--dimensions",
      "--point",
      "--preferences",
      "--server",
    ]) {
      const { stderr } = await runCommand(explainRequest, [...OF.slice(0, 2), "--workspace", "demo", flag, secret], {
        cwd: ROOT,
      });
      expect(stderr, flag).not.toContain(secret);
      expect(stderr, flag).toContain("--");
    }
  });

  it("--help says everything without asking for anything", async () => {
    const { code, stdout } = await runCommand(explainRequest, ["--help"]);
    expect(code).toBe(0);
    for (const flag of ["--point", "--promoted", "--server", "--signature-families"]) expect(stdout).toContain(flag);
  });
});
