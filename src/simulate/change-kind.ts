/** A row of {@link CHANGES}. */
interface Change {
  /**
   * Groups of changes are sorted by it, the lowest first: requests that fail, then endpoints that
   * requests did not reach before.
   */
  readonly rank: number;
  /** A short title, as in "3 newly denied". */
  readonly title: string;
  readonly sentence: string;
  /** How loud machines should be about it. */
  readonly level: "error" | "warning" | "notice";
}

/**
 * Effects of a change on a request, in the order in which reports count them. `--fail-on`,
 * assertions, the formats of reports and the table of docs/simulate.md are made of these rows;
 * `compare/change-kinds.ts` finds those of a request.
 */
export const CHANGES = {
  newly_denied: {
    rank: 20,
    title: "newly denied",
    sentence: "Requests that base serves are denied in head.",
    level: "warning",
  },
  newly_allowed: {
    rank: 30,
    title: "newly allowed",
    sentence: "Requests that base denies are served in head.",
    level: "warning",
  },
  primary_changed: {
    rank: 60,
    title: "primary changed",
    sentence: "Requests go to another endpoint first.",
    level: "notice",
  },
  fallbacks_widened: {
    rank: 50,
    title: "fallbacks widened",
    sentence: "Requests may fall back to an endpoint that base does not use for them.",
    level: "notice",
  },
  fallbacks_narrowed: {
    rank: 70,
    title: "fallbacks narrowed",
    sentence: "Requests lose an endpoint that they may fall back to in base.",
    level: "notice",
  },
  fallbacks_reordered: {
    rank: 80,
    title: "fallbacks reordered",
    sentence: "Requests fall back to the same endpoints in another order.",
    level: "notice",
  },
  sharing_changed: {
    rank: 90,
    title: "sharing changed",
    sentence: "Requests are shared among the same endpoints in another way.",
    level: "notice",
  },
  destination_changed: {
    rank: 40,
    title: "destination changed",
    sentence:
      "An endpoint of the same id now means another provider, region, address, model or contract.",
    level: "warning",
  },
  weaker_obligation: {
    rank: 44,
    title: "weaker obligation",
    sentence: "Obligations no longer remove a field that they remove in base.",
    level: "warning",
  },
  higher_ceiling: {
    rank: 46,
    title: "higher ceiling",
    sentence: "Obligations allow more output tokens than in base, or no longer limit them.",
    level: "warning",
  },
  edits_changed: {
    rank: 100,
    title: "edits changed",
    sentence: "Obligations remove or limit something else.",
    level: "notice",
  },
  reason_changed: {
    rank: 110,
    title: "reason changed",
    sentence: "Requests are denied as before, for another reason.",
    level: "notice",
  },
  indeterminate_new: {
    rank: 10,
    title: "newly indeterminate",
    sentence: "An enforced constraint can no longer be evaluated.",
    level: "error",
  },
} as const satisfies Readonly<Record<string, Change>>;

export type ChangeKind = keyof typeof CHANGES;

export const CHANGE_KINDS = Object.keys(CHANGES).filter(isChangeKind);

function isChangeKind(name: string): name is ChangeKind {
  return Object.hasOwn(CHANGES, name);
}
