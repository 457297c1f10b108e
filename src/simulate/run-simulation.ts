import { causesOf } from "./causes/causes.ts";
import {
  assertionResults,
  assertionsReport,
  coverageResults,
  judgeCases,
  type ExplainArguments,
  mergeTallies,
} from "./assertions/run.ts";
import { readEvidence } from "./evidence/evidence-tally.ts";
import { explainArguments } from "./explain/explain-arguments.ts";
import { locationsOf } from "./explain/positions.ts";
import { decideJobs, type DecidedJobs } from "./jobs/decide-jobs.ts";
import { latentChanges, type RuleLocation } from "./latent/latent-changes.ts";
import { jobRunner, type JobRunner } from "./jobs/job-runner.ts";
import { renamedSides } from "./renamed-table.ts";
import { comparisonReport, type ComparisonContext } from "./report/comparison-report.ts";
import { dimensionReports } from "./report/dimension-report.ts";
import { coverageFacts, unusedRuleFindings } from "./report/unused-findings.ts";
import type {
  AssertionsReport,
  ChangedEntry,
  SettingChange,
  SideReport,
  SimulationReport,
} from "./report/report.ts";
import { changedSettings } from "./settings/changed-settings.ts";
import { hostOf } from "./compare/change-kinds.ts";
import type {
  ReportedSide,
  RunSimulation,
  Side,
  SimulationRequest,
  SimulationWatch,
} from "./request.ts";
import {
  compiledSides,
  slotsOf,
  type CompiledSide,
  type CompiledSides,
  type SideContent,
  zonesOfSides,
} from "./side-contents.ts";
import type { View, OfSides, SideName } from "./sample-request.ts";
import { rowOf } from "./table-rows.ts";

/** Compares two trees: every class of requests on both sides, and the results of the assertions. */
export const runSimulation: RunSimulation = async (base, head, request, watch) => {
  const compiled = compiledSides(base, head, request.fresh, request.enforced);
  return simulateSides(
    { base, head, compiled, explain: explainer(compiled, base, head) },
    request,
    watch,
  );
};

/** Two sides whose policies are in their slots already. */
interface SimulatedSides extends OfSides<ReportedSide> {
  readonly compiled: CompiledSides;
  /** The command line that explains a request on head. */
  readonly explain: ExplainArguments;
}

/** Compares two sides. Rejects over bugs, and with the signal's reason. */
export async function simulateSides(
  { base: files, head, compiled: original, explain }: SimulatedSides,
  request: SimulationRequest,
  watch: SimulationWatch,
): Promise<SimulationReport> {
  const { sides: compiled, renames } = renamedSides(original);
  const base: ReportedSide = { ...files, table: compiled.base.table };
  const tables = { base: base.table, head: head.table };
  const runner = runnerFor(compiled, request);
  const { tally, cut } = await decideJobs(runner, request, watch, true);
  // Frees the memory of the diagrams.
  await runner.load();
  const evidence =
    request.evidence === null
      ? null
      : await readEvidence(
          request.evidence,
          watch.signal,
          (sample) => runner.decideSample(sample),
          tables,
          renames,
          zonesOfSides([compiled.base, compiled.head]),
        );
  const locations = { base: locationsOf(base.files), head: locationsOf(head.files) };
  const context = (view: View): ComparisonContext => ({
    universe: runner.space.universe,
    tables,
    locations,
    hostOf: { base: hostIn(base), head: hostIn(head) },
    explain,
    keptPolicies: keptPolicies(compiled.head, view === "promoted" ? request.promote : []),
    seenInGroup: evidence?.seen[view].groups ?? null,
  });
  const sides = {
    base: sideReport(files, compiled.base, "base"),
    head: sideReport(head, compiled.head, "head"),
  };
  const declared = comparisonReport(tally.declared, context("declared"));
  const promoted = comparisonReport(tally.promoted, context("promoted"));
  const latent = latentChanges(runner.views, tables, ruleLocation(locations));
  // The requested ones, or all candidates of either side.
  const promotedIds =
    request.promote?.map(({ id }) => id) ??
    [...sides.base.policies, ...sides.head.policies].flatMap(({ slot, id }) =>
      slot === "candidate" ? [id] : [],
    );
  const promotedPolicies = [...new Set(promotedIds)].toSorted();
  return {
    format: "signalbox.simulation.v4",
    ...sides,
    fresh: request.fresh,
    complete: cut.length === 0,
    cut,
    space: {
      classes: tally.classes,
      shapes: String(tally.shapes),
      dimensions: dimensionReports(runner.space, tally.matters),
    },
    declared,
    promoted,
    promoted_policies: promotedPolicies,
    causes: await causesOf({
      base,
      head,
      compiled,
      declared,
      promoted,
      promotedPolicies,
      renames,
      others: [
        ...(request.assertions?.entries ?? []),
        ...(request.otherOverlays ?? []).map(overlayEntry),
      ],
    }),
    // Classes that were not decided might have met it.
    findings:
      cut.length > 0
        ? []
        : unusedRuleFindings(
            compiled.base,
            tally.usage.base,
            compiled.head,
            tally.usage.head,
            locations.head,
          ),
    ...(latent !== null && { future_rows: latent }),
    changed_settings: [
      ...changedSettings(base, head, {
        newPolicies: request.fresh ? null : newPolicies(compiled),
        samePolicies: samePolicies(compiled),
        renames,
      }),
      ...(request.assertions?.changes ?? []),
      ...(request.otherOverlays ?? []),
    ],
    evidence: evidence?.report() ?? null,
    assertions: await withBase(
      asserted(runner, { tally, cut }, request, explain),
      compiled,
      request,
      watch,
    ),
  };
}

function runnerFor(
  sides: CompiledSides,
  { promote, assertions, timeLimit }: SimulationRequest,
): JobRunner {
  return jobRunner({
    ...sides,
    promoted: promote?.map(({ id }) => id) ?? null,
    assertions: assertions?.assertions.assertions ?? [],
    deadline: Date.now() + timeLimit,
  });
}

function asserted(
  runner: JobRunner,
  { tally, cut }: DecidedJobs,
  { assertions, now }: SimulationRequest,
  explain: ExplainArguments,
): AssertionsReport | null {
  if (assertions === null) return null;
  const { file, assertions: found } = assertions;
  const inOrder = [...tally.assertions]
    .toSorted(([left], [right]) => left - right)
    .map(([, each]) => each);
  const cases = judgeCases(found.assertions, (sample) => runner.decideSample(sample));
  // An assertion that selects none of the decided classes may select one that was cut.
  const judged =
    cut.length === 0
      ? found.assertions
      : found.assertions.map((each) => ({ ...each, may_be_empty: true }));
  const results = assertionResults(judged, mergeTallies(inOrder), cases, new Date(now), explain);
  const coverage = coverageResults(found.coverage, {
    base: coverageFacts(runner.input.base, tally.usage.base),
    head: coverageFacts(runner.input.head, tally.usage.head),
  });
  return assertionsReport(file, results, coverage);
}

/**
 * Adds to each failed assertion whether base fails it too, simulated as if base were the change.
 */
async function withBase(
  report: AssertionsReport | null,
  { base }: CompiledSides,
  request: SimulationRequest,
  watch: SimulationWatch,
): Promise<AssertionsReport | null> {
  const failed = new Set(
    report?.results.flatMap(({ id, status }) => (status === "FAIL" ? [id] : [])),
  );
  const { assertions: checked } = request;
  if (report === null || checked === null || failed.size === 0) return report;
  const assertions = checked.assertions.assertions.filter(({ id }) => failed.has(id));
  const asIfChange = {
    ...request,
    assertions: { ...checked, assertions: { assertions, coverage: { gates: [], except: [] } } },
  };
  const runner = runnerFor({ base, head: base }, asIfChange);
  const found = await decideJobs(runner, asIfChange, watch, false);
  const before = asserted(runner, found, asIfChange, () => []);
  // A class that was not decided may fail too.
  const failsInBase = (violations: number): boolean | null =>
    violations > 0 ? true : found.cut.length > 0 ? null : false;
  const inBase = new Map(
    before?.results.map(({ id, violations }) => [id, failsInBase(violations)]),
  );
  return {
    ...report,
    results: report.results.map((one) => ({ ...one, fails_in_base: inBase.get(one.id) ?? null })),
  };
}

/** Policies that a store of base does not have yet. */
function newPolicies({ base, head }: CompiledSides): readonly string[] {
  const ids = new Set(base.contents.map(({ contract }) => contract.id));
  return head.contents.map(({ contract }) => contract.id).filter((id) => !ids.has(id));
}

/** Whether the files of both sides compile to the same contents. */
function samePolicies({ base, head }: CompiledSides): boolean {
  const digests = ({ contents }: CompiledSide): string =>
    JSON.stringify(
      contents
        .flatMap(({ isKept, rules, digest }) => (isKept || rules === null ? [] : [digest]))
        .toSorted(),
    );
  return digests(base) === digests(head);
}

/**
 * Policies of which head enforces base's content. @param promotions `null`: every
 * candidate.
 */
function keptPolicies(
  { contents }: CompiledSide,
  promotions: SimulationRequest["promote"],
): ReadonlySet<string> {
  const isKept = ({ isKept: kept, contract }: SideContent) =>
    kept && promotions?.every(({ id }) => id !== contract.id) === true;
  return new Set(contents.filter(isKept).map(({ contract }) => contract.id));
}

/**
 * Where head's files alone do not decide the enforced contents, the command must name base. A
 * commit goes by its id: a branch may move.
 */
function explainer(compiled: CompiledSides, base: Side, head: Side): ExplainArguments {
  const alone = compiledSides(base, head, true).head;
  const name =
    slotsOf(alone.contents) === slotsOf(compiled.head.contents)
      ? null
      : (base.commit?.slice(0, 12) ?? base.name);
  const files = {
    base: name,
    head: head.commit?.slice(0, 12) ?? (head.name === "." ? null : head.name),
    config: head.files.routes.path === "routes.yaml" ? null : head.files.routes.path,
    environment: head.environment ?? null,
  };
  return (sample) => explainArguments(sample, files);
}

/** In head's files; for a rule that head removed, in base's. */
function ruleLocation(locations: ComparisonContext["locations"]): RuleLocation {
  return (policy, rule) => {
    for (const side of ["head", "base"] as const) {
      const found = locations[side].constraint(policy, rule);
      if (found !== null) return { ...found, side };
    }
    return null;
  };
}

function overlayEntry({ path, before, after, location }: SettingChange): ChangedEntry {
  const change = before === null ? "added" : after === null ? "removed" : "changed";
  return { path, kind: "overlay", subject: path, change, before, after, location };
}

function hostIn({ table: { providers } }: ReportedSide): (provider: string) => string {
  return (provider) => hostOf(rowOf(providers, provider)?.baseUrl ?? "");
}

function sideReport(
  { name, commit, table, warnings }: ReportedSide,
  { contents }: CompiledSide,
  side: SideName,
): SideReport {
  return {
    name,
    commit,
    table_revision: table.revision,
    workspaces: Object.keys(table.workspaces),
    policies: contents.map(({ contract: { id }, digest, slot, rules, isKept }) => ({
      id,
      digest,
      slot,
      content: rules === null ? "removal" : "rules",
      from: isKept ? "base" : side,
    })),
    warnings,
  };
}
