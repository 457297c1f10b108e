import { availableParallelism } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { readTime } from "../../canon/rfc3339.ts";
import { compileCacheAt } from "../terminal/configuration.ts";
import { FAIL_ON_VALUES, type FailOnValue } from "./exit-code.ts";
import { DEFAULT_FORMAT, FORMATS, isFormat, type Format } from "./formats/formats.ts";
import {
  didYouMean,
  listFlags,
  listItems,
  noArguments,
  readArguments,
  readNumber,
  readDuration,
  readEnvironment,
  switches,
  textFlags,
} from "../terminal/command-line.ts";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import type { Promotion } from "../../simulate/request.ts";

/** Where one side is read from. */
export interface TreeOption {
  readonly kind: "ref" | "directory";
  readonly name: string;
}

/** A report to write. */
export interface OutputOption {
  readonly format: Format;
  /** `null` for stdout; else as given. */
  readonly file: string | null;
}

export type SimulateOptions = ReturnType<typeof readSimulateOptions>;

/** Milliseconds. */
export const DEFAULT_TIME_LIMIT = 600_000;
const LONGEST_TIME_LIMIT = 86_400_000;
const MOST_WORKERS = 256;

export function defaultWorkers(): number {
  return Math.min(availableParallelism(), 8);
}

const FLAGS = {
  ...textFlags("environment", "assertions", "policies", "server", "evidence"),
  ...textFlags("time-limit", "workers", "cache", "now"),
  ...listFlags("format", "promote", "fail-on"),
  ...switches("merge-base", "fresh", "detailed-exitcode", "quiet", "all"),
  base: { type: "string", default: "origin/main" },
  head: { type: "string", default: "." },
  config: { type: "string", default: "routes.yaml" },
} as const;

/** @throws {UsageError} that names the flag and the fix. */
export function readSimulateOptions(
  argv: readonly string[],
  cwd: string,
  io: Pick<CommandIo, "environment"> = { environment: {} },
) {
  const { values, positionals } = readArguments(argv, FLAGS);
  noArguments(positionals, "name the sides with --base and --head");
  const base = readTree(values.base, "--base");
  const head = readTree(values.head, "--head");
  if (values["merge-base"] && base.kind === "directory") {
    throw new UsageError(
      "--merge-base: --base is a folder, which has no history; give a ref, or leave --merge-base out",
    );
  }
  const states = (["fresh", "policies", "server"] as const).filter((name) => values[name]);
  if (states.length > 1) {
    throw new UsageError(
      `--${states[1]}: --${states[0]} is given too; give one of them, because each states which policies are enforced`,
    );
  }
  return {
    base,
    head,
    mergeBase: values["merge-base"] === true,
    config: readPath(values.config, "--config"),
    /** The environment whose overlay is merged over both sides; `null` for none. */
    environment: readEnvironment(values.environment, io),
    /** `null`: the one beside the policies, if there is one. */
    assertions:
      values.assertions === undefined ? null : readPath(values.assertions, "--assertions"),
    /** Exactly one of them is for stdout. */
    outputs: readOutputs(values.format ?? [], cwd),
    promote: values.promote === undefined ? null : readPromotions(values.promote),
    fresh: values.fresh === true,
    /** File with the policies of a server, or its address; `null`: base is a new server. */
    policies: values.policies ?? null,
    server: values.server ?? null,
    evidence: readEvidence(values.evidence, cwd),
    /** Milliseconds. */
    timeLimit: readTimeLimit(values["time-limit"]),
    workers:
      values.workers === undefined
        ? defaultWorkers()
        : readNumber("--workers", values.workers, [1, MOST_WORKERS]),
    detailedExitcode: values["detailed-exitcode"] === true,
    failOn: readFailOn(values["fail-on"] ?? []),
    quiet: values.quiet === true,
    /** Whether the terminal shows everything. */
    all: values.all === true,
    cache: compileCacheAt(values.cache, cwd, io.environment),
    /** Milliseconds since the epoch. */
    now: values.now === undefined ? Date.now() : readNow(values.now),
  };
}

/** A folder begins with `./`, `../` or `/`, or is `.` or `..`; everything else is a ref. */
export function readTree(value: string, flag: string): TreeOption {
  if (/^\.{1,2}($|[/\\])/.test(value) || isAbsolute(value))
    return { kind: "directory", name: value };
  // A leading dash would be an option to git, and a control character ends or hides an argument.
  if (value === "" || value.startsWith("-") || /\p{Cc}/u.test(value)) {
    throw new UsageError(
      `${flag}: must be a git ref, such as origin/main, or a folder that begins with ./, ../ or /`,
    );
  }
  return { kind: "ref", name: value };
}

/** A path that is looked up in both trees. */
export function readPath(value: string, flag: string): string {
  if (value === "" || value.endsWith("/") || isAbsolute(value)) {
    throw new UsageError(
      `${flag}: must be a file, relative to the current folder: it is looked up in a commit too`,
    );
  }
  return value;
}

/** Values of `--format`. @throws {UsageError} */
export function readOutputs(values: readonly string[], cwd: string): readonly OutputOption[] {
  const outputs = values.map((value): OutputOption => {
    const separator = value.indexOf("=");
    const format = separator === -1 ? value : value.slice(0, separator);
    if (!isFormat(format)) {
      throw new UsageError(
        `--format: must be one of ${Object.keys(FORMATS).join(", ")}, each also as FORMAT=FILE${didYouMean(format, Object.keys(FORMATS))}`,
      );
    }
    const file = separator === -1 ? null : value.slice(separator + 1);
    if (file === "" || file === "-") {
      throw new UsageError(
        `--format: ${format}= needs a file; for standard output write --format ${format}`,
      );
    }
    return { format, file };
  });
  const plain = outputs.filter(({ file }) => file === null);
  if (plain.length > 1) {
    throw new UsageError(
      "--format: only one goes to standard output; give the others a file, as FORMAT=FILE",
    );
  }
  const files = outputs.flatMap(({ file }) => (file === null ? [] : [resolve(cwd, file)]));
  if (new Set(files).size < files.length)
    throw new UsageError("--format: two formats name one file; give each its own");
  return plain.length === 1 ? outputs : [{ format: DEFAULT_FORMAT, file: null }, ...outputs];
}

function readPromotions(values: readonly string[]): readonly Promotion[] {
  const promotions = values.map((value): Promotion => {
    const [, id, digestPrefix] = /^([a-z][a-z0-9-]{0,63})(?:@([0-9a-f]{6,64}))?$/.exec(value) ?? [];
    if (id === undefined) {
      throw new UsageError(
        "--promote: must be ID or ID@REV: a policy's id, and 6 to 64 lower-case hexadecimal digits that its digest begins with",
      );
    }
    return { id, digestPrefix: digestPrefix ?? null };
  });
  if (new Set(promotions.map(({ id }) => id)).size < promotions.length) {
    throw new UsageError("--promote: names a policy twice; give each once");
  }
  return promotions;
}

function readFailOn(values: readonly string[]): readonly FailOnValue[] {
  const requested = values.map((value) => listItems(value));
  const failOn = FAIL_ON_VALUES.filter((value) => requested.some((list) => list.includes(value)));
  const isValue = (value: string) => FAIL_ON_VALUES.some((each) => each === value);
  if (!requested.every((list) => list.length > 0 && list.every(isValue))) {
    const slip = requested.flat().find((value) => !isValue(value)) ?? "";
    throw new UsageError(
      `--fail-on: must be a list, separated by commas, of ${FAIL_ON_VALUES.join(", ")}${didYouMean(slip, FAIL_ON_VALUES)}`,
    );
  }
  return failOn;
}

/** Milliseconds. */
function readTimeLimit(value: string | undefined): number {
  const limit = value === undefined ? DEFAULT_TIME_LIMIT : readDuration(value);
  if (limit === null || limit < 1 || limit > LONGEST_TIME_LIMIT)
    throw new UsageError("--time-limit: must be a duration from 1s to 24h, such as 90s or 10m");
  return limit;
}

function readNow(value: string): number {
  const time = readTime(/^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value);
  if (time === null)
    throw new UsageError("--now: must be an RFC 3339 date or time, such as 2026-11-21");
  return time;
}

function readEvidence(value: string | undefined, cwd: string): string | null {
  if (value === "") throw new UsageError("--evidence: needs a path");
  return value === undefined ? null : resolve(cwd, value);
}
