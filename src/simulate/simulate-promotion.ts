import { createHash } from "node:crypto";
import type { Source } from "../canon/diagnostic.ts";
import { parseAssertions } from "./assertions/parse.ts";
import { explainArguments } from "./explain/explain-arguments.ts";
import { formatJson } from "./report/format-json.ts";
import type { HeldFile, ReportedSide } from "./request.ts";
import { simulateSides } from "./run-simulation.ts";
import {
  promotionSides,
  type CompiledSide,
  type CompiledSides,
  type PlannedPromotion,
} from "./side-contents.ts";
import type { SimulationReport } from "./report/report.ts";

/**
 * Everything that the simulation of one promotion depends on, so that every server with the same
 * input makes the same bytes. Plain data.
 */
export interface PromotionInput extends PlannedPromotion {
  /**
   * `assertions.yaml` beside the policies; `null` where there is none. Its path is printed, so it
   * must not depend on the machine.
   */
  readonly assertions: Source | null;
  /** Milliseconds since the epoch: waivers of assertions end by it. */
  readonly now: number;
}

export interface SimulatedPromotion extends ReportFacts {
  /** A `SimulationReport` as JSON, exactly as `signalbox simulate --format json` prints one. */
  readonly text: string;
  /** SHA-256 of `text`, lower-case hexadecimal. */
  readonly sha256: string;
}

/** Simulates one promotion in this thread. @returns `null` where the assertions file has errors. */
export async function simulatePromotion(
  input: PromotionInput,
  signal: AbortSignal,
): Promise<SimulatedPromotion | null> {
  const compiled = promotionSides(input);
  const assertions = heldAssertions(input.assertions, compiled);
  if (assertions === undefined) return null;
  const report = await simulateSides(
    {
      base: reportedSide("enforced", input),
      head: reportedSide("candidate", input),
      compiled,
      explain: (sample) => explainArguments(sample),
    },
    {
      fresh: false,
      promote: [{ id: input.policy, digestPrefix: null }],
      // The simulator ends the thread.
      timeLimit: Infinity,
      workers: 1,
      assertions,
      evidence: null,
      now: input.now,
    },
    { onProgress: () => {}, signal },
  );
  const text = formatJson(report);
  return { text, sha256: createHash("sha256").update(text).digest("hex"), ...reportFacts(report) };
}

/**
 * Without files: paths and lines differ between servers that decide alike, and the report must not.
 */
function reportedSide(name: string, { table }: PromotionInput): ReportedSide {
  const files = { routes: { path: "routes.yaml", text: "" }, policies: [] };
  return { name, commit: null, table, files, warnings: [] };
}

/** `undefined` where the file has errors. */
function heldAssertions(
  source: Source | null,
  { base, head }: CompiledSides,
): HeldFile | null | undefined {
  if (source === null) return null;
  const compared = ({ table, contents }: CompiledSide) => ({
    table,
    contracts: contents.flatMap(({ rules }) => rules?.contract ?? []),
  });
  const { assertions } = parseAssertions(source, { base: compared(base), head: compared(head) });
  return assertions === null ? undefined : { file: source.path, assertions, changes: [] };
}

type ReportFacts = Readonly<ReturnType<typeof reportFacts>>;

/**
 * The parts of a report that promotions are judged by: whether every class was decided; results of
 * assertions and of the coverage gates that were set, all 0 where there is no assertions file.
 */
function reportFacts({ complete, assertions }: SimulationReport) {
  const { passed = 0, failed = 0, waived = 0, coverage = [] } = assertions ?? {};
  // Without a gate, no coverage is required.
  const gates = coverage.filter(({ required }) => required !== null);
  const met = gates.filter(({ status }) => status === "PASS").length;
  const counts = { passed: passed + met, failed: failed + gates.length - met, waived };
  return { complete, assertions: counts };
}
