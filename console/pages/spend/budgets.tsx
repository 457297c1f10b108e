import { withQuery } from "../../api/client.ts";
import type { Budget, Spend, Summary } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Chart } from "../../components/chart.tsx";
import { Panel } from "../../components/panel.tsx";
import { Table, type Column } from "../../components/table.tsx";
import { Badge, Name } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { dollars, dollarTick, share, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { beginningOf, STEPS, timesOf } from "../window.ts";
import { BUDGET_REASONS, refusedByBudgets, RefusalsTable, type Refusal } from "./refusals.tsx";

type Amounts = Pick<Budget, "limit_usd" | "spent_usd" | "projected_usd" | "window_end">;

export const isSpent = ({ spent_usd, limit_usd }: Amounts): boolean => spent_usd >= limit_usd;

/** Whether it lasts to the end of its window at the pace so far, as far as that can be known. */
export const lasts = (budget: Amounts): boolean =>
  !isSpent(budget) && (budget.projected_usd === null || budget.projected_usd <= budget.limit_usd);

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

/** Since when a spent budget refuses, and how many requests, of its workspace. */
export function RefusedSince({
  budget: { workspace, window_start },
}: {
  readonly budget: Pick<Budget, "workspace" | "window_start">;
}) {
  const month = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const start = window_start > month ? window_start : month;
  const hours = useResource<Summary>(
    withQuery("/v1/governance/summary", { start, group_by: "reason_code,hour" }),
    60_000,
    workspace,
  );
  const refusing = (hours.value?.groups ?? []).filter(({ group }) =>
    BUDGET_REASONS.includes(groupLabel(group, "reason_code") ?? ""),
  );
  const count = refusing.reduce((sum, { refused }) => sum + refused, 0);
  const first = beginningOf(groupLabel(refusing[0]?.group ?? {}, "hour") ?? "");
  // The minute is known for three hours.
  const isRecent = Date.now() / 1_000 - first < 3 * STEPS.hour - STEPS.minute;
  const minutes = useResource<Summary>(
    isRecent
      ? withQuery("/v1/governance/summary", {
          start: new Date(first * 1_000).toISOString(),
          group_by: "minute",
        })
      : null,
    60_000,
    workspace,
  );
  const minute = minutes.value?.groups.find(({ refused }) => refused > 0);
  const since =
    minute === undefined ? first : beginningOf(groupLabel(minute.group, "minute") ?? "");
  if (hours.value === null) return <>requests are refused</>;
  if (count === 0) return <>nothing refused yet</>;
  return (
    <>
      refuses since <Time at={since * 1_000} minute /> ({whole(count)})
    </>
  );
}

/** Budgets that are drawn at most, and the share that has to be used: others have a flat line. */
const MOST_DRAWN = 2;
const WORTH_DRAWING = 0.05;

/** The rest of a budget over its window, and where the pace so far leads. */
function BurnDown({ budget }: { readonly budget: Budget }) {
  const { workspace, name, window_start, window_end, limit_usd, projected_usd } = budget;
  const unit = /\/(?:week|month)$/.test(name) ? "day" : "hour";
  const spend = useResource<Spend>(
    withQuery("/v1/spend", { start: window_start, group_by: unit }),
    60_000,
    workspace,
  );
  const costs = new Map(
    (spend.value?.groups ?? []).map(({ group, cost_usd }) => [
      beginningOf(groupLabel(group, unit) ?? ""),
      cost_usd ?? 0,
    ]),
  );
  const end = Date.parse(window_end) / 1_000;
  const times = [...timesOf(window_start, window_end, unit), end];
  // An hour has two points only.
  if (spend.value === null || times.length < 4) return null;
  const now = Date.now() / 1_000;
  let left = limit_usd;
  const known = times.map((time, at) => {
    left -= at === 0 ? 0 : (costs.get(times[at - 1] ?? 0) ?? 0);
    return time > now && at > 0 ? null : Math.max(0, left);
  });
  const last = known.lastIndexOf(known.findLast((value) => value !== null) ?? 0);
  const [from, rest] = [times[last] ?? 0, known[last] ?? 0];
  const atEnd = limit_usd - (projected_usd ?? limit_usd - rest);
  const expected = times.map((time, at) =>
    at < last
      ? null
      : Math.max(0, rest + ((atEnd - rest) * (time - from)) / Math.max(1, end - from)),
  );
  const even = times.map((time) => (limit_usd * (end - time)) / Math.max(1, end - (times[0] ?? 0)));
  const title = printable(`Left of ${workspace} ${name}`);
  return (
    <div class="course">
      <h3>
        <bdi>{title}</bdi>
      </h3>
      <Chart
        title={title}
        times={times}
        kind="lines"
        format={dollars}
        axis={dollarTick}
        series={[
          { title: "Left", tone: lasts(budget) ? "a" : "stop", values: known },
          ...(projected_usd === null
            ? []
            : [{ title: "At this pace", tone: "c" as const, values: expected, dashed: true }]),
          { title: "Even pace", tone: "rest", values: even, dashed: true },
        ]}
      />
    </div>
  );
}

/**
 * Budgets, those that end first at the top, and the requests that limits refused.
 *
 * @param refusals of the time span of the page. @param since its hours.
 * @param now milliseconds since the epoch.
 */
export function BudgetsPanel({
  budgets,
  refusals,
  since,
  now,
}: {
  readonly budgets: readonly Budget[];
  readonly refusals: readonly Refusal[];
  readonly since: string;
  readonly now: number;
}) {
  const rank = (budget: Budget): number =>
    isSpent(budget) ? 0 : lasts(budget) ? Number.MAX_SAFE_INTEGER : (runsOutAt(budget, now) ?? 1);
  const ranked = budgets.toSorted((left, right) => rank(left) - rank(right));
  const drawn = ranked
    .filter((each) => !lasts(each) || each.spent_usd >= WORTH_DRAWING * each.limit_usd)
    .slice(0, MOST_DRAWN);
  const columns: readonly Column<Budget>[] = [
    {
      head: "State",
      cell: (budget) => {
        if (isSpent(budget)) return <Badge tone="stop">spent</Badge>;
        // Green beside refusals would be read as "all is well".
        const isRefusing = refusedByBudgets(refusals, budget.workspace) > 0;
        return lasts(budget) ? (
          <Badge tone={isRefusing ? "quiet" : "good"}>lasts</Badge>
        ) : (
          <Badge tone="widen">will not last</Badge>
        );
      },
    },
    { head: "Workspace", cell: ({ workspace }) => <Name of={workspace} /> },
    { head: "Budget", cell: ({ name }) => <Name of={name} /> },
    {
      head: "Used",
      cell: (budget) => {
        const { workspace, name, limit_usd, spent_usd } = budget;
        return (
          <span class="together">
            <meter
              min={0}
              max={limit_usd}
              optimum={0}
              high={lasts(budget) ? limit_usd * 0.9 : 0}
              value={Math.min(spent_usd, limit_usd)}
              aria-label={printable(`Spent of ${workspace} ${name}`)}
            />{" "}
            <small>{share(spent_usd, limit_usd)}</small>
          </span>
        );
      },
    },
    { head: "Spent", number: true, cell: ({ spent_usd }) => dollars(spent_usd) },
    { head: "Limit", number: true, cell: ({ limit_usd }) => dollars(limit_usd) },
    {
      head: "Projected",
      number: true,
      cell: ({ projected_usd }) =>
        projected_usd === null ? <small>too early</small> : dollars(projected_usd),
    },
    {
      head: "Stops requests",
      cell: (budget) => {
        if (isSpent(budget)) {
          return (
            <a href={link(["decisions"], { outcome: "refuse", reason: "budget_exhausted" })}>
              <RefusedSince budget={budget} />
            </a>
          );
        }
        const refused = refusedByBudgets(refusals, budget.workspace);
        if (lasts(budget) && refused > 0)
          return <span class="wrap">{whole(refused)} refused, by this budget or one of a key</span>;
        if (lasts(budget)) return <small>not before it is renewed</small>;
        const at = runsOutAt(budget, now);
        return at === null ? (
          "before it is renewed"
        ) : (
          <span class="together">
            about <Time at={at} short />
          </span>
        );
      },
    },
    { head: "Renewed", cell: ({ window_end }) => <Time at={window_end} /> },
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
            keyOf={({ workspace, name }) => `${workspace} ${name}`}
            columns={columns}
          />
          {drawn.length === 0 ? null : (
            <div class="columns">
              {drawn.map((budget) => (
                <BurnDown key={`${budget.workspace} ${budget.name}`} budget={budget} />
              ))}
            </div>
          )}
        </>
      )}
      {refusals.length === 0 ? null : <RefusalsTable refusals={refusals} since={since} />}
      <p class="hint">
        Budgets of keys are not listed here: <a href={link(["keys"])}>Keys</a> has the limits of
        each, and a refused decision names the limit that refused it.
      </p>
    </Panel>
  );
}
