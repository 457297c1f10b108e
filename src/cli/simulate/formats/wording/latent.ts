import {
  NOT_DECLARED,
  type CauseReport,
  type LatentChange,
  type LatentReport,
  type SimulationReport,
} from "../../../../simulate/report/report.ts";
import { remembered } from "../../../../simulate/remembered.ts";
import { listText, numberText } from "../../../terminal/printing.ts";

export const LATENT_TITLE = "Latent changes";

/** Defines latent changes for first-time readers. */
export const LATENT_SENTENCE =
  "A changed policy decides differently for endpoints, workspaces or routes that no file has today.";

/**
 * "would no longer refuse endpoints with retention transient or days_30 for workspaces of tier
 * regulated".
 */
export function latentText(change: LatentChange): string {
  const { where, every } = change;
  const ofEndpoints = where.filter(({ path }) => path.startsWith("candidates."));
  const others = where.filter(({ path }) => !path.startsWith("candidates."));
  const endpoints =
    ofEndpoints.length === 0
      ? "endpoints"
      : `endpoints ${ofEndpoints.map(endpointPart).join(" and ")}`;
  const whose = others.length === 0 ? "" : ` for ${joined(others.map(requestPart))}`;
  return `${verbOf(change, `${endpoints}${whose}`)}${every || where.length === 0 ? "" : ", in some of these cases"}`;
}

/** "workspaces of tier standard and labelled eu". */
function joined(parts: readonly string[]) {
  return parts.join(", ").replaceAll(/(?<=\b(workspaces|keys) [^,]*), \1 /g, " and ");
}

function verbOf({ direction, kind, rule }: LatentChange, what: string): string {
  if (kind === "constraint")
    return `would ${direction === "weaker" ? "no longer refuse" : "refuse"} ${what}`;
  return direction === "weaker"
    ? `would no longer apply ${rule} at ${what}`
    : `would apply ${rule} at ${what}`;
}

type Condition = LatentChange["where"][number];

function endpointPart({ path, values }: Condition): string {
  const [, member = "", ...rest] = path.split(".");
  if (member === "capabilities")
    return `${values.includes("true") ? "with" : "without"} ${rest.join(".")}`;
  if (member === "trains_on_data")
    return values.includes("true") ? "that train on data" : "that do not train on data";
  if (member === "price") {
    return values.length === 1 && values[0] === "none"
      ? "without a price"
      : `at ${rest.join("")} price ${or(values)}`;
  }
  if (member === "region") return `in ${valuesText("region", values)}`;
  return `with ${valuesText(member.replaceAll("_", " "), values)}`;
}

function requestPart({ path, values }: Condition): string {
  const [section = "", member = "", ...rest] = path.split(".");
  const name = rest.join(".");
  const has = values.includes("true");
  switch (`${section}.${member}`) {
    case "workspace.id":
      return valuesText("workspace", values);
    case "workspace.tier":
      return `workspaces of ${valuesText("tier", values)}`;
    case "workspace.labels":
      return `workspaces ${has ? "" : "not "}labelled ${name}`;
    case "key.labels":
      return `keys ${has ? "" : "not "}labelled ${name}`;
    case "request.needs":
      return `requests that ${has ? "" : "do not "}need ${name}`;
    case "operation.":
      return or(values);
    default:
      return valuesText(
        `${section === "request" ? "" : `${section} `}${member.replaceAll("_", " ")}`,
        values,
      );
  }
}

/** "region us or one that no file declares". */
function valuesText(what: string, values: readonly string[]): string {
  if (values.join() === NOT_DECLARED) return `a ${what} that no file declares`;
  return `${what} ${or(values.map((value) => (value === NOT_DECLARED ? "one that no file declares" : value)))}`;
}

/** Longer lists are cut; the JSON report has all values. */
const MOST_VALUES = 4;

function or(values: readonly string[]): string {
  const shown =
    values.length > MOST_VALUES
      ? [...values.slice(0, MOST_VALUES - 1), `${numberText(values.length - MOST_VALUES + 1)} more`]
      : values;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

/** Which combinations and names were not tried, as sentences without a full stop. */
export function latentLimits(latent: LatentReport | undefined): readonly string[] {
  if (latent === undefined) return [];
  const { complete, tried, of, looks_into_names: inspecting = [] } = latent;
  return [
    ...(complete
      ? []
      : [
          `latent changes: ${numberText(tried)} of ${numberText(of)} combinations of values were tried`,
        ]),
    ...inspecting.map(
      ({ policy, calls }) =>
        `${policy} looks into names (${listText(calls, 3)}): names that no file has yet may be decided differently`,
    ),
  ];
}

type Changes = Pick<SimulationReport, "future_rows" | "causes">;

/** Every change of a report has one cause; looked up for each cause. */
const changesByCause = new WeakMap<
  Changes,
  ReadonlyMap<CauseReport | undefined, readonly LatentChange[]>
>();

/**
 * Latent changes of the policies that a cause changes. Those of policies that no entry names belong
 * to the first cause of the data that they read.
 */
export function latentOf(cause: CauseReport, report: Changes): readonly LatentChange[] {
  return remembered(changesByCause, report, () => latentByCause(report)).get(cause) ?? [];
}

function latentByCause({ future_rows: latent, causes }: Changes) {
  // Where several causes name a policy, the first one counts.
  const ofPolicy = new Map(
    causes
      .toReversed()
      .flatMap((cause) =>
        cause.entries.flatMap(({ kind, subject }) =>
          kind === "policy" ? [[subject, cause] as const] : [],
        ),
      ),
  );
  const ofData =
    causes.find(({ entries }) => entries.some(({ kind }) => kind === "region_group")) ?? causes[0];
  return Map.groupBy(latent?.changes ?? [], ({ policy }) => ofPolicy.get(policy) ?? ofData);
}
