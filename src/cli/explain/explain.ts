import { resolve } from "node:path";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { TOKEN_BUCKETS } from "../../canon/request.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";
import { type CommandIo, UsageError } from "../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT } from "../terminal/configuration.ts";
import { jsonText } from "../terminal/printing.ts";
import {
  type FlagValues,
  noArguments,
  readArguments,
  readEnvironment,
  readValue,
  required,
  runCommand,
  switches,
  textFlags,
} from "../terminal/command-line.ts";
import { explainFromFiles, explainFromServer, type FilesSource } from "./answer.ts";
import { printExplanation } from "./format-explanation.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../canon/capability.ts";
import { POLICY_TIME_SCHEMA } from "../../canon/local-time.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { readPath, readTree } from "../simulate/options.ts";
import { parsePreferences } from "../../dialects/body-reader.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { sampleDefaults } from "../../simulate/explain/explain-arguments.ts";
import { mapScalars, perScalar } from "../../simulate/request-scalars.ts";

const HELP = `Usage: signalbox explain [options]

Shows where one request would go, or why it would be denied: every candidate, every constraint, and the line of the files
that declares it. Calls no provider and reserves nothing.

Source of the decision
  --config FILE            routes.yaml, with the policies beside it. Default: routes.yaml. Opens no store, reads no secret.
  --environment NAME       Merge routes.NAME.yaml over it. Default: SIGNALBOX_ENVIRONMENT, else none.
  --cache DIRECTORY        Compiled policies. Default: ${DEFAULT_CACHE_TEXT}.
  --base REF|FOLDER        The files that a server runs now: each of its policies stays enforced until its change or its
                           removal is promoted. Default: a new server. As --base of signalbox simulate.
  --head REF|FOLDER        The files. Default: the current folder. As --head of signalbox simulate.
  --server URL             A running server instead of files; its key, with the scope route:simulate, from SIGNALBOX_KEY.

The request
  --point JSON             The request as the report of signalbox simulate prints it, or only some members:
                           '{"workspace":"demo","operation":"chat.completions","model":"chat-small","needs":["tools"]}'.
    operation              ${OPERATIONS.slice(0, 4).join(", ")},
                           ${OPERATIONS.slice(4).join(", ")}.
    workspace, key         The caller; a server reads it from the key. key: environment (default: production), workload,
                           owner, labels.
    model                  The route, as clients write it.
    preferences            The provider member of a request, such as {"only":["azure"],"zdr":true}.
    needs, features        Capabilities, such as tools; features of wire protocols, such as seed.
    stream, reasoningEffort, dimensions, signatureFamilies
    context, maxOutput     Sizes: ${TOKEN_BUCKETS.slice(1, 4).join(", ")}, …
    budget                 ${BUDGET_STEPS.join(", ")}: what is left of the budgets.
    time                   {"day":"weekday","hour":"night"}, in UTC; and "local" with the clocks of
                           zones: {"Europe/Berlin":{"weekday":"friday","hour":23}}. Default: now.
  --request FILE           The request's body; - for standard input. --point has the rest.

Other
  --promoted               As if every candidate policy were promoted.
  --format FORMAT          terminal or json. Default: terminal.
  -h, --help               This text.

Exit codes: 0 explained, whether the request is routed or denied; 1 not explained; 2 the command line cannot be used.
`;

/** The longest body of a request, characters: the default limit of a server. */
const LONGEST_BODY = 32 * 1024 * 1024;

export function explainRequest(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand({ name: "explain", help: HELP }, argv, io, async () => {
    const options = readOptions(argv, Date.now(), io);
    const { source } = options;
    const body = options.request === null ? null : await readBody(options.request, io);
    const { explanation, notes } =
      "server" in source
        ? await explainFromServer(options, source.server, body, io)
        : await explainFromFiles(options, source, body, io);
    if (options.format === "json") io.stdout(jsonText({ format: 2, ...explanation, notes }));
    else printExplanation(explanation, notes, io);
  });
}

async function readBody(name: string, { cwd, stdin }: CommandIo): Promise<JsonObject> {
  const text = name === "-" ? ((await stdin?.()) ?? "") : await readText(resolve(cwd, name));
  if (text === null || text.length > LONGEST_BODY) {
    throw new UsageError(`--request: is longer than ${LONGEST_BODY} characters`);
  }
  const body = parseJsonObject(text);
  if (body === null)
    throw new UsageError("--request: must hold a JSON object, the body of a request");
  return body;
}

/** `null` for a file that is too large. */
async function readText(path: string) {
  try {
    // A character has at most four bytes.
    const bytes = await readNamedFile(path, 4 * LONGEST_BODY);
    return bytes === "too_large" ? null : Buffer.from(bytes).toString("utf8");
  } catch {
    throw new UsageError(
      "--request: the file cannot be read; name a file, or - for standard input",
    );
  }
}

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
): { readonly members: JsonObject; readonly sample: SampleRequest } {
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
    members: given,
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
  const { members, sample } = readSampleJson(
    required(values.point, "--point", `'${POINT_EXAMPLE}'`),
    timeWindow(now),
  );
  requireMembers(values, members);
  return {
    source: readSource(values, io),
    format: readValue("--format", values.format ?? "terminal", EXPLAIN_FORMATS),
    promoted: values.promoted === true,
    /** The requested window; `null`: the current one. */
    time: isJsonObject(members.time) ? sample.time : null,
    /** Path of a request's body, or `-`; `null`: the sample is the whole request. */
    request: values.request ?? null,
    /** The request of `--point`, with defaults for absent members. */
    sample,
    /** A workspace in `--point` names a caller that may differ from the key of a server. */
    hasWorkspace: Object.hasOwn(members, "workspace"),
  };
}

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
  const isWorkingTree = base === undefined && head === undefined;
  return {
    // Both trees have it at the same path.
    config: isWorkingTree ? config : readPath(config, "--config"),
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
