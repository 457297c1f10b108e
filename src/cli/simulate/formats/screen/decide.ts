import type {
  CauseReport,
  ChangedEntry,
  DataPath,
  DestinationReport,
  LatentChange,
  RoutePath,
  SettingChange,
} from "../../../../simulate/report/report.ts";
import type { SettingEffect } from "../../../../simulate/settings/setting-effect.ts";
import { listText } from "../../../terminal/printing.ts";
import { byRetention, movedOf, processorText } from "./effect-text.ts";
import { isWithoutEffect } from "./headline.ts";
import { isSomeRefusal, type Effect, type EffectTag } from "./effects.ts";

/** The effects of a cause, and the facts of the report that a question needs. */
interface QuestionSubject {
  readonly effects: readonly Effect[];
  readonly latent: readonly LatentChange[];
  readonly settings: readonly SettingChange[];
  readonly newDataPaths: readonly DataPath[];
  readonly newRoutePaths: readonly RoutePath[];
}

/** The question that a reviewer has to answer about a cause; empty where there is none. */
export function questionOf(cause: CauseReport, subject: QuestionSubject): string {
  const { effects, latent, settings } = subject;
  const [first] = cause.entries;
  const [rename] = cause.renames;
  if (first === undefined || isWithoutEffect(cause)) return "";
  if (first.kind === "assertion")
    return `do the owners of ${first.location?.file ?? "the assertions"} agree?`;
  if (first.kind === "overlay")
    return "what does the change do there? compare it with --environment";
  if (rename !== undefined) return questionOfRename(rename, cause);
  const whose = (tag: EffectTag): string =>
    whoseText(effects.filter((effect) => effect.tag === tag && !isSomeRefusal(effect)));
  const some = whoseText(effects.filter(isSomeRefusal));
  const narrower = whose("NARROWS");
  const broken = whose("BREAKS") || (some === "" ? "" : `some callers of ${some}`);
  const wider = questionOfGain(cause, subject);
  const once = cause.groups.length === 0 ? " once it is promoted" : "";
  if (broken !== "" && wider !== "") return `${wider}, and shall ${broken} be refused${once}?`;
  if (broken !== "")
    return `shall ${whose("BREAKS") === "" ? "" : "requests of "}${broken} be refused${once}?`;
  if (wider !== "") return `${wider}${once}?`;
  if (narrower !== "") return `are fewer endpoints enough for ${narrower}?`;
  if (whose("MOVES") !== "") return questionOfMove(cause, effects);
  const weaker = latent.find(({ direction }) => direction === "weaker");
  if (weaker !== undefined)
    return `may a later change add such a row? ${weaker.policy} will not refuse it`;
  if (first.kind === "policy") return "who reviews what it would deny, and who promotes it when?";
  return questionOfSetting(first, settings);
}

function whoseText(effects: readonly Effect[]): string {
  return listText([...new Set(effects.flatMap(({ workspaces }) => workspaces))], 3);
}

/** Requests that head allows and base does not; without a question mark, empty without any. */
function questionOfGain(cause: CauseReport, subject: QuestionSubject): string {
  const found = newDestinations(cause, subject);
  if (found.length > 0) {
    const byWorkspaces = Map.groupBy(found, ({ workspaces }) => listText([...workspaces], 3));
    const parts = [...byWorkspaces].map(
      ([whose, those]) =>
        `data of ${whose} go ${those.map(({ gain }) => `to ${processorText(gain)}`).join("; ")}`,
    );
    return `may ${parts.join(", and ")}`;
  }
  const wider = subject.effects.filter(({ tag }) => tag === "WIDENS");
  const served = wider.filter(({ group }) => group.base.denial !== null);
  if (served.length > 0)
    return `shall requests of ${whoseText(served)} be served that are refused today`;
  return wider.length === 0 ? "" : `may requests of ${whoseText(wider)} lose this protection`;
}

interface NewDestination {
  readonly gain: DestinationReport;
  readonly workspaces: Set<string>;
  /** Whether a route of the requests reached the region before. */
  readonly isKnownRegion: boolean;
  /** Whether data of a workspace gets there for the first time, by whatever route. */
  isNewPath: boolean;
}

/**
 * Destinations that are new to a workspace, or else to a route. The worst comes first: another
 * region, then who keeps data longer, then who trains on it.
 */
function newDestinations(
  { gains }: CauseReport,
  { effects, newDataPaths, newRoutePaths }: QuestionSubject,
): readonly NewDestination[] {
  const found = new Map<string, NewDestination>();
  for (const { group, workspaces } of effects) {
    for (const gain of gains) {
      if (!group.head.plan.some(({ endpoint }) => endpoint === gain.endpoint)) continue;
      for (const workspace of workspaces) {
        const ends = (path: DataPath | RoutePath): boolean =>
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
  const isAnyPath = all.some(({ isNewPath }) => isNewPath);
  return all
    .filter(({ isNewPath }) => isNewPath || !isAnyPath)
    .toSorted(
      (left, right) =>
        Number(left.isKnownRegion) - Number(right.isKnownRegion) ||
        byRetention(left.gain, right.gain) ||
        Number(right.gain.trains_on_data) - Number(left.gain.trains_on_data),
    );
}

function questionOfRename(
  { kind, from, to, distinguished_by: policies = [] }: CauseReport["renames"][number],
  { groups, renamed_groups: same }: CauseReport,
): string {
  if (policies.length > 0) return `shall policy ${policies.join(", ")} mean ${to} too?`;
  if (kind === "route")
    return `do all callers write ${to} already? a route ${from} can stay beside it until they do`;
  if (kind === "workspace") return `do new keys for ${to} replace the keys of ${from}?`;
  return same.length === groups.length ? "" : `does any caller name ${from} in its preferences?`;
}

function questionOfMove(cause: CauseReport, effects: readonly Effect[]): string {
  const { entries } = cause;
  const has = (member: string): boolean => entries.some(({ path }) => path.endsWith(`.${member}`));
  if (has("upstream_model")) return "has the new version been tried with these routes?";
  const [first] = effects;
  if (first === undefined) return "";
  const whose = whoseText(effects.filter(({ tag }) => tag === "MOVES"));
  const { base, head } = first.group;
  const moved = movedOf(first.group, cause);
  if (moved !== null) {
    if (has("plaintext") || entries.some(isUnencrypted))
      return `may calls to ${moved.provider} go unencrypted?`;
    const before = base.plan.find(({ endpoint }) => endpoint === moved.endpoint);
    if (before?.host !== moved.host) return `may data of ${whose} go to ${moved.host}?`;
    if (has("retention")) return `may ${moved.provider} keep data of ${whose} that long?`;
    if (has("trains_on_data")) return `may ${moved.provider} train on data of ${whose}?`;
    return `does ${moved.endpoint} still answer as these routes need it?`;
  }
  const at = head.plan.findIndex(({ endpoint }, index) => endpoint !== base.plan[index]?.endpoint);
  const [now, was] = [head.plan[at], base.plan[at]];
  if (now === undefined || was === undefined) return "";
  return `is ${now.endpoint} (${now.model}) the better choice before ${was.endpoint}?`;
}

function isUnencrypted({ path, before, after }: ChangedEntry): boolean {
  const isPlain = (text: string | null): boolean => text?.startsWith("http:") === true;
  return path.endsWith(".base_url") && isPlain(after) && !isPlain(before);
}

/** About settings that decide nothing about where requests go. */
const QUESTIONS: Readonly<Partial<Record<SettingEffect, string>>> = {
  credential: "is it an account with the region and the contract that the row states?",
  price: "is it what the provider charges? preferences by price and budgets use it",
  limit: "who pays for the additional use?",
  promotion: "are these weaker requirements enough for promotions?",
  management: "may keys of these workspaces promote every policy?",
  workloads: "may these workloads get such tokens?",
  access: "may these groups have this access?",
};

/** A limit that is lowered, a stricter requirement: no gate, and no question. */
function questionOfSetting({ path }: ChangedEntry, settings: readonly SettingChange[]): string {
  const setting = settings.find(
    (each) =>
      each.path === path || path.startsWith(`${each.path}.`) || each.path.startsWith(`${path}.`),
  );
  if (setting === undefined) return "";
  const isAsked =
    setting.gate !== null || setting.effect === "credential" || setting.effect === "price";
  return isAsked ? (QUESTIONS[setting.effect] ?? "") : "";
}
