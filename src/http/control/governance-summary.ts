import { described, INSTANT } from "../../canon/json/schema.ts";
import type { Identity } from "../../canon/identity.ts";
import {
  GROUPED,
  readGrouping,
  type Grouping,
  type RollUpQuery,
  type RollUpRow,
} from "../../governance/increments.ts";
import { summarise } from "../../governance/summarise.ts";
import {
  summaryAnswer,
  type SummaryContext,
  type StoredPolicy,
} from "../../governance/summary-answer.ts";
import {
  MAXIMUM_DAYS,
  MAXIMUM_HOURLY_DAYS,
  readWindow,
  windowOf,
  type Window,
} from "../../governance/roll-up.ts";
import type { LimitUsage } from "../../limits/limit-store.ts";
import { badRequest, refusal } from "../refusal.ts";
import type { Snapshot } from "../snapshot.ts";
import {
  WORKSPACES_QUERY,
  cellsOf,
  callerWorkspace,
  readWorkspaces,
  type ReadingCall,
} from "./query.ts";

/** Query parameters, for /openapi.json. */
export const SUMMARY_QUERY = {
  start: described(
    INSTANT,
    `Time within the first hour that is counted. Default: a day before the end; at most ${MAXIMUM_DAYS} days before it.`,
  ),
  end: described(INSTANT, "Time within the last hour that is counted. Default: now."),
  group_by: {
    type: "array",
    maxItems: GROUPED.summary.maximum,
    items: { enum: GROUPED.summary.dimensions },
    description: `Repeatable, or separated by commas: ${GROUPED.summary.families}. Each with workspace, and with day, or with hour for at most ${MAXIMUM_HOURLY_DAYS} days. The last three hours also by minute, with operation, route and workspace: totals are then of these minutes, verdicts and shadows of the hours that they touch.`,
  },
  workspaces: WORKSPACES_QUERY,
} as const;

/** Inputs of the summary from the store. */
export interface SummarySource {
  readonly read: (query: RollUpQuery) => AsyncIterable<readonly RollUpRow[]>;
  /** Where policies stand by the newest row of their log. */
  readonly policies: () => Promise<readonly StoredPolicy[]>;
  readonly turns: SummaryTurns;
  /** Use of limits. @param now milliseconds since the epoch. */
  readonly limitUsage: (now: number) => Promise<LimitUsage>;
  /** Valid keys without a replacement, of all workspaces. */
  readonly currentKeys: (now: number) => readonly Identity[];
  /** The newest row of the evidence log, as this process knows it. */
  readonly head: () => SummaryContext["head"];
}

/** Numbers of workspaces that the caller may read, and of no other. */
export async function governanceSummary(
  source: SummarySource,
  { decider }: Pick<Snapshot, "decider">,
  call: ReadingCall,
  now: number,
): Promise<{ readonly text: string }> {
  const workspaces = readWorkspaces(call);
  const { window, grouping } = readQuery(call.url.searchParams, now, "summary");
  return source.turns.take(callerWorkspace(call), async () => {
    const stored = await source.policies();
    const summary = await summarise(
      (facet) => cellsOf(source.read, workspaces, windowOf(facet, window)),
      grouping,
    );
    const context = {
      workspaces,
      window,
      grouping,
      now,
      loaded: decider.policies.policies.map((policy) => policy.identity),
      stored,
      tableRevision: decider.table.revision,
      head: source.head(),
    };
    return { text: JSON.stringify(summaryAnswer(context, summary)) };
  });
}

/** @param of the answer whose groups are meant. @throws {RefusalError} */
export function readQuery(
  query: URLSearchParams,
  now: number,
  of: keyof typeof GROUPED,
): { window: Window; grouping: Grouping } {
  const grouping = readGrouping(
    query.getAll("group_by").flatMap((list) => list.split(",")),
    of,
  );
  if ("problem" in grouping) throw badRequest("invalid_value", grouping.problem, "group_by");
  const window = readWindow(query.get("start"), query.get("end"), now, grouping.time);
  if ("problem" in window) throw badRequest("invalid_value", window.problem, window.member);
  return { window, grouping };
}

/**
 * Calls of one workspace that wait for their turn. Many more than a few people who click through
 * the console have at once: a call that waits holds no memory.
 */
const MOST_WAITING = 15;

/**
 * One summary at a time for a workspace: each may keep a thousand groups in memory and read
 * hundreds of thousands of cells, and one key must not be able to request many of them at once.
 */
export class SummaryTurns {
  readonly #turns = new Map<string, { last: Promise<unknown>; count: number }>();

  /**
   * Runs `work` after the earlier calls of the workspace.
   *
   * @throws {RefusalError} where too many wait already, or `work` fails, as it does without the
   * store.
   */
  async take<Result>(workspace: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#turns.get(workspace) ?? { last: Promise.resolve(), count: 0 };
    if (turns.count > MOST_WAITING) {
      throw refusal(
        "summaries_waiting",
        "Other summaries of this workspace are being made. Send one request after the other.",
      );
    }
    this.#turns.set(workspace, turns);
    turns.count += 1;
    const result = turns.last.then(work);
    turns.last = result.catch(() => undefined);
    try {
      return await result;
    } catch {
      throw refusal(
        "summary_unavailable",
        "The server cannot read the counts from the store now. Try again later.",
      );
    } finally {
      turns.count -= 1;
      if (turns.count === 0) this.#turns.delete(workspace);
    }
  }
}
