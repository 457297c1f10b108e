import { resolve } from "node:path";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { allSources, loadConfiguration } from "../../compile/load.ts";
import { createDecider } from "../../decide/decider.ts";
import { INFERENCE_ENDPOINTS } from "../../http/contract/inference-endpoints.ts";
import { bodyValidator } from "../../http/validate-body.ts";
import {
  decideFrom,
  simulatedDecision,
  simulationQuestion,
  type SimulatedOperation,
  type SimulatedQuestion,
} from "../../http/control/simulate.ts";
import { initialMode, policyData } from "../../policy/policy-data.ts";
import { createPolicySet } from "../../policy/policy-set.ts";
import { sampleQuestionOf } from "../../simulate/decide-sample.ts";
import { explain } from "../../simulate/explain/explanation.ts";
import { withLocations, type KeptRules } from "../../simulate/explain/explanation-locations.ts";
import { locationsOf, type Locations } from "../../simulate/explain/positions.ts";
import { printFindings } from "../terminal/report.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { openCache } from "../compile-cache.ts";
import { compileSide, openTree, hasOverlay } from "../simulate/sides.ts";
import { shownPath } from "../terminal/as-typed.ts";
import type { ExplainOptions, FilesSource } from "./flags.ts";
import { preferencesJson } from "./sample-json.ts";
import { compiledSides, type CompiledTree } from "../../simulate/side-contents.ts";
import { sideViews } from "../../simulate/views.ts";
import type { PolicySet } from "../../canon/policy.ts";
import type { SimulateOptions, TreeOption } from "../simulate/options.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import type { Question } from "../../decide/decide.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import { formatLocation } from "./format-explanation.ts";
import type { ServiceError } from "../../canon/error.ts";

/** An explanation, with notes for a reader of the files. */
export interface Answer {
  readonly explanation: JsonObject;
  readonly notes: readonly string[];
}

/**
 * Decides as a server with these files would that has never seen another, or has seen base: no
 * store, no key, no network.
 *
 * @param body of `--request`; `null` where the sample is the whole request.
 * @throws {CommandError} where the files do not compile, or a server would refuse the body itself.
 */
export async function explainFromFiles(
  options: ExplainOptions,
  source: FilesSource,
  body: JsonObject | null,
  io: CommandIo,
): Promise<Answer> {
  const cache = await openCache(source.cache, io);
  const { files, table, policies: compiled } = await compiledFiles(source, cache, io);
  const { sample } = options;
  const { config, environment } = source;
  const following =
    source.base === null
      ? null
      : await followingPolicies(
          { table, policies: compiled },
          source.base,
          { config, cache, environment },
          io,
        );
  const set =
    following?.set ??
    (await createPolicySet(compiled, [], policyData(table), (id) => initialMode(table, id)));
  const { identity, question, at } = sampleQuestionOf(sample);
  const operation = operationOf(sample.operation);
  const simulated: SimulatedQuestion =
    body === null ? { question, request: null } : readRequest(options, operation, body);
  const view = { time: sample.time, promoted: options.promoted };
  const decider = createDecider(table, set, () => at);
  const { policies, decision: decided } = decideFrom(
    decider,
    identity,
    simulated.question,
    view,
    () => at,
  );
  const decision = simulatedDecision(simulated.request, operation, table, decided);
  if ("code" in decision) throw refusedRequest(decision);
  const explained = {
    table,
    policies,
    identity,
    question: simulated.question,
    paths: simulated.request?.paths ?? null,
  };
  const explanation = explain({ ...explained, ...view }, decision, null);
  const locations = locationsOf(files);
  return {
    explanation: withLocations(
      explanation,
      locations,
      options.promoted ? null : (following?.kept ?? null),
    ),
    notes: notesOf({ table, locations, options, question: simulated.question }),
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

function readRequest(
  options: ExplainOptions,
  operation: SimulatedOperation,
  body: JsonObject,
): SimulatedQuestion {
  const read = simulationQuestion(simulationBody(options, body), operation);
  if ("code" in read) throw refusedRequest(read);
  return read;
}

/** The part of a simulation's body that a request's own body and the flags beside it make. */
export function simulationBody({ sample }: ExplainOptions, body: JsonObject): JsonObject {
  return {
    request: body,
    ...(sample.model === "" ? {} : { model: sample.model }),
    ...(sample.preferences === null ? {} : { provider: preferencesJson(sample.preferences) }),
  };
}

function operationOf(operation: Operation): SimulatedOperation {
  const endpoint = INFERENCE_ENDPOINTS.find((one) => one.operation === operation);
  if (endpoint?.body === undefined || endpoint.body === null)
    throw new Error("explain: an operation without an endpoint");
  return { operation, surface: endpoint.surface, validate: bodyValidator(endpoint.body) };
}

/** The slots of a server that runs base and whose files become head's. */
interface FollowingPolicies {
  readonly set: PolicySet;
  readonly kept: KeptRules;
}

/**
 * Policies as a server has them that has seen base: as `signalbox simulate` means head as declared.
 *
 * @throws {CommandError} where base is not there, cannot be read, or has errors.
 */
async function followingPolicies(
  head: CompiledTree,
  base: TreeOption,
  options: Pick<SimulateOptions, "config" | "cache" | "environment">,
  io: CommandIo,
): Promise<FollowingPolicies> {
  const tree = await openTree(base, "--base", io);
  const { environment } = options;
  // As `signalbox simulate`: head may add an overlay that base does not have.
  const isThere = environment !== null && (await hasOverlay(tree, options.config, environment));
  const before = await compileSide(tree, { ...options, environment: isThere ? environment : null });
  if ("diagnostics" in before) {
    printFindings(before.diagnostics, io, allSources(before.files));
    throw new CommandError("--base: its files have errors, so what is enforced there is unknown");
  }
  const side = compiledSides(before, head, false).head;
  const kept = side.contents.filter(({ isKept }) => isKept).map(({ contract }) => contract.id);
  const { declared } = await sideViews(side, () => false);
  return { set: declared, kept: { policies: new Set(kept), locations: locationsOf(before.files) } };
}

interface Noted {
  readonly table: RoutingTable;
  readonly locations: Locations;
  readonly options: ExplainOptions;
  readonly question: Question;
}

/**
 * For readers of the files only, never for callers: which of the requested names do not exist. Such
 * a request can be sent, so it is decided and not refused as a mistake of the command line.
 */
function notesOf(noted: Noted): readonly string[] {
  return [...routeNotes(noted), ...preferenceNotes(noted), ...keyNotes(noted)];
}

function routeNotes({ table, locations, options: { sample }, question }: Noted): readonly string[] {
  const workspace = Object.hasOwn(table.workspaces, sample.workspace)
    ? table.workspaces[sample.workspace]
    : undefined;
  if (workspace === undefined) {
    return [
      `there is no workspace with this name; ${suggest(sample.workspace, Object.keys(table.workspaces))}`,
    ];
  }
  if (question.model === "") return [];
  if (!Object.hasOwn(table.routes, question.model)) {
    return [
      `there is no route with this name; ${suggest(question.model, Object.keys(table.routes))}`,
    ];
  }
  if (workspace.approve.routes.includes(question.model)) return [];
  const location = formatLocation(locations.approval(workspace.id, "routes"));
  return [
    `the route exists, but the workspace does not approve it${location === "" ? "" : ` (${location})`}`,
  ];
}

function preferenceNotes({ table, question }: Noted): readonly string[] {
  const { preferences } = question;
  if (preferences === null) return [];
  const providers = Object.keys(table.providers);
  const unknown = (["order", "only", "ignore"] as const).flatMap((member) => {
    const name = preferences[member]?.find((provider) => !Object.hasOwn(table.providers, provider));
    return name === undefined
      ? []
      : [`${member} names a provider that does not exist; ${suggest(name, providers)}`];
  });
  const region = preferences.region?.find((name) => regionsNamed(table, name) === null);
  if (region === undefined) return unknown;
  const groups = Object.entries(table.regionGroups).flatMap(([group, regions]) => [
    group,
    ...regions,
  ]);
  return [...unknown, `region names a region that does not exist; ${suggest(region, groups)}`];
}

/** What the vocabulary does not have, policies cannot see. */
function keyNotes({ table, options: { sample } }: Noted): readonly string[] {
  const { environments, workloads, owners = [], labels } = table.vocabulary;
  const { key } = sample;
  const label = key.labels.find((one) => !labels.includes(one));
  const seen = (
    what: string,
    value: string | undefined,
    known: readonly string[],
  ): readonly string[] =>
    value === undefined || known.includes(value)
      ? []
      : [
          `policies see the key's ${what} as "other": the vocabulary does not have it; ${suggest(value, known)}`,
        ];
  return [
    ...seen("environment", key.environment, environments),
    ...seen("workload", key.workload === "" ? undefined : key.workload, workloads),
    ...seen("owner", key.owner, owners),
    ...(label === undefined
      ? []
      : [
          `policies do not see one of the key's labels: the vocabulary does not have it; ${suggest(label, labels)}`,
        ]),
  ].map((note) => note.replace(/; $/, ""));
}

/** The error of a request that is refused before a decision. */
export function refusedRequest({
  status,
  code,
  message,
}: Pick<ServiceError, "status" | "code" | "message">): CommandError {
  return new CommandError(
    `--request: refused before any decision, with ${status} ${code}: ${message}`,
  );
}
