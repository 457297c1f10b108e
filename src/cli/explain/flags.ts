import { BUDGET_STEPS } from "../../canon/budget-step.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { FEATURE_NAMES } from "../../canon/generate/feature.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { type PolicyTime, DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import type { ProviderPreferences } from "../../canon/preferences.ts";
import { ALWAYS_USED, REASONING_EFFORTS, TOKEN_BUCKETS, tokenBucket, type TokenBucket } from "../../canon/request.ts";
import { timeWindow } from "../../decide/time-window.ts";
import { DEFAULT_ENVIRONMENT } from "../../simulate/explain/explain-arguments.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { readPath, readTree, type TreeOption } from "../simulate/options.ts";
import {
  listItems,
  noArguments,
  readArguments,
  readValue,
  required,
  readTime,
  switches,
  textFlags,
  readEnvironment,
  readCount,
} from "../terminal/arguments.ts";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import { readSampleJson, readPreferencesJson } from "./sample-json.ts";

/** Flags for members that `--request FILE` has itself. */
const SHAPE_FLAGS = {
  ...textFlags("needs", "features", "context", "max-output", "reasoning-effort", "dimensions", "signature-families"),
  ...switches("stream"),
} as const;

const PREFERENCE_FLAGS = {
  ...textFlags("only", "order", "ignore", "region", "data-collection"),
  ...switches("zdr", "no-fallbacks"),
} as const;

/** The attributes of the caller's key; a server reads its own. */
const KEY_FLAGS = textFlags("workspace", "key-environment", "workload", "owner", "budget", "labels");

const SAMPLE_FLAGS = {
  ...KEY_FLAGS,
  ...textFlags("operation", "model"),
  ...SHAPE_FLAGS,
  ...PREFERENCE_FLAGS,
  ...textFlags("preferences", "at", "time"),
} as const;

/** Where the decision comes from, without a server. */
const FILES_FLAGS = textFlags("config", "environment", "cache", "base", "head");

const FLAGS = {
  ...FILES_FLAGS,
  ...textFlags("server", "request", "point", "format"),
  ...switches("promoted"),
  ...SAMPLE_FLAGS,
} as const;

const EXPLAIN_FORMATS = ["terminal", "json"] as const;

/** Files to decide with. */
export interface FilesSource {
  readonly config: string;
  /** The environment whose overlay is merged over it; `null` for none. */
  readonly environment: string | null;
  /** Folder of compiled policies; `undefined`: the user's. */
  readonly cache: string | undefined;
  /** What a server runs that gets these files; `null`: it has seen nothing yet. */
  readonly base: TreeOption | null;
  /** What has the files; `null`: the current folder. */
  readonly head: TreeOption | null;
}

/** The options of a command line. */
export interface ExplainOptions {
  readonly source: FilesSource | { readonly server: string };
  readonly format: (typeof EXPLAIN_FORMATS)[number];
  readonly promoted: boolean;
  /** The requested window; `null`: the current one. */
  readonly time: PolicyTime | null;
  /** Path of a request's body, or `-`; `null`: the sample is the whole request. */
  readonly request: string | null;
  readonly sample: SampleRequest;
  /** Whether the sample, with its workspace, was given as JSON. */
  readonly isSampleGiven: boolean;
}

type Values = ReturnType<typeof readArguments<typeof FLAGS>>["values"];

/**
 * Reads a command line without the command's name.
 *
 * @param now milliseconds since the epoch.
 * @throws {UsageError}
 */
export function readOptions(
  argv: readonly string[],
  now: number,
  io: Pick<CommandIo, "environment"> = { environment: {} },
): ExplainOptions {
  const { values, positionals } = readArguments(argv, FLAGS);
  noArguments(positionals, "name the file of a request's body with --request");
  refuseTogether(values);
  const time = readWindow(values.time, values.at);
  const sample =
    values.point === undefined ? readSample(values, time ?? timeWindow(now)) : readSampleJson(values.point);
  return {
    source: values.server === undefined ? readFiles(values, io) : { server: values.server },
    format: readValue("--format", values.format ?? "terminal", EXPLAIN_FORMATS),
    promoted: values.promoted === true,
    time: values.point === undefined ? time : sample.time,
    request: values.request ?? null,
    sample,
    isSampleGiven: values.point !== undefined,
  };
}

function readFiles(values: Values, io: Pick<CommandIo, "environment">): FilesSource {
  const { config = "routes.yaml", cache, base, head } = values;
  const environment = readEnvironment(values.environment, io);
  if (base === undefined && head === undefined) return { config, environment, cache, base: null, head: null };
  return {
    // Both have it at the same path.
    config: readPath(config, "--config"),
    environment,
    cache,
    base: base === undefined ? null : readTree(base, "--base"),
    head: head === undefined ? null : readTree(head, "--head"),
  };
}

/** Flags that set the same thing twice are refused: one of them would be ignored. */
function refuseTogether(values: Values): void {
  const given = (names: object): string | undefined =>
    Object.keys(names).find((name) => Object.hasOwn(values, name) && Reflect.get(values, name) !== undefined);
  const refuse = (first: string, second: string | undefined, why: string): void => {
    if (second !== undefined) throw new UsageError(`${first}, --${second}: ${why}`);
  };
  if (values.point !== undefined) {
    refuse(
      "--point",
      given({ ...SAMPLE_FLAGS, ...textFlags("request") }),
      "--point has the whole request; leave the other flag out",
    );
  }
  if (values.request !== undefined) {
    refuse("--request", given(SHAPE_FLAGS), "the body in --request has this already; leave the other flag out");
  }
  if (values.server !== undefined) {
    refuse("--server", given(FILES_FLAGS), "the decision comes from files or from a server; give one of them");
    refuse("--server", given(KEY_FLAGS), "the server reads it from the key in SIGNALBOX_KEY; leave the flag out");
  }
}

/** The sample of the flags, with defaults for the rest. */
function readSample(values: Values, time: PolicyTime): SampleRequest {
  const operation = readValue("--operation", required(values.operation, "--operation", "chat.completions"), OPERATIONS);
  const isRouteOptional = operation === "moderations" || values.request !== undefined;
  const features = readValues("--features", values.features, FEATURE_NAMES);
  return {
    workspace: values.server === undefined ? required(values.workspace, "--workspace", "demo") : "",
    model: isRouteOptional ? (values.model ?? "") : required(values.model, "--model", "chat-small"),
    operation,
    key: {
      environment: values["key-environment"] ?? DEFAULT_ENVIRONMENT,
      workload: values.workload ?? "",
      ...(values.owner !== undefined && { owner: values.owner }),
      labels: listItems(values.labels),
    },
    needs: readValues("--needs", values.needs, CAPABILITY_NAMES),
    features: [...new Set([...features, ...(ALWAYS_USED[operation] ?? [])])].toSorted(),
    signatureFamilies: listItems(values["signature-families"]),
    stream: values.stream === true,
    context: readBucket("--context", values.context),
    maxOutput: readBucket("--max-output", values["max-output"]),
    reasoningEffort: readValue("--reasoning-effort", values["reasoning-effort"] ?? "unspecified", REASONING_EFFORTS),
    dimensions: values.dimensions === undefined ? null : readCount("--dimensions", values.dimensions, 1_000_000),
    preferences: readPreferences(values),
    time,
    ...(values.budget !== undefined && { budget: readValue("--budget", values.budget, BUDGET_STEPS) }),
  };
}

/** A bucket by name, or the one that a number of tokens falls in. */
function readBucket(flag: string, value: string | undefined): TokenBucket {
  if (value === undefined) return "unspecified";
  return /^\d+$/.test(value) ? tokenBucket(Number(value)) : readValue(flag, value, TOKEN_BUCKETS);
}

function readPreferences(values: Values): ProviderPreferences | null {
  const given = Object.keys(PREFERENCE_FLAGS).find((name) => Reflect.get(values, name) !== undefined);
  if (values.preferences !== undefined) {
    if (given !== undefined) throw new UsageError(`--preferences, --${given}: give one of them`);
    return readPreferencesJson(values.preferences);
  }
  if (given === undefined) return null;
  const collection = values["data-collection"];
  return {
    ...providers("only", values.only),
    ...providers("order", values.order),
    ...providers("ignore", values.ignore),
    ...providers("region", values.region),
    ...(collection === undefined
      ? {}
      : { data_collection: readValue("--data-collection", collection, ["allow", "deny"] as const) }),
    ...(values.zdr === true ? { zdr: true } : {}),
    ...(values["no-fallbacks"] === true ? { allow_fallbacks: false } : {}),
  };
}

/** A list of a preference; an empty one could mean everything or nothing. */
function providers(
  name: "only" | "order" | "ignore" | "region",
  value: string | undefined,
): Partial<Record<typeof name, readonly string[]>> {
  if (value === undefined) return {};
  const items = listItems(value);
  if (items.length === 0) throw new UsageError(`--${name}: needs a name, or several separated by commas`);
  return { [name]: items };
}

/** Values separated by commas, sorted, each once. */
function readValues<Value extends string>(
  flag: string,
  written: string | undefined,
  values: readonly Value[],
): readonly Value[] {
  return [...new Set(listItems(written).map((item) => readValue(flag, item, values)))].toSorted();
}

/** `weekday/night`, or the window of an RFC 3339 time; `null` where neither is given. */
function readWindow(time: string | undefined, at: string | undefined): PolicyTime | null {
  if (time !== undefined && at !== undefined) throw new UsageError("--at, --time: give one of them");
  if (at !== undefined) {
    const instant = readTime(at);
    if (instant === null) throw new UsageError("--at: must be an RFC 3339 time, such as 2026-03-01T22:00:00Z");
    return timeWindow(instant);
  }
  if (time === undefined) return null;
  const [day = "", hour, ...rest] = time.split("/");
  if (hour === undefined || rest.length > 0) {
    throw new UsageError(
      `--time: must be a day and an hour, such as weekday/night: ${DAY_BUCKETS.join(" or ")}, then ${HOUR_BUCKETS.join(", ")}`,
    );
  }
  return { day: readValue("--time", day, DAY_BUCKETS), hour: readValue("--time", hour, HOUR_BUCKETS) };
}
