import { withQuery } from "../../api/client.ts";
import { mayManageKeys } from "../../api/session-state.ts";
import type { Budget, Spend } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Chart } from "../../components/chart.tsx";
import { Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Badge, Name } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { ABSENT, dollars, humanise, share } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { KeyName, useKeyNames } from "../keys/key-names.tsx";
import { startOf, STEPS, type Window } from "../window.ts";
import { BUDGET_REASONS, RefusalsTable, type Refusal } from "./refusals.tsx";
import { RefusedTimes, useRefusedBy, type RefusedBy } from "./refused-by.tsx";

type Amounts = Pick<Budget, "limit_usd" | "spent_usd" | "projected_usd" | "window_end">;

export const isSpent = ({ spent_usd, limit_usd }: Amounts): boolean => spent_usd >= limit_usd;

/** True if it lasts to the end of its window at the pace so far, or that is not known yet. */
export const lasts = (budget: Amounts): boolean =>
  !isSpent(budget) && (budget.projected_usd === null || budget.projected_usd <= budget.limit_usd);

/** A budget of which this share is spent is near its end. */
const NEARLY = 0.9;

export const isNearlySpent = (budget: Amounts): boolean =>
  !lasts(budget) || budget.spent_usd >= NEARLY * budget.limit_usd;

/** True if it refuses requests now: those that it refused while much was left were too large. */
export const isRefusing = (budget: Budget, refusedBy: RefusedBy): boolean =>
  isSpent(budget) || (isNearlySpent(budget) && refusedBy(budget).length > 0);

/**
 * When a budget that does not last is spent, at the pace so far; `null` where that is not known, as
 * by a clock that differs from the server's.
 *
 * @param now milliseconds since the epoch. @returns the same.
 */
export function runsOutAt(budget: Amounts, now: number): number | null {
  const { limit_usd, spent_usd, projected_usd, window_end } = budget;
  const left = Date.parse(window_end) - now;
  if (projected_usd === null || lasts(budget) || isSpent(budget) || left <= 0) return null;
  return now + (left * (limit_usd - spent_usd)) / (projected_usd - spent_usd);
}

/** Budgets that are drawn at most, and the share that has to be used: others have a flat line. */
const MOST_DRAWN = 2;
const WORTH_DRAWING = 0.05;

/** The rest of a workspace's budget over its window, and where the pace so far leads. */
function BurnDown({ budget }: { readonly budget: Budget }) {
  const { workspace, name, window_start, window_end, limit_usd, spent_usd, projected_usd } = budget;
  const spend = useResource<Spend>(
    withQuery("/v1/spend", { start: window_start, group_by: "hour" }),
    60_000,
    workspace,
  );
  const [start, end] = [Date.parse(window_start) / 1_000, Date.parse(window_end) / 1_000];
  // In an hour there is no course.
  if (spend.value === null || end - start <= STEPS.hour) return null;
  const step = /\/(?:week|month)$/.test(name) ? STEPS.day : STEPS.hour;
  const now = Math.min(end, Date.now() / 1_000);
  // From the start of the window, which the budget's time zone decides.
  const steps = Array.from(
    { length: Math.ceil((now - start) / step) },
    (_, at) => start + at * step,
  );
  const times = [...steps, now, ...(now < end ? [end] : [])];
  const { groups } = spend.value;
  const left = limit_usd - spent_usd;
  const leftAt = (time: number): number =>
    groups.reduce((rest, { group, cost_usd }) => {
      const at = startOf(group, "hour");
      return at >= start && at < time ? rest - (cost_usd ?? 0) : rest;
    }, limit_usd);
  // The last point is the budget's own count, which has reservations and estimates too.
  const known = times.map((time) =>
    time > now ? null : Math.max(0, left, time === now ? left : leftAt(time)),
  );
  const lineTo = (from: number, value: number, to: number) =>
    times.map((time) =>
      time < from ? null : Math.max(0, value + ((to - value) * (time - from)) / (end - from || 1)),
    );
  const title = printable(`Left of ${workspace} ${humanise(name)}`);
  return (
    <div class="course">
      <h3>
        <bdi>{title}</bdi>
      </h3>
      <Chart
        title={title}
        times={times}
        kind="lines"
        measure="dollars"
        series={[
          { title: "Left", tone: lasts(budget) ? "a" : "stop", values: known },
          ...(projected_usd === null
            ? []
            : [
                {
                  title: "At this pace",
                  tone: "c" as const,
                  values: lineTo(now, left, limit_usd - projected_usd),
                  dashed: true,
                },
              ]),
          { title: "Even pace", tone: "rest", values: lineTo(start, limit_usd, 0), dashed: true },
        ]}
      />
    </div>
  );
}

/**
 * Budgets, those that end first at the top, and the requests that limits refused.
 *
 * @param refusals of the time span of the page.
 */
export function BudgetsPanel({
  budgets,
  refusals,
  window,
}: {
  readonly budgets: readonly Budget[];
  readonly refusals: readonly Refusal[];
  readonly window: Window;
}) {
  const names = useKeyNames();
  const now = Date.now();
  const refusedBy = useRefusedBy(
    refusals.some(({ reason }) => BUDGET_REASONS.includes(reason)) ? window.start : null,
  );
  const rank = (budget: Budget): number =>
    isRefusing(budget, refusedBy)
      ? 0
      : lasts(budget)
        ? Number.MAX_SAFE_INTEGER
        : (runsOutAt(budget, now) ?? 1);
  const ranked = budgets.toSorted((left, right) => rank(left) - rank(right));
  const drawn = ranked
    .filter(({ key }) => key === null)
    .filter((each) => !lasts(each) || each.spent_usd >= WORTH_DRAWING * each.limit_usd)
    .slice(0, MOST_DRAWN);
  const columns: readonly Column<Budget>[] = [
    {
      head: "State",
      cell: (budget) => {
        if (isSpent(budget)) return <Badge tone="stop">spent</Badge>;
        if (isRefusing(budget, refusedBy)) return <Badge tone="stop">refusing now</Badge>;
        // Green beside refusals would be read as "all is well".
        return lasts(budget) ? (
          <Badge tone={refusedBy(budget).length > 0 ? "quiet" : "good"}>lasts</Badge>
        ) : (
          <Badge tone="widen">will not last</Badge>
        );
      },
    },
    { head: "Workspace", cell: ({ workspace }) => <Name of={workspace} /> },
    ...(budgets.some(({ key }) => key !== null)
      ? [{ head: "Key", cell: ({ key }: Budget) => <KeyName of={key} names={names} /> }]
      : []),
    { head: "Budget", cell: ({ name }) => <Name of={humanise(name)} /> },
    {
      head: "Used",
      cell: (budget) => {
        const { workspace, name, limit_usd, spent_usd } = budget;
        return (
          <span class="together">
            <meter
              min={0}
              max={limit_usd}
              // Up to `low` it is green, up to `high` amber, above red.
              optimum={0}
              low={lasts(budget) ? NEARLY * limit_usd : Number.MIN_VALUE}
              high={isRefusing(budget, refusedBy) ? Number.MIN_VALUE : limit_usd}
              value={Math.min(spent_usd, limit_usd)}
              aria-label={printable(`Spent of ${workspace} ${humanise(name)}`)}
            />{" "}
            <small>{share(spent_usd, limit_usd)}</small>
          </span>
        );
      },
    },
    numbers("Spent", ({ spent_usd }) => dollars(spent_usd)),
    numbers("Limit", ({ limit_usd }) => dollars(limit_usd)),
    numbers("Projected", (budget) =>
      isRefusing(budget, refusedBy) ? (
        ABSENT
      ) : budget.projected_usd === null ? (
        <small>too early</small>
      ) : (
        dollars(budget.projected_usd)
      ),
    ),
    {
      head: "Stops requests",
      cell: (budget) => {
        const { key } = budget;
        const refused = refusedBy(budget);
        if (isSpent(budget) || refused.length > 0) {
          const reason = refused[0]?.reason ?? "budget_exhausted";
          return (
            <a class="wrap" href={link(["decisions"], { outcome: "refuse", reason, key })}>
              <RefusedTimes of={refused} />
            </a>
          );
        }
        if (lasts(budget)) return <small>not before it is renewed</small>;
        const at = runsOutAt(budget, now);
        return at === null ? (
          "before it is renewed"
        ) : (
          <span class="together">
            about <Time at={at} />
          </span>
        );
      },
    },
    { head: "Renews", cell: ({ window_end }) => <Time at={window_end} /> },
  ];
  return (
    <Panel title="Budgets">
      {budgets.length === 0 ? (
        <p class="hint">
          No workspace has a budget in dollars. Set one in routes.yaml under limits, or when a key
          is created.
        </p>
      ) : (
        <>
          <Table
            label="Budgets"
            cards
            rows={ranked}
            keyOf={({ workspace, key, name }) => `${workspace} ${key} ${name}`}
            columns={columns}
          />
          <p class="hint">
            {mayManageKeys()
              ? "Of keys, the hundred are listed that have used most of their budget."
              : "Budgets of keys are listed for people who may manage keys."}
          </p>
          {drawn.length === 0 ? null : (
            <div class="columns">
              {drawn.map((budget) => (
                <BurnDown key={`${budget.workspace} ${budget.name}`} budget={budget} />
              ))}
            </div>
          )}
        </>
      )}
      {refusals.length === 0 ? null : <RefusalsTable refusals={refusals} since={window.since} />}
    </Panel>
  );
}
