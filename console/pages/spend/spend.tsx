import { useMemo, useState } from "preact/hooks";
import { callText, withQuery, type Failure } from "../../api/client.ts";
import type { Budget, Spend } from "../../api/types.ts";
import { inWorkspaces, showsAll } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Chart } from "../../components/chart.tsx";
import { Segments } from "../../components/form.tsx";
import { Empty, ErrorBox, Loaded, Panel } from "../../components/panel.tsx";
import { Facts, Table } from "../../components/table.tsx";
import { Badge, Name } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { compact, counted, dollars, share, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { address, replaceQuery } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { beginningOf, windowOf, WINDOWS } from "../window.ts";

const DIMENSIONS = [
  ["workspace", "Workspace"],
  ["route", "Route"],
  ["key", "Key"],
  ["provider", "Provider"],
  ["model", "Model"],
  ["day", "Day"],
] as const;

export function SpendPage() {
  const { query } = address.value;
  const name = query.get("window") ?? "30d";
  // Of one workspace there is nothing to tell apart.
  const dimensions = showsAll.value ? DIMENSIONS : DIMENSIONS.slice(1);
  const dimension = dimensions.find(([value]) => value === query.get("by"))?.[0] ?? "route";
  const chosen = useMemo(() => windowOf(name, Date.now()), [name]);
  const path = withQuery("/v1/spend", { start: chosen.start, group_by: dimension, ...inWorkspaces() });
  const resource = useResource<Spend>(path, 30_000);
  return (
    <>
      <div class="title">
        <h1>Spend</h1>
        <Segments
          label="Time span"
          value={chosen.name}
          options={WINDOWS}
          onChange={(value) => replaceQuery({ window: value, by: dimension })}
        />
      </div>
      <Loaded of={resource} lines={10}>
        {(spend) => (
          <>
            <BudgetsPanel budgets={spend.budgets} />
            <Panel title="Estimate from list prices" aside={<Download path={path} />}>
              <Facts
                rows={[
                  ["Cost", dollars(spend.total.cost_usd)],
                  ["Requests", whole(spend.total.requests)],
                  ["Without a price", whole(spend.total.unpriced_requests)],
                  ["Input tokens", compact(spend.total.input_tokens)],
                  ["Read from cache", compact(spend.total.cache_read_tokens)],
                  ["Output tokens", compact(spend.total.output_tokens)],
                  ["Reasoning tokens", compact(spend.total.reasoning_tokens)],
                ]}
              />
              {spend.total.unpriced_requests > 0 ? (
                <p class="hint">
                  {counted(spend.total.unpriced_requests, "request")} had no known cost: the endpoint has no price, or
                  its provider did not count. They are not in the sum.
                </p>
              ) : null}
            </Panel>
            <Panel
              title={`By ${dimension}`}
              aside={
                <Segments
                  label="Grouped by"
                  value={dimension}
                  options={dimensions}
                  onChange={(by) => replaceQuery({ window: chosen.name, by })}
                />
              }
            >
              <Groups spend={spend} dimension={dimension} />
            </Panel>
          </>
        )}
      </Loaded>
    </>
  );
}

function Groups({ spend, dimension }: { readonly spend: Spend; readonly dimension: string }) {
  const { groups, total, truncated } = spend;
  if (groups.length === 0) return <Empty title="Nothing was spent in this time span">Choose a longer one.</Empty>;
  const isDay = dimension === "day" && spend.group_by.includes("day");
  const rows = isDay ? groups : groups.toSorted((left, right) => (right.cost_usd ?? -1) - (left.cost_usd ?? -1));
  return (
    <>
      {isDay ? (
        <Chart
          title="Cost by day, in UTC"
          times={groups.map(({ group }) => beginningOf(groupLabel(group, "day") ?? ""))}
          format={dollars}
          series={[{ title: "Cost", tone: "link", values: groups.map(({ cost_usd }) => cost_usd) }]}
        />
      ) : null}
      <Table
        label={`Spend by ${dimension}`}
        rows={rows}
        keyOf={({ group }) => JSON.stringify(group)}
        columns={[
          {
            head: DIMENSIONS.find(([value]) => value === dimension)?.[1] ?? dimension,
            cell: ({ group }) => <Name of={groupLabel(group, dimension)} />,
          },
          { head: "Cost", number: true, cell: ({ cost_usd }) => dollars(cost_usd) },
          {
            head: "Share",
            number: true,
            cell: ({ cost_usd }) => (cost_usd === null ? "–" : share(cost_usd, total.cost_usd ?? 0)),
          },
          { head: "Requests", number: true, cell: ({ requests }) => whole(requests) },
          { head: "Without a price", number: true, cell: ({ unpriced_requests }) => whole(unpriced_requests) },
          { head: "Input tokens", number: true, cell: ({ input_tokens }) => compact(input_tokens) },
          { head: "From cache", number: true, cell: ({ cache_read_tokens }) => compact(cache_read_tokens) },
          { head: "Output tokens", number: true, cell: ({ output_tokens }) => compact(output_tokens) },
        ]}
      />
      {truncated ? (
        <p class="hint">There are more groups; these have the most requests. The CSV has the same.</p>
      ) : null}
    </>
  );
}

function BudgetsPanel({ budgets }: { readonly budgets: readonly Budget[] }) {
  return (
    <Panel title="Budgets">
      {budgets.length === 0 ? (
        <p class="hint">No budget in dollars applies. Set one in routes.yaml under limits, or when a key is created.</p>
      ) : (
        <ul class="budgets">
          {budgets.map((budget) => (
            <li key={`${budget.workspace} ${budget.name}`}>
              <BudgetLine budget={budget} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function BudgetLine({ budget }: { readonly budget: Budget }) {
  const { name, workspace, limit_usd, spent_usd, projected_usd, window_end } = budget;
  const isOver = spent_usd >= limit_usd;
  const willBe = !isOver && projected_usd !== null && projected_usd > limit_usd;
  return (
    <>
      <span class="strong">
        <Name of={workspace} /> <Name of={name} />{" "}
        {isOver ? <Badge tone="stop">spent</Badge> : willBe ? <Badge tone="widen">will not last</Badge> : null}
      </span>
      <meter
        min={0}
        max={limit_usd}
        high={limit_usd * 0.9}
        value={Math.min(spent_usd, limit_usd)}
        aria-label={printable(`Spent of ${workspace} ${name}`)}
      />
      <span>
        {dollars(spent_usd)} of {dollars(limit_usd)}
        <small>
          {projected_usd === null ? ", too early to project" : `, ${dollars(projected_usd)} projected`} until{" "}
          <Time at={window_end} />
        </small>
      </span>
    </>
  );
}

/** The API's own CSV, which guards against formulas. */
function Download({ path }: { readonly path: string }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const download = async (): Promise<void> => {
    const result = await callText(path, "text/csv");
    setFailure(result.ok ? null : result.failure);
    if (!result.ok) return;
    const url = URL.createObjectURL(new Blob([result.value], { type: "text/csv" }));
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = "spend.csv";
    anchor.click();
    URL.revokeObjectURL(url);
  };
  return (
    <>
      <button type="button" class="small" onClick={() => void download()}>
        Download CSV
      </button>
      {failure === null ? null : <ErrorBox failure={failure} />}
    </>
  );
}
