import type {
  CauseReport,
  ChangedEntry,
  DataPath,
  DestinationReport,
  RoutePath,
  SimulationReport,
  SourceLocation,
} from "../../../../simulate/report/report.ts";
import { amountText, joinTexts, listText } from "../../../terminal/printing.ts";
import type { ReportModel } from "../model.ts";
import { latentOf } from "../wording/latent.ts";
import {
  byRetention,
  destinationText,
  gainsOf,
  movedOf,
  processorText,
  routeText,
} from "./effect-text.ts";
import { isWithoutEffect } from "../../../../simulate/report/cause-parts.ts";
import type { SettingEffect } from "../../../../simulate/settings/setting-effect.ts";
import type { EffectTag } from "../wording/comparison.ts";
import { type Effect, refusesPreferencesOnly } from "./effects.ts";

/** The change of the files in one sentence without a full stop. */
export function headlineOf(cause: CauseReport, report: ReportModel): string {
  const text = changeText(cause, report);
  return waitsForPromotion(cause, report) && !changesCandidate(cause, report)
    ? `${text},${onceText(cause, report)}`
    : text;
}

/** Whether nothing follows from a cause before a promotion, as its headline states. */
export function waitsForPromotion(cause: CauseReport, report: ReportModel): boolean {
  const { groups, promoted_groups: later } = cause;
  return groups.length === 0 && (later.length > 0 || changesCandidate(cause, report));
}

/** Whether a policy that changed waits in head to be promoted. */
function changesCandidate({ entries: [first] }: CauseReport, { head }: ReportModel) {
  return (
    first?.kind === "policy" &&
    head.policies.some(({ id, slot }) => id === first.subject && slot === "candidate")
  );
}

/** " once data-retention is promoted". */
function onceText(
  { entries }: CauseReport,
  { promoted_policies: all }: Pick<ReportModel, "promoted_policies">,
): string {
  const changed = entries.flatMap(({ kind, subject }) => (kind === "policy" ? [subject] : []));
  const policies = [...new Set(changed.length === 0 ? all : changed)];
  if (policies.length === 0) return " once promoted";
  return ` once ${listText(policies, 3)} ${policies.length === 1 ? "is" : "are"} promoted`;
}

function changeText(cause: CauseReport, report: ReportModel): string {
  const [first] = cause.entries;
  if (first === undefined)
    return `cause not found for ${amountText(cause.groups.length, "group")} of changes`;
  const [rename] = cause.renames;
  if (rename !== undefined) return renameText(rename, cause);
  const replaced = replacedText(cause.entries);
  if (replaced !== null) return replaced;
  if (first.kind === "route") return routeChangeText(first, cause);
  if (first.kind === "policy") return policyText(first, cause, report);
  // Of a row that comes or goes; its settings come and go too.
  if (isWorkspaceRow(first)) return workspaceText(first, cause);
  if (first.kind === "assertion") return assertionText(first, report);
  if (first.kind === "overlay")
    return `${first.path} ${CHANGED[first.change]}, and is not compared here`;
  if (first.kind === "region_group") return entryText(first).replace(/^regions\./, "region group ");
  if (first.path.endsWith(".price")) return priceText(first);
  if (first.path.endsWith(".upstream_model"))
    return `${first.subject} is the provider's ${first.after}, before ${first.before}`;
  return entryText(first);
}

/** `routes.yaml:61`; empty where there is no line. */
export function locationText(location: SourceLocation | null): string {
  return location === null ? "" : `${location.file}:${location.line}`;
}

const CHANGED = { added: "is new", removed: "is removed", changed: "is changed" } as const;

function kindText(kind: ChangedEntry["kind"]) {
  return kind === "policy_setting" ? "setting of policies" : kind.replace("_", " ");
}

/** "providers.openai-us.base_url: A → B", "endpoint gpt-5-us is new". */
export function entryText({ path, kind, subject, change, before, after }: ChangedEntry): string {
  if (isWorkspaceRow({ kind, path, subject }))
    return `workspace ${subject}${groupText(after)} ${CHANGED[change]}`;
  const where = kind === "policy" ? `policy ${subject}` : path;
  if (before !== null && after !== null)
    return `${where}: ${itemsText(before, after) ?? `${before} → ${after}`}`;
  if (before === null && after === null) return `${kindText(kind)} ${subject} ${CHANGED[change]}`;
  if (kind === "policy")
    return `${where}: line ${after === null ? `removed: ${before}` : `added: ${after}`}`;
  return after === null ? `${path} is removed, it was ${before}` : `${path} is set to ${after}`;
}

/**
 * "+google-eu, −openai-us": what a list gains and loses; `null` where it is no list, or only in
 * another order.
 */
function itemsText(before: string, after: string): string | null {
  const [was, is] = [itemsOf(before), itemsOf(after)];
  if (was === null || is === null) return null;
  const changes = [
    ...is.filter((item) => !was.includes(item)).map((item) => `+${item}`),
    ...was.filter((item) => !is.includes(item)).map((item) => `−${item}`),
  ];
  return changes.length === 0 ? null : changes.join(", ");
}

/** Of a list in one line of YAML; `null` for anything else, and for lists that were cut. */
function itemsOf(text: string): readonly string[] | null {
  const inside = /^\[(.*)\]$/.exec(text)?.[1];
  if (inside === undefined || inside.includes('"')) return null;
  const items: string[] = [];
  let depth = 0;
  for (const part of inside.split(", ")) {
    if (depth === 0) items.push(part);
    else items[items.length - 1] += `, ${part}`;
    depth += part.split(/[{[]/).length - part.split(/[}\]]/).length;
  }
  return items.filter((item) => item !== "");
}

function renameText(
  { kind, from, to, distinguished_by: policies = [] }: CauseReport["renames"][number],
  cause: CauseReport,
): string {
  const title = `${kindText(kind)} ${from} is renamed ${to}`;
  if (policies.length > 0)
    return `${title}, which is another ${kindText(kind)} for policy ${policies.join(", ")}`;
  if (kind === "route") return `${title}: requests that name ${from} are refused from now on`;
  if (kind === "workspace") return `${title}: keys of ${from} are refused from now on`;
  if (isRenameOnly(cause)) return `${title}, which changes nothing else`;
  return `${title}: requests that name ${from} are refused from now on`;
}

/** Whether results differ by the new name alone, as declared and once promoted. */
function isRenameOnly(cause: CauseReport): boolean {
  const { groups, promoted_groups: later, renamed_groups: renamed } = cause;
  return [...groups, ...later].every((id) => renamed.includes(id));
}

/**
 * "provider openai-europe replaces openai-eu: { region: eu } → { region: us }"; `null` for any
 * other change.
 */
export function replacedText([came, gone]: CauseReport["entries"]): string | null {
  if (came === undefined || gone === undefined || came.kind !== gone.kind) return null;
  const isReplacement =
    came.change === "added" &&
    gone.change === "removed" &&
    came.before !== null &&
    came.after !== null;
  return isReplacement
    ? `${kindText(came.kind)} ${came.subject} replaces ${gone.subject}: ${came.before} → ${came.after}`
    : null;
}

function routeChangeText(entry: ChangedEntry, cause: CauseReport): string {
  const { gains, loses, entries } = cause;
  const { subject: route, change } = entry;
  const [gain] = gains;
  if (change !== "changed" && entry.path === `routes.${route}`)
    return `route ${route} ${CHANGED[change]}${gain === undefined ? "" : `, to ${destinationText(gain)}`}`;
  const members = new Set(
    entries.flatMap(({ path, subject }) => (subject === route ? [path.split(".").at(-1)] : [])),
  );
  if (gain !== undefined) {
    const more = gains.length === 1 ? "" : ` and ${amountText(gains.length - 1, "more endpoint")}`;
    return `${route} may ${members.has("primary") ? "go" : "fall back"} to ${destinationText(gain)}${more}`;
  }
  const row = cause.routes.find(({ id }) => id === route);
  if (row?.primary != null && row.former_primary !== undefined) {
    const { primary, former_primary: former } = row;
    return `${route} tries ${primary.endpoint} before ${former.endpoint}: first to ${processorText(primary)}`;
  }
  if (loses.length > 0 && members.has("fallbacks"))
    return `${route} no longer falls back to ${namesOf(loses)}`;
  return entryText(entry);
}

function namesOf(destinations: readonly DestinationReport[]) {
  return destinations.map(({ endpoint }) => endpoint).join(", ");
}

function policyText(entry: ChangedEntry, cause: CauseReport, report: ReportModel): string {
  const { groups, promoted_groups: later } = cause;
  const { subject, change } = entry;
  const waits =
    !changesCandidate(cause, report) || groups.length > 0
      ? ""
      : change === "added"
        ? ", in shadow: it decides nothing until it is promoted"
        : ", once it is promoted";
  const text =
    change === "changed"
      ? entryText(withoutComments(entry))
      : `policy ${subject} ${CHANGED[change]}`;
  return `${text}${waits}${groups.length + later.length > 0 ? "" : `; ${withoutGroupsText(cause, report)}`}`;
}

/** Requests of other causes may change by it too: a search of causes tries some of each group. */
function withoutGroupsText(cause: CauseReport, report: ReportModel): string {
  if (report.unchanged === null) return "no change is traced to it";
  if (!report.complete) return "no class that was decided changes";
  return `no request${latentOf(cause, report).length === 0 ? "" : " of today"} is decided differently`;
}

/** Lines of METADATA are comments of Rego. */
function withoutComments({ before, after, ...entry }: ChangedEntry): ChangedEntry {
  const bare = (text: string | null) => text?.replace(/^#\s*/, "") ?? null;
  return { ...entry, before: bare(before), after: bare(after) };
}

function isWorkspaceRow({ kind, path, subject }: Pick<ChangedEntry, "kind" | "path" | "subject">) {
  return kind === "workspace" && path === `workspaces.${subject}`;
}

/** "tier standard, no labels": of a workspace's row. */
function groupText(row: string | null): string {
  const text = (row ?? "")
    .replace("labels: []", "no labels")
    .replaceAll(/[:[\]{}]/g, "")
    .trim();
  return text && ` (${text})`;
}

function workspaceText(
  { subject, change, after }: ChangedEntry,
  { routes, gains }: CauseReport,
): string {
  const names = routes.map(({ id }) => id).join(", ");
  const reached = [...new Set(gains.toSorted(byRetention).map(processorText))];
  const more = reached.length > 2 ? [`${reached.length - 2} more`] : [];
  const where = joinTexts([...reached.slice(0, 2), ...more], "; ");
  if (names === "") return `workspace ${subject} ${CHANGED[change]} and reaches no route`;
  return change === "added"
    ? `workspace ${subject}${groupText(after)} is new and may use ${names}${where && `: ${where}`}`
    : `workspace ${subject} is removed: its keys for ${names} are refused`;
}

function priceText({ subject, before, after, change }: ChangedEntry): string {
  const [was, is] = [numbersOf(before), numbersOf(after)];
  const factors = Object.keys(is).flatMap((name) => {
    const [old, now] = [was[name] ?? 0, is[name] ?? 0];
    return old > 0 && now !== old ? [Number((now / old).toPrecision(3))] : [];
  });
  const others = [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => name !== "input" && name !== "output" && was[name] !== is[name])
    .map((name) => `, ${name} ${was[name] ?? "none"} → ${is[name] ?? "none"}`)
    .join("");
  const same = others === "" && new Set(factors).size === 1 ? ` (× ${factors[0]})` : "";
  return `price of ${subject} ${change === "changed" ? "" : `${change}: `}${pricesText(before)} → ${pricesText(after)} USD per million tokens in/out${same}${others}`;
}

/** "0.25/2"; the text itself where it has no such members. */
function pricesText(text: string | null): string {
  const { input, output } = numbersOf(text);
  return input === undefined || output === undefined ? (text ?? "none") : `${input}/${output}`;
}

/** `{ input: 0.25, output: 2 }` → its numbers by name. */
function numbersOf(text: string | null): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...(text ?? "").matchAll(/(\w+): ([\d.]+(?:e-\d+)?)/g)].map(([, name = "", value]) => [
      name,
      Number(value),
    ]),
  );
}

/** The change of an assertion, and whether it accepts more than before. */
export function assertionText(
  { path, change, before, after }: ChangedEntry,
  { changed_settings: settings, assertions }: Pick<ReportModel, "changed_settings" | "assertions">,
): string {
  const values = `${before ?? "not set"} → ${after ?? "not set"}`;
  const isWeaker = settings.find((setting) => setting.path === path)?.gate === "assertions";
  const [section, id = "", member] = path.split(".");
  if (section === "coverage") {
    const what =
      id === "except" ? "exceptions of coverage" : `coverage gate of ${id.replaceAll("_", " ")}`;
    return `${what}: ${values}${isWeaker ? "; it demands less than before" : ""}`;
  }
  if (section !== "assertions") {
    const stillApplies = change === "removed" && assertions !== null;
    return `${path} ${CHANGED[change]}${stillApplies ? "; this change is still held against it" : ""}`;
  }
  if (member === undefined) {
    // The details have what it demands; the title is for people.
    const title = /\btitle: "?(.*?)"?(?:, \w+: | \}$|$)/.exec(after ?? before ?? "")?.[1];
    return `assertion ${id} ${CHANGED[change]}${title === undefined ? "" : `: "${title}"`}`;
  }
  if (member === "id") return `assertion ${before} is called ${after}, and demands the same`;
  if (member === "title") return `title of assertion ${id}: ${values}`;
  const how = isWeaker
    ? "is weakened, it accepts more than before"
    : "is changed, it accepts no more than before";
  return `assertion ${id} ${how}: ${member} ${values}`;
}

/** The members of a report that questions are about. */
type QuestionReport = Pick<
  SimulationReport,
  "declared" | "promoted" | "promoted_policies" | "causes" | "changed_settings" | "future_rows"
>;

/**
 * The question that a reviewer has to answer about a cause; empty where there is none. It names
 * what it is about, because other causes of the change have questions too.
 */
export function questionOf(
  cause: CauseReport,
  effects: readonly Effect[],
  report: QuestionReport,
): string {
  const { entries, groups } = cause;
  const [entry] = entries;
  const [rename] = cause.renames;
  if (entry === undefined || isWithoutEffect(cause)) return "";
  const { kind, subject, path, location } = entry;
  if (kind === "assertion")
    return `do the owners of ${location?.file ?? "the assertions"} agree with the change of ${subject}?`;
  if (kind === "overlay") return `what does ${path} change? compare it with --environment`;
  if (rename !== undefined) return questionOfRename(rename, cause);
  const requests = (tag: EffectTag) =>
    requestsText(effects.filter((effect) => effect.tag === tag && !refusesPreferencesOnly(effect)));
  const some = requestsText(effects.filter(refusesPreferencesOnly));
  const refusedText = requests("BREAKS");
  const broken = refusedText || (some && `some ${some}`);
  const moves = effects.filter(
    (effect) => effect.tag === "MOVES" || changesDestination(effect, cause),
  );
  const narrower = requests("NARROWS");
  const wider =
    questionOfGain(cause, effects, report) ||
    (moves.some(({ tag }) => tag === "WIDENS") ? questionOfMove(cause, moves) : "");
  const fewer = narrower && `are fewer endpoints enough for ${narrower}`;
  const once = groups.length === 0 ? onceText(cause, report) : "";
  // Of plain requests first.
  const first = wider || (refusedText === "" ? fewer : "");
  if (broken !== "") return `${first && `${first}, and `}shall ${broken} be refused${once}?`;
  if (first !== "") return `${first}${once}?`;
  if (moves.length > 0) return questionOfMove(cause, moves).replace(/(?<=.)$/, "?");
  const weaker = latentOf(cause, report).find(({ direction }) => direction === "weaker");
  if (weaker !== undefined)
    return `may a later change add such a row? ${weaker.policy} will not refuse it`;
  if (kind === "policy") return `who reviews what ${subject} would deny, and who promotes it when?`;
  return questionOfSetting(entry, report);
}

/** Whether an endpoint that the requests reached before is another destination now. */
function changesDestination({ tag, group }: Effect, cause: CauseReport) {
  return tag === "WIDENS" && gainsOf(group).length === 0 && movedOf(group, cause) !== null;
}

function whoseText(effects: readonly Effect[]) {
  return listText([...new Set(effects.flatMap(({ workspaces }) => workspaces))], 3);
}

function routesOf(effects: readonly Effect[]) {
  return listText([...new Set(effects.flatMap(({ routes }) => routes))].map(routeText), 3);
}

/** "requests of clinic, hr for chat-eu"; empty without effects. */
function requestsText(effects: readonly Effect[]) {
  return effects.length === 0 ? "" : `requests of ${whoseText(effects)} for ${routesOf(effects)}`;
}

/** Requests that head allows and base does not; without a question mark, empty without any. */
function questionOfGain(
  cause: CauseReport,
  effects: readonly Effect[],
  report: QuestionReport,
): string {
  const found = newDestinations(cause, effects, report);
  if (found.length > 0) {
    const byWorkspaces = Map.groupBy(found, ({ workspaces }) => listText([...workspaces], 3));
    const parts = [...byWorkspaces].map(
      ([whose, newPaths]) =>
        `data of ${whose} go ${newPaths.map(({ gain }) => `to ${processorText(gain)}`).join("; ")}`,
    );
    return `may ${parts.join(", and ")}`;
  }
  const wider = effects.filter(
    (effect) => effect.tag === "WIDENS" && !changesDestination(effect, cause),
  );
  const served = wider.filter(({ group }) => group.base.denial !== null);
  if (served.length > 0) return `shall ${requestsText(served)} be served that are refused today`;
  const gained = wider.filter(({ group }) => gainsOf(group).length > 0);
  if (gained.length > 0) {
    const gains = new Set(gained.flatMap(({ group }) => gainsOf(group)));
    return `may ${requestsText(gained)} go to ${listText([...gains], 3)}`;
  }
  return wider.length === 0
    ? ""
    : `may ${requestsText(wider)} lose this protection (${cause.entries[0]?.path})`;
}

interface NewDestination {
  readonly gain: DestinationReport;
  readonly workspaces: Set<string>;
  /** Whether a route of the requests reached the region before. */
  readonly isKnownRegion: boolean;
  /** Whether data of a workspace gets there for the first time, by any route. */
  isNewPath: boolean;
}

/**
 * Destinations that are new to a workspace, or else to a route. The worst comes first: another
 * region, then who keeps data longer, then who trains on it.
 */
function newDestinations(
  { gains }: CauseReport,
  effects: readonly Effect[],
  { declared, promoted }: QuestionReport,
): readonly NewDestination[] {
  const newDataPaths = [...declared.new_data_paths, ...promoted.new_data_paths];
  const newRoutePaths = [...declared.new_route_paths, ...promoted.new_route_paths];
  const found = new Map<string, NewDestination>();
  for (const { group, workspaces } of effects) {
    for (const gain of gains) {
      if (!group.head.plan.some(({ endpoint }) => endpoint === gain.endpoint)) continue;
      for (const workspace of workspaces) {
        const ends = (path: DataPath | RoutePath) =>
          path.workspace === workspace &&
          path.provider === gain.provider &&
          path.region === gain.region &&
          path.host === gain.host;
        const isNewPath = newDataPaths.some(ends);
        const isNewRoute = newRoutePaths.some(
          (path) => group.routes.includes(path.route) && ends(path),
        );
        if (!isNewPath && !isNewRoute) continue;
        const key = processorText(gain);
        const isKnownRegion = group.base.plan.some(({ region }) => region === gain.region);
        const one = found.get(key) ?? { gain, workspaces: new Set(), isKnownRegion, isNewPath };
        one.workspaces.add(workspace);
        one.isNewPath ||= isNewPath;
        found.set(key, one);
      }
    }
  }
  const all = [...found.values()];
  const hasNewPath = all.some(({ isNewPath }) => isNewPath);
  return all
    .filter(({ isNewPath }) => isNewPath || !hasNewPath)
    .toSorted(
      (left, right) =>
        Number(left.isKnownRegion) - Number(right.isKnownRegion) ||
        byRetention(left.gain, right.gain) ||
        Number(right.gain.trains_on_data) - Number(left.gain.trains_on_data),
    );
}

function questionOfRename(
  { kind, from, to, distinguished_by: policies = [] }: CauseReport["renames"][number],
  cause: CauseReport,
): string {
  if (policies.length > 0) return `shall policy ${policies.join(", ")} mean ${to} too?`;
  if (kind === "route")
    return `do all callers write ${to} already? a route ${from} can stay beside it until they do`;
  if (kind === "workspace") return `do new keys for ${to} replace the keys of ${from}?`;
  return isRenameOnly(cause) ? "" : `does any caller name ${from} in its preferences?`;
}

/** Without a question mark. */
function questionOfMove(cause: CauseReport, effects: readonly Effect[]): string {
  const { entries } = cause;
  const routes = routesOf(effects);
  const has = (member: string) => entries.some(({ path }) => path.endsWith(`.${member}`));
  const versions = entries.filter(({ path }) => path.endsWith(".upstream_model"));
  if (versions.length > 0)
    return `has ${listText(
      versions.map(({ after, subject }) => `${after} (${subject})`),
      3,
    )} been tried for ${routes}`;
  const [first] = effects;
  if (first === undefined) return "";
  const { base, head } = first.group;
  const movedCandidate = movedOf(first.group, cause);
  if (movedCandidate !== null) {
    const whose = whoseText(effects);
    if (has("plaintext") || entries.some(isUnencrypted))
      return `may calls to ${movedCandidate.provider} go unencrypted`;
    const before = base.plan.find(({ endpoint }) => endpoint === movedCandidate.endpoint);
    if (before?.host !== movedCandidate.host)
      return `may data of ${whose} go to ${movedCandidate.host}`;
    if (has("retention")) return `may ${movedCandidate.provider} keep data of ${whose} that long`;
    if (has("trains_on_data")) return `may ${movedCandidate.provider} train on data of ${whose}`;
    return `does ${movedCandidate.endpoint} still answer as ${routes} needs it`;
  }
  const at = head.plan.findIndex(({ endpoint }, index) => endpoint !== base.plan[index]?.endpoint);
  const [now, was] = [head.plan[at], base.plan[at]];
  if (now === undefined || was === undefined) return "";
  return `is ${now.endpoint} (${now.model}) the better choice before ${was.endpoint} for ${routes}`;
}

function isUnencrypted({ path, before, after }: ChangedEntry): boolean {
  const isPlainHttp = (text: string | null) => text?.startsWith("http:") === true;
  return path.endsWith(".base_url") && isPlainHttp(after) && !isPlainHttp(before);
}

/** About settings that decide nothing about where requests go. */
const QUESTIONS: Readonly<Partial<Record<SettingEffect, (entry: ChangedEntry) => string>>> = {
  credential: ({ subject }) =>
    `is the account of ${subject} one with the region and the contract that its row states?`,
  price: ({ subject, after }) =>
    `does the provider of ${subject} charge ${pricesText(after)}? preferences by price and budgets use it`,
  limit: ({ path }) => `who pays for the additional use that ${path} allows?`,
  promotion: ({ path }) => `are the weaker requirements of ${path} enough for promotions?`,
  management: ({ path }) => `may keys of the workspaces in ${path} promote every policy?`,
  workloads: ({ path }) => `may workloads get the tokens of ${path}?`,
  access: ({ path }) => `may users have the access of ${path}?`,
};

/** A limit that is lowered, a stricter requirement: no gate, and no question. */
function questionOfSetting(entry: ChangedEntry, report: QuestionReport): string {
  const { path } = entry;
  const setting = report.changed_settings.find(
    (each) =>
      each.path === path || path.startsWith(`${each.path}.`) || each.path.startsWith(`${path}.`),
  );
  if (setting === undefined) return "";
  const { effect, gate } = setting;
  const isRequired = gate !== null || effect === "credential" || effect === "price";
  return isRequired ? (QUESTIONS[effect]?.(entry) ?? "") : "";
}
