import { useState } from "preact/hooks";
import { compact } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";
import { priceOf } from "./wording.ts";
import type { RouteEndpoint, RouteFacts } from "./route-facts.ts";

/** Pixels of the drawing, which does not scale: text stays readable and the drawing scrolls. */
const WIDTH = 900;
const NODE = { height: 46, gap: 10 };
const COLUMNS = [
  { x: 0, width: 150 },
  { x: 230, width: 220 },
  { x: 560, width: 340 },
] as const;
/** Characters that fit into a node of a column. */
const FITTING = [18, 30, 46] as const;

/** Workspace, routes and endpoints, joined where a plain request may go. */
export function Drawing({
  workspace,
  routes,
  region,
  plain,
  traffic,
  second,
  health,
}: {
  readonly workspace: string;
  readonly routes: readonly RouteFacts[];
  /** Only what leads there is drawn in full; empty: everything. */
  readonly region: string;
  /** Endpoints that are called without TLS. */
  readonly plain: ReadonlySet<string>;
  /** Requests of the last 24 hours by route, and by route and model (`route model`). */
  readonly traffic: ReadonlyMap<string, number>;
  /** Requests of the last 24 hours that the second choice answered, by route. */
  readonly second: ReadonlyMap<string, number>;
  /** States of endpoints. */
  readonly health: ReadonlyMap<string, string>;
}) {
  const [hovered, setHovered] = useState<string | null>(null);
  const endpoints = [
    ...new Map(
      routes.flatMap((each) => (each.endpoints ?? []).map((one) => [one.id, one])),
    ).values(),
  ];
  const rows = Math.max(routes.length, endpoints.length, 1);
  const height = rows * (NODE.height + NODE.gap);
  const middle = (count: number, at: number): number => ((at + 0.5) * height) / count;
  const leads = (endpoint: RouteEndpoint): boolean =>
    endpoint.inPlan && (region === "" || endpoint.region === region);
  const edges = routes.flatMap((route, from) =>
    (route.endpoints ?? []).map((endpoint) => ({
      key: `${route.model.id} ${endpoint.id}`,
      from: middle(routes.length, from),
      to: middle(
        endpoints.length,
        endpoints.findIndex(({ id }) => id === endpoint.id),
      ),
      kind: leads(endpoint) ? "open" : endpoint.inPlan ? "faint" : "shut",
      route: route.model.id,
      endpoint: endpoint.id,
      requests: traffic.get(`${route.model.id} ${endpoint.model}`) ?? 0,
    })),
  );
  const most = Math.max(1, ...routes.map(({ model }) => traffic.get(model.id) ?? 0));
  const widthOf = (requests: number): number =>
    requests === 0 ? THINNEST : THINNEST + (THICKEST - THINNEST) * Math.sqrt(requests / most);
  // The hovered node, and all that it is joined to.
  const lit = new Set(
    edges.flatMap(({ route, endpoint }) =>
      hovered === `route ${route}`
        ? [hovered, `endpoint ${endpoint}`]
        : hovered === `endpoint ${endpoint}`
          ? [hovered, `route ${route}`]
          : [],
    ),
  );
  const isDim = (...names: readonly string[]): boolean =>
    hovered !== null && lit.size > 0 && !names.every((name) => lit.has(name));
  const stateOf = (id: string, known: string | null): string | null => health.get(id) ?? known;
  const reached = new Set(
    routes.flatMap((route) => (route.endpoints ?? []).filter(leads).map(({ id }) => id)),
  );
  return (
    <div class="scroll drawing" role="region" aria-label="Drawing of the routes" tabIndex={0}>
      <svg
        width={WIDTH}
        height={height}
        viewBox={`0 0 ${WIDTH} ${height}`}
        role="img"
        aria-label="The table below says the same"
      >
        {routes.map(({ model, endpoints: known }, at) => (
          <path
            key={model.id}
            class={`${known === null || known.some(leads) ? "open" : "shut"}${isDim(`route ${model.id}`) ? " dim" : ""}`}
            stroke-width={widthOf(traffic.get(model.id) ?? 0)}
            d={curve(0, height / 2, middle(routes.length, at))}
          />
        ))}
        {edges.map(({ key, from, to, kind, route, endpoint, requests }) => (
          <path
            key={key}
            class={`${kind}${isDim(`route ${route}`, `endpoint ${endpoint}`) ? " dim" : ""}`}
            stroke-width={widthOf(requests)}
            d={curve(1, from, to)}
          />
        ))}
        <Node column={0} y={height / 2} title={workspace} lines={["workspace"]} />
        {routes.map(({ model, endpoints: known }, at) => (
          <Node
            key={model.id}
            column={1}
            y={middle(routes.length, at)}
            title={model.id}
            lines={[
              [
                known === null
                  ? "loading"
                  : model.available
                    ? model.regions.join(", ")
                    : (model.denial?.reason_code ?? "denied"),
                ...(traffic.has(model.id) ? [`${compact(traffic.get(model.id))} requests`] : []),
                ...((second.get(model.id) ?? 0) > 0
                  ? [`${compact(second.get(model.id))} by second choice`]
                  : []),
              ].join(" · "),
            ]}
            dim={isDim(`route ${model.id}`)}
            onHover={(inside) => setHovered(inside ? `route ${model.id}` : null)}
            faint={known !== null && !known.some(leads)}
          />
        ))}
        {endpoints.map((endpoint, at) => (
          <Node
            key={endpoint.id}
            column={2}
            y={middle(endpoints.length, at)}
            title={endpoint.id}
            lines={[
              [
                endpoint.provider,
                endpoint.region,
                ...(isOut(stateOf(endpoint.id, endpoint.health))
                  ? [stateOf(endpoint.id, endpoint.health)]
                  : []),
                ...(plain.has(endpoint.id) ? ["plain http"] : []),
                priceOf(endpoint),
              ].join(" · "),
            ]}
            faint={!reached.has(endpoint.id)}
            mark={isOut(stateOf(endpoint.id, endpoint.health))}
            dim={isDim(`endpoint ${endpoint.id}`)}
            onHover={(inside) => setHovered(inside ? `endpoint ${endpoint.id}` : null)}
          />
        ))}
      </svg>
    </div>
  );
}

/** Pixels of the thinnest and the thickest line. */
const THINNEST = 1.2;
const THICKEST = 9;

const isOut = (state: string | null): boolean => state !== null && state !== "healthy";

/** From the right edge of a column to the left edge of the next. */
function curve(column: 0 | 1, from: number, to: number): string {
  const start = COLUMNS[column].x + COLUMNS[column].width;
  const end = COLUMNS[column === 0 ? 1 : 2].x;
  const half = (start + end) / 2;
  return `M${start} ${from}C${half} ${from} ${half} ${to} ${end} ${to}`;
}

function Node({
  column,
  y,
  title,
  lines,
  faint = false,
  mark = false,
  dim = false,
  onHover,
}: {
  readonly column: 0 | 1 | 2;
  /** Of the middle. */
  readonly y: number;
  readonly title: string;
  readonly lines: readonly string[];
  readonly faint?: boolean;
  readonly mark?: boolean;
  readonly dim?: boolean;
  readonly onHover?: (inside: boolean) => void;
}) {
  const { x, width } = COLUMNS[column];
  const top = y - NODE.height / 2;
  return (
    <g
      class={`node${faint ? " faint" : mark ? " mark" : ""}${dim ? " dim" : ""}`}
      onMouseEnter={() => onHover?.(true)}
      onMouseLeave={() => onHover?.(false)}
    >
      <title>{printable(title)}</title>
      <rect x={x + 0.5} y={top + 0.5} width={width - 1} height={NODE.height - 1} rx={6} />
      <text x={x + 12} y={top + 19} class="strong">
        {fitting(title, FITTING[column])}
      </text>
      {lines.map((line) => (
        <text key={line} x={x + 12} y={top + 36}>
          {fitting(line, FITTING[column] + 4)}
        </text>
      ))}
    </g>
  );
}

const GRAPHEMES = new Intl.Segmenter();

function fitting(text: string, most: number): string {
  const characters = Array.from(GRAPHEMES.segment(printable(text)), ({ segment }) => segment);
  return characters.length <= most
    ? characters.join("")
    : `${characters.slice(0, most - 1).join("")}…`;
}
