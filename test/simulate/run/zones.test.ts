import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { formatHeader, formatRow } from "../../../src/evidence/export-line.ts";
import {
  explainExample,
  readExampleRequest,
} from "../../../src/simulate/evidence/find-examples.ts";
import { table } from "../../support/table.ts";
import { sideOf, simulate } from "../small-sides.ts";

const BERLIN = "Europe/Berlin";
const OPENING = "input.local_time[zone].hour >= 8";

/** A policy whose constraint `open` passes for candidates that meet one of the conditions. */
function policy(...conditions: readonly string[]): readonly Source[] {
  const rules = conditions.map(
    (condition) =>
      `pass.open contains candidate.id if {\n\tsome candidate in input.candidates\n\t${condition}\n}\n`,
  );
  const text = `# METADATA
# scope: package
# title: Opening hours
# custom:
#   signalbox:
#     contract: 1
#     id: opening
#     owners: [group:a]
#     constraints:
#       open: {effect: require_all, reasons: [CLOSED]}
package signalbox.policy.opening

${rules.join("\n").replaceAll("[zone]", `["${BERLIN}"]`)}`;
  return [{ path: "policies/opening.rego", text }];
}

/** The same time in UTC: half past seven in Berlin in winter, half past eight in summer. */
const WINTER = Date.parse("2026-01-14T06:30:00Z");
const SUMMER = Date.parse("2026-07-15T06:30:00Z");

const recordAt = (at: number): object => ({
  at,
  operation: "chat.completions",
  outcome: "route",
  workspace: "w",
  environment: "production",
  route: "r",
  stream: false,
  needs: [],
  features: [],
  context: "to_1k",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
  plan: ["a", "b"],
  reason: null,
  requestId: `at-${at}`,
});

describe("recorded requests of policies with time zones", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-zones-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("are decided again by the zone's clock at their time, summer time included", async () => {
    const path = join(folder, "evidence.jsonl");
    const [previous, hash] = ["0".repeat(64), "1".repeat(64)];
    const link = { position: 0, hash: previous };
    const rows = [WINTER, SUMMER].map((at) =>
      formatRow({
        position: 1,
        kind: "decision",
        previous,
        hash,
        record: JSON.stringify(recordAt(at)),
      }),
    );
    const lines = [formatHeader({ from: link, to: link, workspace: null }), ...rows];
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    const { evidence } = await simulate(
      await sideOf(table()),
      await sideOf(table(), policy(OPENING)),
      { evidence: path, fresh: true },
    );
    expect(evidence).toMatchObject({ decisions: 2, not_reproduced: 0, unrepresentable: [] });
    expect(evidence?.declared).toMatchObject({
      groups: 1,
      decisions: 1,
      calls: [{ workspace: "w", day: "2026-01-14", calls: 1, requests: [`at-${WINTER}`] }],
    });
  });

  it("are explained with the clocks of the zones that policies name, and of no other", () => {
    const verdict = { constraint: "open", reason: "CLOSED", verdict: "fail", effect: "would_deny" };
    const record = {
      ...recordAt(SUMMER),
      wouldDeny: [{ policy: "opening", revision: "r2", ...verdict }],
    };
    const request = readExampleRequest(JSON.stringify(record), "opening", "r2");
    if (request === null) throw new Error("no example");
    const timeOf = (zones: readonly string[]): unknown => {
      const [, point = "{}"] =
        /--point '(.*?)'/.exec(explainExample(request, zones).explain ?? "") ?? [];
      return JSON.parse(point).time;
    };
    const utc = { day: "weekday", hour: "morning" };
    expect(timeOf([BERLIN, "Asia/Kathmandu"])).toEqual({
      ...utc,
      local: {
        [BERLIN]: { weekday: "wednesday", hour: 8 },
        "Asia/Kathmandu": { weekday: "wednesday", hour: 12 },
      },
    });
    expect(timeOf([])).toEqual(utc);
  });
});

it("a latent change at a zone's time names its hours, with an input at one of them", async () => {
  const kept = 'candidate.retention == "none"';
  const less = 'candidate.retention != "unlimited"';
  const { future_rows: latent } = await simulate(
    await sideOf(table(), policy(kept, less)),
    await sideOf(table(), policy(kept, `${less}\n\t${OPENING}`)),
    { fresh: true },
  );
  expect(latent?.changes).toMatchObject([
    {
      direction: "stricter",
      rule: "open",
      every: true,
      where: [
        { path: "candidates.retention", values: ["transient", "days_30"] },
        { path: "local_time", values: [`${BERLIN} 00:00–07:59`] },
      ],
    },
  ]);
  expect(latent?.changes[0]?.example.local_time[BERLIN]?.hour).toBeLessThan(8);
  expect(latent).toMatchObject({ complete: true });
});
