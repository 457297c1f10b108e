import { useEffect, useRef, useState } from "preact/hooks";
import { compact } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";

/** A box: a workspace, a route or an endpoint. */
interface DrawnNode {
  readonly id: string;
  readonly detail: string;
  /** Of the last 24 hours; absent where they are not known. */
  readonly requests?: number;
  /** Health of an endpoint; absent for other nodes, `null` where it is not known. */
  readonly isWell?: boolean | null;
  readonly isFaint?: boolean;
}

/** A line to a node of the next column. */
interface DrawnEdge {
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

export interface Graph {
  /** Workspaces, routes and endpoints. */
  readonly columns: readonly [readonly DrawnNode[], readonly DrawnNode[], readonly DrawnNode[]];
  /** From the first column to the second, and from there to the third. */
  readonly edges: readonly [readonly DrawnEdge[], readonly DrawnEdge[]];
}

/** Workspaces, routes and endpoints, joined where requests may go; as thick as the traffic. */
export function Drawing({ of: { columns, edges } }: { readonly of: Graph }) {
  const [hovered, setHovered] = useState<string | null>(null);
  const container = useRef<HTMLDivElement>(null);
  const width = useWidth(container);
  const height = Math.max(1, ...columns.map(({ length }) => length)) * (NODE.height + NODE.gap);
  const middles = new Map<string, number>(
    columns.flatMap((nodes, column) =>
      nodes.map(({ id }, at) => [`${column} ${id}`, ((at + 0.5) * height) / nodes.length] as const),
    ),
  );
  const lines = edges.flatMap((each, column) =>
    each.map(({ from, to, ...edge }) => ({
      ...edge,
      start: column,
      from: `${column} ${from}`,
      to: `${column + 1} ${to}`,
    })),
  );
  const most = Math.max(1, ...lines.map(({ requests }) => requests));
  const lit = hovered === null ? null : connected(hovered, lines);
  const dimmed = (...keys: readonly string[]): string =>
    lit === null || keys.every((key) => lit.has(key)) ? "" : " dim";
  const columnOf = (column: number) => {
    const [begin, share] = COLUMNS[column] ?? COLUMNS[0];
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
        {lines.map(({ start, from, to, look, requests }) => {
          const [left, right] = [columnOf(start), columnOf(start + 1)];
          const [x, y] = [left.x + left.width, middles.get(from) ?? 0];
          const half = (x + right.x) / 2;
          const goal = middles.get(to) ?? 0;
          const thickness = (THICKEST - THINNEST) * Math.sqrt(requests / most);
          return (
            <path
              key={`${from} ${to}`}
              class={`${look}${dimmed(from, to)}`}
              stroke-width={THINNEST + thickness}
              d={`M${x} ${y}C${half} ${y} ${half} ${goal} ${right.x} ${goal}`}
            />
          );
        })}
        {columns.flatMap((nodes, column) =>
          nodes.map((node) => {
            const key = `${column} ${node.id}`;
            return (
              <Node
                key={key}
                node={node}
                {...columnOf(column)}
                top={(middles.get(key) ?? 0) - NODE.height / 2}
                look={dimmed(key)}
                onHover={(isInside) => setHovered(isInside ? key : null)}
              />
            );
          }),
        )}
      </svg>
    </div>
  );
}

/** The node, and all that lead to it or that it leads to. */
function connected(
  start: string,
  edges: readonly Pick<DrawnEdge, "from" | "to">[],
): ReadonlySet<string> {
  const reached = (from: "from" | "to", to: "from" | "to"): readonly string[] => {
    const found = new Set([start]);
    // Two steps: there are three columns.
    for (const _ of COLUMNS.slice(1)) {
      for (const edge of edges) if (found.has(edge[from])) found.add(edge[to]);
    }
    return [...found];
  };
  return new Set([...reached("from", "to"), ...reached("to", "from")]);
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
  node: { id, detail, requests = 0, isWell = null, isFaint = false },
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
  const count = requests === 0 ? "" : compact(requests);
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
