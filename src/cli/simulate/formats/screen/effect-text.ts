import { RETENTIONS } from "../../../../canon/table.ts";
import { CHANGES } from "../../../../simulate/change-kind.ts";
import type {
  CandidateReport,
  CauseReport,
  ChangeGroup,
  DestinationReport,
} from "../../../../simulate/report/report.ts";
import { joinTexts, listText } from "../../../terminal/printing.ts";

function endpointsOf({ plan }: ChangeGroup["base"]): readonly string[] {
  return plan.map(({ endpoint }) => endpoint);
}

export function gainsOf({ base, head }: ChangeGroup): readonly string[] {
  return endpointsOf(head).filter((id) => !endpointsOf(base).includes(id));
}

export function losesOf({ base, head }: ChangeGroup): readonly string[] {
  return endpointsOf(base).filter((id) => !endpointsOf(head).includes(id));
}

/**
 * The change of a group's requests in one sentence.
 *
 * @param only their conditions, as text after a semicolon.
 * @param isOnlyChange whether the report has no other cause, whose facts the headline then has.
 */
export function textOf(
  group: ChangeGroup,
  routes: readonly string[],
  cause: CauseReport,
  only: string,
  isOnlyChange: boolean,
): string {
  const { base, head } = group;
  const names = routesText(routes.toSorted());
  const gains = gainsOf(group);
  const loses = losesOf(group);
  if (removesName(group)) return `${names}: ${oldNameText(group, cause)}`;
  if (introducesName(group)) return `${names}: ${newNameText(group)}`;
  if (head.denial !== null) {
    const { policy, constraint, reason } = head.denial;
    return `${names} refused: ${policy}/${constraint} (${reason})${only}${exceptionsText(group, cause)}`;
  }
  const plan = endpointsOf(head).join(", then ");
  if (base.denial !== null) return `${names} served by ${plan}${only}`;
  if (gains.length > 0) {
    const destination = cause.gains.find(({ endpoint }) => endpoint === gains[0]);
    // Where there is one, the headline of the only cause has it.
    const repeatsHeadline =
      destination === undefined ||
      (isOnlyChange && cause.gains.length === 1 && concernsRoute(cause));
    const where = repeatsHeadline ? gains.join(", ") : destinationText(destination);
    const position = endpointsOf(head).indexOf(gains[0] ?? "") + 1;
    const lostText = loses.length === 0 ? "" : `, no longer to ${loses.join(", ")}`;
    return `${names} → ${where}, ${ordinal(position)} in order${lostText}${only}`;
  }
  if (loses.length > 0)
    return `${names} no longer reaches ${loses.join(", ")}; left: ${plan}${only}`;
  if (endpointsOf(base).join("\n") !== endpointsOf(head).join("\n")) {
    return `${names}: ${endpointsOf(base).join(", ")} → ${endpointsOf(head).join(", ")}${only}`;
  }
  const movedCandidate = movedOf(group, cause);
  // Where the address is the only change, the headline has both.
  const repeatsHeadline =
    cause.entries.length === 1 && cause.entries[0]?.path.endsWith(".base_url") === true;
  const hosts = repeatsHeadline ? "" : hostsText(group);
  if (movedCandidate !== null) {
    return `${names}: ${movedCandidate.endpoint}, ${ordinal(head.plan.indexOf(movedCandidate) + 1)} in order, is changed${hosts}${only}`;
  }
  const edits = editsText(group);
  if (edits !== "" && hosts === "") return `${names}: ${edits}${only}`;
  const titles = group.kinds.map((kind) => CHANGES[kind].title).join(", ");
  return `${names}: ${titles} (${endpointsOf(head).join(", ")})${hosts}${only}`;
}

/** "at most 2000 → 20000 output tokens, no longer without user": what policies do to requests. */
function editsText({ base, head }: ChangeGroup): string {
  const [before, after] = [base.edits, head.edits];
  if (before === null || after === null) return "";
  const [was, is] = [before.max_output_tokens, after.max_output_tokens];
  const restored = before.strip_fields.filter((name) => !after.strip_fields.includes(name));
  const removed = after.strip_fields.filter((name) => !before.strip_fields.includes(name));
  const texts = [
    was === is ? "" : `at most ${was ?? "any number of"} → ${is ?? "any number of"} output tokens`,
    restored.length === 0 ? "" : `providers get ${restored.join(", ")}, which was taken out`,
    removed.length === 0 ? "" : `${removed.join(", ")} is taken out`,
  ];
  return joinTexts(texts, "; ");
}

/**
 * " (unless zdr, one endpoint, or openai-eu/mistral-eu alone)": which callers of a refused route
 * are served still.
 */
function exceptionsText({ id }: ChangeGroup, { exceptions }: CauseReport): string {
  const preferences = exceptions.find(({ group }) => group === id)?.preferences ?? [];
  const providers = preferences.flatMap(({ only = [] }) => only);
  const served = joinTexts([
    preferences.some(({ zdr }) => zdr === true) ? "zdr" : "",
    preferences.some(({ allow_fallbacks: fallbacks }) => fallbacks === false)
      ? "allow_fallbacks false"
      : "",
    providers.length === 0 ? "" : `only ${providers.join("/")}`,
  ]);
  return served && ` (unless ${served})`;
}

/**
 * The hosts of endpoints that have another one now: a reader must see where the data goes, whatever
 * the cause.
 */
function hostsText({ base, head }: ChangeGroup): string {
  const changed = head.plan.flatMap(({ endpoint, host }) => {
    const before = base.plan.find((candidate) => candidate.endpoint === endpoint)?.host ?? host;
    return before === host ? [] : [`${before} → ${host}`];
  });
  return changed.length === 0 ? "" : `; host ${listText([...new Set(changed)])}`;
}

/** The first endpoint of a plan that a changed row is about. */
export function movedOf(
  { kinds, head }: ChangeGroup,
  { entries }: CauseReport,
): CandidateReport | null {
  if (!kinds.includes("destination_changed")) return null;
  const isChanged = ({ endpoint, model, provider }: CandidateReport) =>
    entries.some(
      ({ kind, subject }) =>
        (kind === "endpoint" && subject === endpoint) ||
        (kind === "provider" && subject === provider) ||
        (kind === "model" && subject === model),
    );
  return head.plan.find(isChanged) ?? null;
}

/** Whether the headline is about a route. */
export function concernsRoute({ entries }: CauseReport): boolean {
  return entries[0]?.kind === "route";
}

function ordinal(position: number) {
  return ["", "1st", "2nd", "3rd"][position] ?? `${position}th`;
}

/**
 * Requests that base refuses because they name a provider or region that it does not have: what
 * they reach now, others reached before.
 */
export function introducesName({ base, head }: ChangeGroup): boolean {
  return base.denial?.reason === "unknown_preference" && head.denial === null;
}

/** The reverse: requests that name what head does not have. */
function removesName({ base, head }: ChangeGroup) {
  return head.denial?.reason === "unknown_preference" && base.denial === null;
}

/** "requests that name region eu-south are served; base refuses the name". */
function newNameText(group: ChangeGroup) {
  return `requests that name ${namesText(group, "a new provider or region")} are served; base refuses the name`;
}

function oldNameText(group: ChangeGroup, { renames }: Pick<CauseReport, "renames">): string {
  const former = renames.find(({ kind }) => kind === "provider" || kind === "region_group");
  return `requests that name ${namesText(group, former?.from ?? "a provider or region that is gone")} are refused`;
}

const LISTS = ["only", "ignore", "region", "order"];

function namesText(group: ChangeGroup, unknown: string): string {
  const names = group.conditions.flatMap(({ dimension, values }) => {
    if (!LISTS.includes(dimension)) return [];
    const shared = inAll(values.map((value) => value.split(/ or | then |, /)));
    return shared.length === 0 ? [] : [`${dimension} ${listText(shared, 3)}`];
  });
  return names.length === 0 ? unknown : names.join(", ");
}

function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  return first.filter((name) => others.every((list) => list.includes(name)));
}

const RETENTION_TEXTS = {
  none: "nothing kept",
  transient: "kept for a short time",
  days_30: "kept 30 days",
  unlimited: "kept without limit",
} as const;

/**
 * "openai-us in us, kept 30 days, trains on data": who processes a request, where, and what becomes
 * of it.
 */
export function processorText({
  provider,
  region,
  retention,
  trains_on_data: trains,
}: DestinationReport): string {
  return `${provider} in ${region}, ${RETENTION_TEXTS[retention]}${trains ? ", trains on data" : ""}`;
}

/** Longest retention first. */
export function byRetention(left: DestinationReport, right: DestinationReport): number {
  return RETENTIONS.indexOf(right.retention) - RETENTIONS.indexOf(left.retention);
}

/** "gpt-5-us: openai-us in us, kept 30 days". */
export function destinationText(destination: DestinationReport): string {
  return `${destination.endpoint}: ${processorText(destination)}`;
}

/**
 * "1.25/10": US dollars of a million tokens, input and output; with the price of a call where there
 * is one.
 */
export function priceText({
  input,
  output,
  request,
}: NonNullable<DestinationReport["price"]>): string {
  return `${input}/${output}${request === 0 ? "" : `+${request}`}`;
}

/** The name of a route; moderation requests may name none. */
function routesText(routes: readonly string[], most = 3) {
  return listText(routes.map(routeText), most);
}

export function routeText(name: string): string {
  return name === "" ? "(no model)" : name;
}
