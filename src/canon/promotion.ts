import { final, type ErrorRow } from "./errors/error-row.ts";

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
  /** What a promotion can lack because of it; absent where the setting only changes how others count. */
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
  /** In the server's sentence after "The promotion still needs". */
  readonly needed: Wording;
  /** On the command line: what is missing of it. */
  readonly missing: Wording;
  /** On the command line: what is required, met or not. */
  readonly required: Wording;
}

/** How much there is and how much is required; 0 and empty where a requirement has no such number. */
export interface RequirementFacts {
  readonly have: number;
  readonly need: number;
  /** Roles that no approver has; all that are required, where nothing is missing. */
  readonly roles: readonly string[];
  /** Approvals with a report that no server has verified. */
  readonly claimed: number;
  /** Approvals with a report that was verified under another table, or against other enforced content. */
  readonly outdated: number;
}

/** How numbers are written, for an answer or for a terminal. */
export interface RequirementFormat {
  readonly number: (amount: number) => string;
  /** `3 approvals` */
  readonly amount: (amount: number, singular: string) => string;
  readonly duration: (time: number) => string;
  /** Whether the approvals of who promotes count. */
  readonly selfApproval: boolean;
}

type Wording = (facts: RequirementFacts, format: RequirementFormat) => string;

const LACKING = { ...final(409, "precondition"), at: ["policy_change"] } as const;

/** Errors of promotions that lack something. */
export const PROMOTION_ERRORS = {
  approvals_required: {
    ...LACKING,
    meaning:
      "The promotion lacks approvals, or approvals by people with the required roles; `missing` of the error lists them.",
    example: '`promotion: {"*": {approvals: 2}}` and one approval.',
    fix: "`signalbox policy approve ID`, by another person.",
  },
  soak_not_met: {
    ...LACKING,
    meaning: "The candidate has not been in shadow for as long as `soak` requires; `missing` has the rest.",
    example: "`soak: 24h`, an hour after the change.",
    fix: "Wait; `missing` has the remaining time.",
  },
  decisions_required: {
    ...LACKING,
    meaning:
      "The candidate was evaluated for fewer requests in shadow than `min_decisions` requires; `missing` has the number.",
    example: "`min_decisions: 1000` on a quiet day.",
    fix: "Wait for traffic; `missing` has the numbers.",
  },
  indeterminate_seen: {
    ...LACKING,
    meaning: "The candidate was indeterminate for some requests in shadow; the promotion allows none.",
    example: "A rule that reads a member that some requests lack.",
    fix: "Fix the policy; `signalbox policy show ID` has examples.",
  },
  report_required: {
    ...LACKING,
    meaning:
      "The promotion requires an approval that names the simulation report of exactly this promotion, as the server computes it.",
    example: "An approval without `--report` where `report: true`, or a change of `routes.yaml` since the approval.",
    fix: "`signalbox policy simulate ID --format json=report.json`, then approve with `--report report.json`.",
  },
  assertions_not_passed: {
    ...LACKING,
    meaning: "The verified report has assertions that failed, or none at all.",
    example: "A server without `assertions.yaml` beside its policies.",
    fix: "Give the server the assertions and correct what fails, then approve again with a new report.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/**
 * The settings of `policies.promotion`: their keys and defaults, what a promotion can lack because of each, and how that is said. The schema of routes.yaml, the
 * answers, the errors and the command line are made of these rows, in this order. When something is missing is in `lifecycle/requirements.ts`.
 */
const PROMOTION_SETTINGS = {
  approvals: {
    kind: "count",
    key: "approvals",
    maximum: 20,
    default: 0,
    description:
      "How many people must have approved exactly this content. Keys that come from one key, by rotation or because one created the other, count as one person.",
    requirement: {
      name: "approvals",
      code: "approvals_required",
      needed: ({ have, need }, { amount }) => `${amount(need, "approval")} of this content (${have} count)`,
      missing: ({ have, need }, { amount, number }) => `${number(have)} of ${amount(need, "approval")}`,
      required: ({ need }, { amount, selfApproval }) =>
        `${amount(need, "approval")}${selfApproval ? ", the promoter's own counts too" : ", the promoter's own does not count"}`,
    },
  },
  roles: {
    kind: "list",
    key: "roles",
    default: [],
    description:
      "Values of `vocabulary.labels`: each must be a label of the key of one of the approvers. One person may have several.",
    requirement: {
      name: "roles",
      code: "approvals_required",
      needed: ({ roles }) => `an approver with the role ${roles.join(", and one with ")}`,
      missing: ({ roles }) => `no approver with the role ${roles.join(", none with ")}`,
      required: ({ roles }) => `an approver with the role ${roles.join(", one with ")}`,
    },
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
    description: "How long the content must have been in shadow; at most `90d`. `none` cancels the requirement of `*`.",
    requirement: {
      name: "soak",
      code: "soak_not_met",
      needed: ({ have, need }, { duration }) => `${duration(need)} in shadow (${duration(have)} so far)`,
      missing: ({ have, need }, { duration }) => `in shadow ${duration(have)} of ${duration(need)}`,
      required: ({ need }, { duration }) => `in shadow for ${duration(need)}`,
    },
  },
  decisions: {
    kind: "count",
    key: "min_decisions",
    maximum: 1_000_000_000,
    default: 0,
    description: "For how many requests the content must have been evaluated in shadow.",
    requirement: {
      name: "decisions",
      code: "decisions_required",
      needed: ({ have, need }, { amount }) => `${amount(need, "decision")} in shadow (${have} so far)`,
      missing: ({ have, need }, { amount, number }) => `${number(have)} of ${amount(need, "decision")}`,
      required: ({ need }, { amount }) => `judged ${amount(need, "decision")}`,
    },
  },
  noIndeterminate: {
    kind: "flag",
    key: "no_indeterminate",
    // A policy that fails by itself is not promoted by accident.
    default: true,
    description: "Whether a verdict `indeterminate` in shadow forbids the promotion. When enforced it would deny.",
    requirement: {
      name: "no_indeterminate",
      code: "indeterminate_seen",
      needed: ({ have }, { amount }) => `a verdict for every request in shadow (${amount(have, "request")} had none)`,
      missing: ({ have }, { amount }) => `${amount(have, "verdict")} indeterminate`,
      required: () => "no indeterminate verdict in shadow",
    },
  },
  report: {
    kind: "flag",
    key: "report",
    default: false,
    description: "Whether an approval must name the complete simulation report that the server makes itself.",
    requirement: {
      name: "report",
      code: "report_required",
      needed: ({ claimed, outdated }) =>
        `an approval with the complete simulation report that this server makes itself (${claimed} only claimed, ${outdated} outdated)`,
      missing: ({ claimed, outdated }, { number }) => {
        const counts = [
          claimed > 0 && `${number(claimed)} only claimed`,
          outdated > 0 && `${number(outdated)} outdated`,
        ];
        const found = counts.some(Boolean) ? ` (${counts.filter(Boolean).join(", ")})` : "";
        return `no approval with the server's own complete simulation report${found}`;
      },
      required: () => "an approval with the server's own complete simulation report",
    },
  },
  assertions: {
    kind: "flag",
    key: "assertions",
    default: false,
    description: "Whether the assertions of that report must all have passed or been waived. Requires `report` too.",
    requirement: {
      name: "assertions",
      code: "assertions_not_passed",
      needed: ({ have }) =>
        have === 0
          ? "an approval whose verified report has assertions that passed"
          : `an approval whose verified report has no failed assertions (${have} failed)`,
      missing: ({ have }, { amount }) =>
        have === 0
          ? "no approval with a verified report whose assertions passed"
          : `${amount(have, "assertion")} failed in a verified report`,
      required: () => "assertions that passed in a verified report",
    },
  },
} as const satisfies Readonly<Record<string, AnySetting>>;

type Settings = typeof PROMOTION_SETTINGS;
type SettingName = keyof Settings;
type Shown<Name extends SettingName> =
  Name extends NamesOf<"duration"> ? `${Settings[Name]["key"]}_seconds` : Settings[Name]["key"];

/** What a promotion requires, with every setting written out. */
export type PromotionRequirements = { readonly [Name in SettingName]: Values[Settings[Name]["kind"]] };

export type RequirementName = Extract<Settings[SettingName], { readonly requirement: unknown }>["requirement"]["name"];

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
export const REQUIREMENTS: readonly NamedRequirement[] = Object.values(PROMOTION_SETTINGS).flatMap((setting) =>
  "requirement" in setting ? [{ ...setting.requirement, kind: setting.kind, shown: shownKey(setting) }] : [],
);

function shownKey(setting: Settings[SettingName]): Shown<SettingName> {
  return setting.kind === "duration" ? `${setting.key}_seconds` : setting.key;
}

type NamesOf<Of extends Kind> = {
  [Name in SettingName]: Settings[Name]["kind"] extends Of ? Name : never;
}[SettingName];
type Makers = { readonly [Of in Kind]: (setting: Settings[NamesOf<Of>], name: NamesOf<Of>) => unknown };
/** `own`: as in the routing table and in records. */
type Naming<Name extends SettingName> = { own: Name; key: Settings[Name]["key"]; shown: Shown<Name> };

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
