import {
  AMOUNT,
  BOOLEAN,
  COUNT,
  described,
  INSTANT,
  listOf,
  NULLABLE_INSTANT,
  NULLABLE_TEXT,
  TEXT,
  type ValueOf,
  whole,
  wholeOrNull,
  titled,
} from "../canon/json/schema.ts";
import type { JsonValue } from "../canon/json.ts";
import { REVISION_PATTERN, formatRevision, type PolicyIdentity } from "../canon/policy.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import { RELATIVE_ERROR } from "./cell.ts";
import { DIMENSIONS, SPEND_DIMENSIONS, type Dimension, type Grouping } from "./increments.ts";
import {
  MEASURES,
  SHADOW_VERDICTS,
  SPEND_MEASURES,
  type Measures,
  type SpendMeasures,
} from "./measures.ts";
import { HOUR, formatStart, type Window } from "./roll-up.ts";
import type { Group, Summary } from "./summarise.ts";
import {
  contentOf,
  type PolicyStates,
  type PolicyStatus,
  type SlotState,
} from "../lifecycle/lifecycle.ts";

export const SPEND = titled(
  "Spend",
  whole(
    {
      object: { const: "spend" },
      workspace: described(NULLABLE_TEXT, "`null` where several are counted."),
      workspaces: listOf(TEXT, "Whose requests are counted."),
      window: whole(
        { start: INSTANT, end: INSTANT },
        "Whole hours, so possibly more than requested.",
      ),
      group_by: listOf({ enum: SPEND_DIMENSIONS }),
      groups: listOf(
        whole({
          group: {
            type: "object",
            additionalProperties: NULLABLE_TEXT,
            description: "Days and hours are in UTC.",
          },
          ...SPEND_MEASURES.properties,
        }),
      ),
      total: SPEND_MEASURES,
      budgets: listOf(
        whole({
          name: TEXT,
          workspace: TEXT,
          key: described(NULLABLE_TEXT, "Public id; `null` for the budget of the workspace."),
          limit_usd: AMOUNT,
          spent_usd: described(AMOUNT, "As limits count it: with reservations and estimates."),
          window_start: INSTANT,
          window_end: INSTANT,
          projected_usd: {
            ...AMOUNT,
            type: ["number", "null"],
            description:
              "At the end of the window, if spending continues at the same rate; `null` in its first 5 %.",
          },
        }),
        "Budgets in money of these workspaces, now; with `operations:manage` also of their keys, those that are used, at most 100, the largest used share first.",
      ),
      estimate: { const: true, description: "An estimate from list prices, and not a bill." },
      truncated: described(BOOLEAN, "There are more groups; these have the most requests."),
    },
    "What the requests of the key's workspace, or of all that the caller may read, cost: an estimate from list prices, and not a bill.",
  ),
);

export type SpendAnswer = ValueOf<typeof SPEND>;

/** @param workspaces empty: requests without an accepted key. */
export function spendAnswer(
  workspaces: readonly string[],
  window: Window,
  grouping: Pick<Grouping, "dimensions">,
  summary: Pick<Summary, "groups" | "spend" | "truncated">,
  budgets: SpendAnswer["budgets"],
): SpendAnswer {
  return {
    object: "spend",
    workspace: onlyOne(workspaces),
    workspaces: [...workspaces],
    window: { start: formatStart(window.from, HOUR), end: formatStart(window.until, HOUR) },
    group_by: grouping.dimensions.filter(isSpendDimension),
    groups: summary.groups.map(({ group, spend }) => ({ group, ...spend })),
    total: summary.spend,
    budgets,
    estimate: true,
    truncated: summary.truncated,
  };
}

function isSpendDimension(dimension: Dimension): dimension is (typeof SPEND_DIMENSIONS)[number] {
  return SPEND_DIMENSIONS.some((one) => one === dimension);
}

/**
 * A line is short, and is not kept open in a page: a month of days by key, route and model fits.
 */
export const MAXIMUM_CSV_GROUPS = 10_000;

const COLUMNS = [
  "requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "reasoning_tokens",
  "cost_usd",
  "unpriced_requests",
] as const satisfies readonly (keyof SpendMeasures)[];

/**
 * The groups as RFC 4180 has them, with a header; without groups the total. Unknown costs are empty
 * cells.
 */
export function spendCsv({ group_by: names, groups, total }: SpendAnswer): string {
  const rows: SpendAnswer["groups"] = names.length === 0 ? [{ group: {}, ...total }] : groups;
  const lines = rows.map((row) => [
    ...names.map((name) => csvText(row.group[name])),
    ...COLUMNS.map((name) => csvNumber(row[name])),
  ]);
  return [[...names, ...COLUMNS], ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** Spreadsheets take a cell that begins like this for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function csvText(value: JsonValue | undefined): string {
  if (typeof value !== "string") return "";
  const shown = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Without an exponent, which some readers take for text. */
function csvNumber(value: number | null): string {
  if (value === null) return "";
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, "");
}

const nullableRevision = { type: ["string", "null"], pattern: REVISION_PATTERN } as const;

/** The content of a slot in the policy log. */
function slotSchema(description: string) {
  const since = described(NULLABLE_INSTANT, "When it entered the slot.");
  return wholeOrNull(
    { revision: nullableRevision, digest: TEXT, content: { enum: ["rules", "removal"] }, since },
    description,
  );
}

export const GOVERNANCE_SUMMARY = titled(
  "GovernanceSummary",
  whole(
    {
      object: { const: "governance.summary" },
      version: { const: 1 },
      workspace: described(NULLABLE_TEXT, "`null` where several are counted."),
      workspaces: listOf(TEXT, "Whose requests are counted."),
      window: whole({
        start: INSTANT,
        end: INSTANT,
        complete_until: described(
          INSTANT,
          "Numbers of the hours, or minutes, before it do not change any more.",
        ),
      }),
      group_by: listOf({ enum: DIMENSIONS }),
      relative_error: {
        type: "number",
        description: "How far percentiles may be from the exact ones.",
      },
      totals: MEASURES,
      groups: listOf(
        whole({
          group: {
            type: "object",
            additionalProperties: NULLABLE_TEXT,
            description: "Days, hours and minutes are in UTC.",
          },
          ...MEASURES.properties,
        }),
      ),
      truncated: described(BOOLEAN, "There are more groups; these have the most requests."),
      verdicts: listOf(
        whole({
          policy: NULLABLE_TEXT,
          constraint: NULLABLE_TEXT,
          reason_code: NULLABLE_TEXT,
          denied: COUNT,
          refused: COUNT,
        }),
      ),
      shadows: listOf(
        whole({
          policy: TEXT,
          revision: TEXT,
          judged: COUNT,
          ...SHADOW_VERDICTS,
          verdicts: listOf(
            whole({
              constraint: NULLABLE_TEXT,
              reason_code: NULLABLE_TEXT,
              ...SHADOW_VERDICTS,
            }),
          ),
        }),
      ),
      policies: listOf(
        whole({
          id: TEXT,
          slots: listOf(
            whole({
              slot: { enum: ["enforced", "candidate"] },
              revision: nullableRevision,
              digest: TEXT,
            }),
          ),
          stored: wholeOrNull(
            {
              enforced: slotSchema("Enforced content; `null`: none."),
              candidate: slotSchema("Content in shadow; `null`: none."),
            },
            "Status of the policy in the policy log; `null`: none.",
          ),
          drift: {
            enum: ["digest", "slot", "not_loaded", "not_stored", null],
            description:
              "How the policies in this process differ from the policy log; within a second of a change they are equal.",
          },
        }),
      ),
      table_revision: NULLABLE_TEXT,
      evidence: whole({
        head: wholeOrNull({ hash: TEXT }, "The newest row of the evidence log, of all workspaces."),
      }),
    },
    "Operational evidence of the key's workspace, or of all that the caller may read, without content. Not a bill.",
  ),
);

/** Texts of an answer are identifiers that `asIdentifier` has checked, never free text. */
type Identified<Value> = Value extends string
  ? string extends Value
    ? Identifier
    : Value
  : Value extends readonly (infer Item)[]
    ? readonly Identified<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Identified<Value[Name]> }
      : Value;

/**
 * Answer of `GET /v1/governance/summary`. Enum values, numbers and closed lists:
 * `test/governance/summary-answer.test-d.ts` proves that no member takes free text. No money: it is
 * operational evidence, and no bill.
 */
export type SummaryAnswer = Omit<Identified<ValueOf<typeof GOVERNANCE_SUMMARY>>, "groups"> & {
  readonly groups: readonly (Measures & Pick<Group, "group">)[];
};
type AnswerPolicy = SummaryAnswer["policies"][number];
type AnswerSlot = NonNullable<AnswerPolicy["stored"]>["enforced"];

/** The members of the answer besides the counts. */
export interface SummaryContext {
  readonly workspaces: readonly string[];
  readonly window: Window;
  readonly grouping: Grouping;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly loaded: readonly PolicyIdentity[] | null;
  /** From the policy log. */
  readonly stored: readonly StoredPolicy[];
  readonly tableRevision: string | null;
  readonly head: { readonly hash: string } | null;
}

/**
 * A decision counts in the hour in which its request arrived, and is written when its body has been
 * read (within a minute) and it has been decided. Milliseconds.
 */
const LATEST_RECORD = 120_000;

export function summaryAnswer(context: SummaryContext, summary: Summary): SummaryAnswer {
  const { window, grouping, workspaces, head, tableRevision } = context;
  const { from, until, step } = window;
  const settled = Math.floor((context.now - LATEST_RECORD) / step);
  const complete = Math.min(until, settled, summary.firstRunning ?? Infinity);
  const start = (at: number) => asIdentifier(formatStart(at, step));
  return {
    object: "governance.summary",
    version: 1,
    workspace: onlyOne(workspaces),
    workspaces: workspaces.map(asIdentifier),
    window: { start: start(from), end: start(until), complete_until: start(complete) },
    group_by: grouping.dimensions,
    relative_error: RELATIVE_ERROR,
    totals: summary.totals,
    groups: summary.groups.map(({ group, measures }) => ({ group, ...measures })),
    truncated: summary.truncated,
    verdicts: summary.verdicts,
    shadows: summary.shadows,
    policies: policyStates(context.loaded, context.stored),
    table_revision: asIdentifier(tableRevision),
    evidence: { head: head === null ? null : { hash: asIdentifier(head.hash) } },
  };
}

/** `null` where there is none or more than one. */
function onlyOne(workspaces: readonly string[]): Identifier | null {
  const [first = null, ...others] = workspaces;
  return asIdentifier(others.length > 0 ? null : first);
}

/**
 * Policies that are enforced or in shadow, in the process or in the store, sorted by id.
 *
 * @param loaded `null` where no set of policies is loaded: then drift is unknown.
 */
export function policyStates(
  loaded: readonly PolicyIdentity[] | null,
  stored: readonly StoredPolicy[],
): readonly AnswerPolicy[] {
  const current = new Map(
    stored.filter((policy) => !hasEnded(policy)).map((policy) => [policy.id, policy]),
  );
  const loadedById = Map.groupBy(loaded ?? [], ({ id }) => id);
  return [...new Set([...loadedById.keys(), ...current.keys()])].toSorted().map((id) => {
    const [slots, policy = null] = [loadedById.get(id) ?? [], current.get(id)];
    return {
      id: asIdentifier(id),
      slots: slots.map(({ slot, revision, digest }) => ({
        slot,
        revision: asIdentifier(formatRevision(revision)),
        digest: asIdentifier(digest),
      })),
      stored:
        policy === null
          ? null
          : { enforced: answerSlot(policy.enforced), candidate: answerSlot(policy.candidate) },
      drift: loaded === null ? null : driftOf(slots, policy),
    };
  });
}

function hasEnded({ enforced, candidate }: StoredPolicy) {
  return candidate === null && enforced?.content !== "rules";
}

function answerSlot(slot: StoredSlot | null): AnswerSlot {
  if (slot === null) return null;
  const { revision, digest, content, since } = slot;
  return {
    revision: asIdentifier(formatRevision(revision)),
    digest: asIdentifier(digest),
    content,
    since: asIdentifier(new Date(since).toISOString()),
  };
}

function driftOf(
  loaded: readonly PolicyIdentity[],
  policy: StoredPolicy | null,
): AnswerPolicy["drift"] {
  const stored = (["enforced", "candidate"] as const).flatMap((slot) => {
    const content = policy?.[slot] ?? null;
    // Removals have no module.
    return content?.content === "rules" ? [{ slot, digest: content.digest }] : [];
  });
  if (loaded.length === 0) return stored.length === 0 ? null : "not_loaded";
  if (stored.length === 0) return "not_stored";
  if (!hasSameNames(loaded, stored, ({ digest }) => digest)) return "digest";
  return hasSameNames(loaded, stored, ({ slot, digest }) => `${slot} ${digest}`) ? null : "slot";
}

type SlotStatus = Pick<PolicyIdentity, "slot" | "digest">;

function hasSameNames(
  left: readonly SlotStatus[],
  right: readonly SlotStatus[],
  name: (one: SlotStatus) => string,
): boolean {
  const [leftNames, rightNames] = [left, right].map((list) => list.map(name).toSorted().join("\n"));
  return leftNames === rightNames;
}

/** The slots of a policy by the policy log, the same for every process. */
export type StoredPolicy = ReturnType<typeof storedPolicies>[number];

/** `content` is `removal` at the policy's end, which evaluates nothing. */
export type StoredSlot = NonNullable<StoredPolicy["enforced"]>;

/** Every policy of the log, sorted by id; `null`: the slot is empty. */
export function storedPolicies({ policies }: Pick<PolicyStates, "policies">) {
  return [...policies.values()].map((status) => ({
    id: status.id,
    enforced: slotOf(status, status.enforced),
    candidate: slotOf(status, status.candidate),
  }));
}

function slotOf(status: PolicyStatus, slot: SlotState | null) {
  if (slot === null) return null;
  const { revision, digest, content } = contentOf(status, slot.digest);
  return { revision, digest, content, since: slot.since };
}
