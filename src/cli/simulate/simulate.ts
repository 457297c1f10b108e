import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { Source } from "../../canon/diagnostic.ts";
import { allSources } from "../../compile/load.ts";
import { EvidenceFileError } from "../../simulate/evidence/evidence-tally.ts";
import { compiledSides } from "../../simulate/side-contents.ts";
import { runSimulation } from "../../simulate/run-simulation.ts";
import type { Progress, RunSimulation, Side, SimulationRequest } from "../../simulate/request.ts";
import type { SettingChange, SimulationReport } from "../../simulate/report/report.ts";
import { CommandError, type CommandIo, EXIT } from "../terminal/command-io.ts";
import { usableCache } from "../terminal/configuration.ts";
import { stopRequested } from "../terminal/process.ts";
import { numberText, printable } from "../terminal/printing.ts";
import { formatDiagnostics } from "../terminal/report.ts";
import { runCommand } from "../terminal/command-line.ts";
import {
  checkPromotions,
  compileSide,
  heldAssertions,
  openTrees,
  overlaysOf,
  shownIn,
  type SideFailure,
  type SideTree,
} from "./sides.ts";
import { SIMULATE_EXIT, verdictOf } from "./exit-code.ts";
import { simulateHelp } from "./help.ts";
import { readSimulateOptions, type SimulateOptions } from "./options.ts";
import { checkOutputs, writeOutputs } from "./outputs.ts";
import { enforcedDigests } from "./served-policies.ts";
import { posix } from "node:path";
import type { OfSides } from "../../simulate/sample-request.ts";
import { textDigest } from "../../simulate/text-digest.ts";

/** `signalbox simulate`; gives the exit code. @param run the engine. */
export async function simulate(
  argv: readonly string[],
  io: CommandIo,
  run: RunSimulation = runSimulation,
): Promise<number> {
  // With the flag, 2 means differences, which a pipeline may take for a success.
  const usage = argv.includes("--detailed-exitcode") ? SIMULATE_EXIT.error : EXIT.usage;
  const line = { name: "simulate", help: simulateHelp, usage };
  return runCommand(line, argv, io, () => compare(readSimulateOptions(argv, io.cwd, io), io, run));
}

async function compare(
  requested: SimulateOptions,
  io: CommandIo,
  run: RunSimulation,
): Promise<number> {
  const options = { ...requested, cache: await usableCache(requested.cache, io) };
  await checkOutputs(options.outputs, io);
  await checkEvidence(options.evidence);
  const trees = await openTrees(options, io);
  const compiling = [
    compileSide(trees.base, await baseOptions(trees.base, options, io)),
    compileSide(trees.head, options),
  ] as const;
  await Promise.allSettled(compiling);
  // Base's error is thrown, even if head fails earlier.
  const [base, head] = await Promise.all(compiling);
  if ("diagnostics" in base || "diagnostics" in head) {
    for (const side of [base, head]) if ("diagnostics" in side) printFailure(side, io);
    return SIMULATE_EXIT.error;
  }
  const enforced = await enforcedDigests(options, [base, head], io);
  const { promote, fresh, timeLimit, workers, evidence, now } = options;
  checkPromotions(compiledSides(base, head, fresh, enforced).head, promote ?? []);
  const asserted = await heldAssertions(trees, base, head, options.assertions);
  if (asserted.source !== null && asserted.assertions === null) {
    printFailure(
      { ...trees.head, files: head.files, diagnostics: asserted.diagnostics },
      io,
      asserted.source,
    );
    return SIMULATE_EXIT.error;
  }
  const otherOverlays = await changedOverlays(trees, options.config, options.environment);
  const held = { assertions: asserted.assertions, otherOverlays };
  const request = { promote, fresh, enforced, timeLimit, workers, evidence, now, ...held };
  const warned = { ...head, warnings: [...head.warnings, ...asserted.diagnostics] };
  const report = await runWatched(base, warned, request, { io, quiet: options.quiet, run });
  const { detailedExitcode, failOn } = options;
  const verdict = verdictOf(report, { detailedExitcode, failOn, promoting: promote !== null });
  await writeOutputs(report, options.outputs, io, { verdict, all: options.all });
  return verdict.exitCode;
}

/**
 * Head may add an overlay that base does not have: base is then read without one, and a line on
 * stderr reports it.
 */
async function baseOptions(
  base: SideTree,
  options: SimulateOptions,
  io: CommandIo,
): Promise<SimulateOptions> {
  const { environment } = options;
  if (environment === null || (await overlaysOf(base, options.config)).has(environment))
    return options;
  io.stderr(
    "signalbox simulate: base has no overlay for this environment and is compared without one\n",
  );
  return { ...options, environment: null };
}

async function checkEvidence(path: string | null) {
  if (path === null) return;
  try {
    await access(path, constants.R_OK);
  } catch {
    throw new CommandError(
      "--evidence: the file cannot be read; give a file that signalbox evidence export has written",
    );
  }
}

/** On stderr in every format: a reader of the report must not take this for it. */
function printFailure(
  { name, flag, files, diagnostics }: SideFailure,
  io: CommandIo,
  assertions: Source | null = null,
) {
  const colour = io.stderrTerminal === true && (io.environment.NO_COLOR ?? "") === "";
  const sources = [...allSources(files), ...(assertions === null ? [] : [assertions])];
  const side = `${flag.slice(2)} (${printable(name)})`;
  io.stderr(formatDiagnostics("terminal", diagnostics, { sources, colour }));
  io.stderr(`signalbox simulate: ${side} has errors; nothing was compared\n`);
}

/** Runs the engine with a progress line; a signal stops it. */
async function runWatched(
  base: Side,
  head: Side,
  request: SimulationRequest,
  {
    io,
    quiet,
    run,
  }: { readonly io: CommandIo; readonly quiet: boolean; readonly run: RunSimulation },
): Promise<SimulationReport> {
  const line = progressLine(io, quiet);
  const stop = new AbortController();
  // Removes the signal listeners when the engine has finished.
  const done = new AbortController();
  void stopRequested(
    AbortSignal.any([done.signal, ...(io.signal === undefined ? [] : [io.signal])]),
  ).then(() => {
    if (!done.signal.aborted) stop.abort();
  });
  try {
    return await run(base, head, request, { onProgress: line.show, signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) throw new CommandError("stopped; nothing was reported");
    if (error instanceof EvidenceFileError) throw new CommandError(error.message);
    throw error;
  } finally {
    done.abort();
    line.clear();
  }
}

/**
 * Overlays of environments that are not compared, where they differ: a report without them must not
 * read as "no changes".
 *
 * @param environment the one that is compared; `null`: none.
 */
async function changedOverlays(
  trees: OfSides<SideTree>,
  config: string,
  environment: string | null,
): Promise<readonly SettingChange[]> {
  const [before, after] = [
    await overlayDigests(trees.base, config),
    await overlayDigests(trees.head, config),
  ];
  const names = [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => name !== environment)
    .toSorted();
  const { dir, name: main, ext } = posix.parse(shownIn(config));
  return names.flatMap((name): readonly SettingChange[] => {
    const [was, is] = [before.get(name) ?? null, after.get(name) ?? null];
    if (was === is) return [];
    const path = posix.join(dir, `${main}.${name}${ext}`);
    const location = {
      file: path,
      line: 1,
      column: 1,
      side: is === null ? ("base" as const) : ("head" as const),
    };
    return [{ path, before: was, after: is, location, effect: "other_environment", gate: null }];
  });
}

/** Environment → the first digits of the overlay's digest. */
async function overlayDigests(
  tree: SideTree,
  config: string,
): Promise<ReadonlyMap<string, string>> {
  const found = [...(await overlaysOf(tree, config))];
  const texts = found.map(async ([name, path]): Promise<readonly [string, string]> => {
    const text = await tree.files.readText(path, posix.dirname(path));
    // One that cannot be read differs from one that can.
    return [name, textDigest(typeof text === "string" ? text : text.unread)];
  });
  return new Map(await Promise.all(texts));
}

/** Milliseconds between two looks of the line. */
const INTERVAL = 200;
const CLEAR = "\r\u001b[2K";

/** One line of a terminal that is written over. @param clock milliseconds from any moment on. */
export function progressLine(
  io: CommandIo,
  quiet: boolean,
  clock: () => number = () => performance.now(),
) {
  const isHidden = quiet || io.stderrTerminal !== true;
  let shownAt = -Infinity;
  let isShown = false;
  return {
    show: (progress: Progress) => {
      const now = clock();
      if (isHidden || now - shownAt < INTERVAL) return;
      shownAt = now;
      isShown = true;
      io.stderr(`${CLEAR}${describe(progress)}`);
    },
    /** Takes the line away; may be called without one. */
    clear: () => {
      if (isShown) io.stderr(CLEAR);
      isShown = false;
    },
  };
}

function describe({ done, of }: Progress) {
  return `Deciding requests: ${numberText(done)} of ${numberText(of)} pairs of workspace and route, by operation`;
}
