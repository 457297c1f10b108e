import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENTS } from "../clients/matrix/agents/agents.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../docs/coding-agents.md"), "utf8");

const AGENT_PATHS = {
  url: "http://router.example",
  key: "the-key",
  model: "the-model",
  home: "/home",
};

/** Names of settings in a file of settings. */
function namesIn(text: string): readonly string[] {
  return [
    ...text.matchAll(/^\s*(?:- )?"?([a-zA-Z_]+)"? ?[=:]/gm),
    ...text.matchAll(/"([a-zA-Z]+)":/g),
  ].map(([, name = ""]) => name);
}

describe.each(AGENTS)("the page about coding agents, $name", (agent) => {
  it("shows the variables that the runs set", () => {
    const names = Object.keys(agent.environment(AGENT_PATHS)).filter(
      (name) => !/TELEMETRY/.test(name),
    );
    expect(names.filter((name) => !page.includes(name))).toEqual([]);
  });

  it("shows the settings that the runs write", () => {
    const files = Object.entries(agent.files?.(AGENT_PATHS) ?? {});
    expect(files.filter(([path]) => !page.includes(basename(path)))).toEqual([]);
    // cline's own command writes diagnostics that do not matter here.
    if (agent.program === "cline") return;
    expect(
      files.flatMap(([, text]) => namesIn(text)).filter((name) => !page.includes(name)),
    ).toEqual([]);
  });
});
