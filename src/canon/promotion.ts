import type { PROMOTION_ERRORS } from "./control-errors.ts";

/** What a setting holds in the routing table, by its kind; durations are milliseconds. */
interface Values {
  readonly count: number;
  readonly flag: boolean;
  readonly list: readonly string[];
  readonly duration: number;
}
type Kind = keyof Values;

/** One setting of `policies.promotion`. */
interface Setting<Of extends Kind> {
  readonly kind: Of;
  /** In routes.yaml; in answers too, where a duration is in seconds and says so. */
  readonly key: string;
  /** What holds where routes.yaml says nothing. */
  readonly default: Values[Of];
  readonly description: string;
  /**
   * What a promotion can lack because of it; absent where the setting only changes how others
   * count.
   */
  readonly requirement?: Requirement;
}
type AnySetting =
  | (Setting<"count"> & { readonly maximum: number })
  | Setting<"flag">
  | Setting<"list">
  | Setting<"duration">;

/** What a promotion can lack. */
interface Requirement {
  /** In the list `missing` of answers. */
  readonly name: string;
  /** Error code of a promotion that lacks it before all others. */
  readonly code: keyof typeof PROMOTION_ERRORS;
}

/**
 * How much there is and how much is required; 0 and empty where a requirement has no such number.
 */
export interface RequirementFacts {
  readonly have: number;
  readonly need: number;
  /** Roles that no approver has; all that are required, where nothing is missing. */
  readonly roles: readonly string[];
  /** Approvals with a report that no server has verified. */
  readonly claimed: number;
  /**
   * Approvals with a report that was verified under another table, or against other enforced
   * content.
   */
  readonly outdated: number;
}

/**
 * The settings of `policies.promotion`: their keys and defaults, and what a promotion can lack
 * because of each. The schema of routes.yaml, the answers and the errors are made of these rows, in
 * this order. `lifecycle/changes.ts` judges what is missing,
 * `http/control/policies/policy-error.ts` has the sentences.
 */
const PROMOTION_SETTINGS = {
  approvals: {
    kind: "count",
    key: "approvals",
    maximum: 20,
    default: 0,
    description:
      "How many people must have approved exactly this content. Keys that come from one key, by rotation or because one created the other, count as one person.",
    requirement: { name: "approvals", code: "approvals_required" },
  },
  roles: {
    kind: "list",
    key: "roles",
    default: [],
    description:
      "Values of `vocabulary.labels`: each must be a label of the key of one of the approvers. One person may have several.",
    requirement: { name: "roles", code: "approvals_required" },
  },
  selfApproval: {
    kind: "flag",
    key: "self_approval",
    default: false,
    description: "Whether the promoter's own approval counts.",
  },
  soak: {
    kind: "duration",
    key: "soak",
    default: 0,
    description:
      "How long the content must have been in shadow; at most `90d`. `none` cancels the requirement of `*`.",
    requirement: { name: "soak", code: "soak_not_met" },
  },
  decisions: {
    kind: "count",
    key: "min_decisions",
    maximum: 1_000_000_000,
    default: 0,
    description: "For how many requests the content must have been evaluated in shadow.",
    requirement: { name: "decisions", code: "decisions_required" },
  },
  noIndeterminate: {
    kind: "flag",
    key: "no_indeterminate",
    // A policy that fails by itself is not promoted by accident.
    default: true,
    description:
      "Whether a verdict `indeterminate` in shadow forbids the promotion. When enforced it would deny.",
    requirement: { name: "no_indeterminate", code: "indeterminate_seen" },
  },
  report: {
    kind: "flag",
    key: "report",
    default: false,
    description:
      "Whether an approval must name the complete simulation report that the server makes itself.",
    requirement: { name: "report", code: "report_required" },
  },
  assertions: {
    kind: "flag",
    key: "assertions",
    default: false,
    description:
      "Whether the assertions of that report must all have passed or been waived. Requires `report` too.",
    requirement: { name: "assertions", code: "assertions_not_passed" },
  },
} as const satisfies Readonly<Record<string, AnySetting>>;

type Settings = typeof PROMOTION_SETTINGS;
type SettingName = keyof Settings;
type Shown<Name extends SettingName> =
  Name extends NamesOf<"duration"> ? `${Settings[Name]["key"]}_seconds` : Settings[Name]["key"];

/** What a promotion requires, with every setting written out. */
export type PromotionRequirements = {
  readonly [Name in SettingName]: Values[Settings[Name]["kind"]];
};

export type RequirementName = Extract<
  Settings[SettingName],
  { readonly requirement: unknown }
>["requirement"]["name"];

/** What is missing of one requirement; only the numbers that it has. */
export interface MissingRequirement extends Partial<RequirementFacts> {
  readonly requirement: RequirementName;
}

interface NamedRequirement extends Requirement {
  readonly name: RequirementName;
  readonly kind: Kind;
  /** Key of its setting in answers. */
  readonly shown: Shown<SettingName>;
}

/** In the order in which they are checked, which is that of the documentation. */
export const REQUIREMENTS: readonly NamedRequirement[] = Object.values(PROMOTION_SETTINGS).flatMap(
  (setting) =>
    "requirement" in setting
      ? [{ ...setting.requirement, kind: setting.kind, shown: shownKey(setting) }]
      : [],
);

function shownKey(setting: Settings[SettingName]): Shown<SettingName> {
  return setting.kind === "duration" ? `${setting.key}_seconds` : setting.key;
}

type NamesOf<Of extends Kind> = {
  [Name in SettingName]: Settings[Name]["kind"] extends Of ? Name : never;
}[SettingName];
type Makers = {
  readonly [Of in Kind]: (setting: Settings[NamesOf<Of>], name: NamesOf<Of>) => unknown;
};
/** `own`: as in the routing table and in records. */
type Naming<Name extends SettingName> = {
  own: Name;
  key: Settings[Name]["key"];
  shown: Shown<Name>;
};

/** An object with a member for each setting, which the function of its kind makes. */
export function mapSettings<As extends keyof Naming<SettingName>, const Make extends Makers>(
  as: As,
  make: Make,
): { readonly [Name in SettingName as Naming<Name>[As]]: ReturnType<Make[Settings[Name]["kind"]]> };
export function mapSettings(
  as: keyof Naming<SettingName>,
  make: Readonly<Record<Kind, (setting: Settings[SettingName], name: string) => unknown>>,
): unknown {
  return Object.fromEntries(
    Object.entries(PROMOTION_SETTINGS).map(([name, setting]) => {
      const names = { own: name, key: setting.key, shown: shownKey(setting) };
      return [names[as], make[setting.kind](setting, name)];
    }),
  );
}

const defaultOf = <Value>(setting: { readonly default: Value }): Value => setting.default;

/** What holds where routes.yaml says nothing. */
export const DEFAULT_PROMOTION: PromotionRequirements = mapSettings("own", {
  count: defaultOf<number>,
  flag: defaultOf<boolean>,
  list: defaultOf<readonly string[]>,
  duration: defaultOf<number>,
});
