import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { verdictOf } from "../../../src/cli/simulate/exit-code.ts";
import { readSimulateOptions } from "../../../src/cli/simulate/options.ts";
import { FORMATS, isFormat } from "../../../src/cli/simulate/formats/formats.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";
import { endpoint, provider, route, table, workspace } from "../../support/table.ts";
import { pathLines, sideOf, simulate } from "../small-sides.ts";

/** Both routes of one workspace; `chat` leads to the US already. */
function fixture(fallbacks: readonly string[], host = "us.example"): RoutingTable {
  return table({
    providers: [
      provider("p"),
      provider("us", { region: "us-east", baseUrl: `https://${host}/v1` }),
    ],
    endpoints: [endpoint("a"), endpoint("b", { provider: "us", region: "us-east" })],
    routes: [route("chat", "a", ["b"]), route("chat-eu", "a", fallbacks)],
    workspaces: [workspace("w", { providers: ["p", "us"], routes: ["chat", "chat-eu"] })],
  });
}

/** The gate that the shipped workflow passes, and the one of an action without `fail-on`. */
const SHIPPED = [
  gateIn("workflows/simulate.yml", /fail-on: (\S+)/),
  gateIn("actions/simulate/action.yml", /\n {2}fail-on:\n.*\n {4}default: (\S+)/),
];

function gateIn(path: string, pattern: RegExp): string {
  return (
    pattern.exec(readFileSync(new URL(`../../../.github/${path}`, import.meta.url), "utf8"))?.[1] ??
    ""
  );
}

it.each(SHIPPED)(
  "a fallback to where another route leads already is new for its route, and fails %s",
  async (gate) => {
    const report = await simulate(await sideOf(fixture([])), await sideOf(fixture(["b"])));
    expect(report.declared.new_data_paths).toEqual([]);
    expect(report.declared.new_route_paths).toMatchObject([
      {
        route: "chat-eu",
        workspace: "w",
        provider: "us",
        region: "us-east",
        host: "us.example",
        other_host: null,
      },
    ]);
    const { failOn } = readSimulateOptions(["--base", "./a", "--fail-on", gate], "/", {
      environment: {},
    });
    expect(verdictOf(report, { detailedExitcode: false, failOn, promoting: false }).exitCode).toBe(
      3,
    );
    const back = await simulate(await sideOf(fixture(["b"])), await sideOf(fixture([])));
    expect(back.declared.new_route_paths).toEqual([]);
    expect(verdictOf(back, { detailedExitcode: false, failOn, promoting: false }).exitCode).toBe(0);
  },
);

it("another host of a provider is a new data path, and both hosts are shown", async () => {
  const report = await simulate(
    await sideOf(fixture([])),
    await sideOf(fixture([], "elsewhere.example")),
  );
  expect(pathLines(report.declared.new_data_paths)[0]).toBe(
    "w chat.completions → us us-east (chat)",
  );
  for (const path of report.declared.new_data_paths) {
    expect(path).toMatchObject({ host: "elsewhere.example", other_host: "us.example" });
  }
  const moved = report.declared.groups.find(({ kinds }) => kinds.includes("destination_changed"));
  const hosts = [moved?.base, moved?.head].map((side) => side?.plan.map(({ host }) => host).at(-1));
  expect(hosts).toEqual(["us.example", "elsewhere.example"]);
  const { failOn } = readSimulateOptions(["--base", "./a", "--fail-on", "new_destination"], "/", {
    environment: {},
  });
  expect(verdictOf(report, { detailedExitcode: false, failOn, promoting: false }).exitCode).toBe(3);
});

it.each(Object.keys(FORMATS).filter(isFormat))(
  "the %s format shows both hosts of a moved provider",
  async (format) => {
    const report = await simulate(
      await sideOf(fixture([])),
      await sideOf(fixture([], "elsewhere.example")),
    );
    const text = FORMATS[format](report, { colour: false, width: 120, reportDigest: null });
    expect(text).toContain("us.example");
    expect(text).toContain("elsewhere.example");
  },
);
