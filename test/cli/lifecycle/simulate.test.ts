import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import { report } from "../simulate/html/report-fixture.ts";
import { temporaryFolder } from "../simulate/repository.ts";
import { DIGESTS, fakeServer, view } from "./fake-server.ts";

const GET = "GET /v1/policies/eu-residency";
const SIMULATION = `${GET}/simulation?digest=${DIGESTS.r2}`;

it("the command prints the server's report, and writes the bytes that an approval names", async () => {
  const text = formatJson(report());
  const server = await fakeServer({ [GET]: { body: view() }, [SIMULATION]: { body: text } });
  const cwd = temporaryFolder();
  const argv = ["simulate", "eu-residency", "--format", "json=report.json", "--format", "terminal"];
  const environment = { SIGNALBOX_KEY: "k", SIGNALBOX_SERVER: server.url };
  const { code, stdout, stderr } = await server.run(argv, { cwd, environment });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("Simulation of ");
  expect(readFileSync(join(cwd, "report.json"), "utf8")).toBe(text);
});

it.each([
  ["no report", { object: "policy" }],
  [
    "a report without its members",
    { format: "signalbox.simulation.v4", head: { table_revision: "a" }, space: {} },
  ],
  [
    "a report that would act on the terminal",
    { ...report(), base: { ...report().base, name: "\u001b[2J" } },
  ],
])("the command line is refused with %s", async (_, body) => {
  const server = await fakeServer({ [GET]: { body: view() }, [SIMULATION]: { body } });
  const { code, stderr } = await server.run(["simulate", "eu-residency"]);
  expect(code).toBe(1);
  expect(stderr).toContain("a simulation report that this version cannot read");
});
