import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { Source } from "../../canon/diagnostic.ts";
import { allSources } from "../../compile/load.ts";
import { EvidenceFileError } from "../../simulate/evidence/evidence-tally.ts";
import {
  compiledSides,
  type CompiledTree,
  type EnforcedDigests,
} from "../../simulate/side-contents.ts";
import { runSimulation } from "../../simulate/run-simulation.ts";
import type { Progress, RunSimulation, Side, SimulationRequest } from "../../simulate/request.ts";
import type { SettingChange, SimulationReport } from "../../simulate/report/report.ts";
import { CommandError, type CommandIo, EXIT } from "../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT, usableCache } from "../terminal/configuration.ts";
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
import { FAIL_ON_VALUES, SIMULATE_EXIT, verdictOf } from "./exit-code.ts";
import {
  DEFAULT_TIME_LIMIT,
  defaultWorkers,
  readSimulateOptions,
  type SimulateOptions,
} from "./options.ts";
import { checkOutputs, writeOutputs } from "./outputs.ts";
import { posix, resolve } from "node:path";
import type { OfSides } from "../../simulate/sample-request.ts";
import { textDigest } from "../../simulate/text-digest.ts";
import { DEFAULT_FORMAT, FORMATS } from "./formats/formats.ts";
import { type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";
import {
  answerError,
  callServer,
  objectOf,
  objectsOf,
  serverUrl,
  textOf,
} from "../terminal/call-server.ts";

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
  const assertionFacts = { assertions: asserted.assertions, otherOverlays };
  const request = {
    promote,
    fresh,
    enforced,
    timeLimit,
    workers,
    evidence,
    now,
    ...assertionFacts,
  };
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
  const finished = new AbortController();
  void stopRequested(
    AbortSignal.any([finished.signal, ...(io.signal === undefined ? [] : [io.signal])]),
  ).then(() => {
    if (!finished.signal.aborted) stop.abort();
  });
  try {
    return await run(base, head, request, { onProgress: line.show, signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) throw new CommandError("stopped; nothing was reported");
    if (error instanceof EvidenceFileError) throw new CommandError(error.message);
    throw error;
  } finally {
    finished.abort();
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

/** @param columns of a line; words are not split. */
function wrapped(words: readonly string[], indent: string, columns: number): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && indent.length + last.length + 1 + word.length <= columns) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines.join(`\n${indent}`);
}

const FAIL_ON = wrapped(
  FAIL_ON_VALUES.map((value, index) => (index + 1 < FAIL_ON_VALUES.length ? `${value},` : value)),
  " ".repeat(24),
  110,
);

export function simulateHelp(): string {
  return `Usage: signalbox simulate [options]

Shows what a change of routes.yaml and the policies does, before it is merged: compiles two trees, decides every class
of requests on both, and reports the differences. Calls no provider, opens no store, reads no secret of a provider. It
does not check out or fetch anything.

What is compared
  --base REF|FOLDER     before the change (default: origin/main)
  --head REF|FOLDER     after it (default: ., the files as they are now)
                        A value that is . or begins with ./, ../ or / is a folder; everything else a git ref.
                        A name that a branch, a tag or a remote share is refused: give refs/heads/NAME or a commit.
  --merge-base          compare with the best common ancestor of base and head instead (of HEAD, if head is a folder)
  --config FILE         routes.yaml of both (default: routes.yaml): in a folder relative to it, in a commit relative to
                        the current folder's path in the repository
  --environment NAME    merge routes.NAME.yaml of each side over it (default: SIGNALBOX_ENVIRONMENT, else none); if base
                        has none, standard error has a note
  --assertions FILE     assertions, looked up in head like --config (default: assertions.yaml beside the policies, if it
                        is there)
  --promote ID[@REV]    in the view "as if promoted", promote only this candidate of head, instead of all candidates
                        of both sides: a new policy, a change of one, or the removal of one that head no longer has.
                        REV: the first six or more digits of its digest. May be repeated
  --fresh               compare two new servers: on both sides, initial_mode decides the slot of every policy. Without
                        it, head starts with the policies that base enforces: each stays enforced until its
                        change or its removal is promoted
  --policies FILE       the policies of a server, from signalbox policy list --format json: base starts with what the
                        server enforces, whatever initial_mode says
  --server URL          the same from a running server; its key, with the scope governance:read, from SIGNALBOX_KEY
  --evidence FILE       exported evidence (signalbox evidence export): shows how often each change occurred
  --now DATE            the date that waivers are compared with, such as 2026-11-21 (default: today)

What is printed
  --format FORMAT       ${Object.keys(FORMATS).join(", ")} (default: ${DEFAULT_FORMAT});
                        one goes to standard output
  --format FORMAT=FILE  writes a file; an existing one is replaced. May be repeated
  --all                 on the terminal also requests with conditions, such as those for one provider by name, changed
                        reasons, rules that no request uses, and coverage
  --quiet               no progress on standard error (only a terminal shows it)

Resources
  --time-limit TIME     longest time for deciding requests, such as 90s (default: ${DEFAULT_TIME_LIMIT / 60_000}m); after it,
                        the report says what is missing and what took longest, and the exit code is 4
  --workers N           threads; 1: only the command's own (default: ${defaultWorkers()})
  --cache DIRECTORY     compiled policies (default: ${DEFAULT_CACHE_TEXT})

What fails
  --detailed-exitcode   exit 2 if something differs
  --fail-on VALUES      exit 3 if one of these happens as declared or, with --promote, as if promoted; separated
                        by commas:
                        ${FAIL_ON}
                        new_region_for_route: a route reaches a provider, region or host that it did not reach before,
                        also if another route of the workspace does
                        new_destination: the same, and no route of the workspace did
                        higher_ceiling: also for a raised limit
                        assertions: one was removed or weakened
                        any: also for settings that matter
                        more_permissive: also for a policy that would no longer refuse rows that do not exist yet
                        An incomparable change counts as more_permissive and as less_permissive.
  --help                this text

Exit codes: 0 no difference, or differences without --detailed-exitcode; 1 an error, such as an unknown ref or a side
that does not compile; 2 the command line cannot be used; 3 an assertion, a coverage gate or --fail-on failed; 4 not
every class was decided, or a policy newly cannot be evaluated. With --detailed-exitcode, 2 means differences, as
declared or as if promoted, and a command line that cannot be used ends with 1. If several apply: 1, then 3, then 4,
then 2.
`;
}

/** Bytes. */
const LARGEST_LIST = 16 * 1024 * 1024;

/**
 * The contents that a server enforces, by policy; `null` without `--policies` and `--server`.
 *
 * @throws {CommandError} where the list cannot be read, or neither side has an enforced content:
 *   such a policy could not be decided.
 */
export async function enforcedDigests(
  { policies, server }: SimulateOptions,
  trees: readonly CompiledTree[],
  io: CommandIo,
): Promise<EnforcedDigests | null> {
  if (policies === null && server === null) return null;
  const flag = policies === null ? "--server" : "--policies";
  const answer =
    policies === null ? await listOfServer(server ?? "", io) : await listOfFile(policies, io);
  if (answer?.object !== "list" || !Array.isArray(answer.data)) {
    throw new CommandError(
      `${flag}: is not the output of signalbox policy list --format json, or of a server of another version`,
    );
  }
  const enforced = new Map<string, string | null>();
  for (const policy of objectsOf(answer, "data")) {
    const [id, slot] = [textOf(policy, "id"), objectOf(policy, "enforced")];
    const digest = slot === null || slot.content === "removal" ? null : textOf(slot, "digest");
    enforced.set(id, digest);
    const isOnEitherSide = trees.some((tree) =>
      tree.policies.policies.some((one) => one.contract.id === id && one.digest === digest),
    );
    if (digest === null || isOnEitherSide) continue;
    throw new CommandError(
      `${flag}: the server enforces ${id} ${textOf(slot, "revision")} (${digest.slice(0, 8)}), which neither side has; simulate with the base that the server runs`,
    );
  }
  const ids = [...enforced].flatMap(([id, digest]) => (digest === null ? [] : [id]));
  io.stderr(
    `signalbox simulate: policies as the server enforces them: ${ids.join(", ") || "none"}\n`,
  );
  return enforced;
}

async function listOfFile(path: string, io: CommandIo): Promise<JsonObject | null> {
  const bytes = await readNamedFile(resolve(io.cwd, path), LARGEST_LIST).catch(() => null);
  if (bytes === null || bytes === "too_large")
    throw new CommandError("--policies: the file cannot be read; check the path");
  return parseJsonObject(Buffer.from(bytes).toString("utf8"));
}

async function listOfServer(server: string, io: CommandIo): Promise<JsonObject | null> {
  const answer = await callServer(io, {
    url: serverUrl(server, "/v1/policies?ended=true"),
    scopes: "governance:read or operations:manage",
  });
  if (answer.status === 200) return answer.body;
  throw answerError(answer, "/v1/policies");
}
