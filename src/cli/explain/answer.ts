import { resolve } from "node:path";
import type { ServiceError } from "../../canon/error.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { formatLocation } from "./format-explanation.ts";
import type { SimulateOptions, TreeOption } from "../simulate/options.ts";
import { compileSide, openTree, overlaysOf } from "../simulate/sides.ts";
import {
  answerError,
  callServer,
  objectOf,
  serverUrl,
  textOf,
  unreadableAnswer,
  type ServerAnswer,
} from "../terminal/call-server.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { shownPath } from "../terminal/command-line.ts";
import { openCache } from "../terminal/configuration.ts";
import { printFindings } from "../terminal/report.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import { allSources, loadConfiguration } from "../../compile/load.ts";
import type { Question } from "../../decide/decide.ts";
import { createDecider } from "../../decide/decider.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import { INFERENCE_ENDPOINTS } from "../../http/contract/inference-endpoints.ts";
import { SHAPE_MEMBERS } from "../../http/contract/decision-schemas.ts";
import {
  decideFrom,
  simulatedDecision,
  simulationQuestion,
  type SimulatedOperation,
} from "../../http/control/simulate.ts";
import { RefusalError } from "../../http/refusal.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import { initialMode, policyData } from "../../policy/input-schema.ts";
import { createPolicySet } from "../../policy/policy-set.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { sampleQuestionOf } from "../../simulate/decide-sample.ts";
import { withLocations, locationsOf, type Locations } from "../../simulate/explain/positions.ts";
import { explain, timeFacts } from "../../simulate/explain/explanation.ts";
import { perScalar } from "../../simulate/request-scalars.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { compiledSides, type CompiledTree } from "../../simulate/side-contents.ts";
import { sideViews } from "../../simulate/views.ts";

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

/** The request to explain. */
interface RequestOptions {
  readonly sample: SampleRequest;
  /** As if every candidate policy were promoted. */
  readonly promoted: boolean;
  /** Milliseconds since the epoch; default: the sample's window. */
  readonly at?: number;
}

interface ServerRequestOptions extends RequestOptions {
  /** The requested window; `null`: the current one. */
  readonly time: PolicyTime | null;
  /** Whether a workspace is given, whose caller may differ from the key of a server. */
  readonly hasWorkspace: boolean;
}

/** An explanation, with notes for a reader of the files. */
interface Answer {
  readonly explanation: JsonObject;
  readonly notes: readonly string[];
}

/**
 * Decides as a new server with these files would, or as one that has run base: without store, key
 * or network.
 *
 * @param body of `--request`; `null` where the sample is the whole request.
 * @throws {CommandError} where the files do not compile, or a server would refuse the body itself.
 */
export async function explainFromFiles(
  options: RequestOptions,
  source: FilesSource,
  body: JsonObject | null,
  io: CommandIo,
): Promise<Answer> {
  const cache = await openCache(source.cache, io);
  const head = await compiledFiles(source, cache, io);
  const { files, table, policies: compiled } = head;
  const { sample } = options;
  const following =
    source.base === null
      ? null
      : await followingPolicies(head, source.base, { ...source, cache }, io);
  const set =
    following?.set ??
    (await createPolicySet(compiled, [], policyData(table), (id) => initialMode(table, id)));
  const { identity, question: asSampled } = sampleQuestionOf(sample);
  const operation = operationOf(sample.operation);
  const { question, request } =
    body === null
      ? { question: asSampled, request: null }
      : accepted(() => simulationQuestion(requestBody(sample, body), operation));
  const { at = null, promoted } = options;
  const view = { time: at ?? sample.time, promoted };
  const decider = createDecider(table, set, Date.now);
  const { policies, decision: decided } = decideFrom(decider, identity, question, view, Date.now);
  const decision = accepted(() => simulatedDecision(request, operation, table, decided));
  const paths = request?.paths ?? null;
  const explained = { table, policies, identity, question, paths, ...view };
  const locations = locationsOf(files);
  return {
    explanation: withLocations(
      explain(explained, decision, null),
      locations,
      promoted ? null : (following?.kept ?? null),
    ),
    notes: [
      ...routeNotes(table, locations, sample, question),
      ...preferenceNotes(table, question),
      ...vocabularyNotes(table, sample),
    ],
  };
}

/**
 * The files of `--head`, or of the current folder. @throws {CommandError} where they do not
 * compile.
 */
async function compiledFiles(
  { config, environment, head }: FilesSource,
  cache: CompileCache | null,
  io: CommandIo,
) {
  const side =
    head === null
      ? null
      : await compileSide(await openTree(head, "--head", io), { config, environment, cache });
  if (side !== null && "table" in side) return side;
  const path = resolve(io.cwd, config);
  const files =
    side?.files ?? (await loadConfiguration(path, shownPath(io.cwd, path), environment));
  const { table, policies, diagnostics } = await compileConfiguration(files, { cache });
  if (table !== null && policies !== null) return { files, table, policies };
  printFindings(diagnostics, io, allSources(files));
  throw new CommandError("the files have errors, so nothing can be decided with them");
}

/** The body of a simulation: a request's own body with the flags beside it, or a sample. */
function requestBody(sample: SampleRequest, body: JsonObject | null): JsonObject {
  // The server adds the features that every request of the operation uses.
  const added = ALWAYS_USED[sample.operation] ?? [];
  const scalars = perScalar((member, { name, plain }) => [
    name,
    sample[member] === plain ? null : sample[member],
  ]);
  const shape = {
    needs: sample.needs,
    features: sample.features.filter((feature) => !added.includes(feature)),
    ...Object.fromEntries(scalars),
    signature_families: sample.signatureFamilies,
    dimensions: sample.dimensions,
  };
  return withoutDefaults({
    model: sample.model,
    provider: sample.preferences === null ? null : { ...sample.preferences },
    ...(body === null ? shape : { request: body }),
  });
}

/** Older servers reject unknown members, so members with their default are not sent. */
function withoutDefaults(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) =>
      Array.isArray(value) ? value.length > 0 : value !== null && value !== "",
    ),
  );
}

function operationOf(operation: Operation): SimulatedOperation {
  const endpoint = INFERENCE_ENDPOINTS.find((one) => one.operation === operation);
  if (endpoint?.body === undefined || endpoint.body === null)
    throw new Error("explain: an operation without an endpoint");
  return { operation, surface: endpoint.surface, validate: bodyValidator(endpoint.body) };
}

/**
 * Policies of a server that has run base: head as declared, as in `signalbox simulate`.
 *
 * @throws {CommandError} where base is not there, cannot be read, or has errors.
 */
async function followingPolicies(
  head: CompiledTree,
  base: TreeOption,
  options: Pick<SimulateOptions, "config" | "cache" | "environment">,
  io: CommandIo,
) {
  const tree = await openTree(base, "--base", io);
  const { environment } = options;
  // As `signalbox simulate`: head may add an overlay that base does not have.
  const exists = environment !== null && (await overlaysOf(tree, options.config)).has(environment);
  const before = await compileSide(tree, { ...options, environment: exists ? environment : null });
  if ("diagnostics" in before) {
    printFindings(before.diagnostics, io, allSources(before.files));
    throw new CommandError("--base: its files have errors, so what is enforced there is unknown");
  }
  const side = compiledSides(before, head, false).head;
  const keptIds = side.contents.filter(({ isKept }) => isKept).map(({ contract }) => contract.id);
  const { declared } = await sideViews(side, () => false);
  const keptRules = { policies: new Set(keptIds), locations: locationsOf(before.files) };
  return { set: declared, kept: keptRules };
}

// Notes about requested names that do not exist, for readers of the files and never for callers.
// Such a request can be sent, so it is decided instead of refused.

function routeNotes(
  { workspaces, routes }: RoutingTable,
  locations: Locations,
  sample: SampleRequest,
  { model }: Question,
) {
  const workspace = Object.hasOwn(workspaces, sample.workspace)
    ? workspaces[sample.workspace]
    : undefined;
  if (workspace === undefined)
    return [
      `there is no workspace with this name; ${suggest(sample.workspace, Object.keys(workspaces))}`,
    ];
  if (model === "" || workspace.approve.routes.includes(model)) return [];
  if (!Object.hasOwn(routes, model))
    return [`there is no route with this name; ${suggest(model, Object.keys(routes))}`];
  const location = formatLocation(locations.approval(workspace.id, "routes"));
  return [
    `the route exists, but the workspace does not approve it${location === "" ? "" : ` (${location})`}`,
  ];
}

function preferenceNotes(table: RoutingTable, { preferences }: Question) {
  if (preferences === null) return [];
  const providers = Object.keys(table.providers);
  const unknown = (["order", "only", "ignore"] as const).flatMap((member) => {
    const name = preferences[member]?.find((provider) => !providers.includes(provider));
    return name === undefined
      ? []
      : [`${member} names a provider that does not exist; ${suggest(name, providers)}`];
  });
  const region = preferences.region?.find((name) => regionsNamed(table, name) === null);
  if (region === undefined) return unknown;
  const regions = Object.entries(table.regionGroups).flat(2);
  return [...unknown, `region names a region that does not exist; ${suggest(region, regions)}`];
}

/** Policies do not see values that the vocabulary does not have. */
function vocabularyNotes({ vocabulary }: RoutingTable, { key }: SampleRequest): readonly string[] {
  const { environments, workloads, owners = [], labels } = vocabulary;
  const label = key.labels.find((one) => !labels.includes(one));
  const note = (
    text: string,
    value: string | undefined,
    values: readonly string[],
  ): readonly string[] =>
    value === undefined || value === "" || values.includes(value)
      ? []
      : [
          `policies ${text}: the vocabulary does not have it; ${suggest(value, values)}`.replace(
            /; $/,
            "",
          ),
        ];
  return [
    ...note('see the key\'s environment as "other"', key.environment, environments),
    ...note('see the key\'s workload as "other"', key.workload, workloads),
    ...note('see the key\'s owner as "other"', key.owner, owners),
    ...note("do not see one of the key's labels", label, labels),
  ];
}

/** The result of a step that may refuse the request. @throws {CommandError} */
function accepted<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    const answer = error instanceof RefusalError ? error.answer : null;
    throw answer === null ? error : refusedRequest(answer);
  }
}

/** The error of a request that is refused before a decision. */
function refusedRequest({
  status,
  code,
  message,
}: Pick<ServiceError, "status" | "code" | "message">) {
  return new CommandError(
    `--request: refused before any decision, with ${status} ${code}: ${message}`,
  );
}

/**
 * Gets the explanation of a running server, with the key in the environment variable SIGNALBOX_KEY.
 *
 * @param body of `--request`; `null` where the sample is the whole request.
 * @throws {UsageError}
 * @throws {CommandError} where the server gives no explanation.
 */
export async function explainFromServer(
  options: ServerRequestOptions,
  server: string,
  body: JsonObject | null,
  io: CommandIo,
): Promise<Answer> {
  const { sample, time, promoted } = options;
  const url = serverUrl(server, "/v1/route/simulate");
  url.searchParams.set("operation", sample.operation);
  const payload = {
    ...requestBody(sample, body),
    ...(time !== null && { time: timeFacts(time) }),
    ...(promoted && { promoted }),
  };
  const received = await callServer(io, { url, scopes: "route:simulate", body: payload });
  if (received.status !== 200) throw refusal(received);
  const answer = received.body;
  if (answer?.object !== "route.simulation") throw unreadableAnswer();
  if (options.hasWorkspace && answer.workspace !== sample.workspace) {
    throw new CommandError(
      "SIGNALBOX_KEY: belongs to another workspace than the request of --point; use a key of that workspace",
    );
  }
  return {
    explanation: answer,
    notes: options.hasWorkspace ? serverKeyNotes(answer, sample) : [],
  };
}

/** Notes where the caller's key, which a server decides for, differs from the sample's. */
function serverKeyNotes({ key, budget }: JsonObject, sample: SampleRequest): readonly string[] {
  // A point without an owner is of a key whose owner policies do not see.
  const isSameKey =
    !isJsonObject(key) ||
    canonicalJson({ owner: "other", ...key }) === canonicalJson({ owner: "other", ...sample.key });
  const isSameBudget = typeof budget !== "string" || budget === (sample.budget ?? "unlimited");
  return [
    isSameKey
      ? ""
      : "the key in SIGNALBOX_KEY has other attributes than the key in --point; the answer is for the key in SIGNALBOX_KEY",
    isSameBudget
      ? ""
      : `the budget of the key in SIGNALBOX_KEY is ${budget} now; the answer uses that`,
  ].filter(Boolean);
}

/** The error for an answer other than 200. */
function refusal(answer: ServerAnswer): CommandError {
  const error = objectOf(answer.body, "error");
  const [code, param] = [textOf(error, "code"), textOf(error, "param")];
  if (code === "unknown_field" && MEMBERS.includes(param)) {
    return new CommandError(
      `--server: is older than this command and does not support ${param}; leave it out, or use --config with the server's files`,
    );
  }
  if (answer.status !== 400 || code === "") return answerError(answer, "POST /v1/route/simulate");
  return refusedRequest({
    status: 400,
    code: code.slice(0, 64),
    message: textOf(error, "message").slice(0, 500),
  });
}

/** Members that this command sends; a server that rejects one is older. */
const MEMBERS: readonly string[] = ["time", "promoted", ...SHAPE_MEMBERS];
