import { useEffect, useRef, useState } from "preact/hooks";
import { compact } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";

/** A box: a workspace, a route or an endpoint, in the columns 0, 1 and 2. */
export interface DrawnNode {
  readonly column: 0 | 1 | 2;
  readonly id: string;
  readonly detail: string;
  /** Of the last 24 hours; `null` where they are not known. */
  readonly requests: number | null;
  /** Health of an endpoint; `null` for other nodes, and where it is not known. */
  readonly isWell: boolean | null;
  readonly isFaint: boolean;
}

/** A line to a node of the next column. */
export interface DrawnEdge {
  readonly column: 0 | 1;
  readonly from: string;
  readonly to: string;
  readonly look: "open" | "shut" | "faint";
  readonly requests: number;
}

const NODE = { height: 46, gap: 10 };
/** Pixels; narrower, the drawing scrolls. */
const LEAST_WIDTH = 560;
/** Begin and width of the columns, as shares of the drawing. */
const COLUMNS = [
  [0, 0.17],
  [0.28, 0.28],
  [0.67, 0.33],
] as const;
/** Pixels of a character of a title and of a detail, on average. */
const CHARACTER = { title: 7.4, detail: 6 };
/** Pixels of the thinnest and the thickest line. */
const THINNEST = 1.2;
const THICKEST = 9;

/** Workspaces, routes and endpoints, joined where requests may go; as thick as the traffic. */
export function Drawing({
  nodes,
  edges,
}: {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}) {
  const [hovered, setHovered] = useState<string | null>(null);
  const container = useRef<HTMLDivElement>(null);
  const width = useWidth(container);
  const columns = ([0, 1, 2] as const).map((column) =>
    nodes.filter((node) => node.column === column),
  );
  const height = Math.max(1, ...columns.map(({ length }) => length)) * (NODE.height + NODE.gap);
  const middles = new Map(
    columns.flatMap((inColumn) =>
      inColumn.map((node, at) => [keyOf(node), ((at + 0.5) * height) / inColumn.length] as const),
    ),
  );
  const most = Math.max(1, ...edges.map(({ requests }) => requests));
  const lit = hovered === null ? null : connected(hovered, edges);
  const dimmed = (...keys: readonly string[]): string =>
    lit === null || keys.every((key) => lit.has(key)) ? "" : " dim";
  const columnOf = (column: 0 | 1 | 2) => {
    const [begin, share] = COLUMNS[column];
    return { x: Math.round(begin * width), width: Math.round(share * width) };
  };
  return (
    <div
      ref={container}
      class="scroll drawing"
      role="region"
      aria-label="Drawing of the routes"
      tabIndex={0}
    >
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label="The table below has the same"
      >
        {edges.map((edge) => {
          const [from, to] = endsOf(edge);
          const [start, end] = [columnOf(edge.column), columnOf(edge.column === 0 ? 1 : 2)];
          const [x, y] = [start.x + start.width, middles.get(from) ?? 0];
          const half = (x + end.x) / 2;
          const goal = middles.get(to) ?? 0;
          const thickness = (THICKEST - THINNEST) * Math.sqrt(edge.requests / most);
          return (
            <path
              key={`${from} ${to}`}
              class={`${edge.look}${dimmed(from, to)}`}
              stroke-width={THINNEST + thickness}
              d={`M${x} ${y}C${half} ${y} ${half} ${goal} ${end.x} ${goal}`}
            />
          );
        })}
        {nodes.map((node) => (
          <Node
            key={keyOf(node)}
            node={node}
            {...columnOf(node.column)}
            top={(middles.get(keyOf(node)) ?? 0) - NODE.height / 2}
            look={dimmed(keyOf(node))}
            onHover={(isInside) => setHovered(isInside ? keyOf(node) : null)}
          />
        ))}
      </svg>
    </div>
  );
}

const keyOf = ({ column, id }: Pick<DrawnNode, "column" | "id">): string => `${column} ${id}`;

const endsOf = ({ column, from, to }: DrawnEdge): readonly [from: string, to: string] => [
  `${column} ${from}`,
  `${column + 1} ${to}`,
];

/** The node, and all that lead to it or that it leads to. */
function connected(start: string, edges: readonly DrawnEdge[]): ReadonlySet<string> {
  const ends = edges.map(endsOf);
  const reached = (from: 0 | 1): readonly string[] => {
    const found = new Set([start]);
    // Two steps: there are three columns.
    for (const _ of COLUMNS.slice(1)) {
      for (const pair of ends) if (found.has(pair[from])) found.add(pair[from === 0 ? 1 : 0]);
    }
    return [...found];
  };
  return new Set([...reached(0), ...reached(1)]);
}

/** Pixels inside the element, followed. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(LEAST_WIDTH);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() =>
      setWidth(Math.max(LEAST_WIDTH, current.clientWidth - 32)),
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function Node({
  node: { id, detail, requests, isWell, isFaint },
  x,
  width,
  top,
  look,
  onHover,
}: {
  readonly node: DrawnNode;
  readonly x: number;
  readonly width: number;
  readonly top: number;
  readonly look: string;
  readonly onHover: (isInside: boolean) => void;
}) {
  const count = requests === null || requests === 0 ? "" : compact(requests);
  const room = width - 26;
  return (
    <g
      class={`node${isFaint ? " faint" : isWell === false ? " mark" : ""}${look}`}
      onMouseEnter={() => onHover(true)}
      onMouseLeave={() => onHover(false)}
    >
      <title>{printable(`${id}: ${detail}${count === "" ? "" : `, ${count} requests`}`)}</title>
      <rect x={x + 0.5} y={top + 0.5} width={width - 1} height={NODE.height - 1} rx={6} />
      {isWell === null || isFaint ? null : (
        <circle class={isWell ? "well" : "out"} cx={x + 14} cy={top + 15} r={3.5} />
      )}
      <text x={x + (isWell === null || isFaint ? 12 : 24)} y={top + 19} class="strong">
        {fitting(id, (room - 8 * count.length) / CHARACTER.title)}
      </text>
      <text x={x + width - 12} y={top + 19} class="count">
        {count}
      </text>
      <text x={x + 12} y={top + 36}>
        {fitting(detail, room / CHARACTER.detail)}
      </text>
    </g>
  );
}

const GRAPHEMES = new Intl.Segmenter();

function fitting(text: string, most: number): string {
  const characters = Array.from(GRAPHEMES.segment(printable(text)), ({ segment }) => segment);
  return characters.length <= most
    ? characters.join("")
    : `${characters.slice(0, Math.max(1, Math.floor(most) - 1)).join("")}…`;
}
