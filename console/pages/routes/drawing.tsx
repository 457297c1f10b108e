import { useEffect, useRef, useState } from "preact/hooks";
import type { Tone } from "../../components/text.tsx";
import { compact } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";

/** A box: a workspace, a route or an endpoint. */
interface DrawnNode {
  readonly id: string;
  readonly detail: string;
  /** Of the last 24 hours; absent where they are not known. */
  readonly requests?: number;
  /**
   * Of the state of an endpoint; `quiet` where it is not known, and for other nodes; `faint` where
   * no request gets.
   */
  readonly tone?: Tone | "faint";
}

/** A line to a node of the next column. */
interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  /** Of the state of the endpoint that it leads to, where requests may go. */
  readonly look: Tone | "shut" | "faint";
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
          // An endpoint that is out gets no call now, whatever it had.
          const thickness =
            look === "stop" ? 0 : (THICKEST - THINNEST) * Math.sqrt(requests / most);
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

/** The meaning of lines and dots. */
export function LineHint() {
  return (
    <p class="hint">
      A line is where a plain request of this session may go, as thick as the requests of the last
      24 hours (to endpoints an estimate); a dashed one is shut by an approval or a policy, and a
      red one leads to an endpoint that is out. The dot is the health of an endpoint now.
    </p>
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
  node: { id, detail, requests = 0, tone = "quiet" },
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
  const hasDot = tone !== "quiet" && tone !== "faint";
  return (
    <g
      class={`node ${tone}${look}`}
      onMouseEnter={() => onHover(true)}
      onMouseLeave={() => onHover(false)}
    >
      <title>{printable(`${id}: ${detail}${count === "" ? "" : `, ${count} requests`}`)}</title>
      <rect x={x + 0.5} y={top + 0.5} width={width - 1} height={NODE.height - 1} rx={6} />
      {hasDot ? <circle class={tone} cx={x + 14} cy={top + 15} r={3.5} /> : null}
      <text x={x + (hasDot ? 24 : 12)} y={top + 19} class="strong">
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
