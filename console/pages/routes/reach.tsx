import { useEffect, useState } from "preact/hooks";
import { call, type Failure } from "../../api/client.ts";
import { session } from "../../api/session-state.ts";
import type { Model, ModelList } from "../../api/types.ts";
import { ErrorBox, Panel } from "../../components/panel.tsx";
import { Table, type Column } from "../../components/table.tsx";
import { Name } from "../../components/text.tsx";
import { whole } from "../../format/amounts.ts";
import { link } from "../../router.ts";

interface Line {
  readonly workspace: string;
  /** `null` until it has been requested. */
  readonly models: readonly Model[] | null;
  readonly failure: Failure | null;
}

/** Which workspace reaches which region: every workspace of the session, one after the other. */
export function ReachPanel() {
  const current = session.value;
  const workspaces = current?.signed_in === true ? current.workspaces : [];
  const lines = useReach(workspaces);
  const regions = [
    ...new Set(lines.flatMap(({ models }) => (models ?? []).flatMap((model) => model.regions))),
  ];
  const failed = lines.find(({ failure }) => failure !== null && failure.status !== 403);
  const columns: readonly Column<Line>[] = [
    {
      head: "Workspace",
      cell: ({ workspace }) => (
        <a href={link(["routes"], { workspace })}>
          <Name of={workspace} />
        </a>
      ),
    },
    {
      head: "Routes",
      number: true,
      cell: ({ models, failure }) =>
        failure === null ? (
          models === null ? (
            "…"
          ) : (
            whole(models.length)
          )
        ) : (
          <small>not yours to see</small>
        ),
    },
    ...regions.toSorted().map((region): Column<Line> => ({
      head: region,
      number: true,
      cell: ({ models }) => <Reaching models={models ?? []} region={region} />,
    })),
  ];
  return (
    <Panel title="Which workspace reaches which region">
      <Table
        label="Regions by workspace"
        rows={lines}
        keyOf={({ workspace }) => workspace}
        columns={columns}
      />
      {failed?.failure == null ? null : <ErrorBox failure={failed.failure} />}
      <p class="hint">
        How many routes may lead a plain request of this session there, fallbacks too. Choose a
        workspace for its routes, endpoints and prices.
      </p>
    </Panel>
  );
}

function Reaching({
  models,
  region,
}: {
  readonly models: readonly Model[];
  readonly region: string;
}) {
  const reaching = models.filter(({ available, regions }) => available && regions.includes(region));
  return reaching.length === 0 ? <Name of={null} /> : <>{whole(reaching.length)}</>;
}

function useReach(workspaces: readonly string[]): readonly Line[] {
  const [found, setFound] = useState<ReadonlyMap<string, Line>>(new Map());
  useEffect(() => {
    const controller = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const workspace of workspaces) {
        const result = await call<ModelList>("/v1/models?all=true", {
          workspace,
          signal: controller.signal,
        });
        if (controller.signal.aborted) return;
        const line = result.ok
          ? { workspace, models: result.value.data, failure: null }
          : { workspace, models: null, failure: result.failure };
        setFound((before) => new Map([...before, [workspace, line]]));
      }
    };
    void askAll();
    return () => controller.abort();
  }, [JSON.stringify(workspaces)]);
  return workspaces.map(
    (workspace) => found.get(workspace) ?? { workspace, models: null, failure: null },
  );
}
