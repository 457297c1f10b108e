import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseJsonObject, type JsonObject } from "../canon/json.ts";
import { DECISION } from "../http/contract/decision-schemas.ts";
import { decisionAnswer } from "../http/control/decision-handlers.ts";
import { readEvidenceSample } from "../simulate/evidence/evidence-sample.ts";
import { name, quoted, strong, type Item, type Section } from "./document/document.ts";
import { explainFromFiles } from "./explain/answer.ts";
import {
  explanationSections,
  factItems,
  listSection,
  printDocument,
} from "./explain/format-explanation.ts";
import {
  type Answer,
  answerError,
  callServer,
  objectOf,
  readAnswer,
  serverUrl,
} from "./terminal/call-server.ts";
import { CommandError, UsageError, type CommandIo } from "./terminal/command-io.ts";
import {
  givenText,
  DATABASE_HELP,
  flagCommand,
  onlyArgument,
  readEnvironment,
  TABLE_FORMAT_HELP,
  textFlags,
  wantsJson,
  type FlagValues,
} from "./terminal/command-line.ts";
import { withStore } from "./terminal/open-store.ts";
import { jsonText } from "./terminal/printing.ts";

const HELP = `Usage: signalbox why REQUEST [flags]

Shows one recorded request: the decision, why each candidate was used or not, the calls of providers, the cost, and the
command that decides the request again. Without text of requests or answers, which nothing records.

  REQUEST           Its id, as x-request-id has it: req_… or dec_….

Flags
  --server URL      A running server instead of the database; its key, with the scopes governance:read and
                    route:simulate, from SIGNALBOX_KEY.
  --config FILE     routes.yaml, with the policies beside it, that explains the candidates of a request from the
                    database. Default: routes.yaml, if it is there.
  --environment E   merge routes.E.yaml over it. Default: SIGNALBOX_ENVIRONMENT, else none.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object, with decision, explanation and notes
${DATABASE_HELP}

Exit codes: 0 shown, 1 not shown, 2 the command line cannot be used.
`;

const FLAGS = textFlags("server", "config", "environment", "format", "database");
type Values = FlagValues<typeof FLAGS>;

/** A recorded request, and the same request decided again where that is possible. */
interface Recorded {
  readonly decision: JsonObject;
  readonly explanation: JsonObject | null;
  readonly notes: readonly string[];
}

export const why = flagCommand(
  { name: "why", help: HELP, flags: FLAGS },
  async (values, io, positionals) => {
    const digits = /^(?:req|dec)_([0-9a-f]{32})$/.exec(onlyArgument(positionals, "REQUEST"))?.[1];
    if (digits === undefined)
      throw new UsageError(
        `REQUEST: must be req_ and 32 hexadecimal digits, as x-request-id has it${givenText(positionals)}`,
      );
    const json = wantsJson(values.format);
    const { server } = values;
    const recorded =
      server === undefined
        ? await fromStore(`req_${digits}`, values, io)
        : await fromServer(`req_${digits}`, server, io);
    if (json) io.stdout(jsonText({ format: 2, ...recorded }));
    else printRecorded(recorded, io);
  },
);

async function fromStore(id: string, values: Values, io: CommandIo): Promise<Recorded> {
  const [entry] = await withStore(values.database, io, "read", ({ evidence }) =>
    evidence.read({ after: 0, limit: 1, requestId: id }),
  );
  if (entry === undefined)
    throw new CommandError("there is no such request in this database; it may have been pruned");
  const decision = parseJsonObject(JSON.stringify(decisionAnswer(entry))) ?? {};
  const record = parseJsonObject(JSON.stringify(entry.decision)) ?? {};
  const answer = await explainRecord(record, values, io);
  if (answer === null) return { decision, explanation: null, notes: [] };
  const { explanation, notes } = answer;
  const isSameTable = explanation.table_revision === decision.table_revision;
  return {
    decision,
    explanation,
    notes: [
      ...(isSameTable ? [] : ["the request was decided with another routes.yaml than this one"]),
      ...notes,
    ],
  };
}

/** `null` without files, and for a record that cannot be decided again. */
async function explainRecord(record: JsonObject, { config, environment }: Values, io: CommandIo) {
  const file = config ?? "routes.yaml";
  const read = readEvidenceSample(record);
  if (read === null || "unsupportedSetting" in read) return null;
  if (config === undefined && !existsSync(resolve(io.cwd, file))) return null;
  const source = {
    config: file,
    environment: readEnvironment(environment, io),
    cache: undefined,
    base: null,
    head: null,
  };
  const { sample, at } = read;
  const options = { promoted: false, at, sample };
  return await explainFromFiles(options, source, null, io);
}

async function fromServer(id: string, server: string, io: CommandIo): Promise<Recorded> {
  const scopes = "governance:read and route:simulate";
  const get = async (path: string): Promise<JsonObject> => {
    const url = serverUrl(server, `/v1/decisions/${id}${path}`);
    const answer = await callServer(io, { url, scopes });
    if (answer.status === 200 && answer.body !== null) return answer.body;
    throw answerError(answer, "/v1/decisions");
  };
  const decision = await get("");
  const again = await get("/explanation");
  const notes = [
    ["same_table", "the request was decided with another routes.yaml than the server has now"],
    ["same_policies", "the request was decided with other policies than the server has now"],
    ["same_result", "decided again, the request has another result"],
  ] as const;
  return {
    decision,
    explanation: objectOf(again, "explanation"),
    notes: notes.flatMap(([member, note]) => (again[member] === false ? [note] : [])),
  };
}

function printRecorded({ decision, explanation, notes }: Recorded, io: CommandIo) {
  const read = readAnswer(DECISION, decision);
  const { outcome, explain: command } = read;
  const isServed = outcome === "route" || outcome === "answer";
  const sections: readonly Section[] = [
    listSection("Recorded", factItems(recordedFacts(read))),
    listSection("Limit", factItems(limitFacts(read))),
    listSection("Calls", read.calls.map(callItem)),
    listSection("Cost", factItems(costFacts(read))),
    listSection("In shadow", read.shadow.map(shadowItem)),
    ...(explanation === null ? [] : explanationSections(explanation, notes)),
    ...(command === null
      ? []
      : [{ id: "again", title: "Decide it again", note: "", blocks: [{ command }] }]),
  ];
  printDocument(strong(headline(read), isServed ? "good" : "stop"), sections, io);
}

type RecordedDecision = Answer<typeof DECISION>;

function headline(decision: RecordedDecision): string {
  const statusText = decision.status === null ? "" : `, ${decision.status}`;
  const reason = `${decision.reason ?? ""}${statusText}`;
  switch (decision.outcome) {
    case "deny":
      return `DENIED by ${decision.policy ?? ""}/${decision.constraint ?? ""}: ${reason}`;
    case "refuse":
      return `REFUSED: ${reason}`;
    case "answer":
      return `ANSWERED by the router${statusText}`;
    default:
      return `ROUTED to ${decision.endpoint ?? "no endpoint"}: ${decision.terminal ?? "running"}${statusText}`;
  }
}

function recordedFacts(decision: RecordedDecision) {
  const { id, at, workspace, key, operation, route, finish, total_ms: time } = decision;
  return {
    id,
    at,
    workspace,
    key,
    operation,
    route,
    plan: decision.plan.join(", "),
    table: decision.table_revision.slice(0, 12),
    policy: decision.policy_revision,
    finish,
    time: time === null ? null : `${time} ms`,
  };
}

function limitFacts({ limit }: RecordedDecision) {
  if (limit === null) return {};
  const { used, reserved, requested, renews_at: renews } = limit;
  const per = limit.per === null ? "" : `/${limit.per}`;
  return {
    limit: `${limit.size} ${limit.measure}${per} of the ${limit.subject}`,
    used,
    reserved,
    requested,
    renews,
  };
}

function callItem(call: RecordedDecision["calls"][number]): Item {
  return {
    cells: [
      name(call.endpoint),
      quoted(`${call.provider}/${call.region}`),
      call.failure === null ? "answered" : strong(call.failure.replaceAll("_", " "), "stop"),
      quoted(call.status ?? "-"),
      quoted(`${Math.round(call.duration_ms)} ms`),
      quoted(call.start_ms === null ? "" : `after ${call.start_ms} ms`),
    ],
  };
}

function costFacts(decision: RecordedDecision) {
  const { calls, input_tokens: input, output_tokens: output, cost_usd: cost } = decision;
  if (calls.length === 0) return {};
  return {
    tokens: input === null && output === null ? "not counted" : `${input ?? ""}+${output ?? ""}`,
    cost: cost === null ? "unknown" : `${cost} USD by list price`,
  };
}

function shadowItem(shadow: RecordedDecision["shadow"][number]): Item {
  const effect = shadow.effect ?? shadow.verdict;
  return {
    cells: [
      name(`${shadow.policy}/${shadow.constraint} ${shadow.revision}`),
      quoted(`${shadow.reason ?? ""}, ${effect.replaceAll("_", " ")}`),
    ],
  };
}
