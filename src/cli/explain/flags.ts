import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import { isJsonObject, parseJsonObject, type JsonObject } from "../../canon/json.ts";
import { POLICY_TIME_SCHEMA } from "../../canon/local-time.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { readPath, readTree, type TreeOption } from "../simulate/options.ts";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import {
  noArguments,
  readArguments,
  type FlagValues,
  readEnvironment,
  readValue,
  required,
  switches,
  textFlags,
} from "../terminal/command-line.ts";
import { parsePreferences } from "../../dialects/body-reader.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { sampleDefaults } from "../../simulate/explain/explain-arguments.ts";
import { mapScalars, perScalar } from "../../simulate/request-scalars.ts";

const setOf = (names: readonly string[]): JsonObject => ({
  type: "array",
  items: { enum: names },
  uniqueItems: true,
});
const texts = { type: "array", items: { type: "string" } } as const;

const MEMBERS: JsonObject = {
  workspace: { type: "string" },
  model: { type: "string" },
  operation: { enum: OPERATIONS },
  key: {
    type: "object",
    additionalProperties: false,
    properties: {
      environment: { type: "string" },
      workload: { type: "string" },
      owner: { type: "string" },
      labels: texts,
    },
  },
  needs: setOf(CAPABILITY_NAMES),
  features: setOf(FEATURE_NAMES),
  signatureFamilies: texts,
  ...mapScalars((_, { plain, values }) =>
    typeof plain === "boolean" ? { type: "boolean" } : { enum: values },
  ),
  dimensions: { type: ["number", "null"] },
  preferences: { $ref: "#/components/schemas/ProviderPreferences" },
  budget: { enum: BUDGET_STEPS },
  time: POLICY_TIME_SCHEMA,
};

/** Members of a sample that the body of a request has itself. */
const SHAPE_MEMBERS = [
  "needs",
  "features",
  "signatureFamilies",
  ...perScalar((member) => member),
  "dimensions",
] as const;

const SAMPLE: JsonObject = { type: "object", additionalProperties: false, properties: MEMBERS };

/**
 * The request of `--point`: all of a sample as a report prints it, or some members, the others with
 * their defaults.
 *
 * @param now the time of a sample without one.
 * @throws {UsageError} that names the member and the rule.
 */
function readSampleJson(
  text: string,
  now: PolicyTime,
): { readonly given: JsonObject; readonly sample: SampleRequest } {
  const given = parseJsonObject(text);
  if (given === null)
    throw new UsageError(
      "--point: must be a JSON object, in one argument (put it in single quotes)",
    );
  const invalid = bodyValidator(SAMPLE)(given);
  if (invalid !== null)
    throw new UsageError(`--point: ${invalid.message.replace("The body", "it")}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema above describes it
  const members = given as unknown as Partial<SampleRequest>;
  const defaults = sampleDefaults(members.operation ?? "chat.completions");
  const sample = { ...defaults, time: now, ...members, key: { ...defaults.key, ...members.key } };
  return {
    given,
    sample: {
      ...sample,
      needs: sample.needs.toSorted(),
      features: sample.features.toSorted(),
      preferences: parsePreferences(given.preferences),
    },
  };
}

/** Flags about files, which a server excludes. */
const FILES_FLAGS = textFlags("config", "environment", "cache", "base", "head");

const FLAGS = {
  ...FILES_FLAGS,
  ...textFlags("server", "request", "point", "format"),
  ...switches("promoted"),
} as const;

const EXPLAIN_FORMATS = ["terminal", "json"] as const;

/** A request for `--point` with the members that have no default. */
const POINT_EXAMPLE = '{"workspace":"demo","operation":"chat.completions","model":"chat-small"}';

/** Files to decide with. */
export interface FilesSource {
  readonly config: string;
  /** The environment whose overlay is merged over it; `null` for none. */
  readonly environment: string | null;
  /** Folder of compiled policies; `undefined`: the user's. */
  readonly cache: string | undefined;
  /** The files that a server runs now; `null`: a new server. */
  readonly base: TreeOption | null;
  /** `null`: the current folder. */
  readonly head: TreeOption | null;
}

type Values = FlagValues<typeof FLAGS>;

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
) {
  const { values, positionals } = readArguments(argv, FLAGS);
  noArguments(positionals, "name the file of a request's body with --request");
  const { given, sample } = readSampleJson(
    required(values.point, "--point", `'${POINT_EXAMPLE}'`),
    timeWindow(now),
  );
  requireMembers(values, given);
  return {
    source: readSource(values, io),
    format: readValue("--format", values.format ?? "terminal", EXPLAIN_FORMATS),
    promoted: values.promoted === true,
    /** The requested window; `null`: the current one. */
    time: isJsonObject(given.time) ? sample.time : null,
    /** Path of a request's body, or `-`; `null`: the sample is the whole request. */
    request: values.request ?? null,
    /** The request of `--point`, with defaults for absent members. */
    sample,
    /** A workspace in `--point` names a caller that may differ from the key of a server. */
    isCallerGiven: Object.hasOwn(given, "workspace"),
  };
}

export type ExplainOptions = ReturnType<typeof readOptions>;

function readSource(
  values: Values,
  io: Pick<CommandIo, "environment">,
): FilesSource | { readonly server: string } {
  const { config = "routes.yaml", cache, base, head, server } = values;
  if (server !== undefined) {
    const second = Object.keys(FILES_FLAGS).find((name) => Reflect.get(values, name) !== undefined);
    if (second === undefined) return { server };
    throw new UsageError(
      `--server, --${second}: the decision comes from files or from a server; give one of them`,
    );
  }
  const isHere = base === undefined && head === undefined;
  return {
    // Both trees have it at the same path.
    config: isHere ? config : readPath(config, "--config"),
    environment: readEnvironment(values.environment, io),
    cache,
    base: base === undefined ? null : readTree(base, "--base"),
    head: head === undefined ? null : readTree(head, "--head"),
  };
}

/** A server reads the workspace from the key; a body has a model and a shape. */
function requireMembers({ server, request }: Values, given: JsonObject) {
  const isModelOptional = request !== undefined || given.operation === "moderations";
  const members = [
    "operation",
    ...(server === undefined ? ["workspace"] : []),
    ...(isModelOptional ? [] : ["model"]),
  ];
  const missing = members.find((name) => !Object.hasOwn(given, name));
  if (missing !== undefined)
    throw new UsageError(`--point: ${missing} is required; give it as in ${POINT_EXAMPLE}`);
  const second =
    request === undefined ? undefined : SHAPE_MEMBERS.find((name) => Object.hasOwn(given, name));
  if (second !== undefined) {
    throw new UsageError(
      `--request, --point: the body in --request has ${second}; remove it from --point`,
    );
  }
}
