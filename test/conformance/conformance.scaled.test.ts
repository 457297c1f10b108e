import { expect, test } from "vitest";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { fewOrMany } from "../support/long.ts";
import { assess, isAsKnown } from "./assessment.ts";
import { casesAtHand } from "./cases/cases-at-hand.ts";
import { readCases } from "./cases/read-cases.ts";
import { report } from "./report.ts";
import { runCases } from "./run.ts";

const path = casesAtHand();
const whole = process.env.SIGNALBOX_CONFORMANCE === "all";

/** Neighbouring cases ask about the same thing: a step visits all groups of them. */
const STEP = fewOrMany(40, 20);

test.skipIf(path === null)(
  `OPA's compliance cases come out as known: ${whole ? "all" : `every ${STEP}th`} (set SIGNALBOX_OPA_CASES where skipped)`,
  { timeout: 600_000 },
  async () => {
    const cases = (await readCases(path ?? "")).filter((_, index) => whole || index % STEP === 0);
    const assessment = assess(await runCases(cases, createToolchain({ cache: null })));
    expect(isAsKnown(assessment), report(assessment, "of the toolchain")).toBe(true);
    // A runner that refused or skipped everything would be content as well.
    expect(assessment.counts.right).toBeGreaterThan(cases.length / 2);
  },
);
