import type { Budget } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Table, type Column } from "../../components/table.tsx";
import { Badge, Name } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { dollars, share } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";

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

/** Budgets, those that end first at the top. @param now milliseconds since the epoch. */
export function BudgetsPanel({
  budgets,
  now,
}: {
  readonly budgets: readonly Budget[];
  readonly now: number;
}) {
  const rank = (budget: Budget): number =>
    isSpent(budget) ? 0 : lasts(budget) ? Number.MAX_SAFE_INTEGER : (runsOutAt(budget, now) ?? 1);
  const columns: readonly Column<Budget>[] = [
    {
      head: "State",
      cell: (budget) => {
        if (isSpent(budget)) return <Badge tone="stop">spent</Badge>;
        return lasts(budget) ? (
          <Badge tone="good">lasts</Badge>
        ) : (
          <Badge tone="widen">will not last</Badge>
        );
      },
    },
    { head: "Workspace", cell: ({ workspace }) => <Name of={workspace} /> },
    { head: "Budget", cell: ({ name }) => <Name of={name} /> },
    {
      head: "Used",
      cell: ({ workspace, name, limit_usd, spent_usd }) => (
        <span class="together">
          <meter
            min={0}
            max={limit_usd}
            high={limit_usd * 0.9}
            value={Math.min(spent_usd, limit_usd)}
            aria-label={printable(`Spent of ${workspace} ${name}`)}
          />{" "}
          <small>{share(spent_usd, limit_usd)}</small>
        </span>
      ),
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
        if (isSpent(budget)) return "now";
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
          No budget in dollars applies. Set one in routes.yaml under limits, or when a key is
          created.
        </p>
      ) : (
        <Table
          label="Budgets"
          rows={budgets.toSorted((left, right) => rank(left) - rank(right))}
          keyOf={({ workspace, name }) => `${workspace} ${name}`}
          columns={columns}
        />
      )}
    </Panel>
  );
}
