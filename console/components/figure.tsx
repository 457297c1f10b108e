import type { ComponentChildren } from "preact";

export interface FigureData {
  readonly title: string;
  readonly value: ComponentChildren;
  /** By step of the window; `null` breaks the line. */
  readonly trend?: readonly (number | null)[];
  /** Value in the window, and in the same span before it. */
  readonly now?: number | null | undefined;
  readonly before?: number | null | undefined;
  /** More is bad, and gets a colour. */
  readonly bad?: boolean | undefined;
  readonly note?: ComponentChildren;
  readonly href?: string;
}

/** The few numbers that a page is opened for, each with its trend and the period before. */
export function Figures({ of }: { readonly of: readonly FigureData[] }) {
  return (
    <dl class="figures">
      {of.map(({ title, value, trend, now, before, bad, note, href }) => (
        <div key={title} class="figure">
          <dt>{href === undefined ? title : <a href={href}>{title}</a>}</dt>
          <dd>
            <strong>{value}</strong>
            {trend === undefined ? null : <Sparkline values={trend} />}
          </dd>
          <dd class="note">
            {before === undefined ? null : <Change now={now} before={before} bad={bad} />}
            {note === undefined || note === null ? null : <span>{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Changes below this share are noise. */
const NOISE = 0.01;
const PER_CENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

export function Change({
  now,
  before,
  bad = false,
}: Pick<FigureData, "now" | "bad"> & { readonly before: number | null }) {
  if (now === null || now === undefined) return null;
  if (before === null || before === 0)
    return now === before ? null : <span title="None in the same span before">new</span>;
  const share = now / before - 1;
  if (Math.abs(share) < NOISE) return <span>unchanged</span>;
  const tone = share > 0 && bad ? "stop" : "";
  const text = share > 9 ? `${Math.round(share + 1)} times` : PER_CENT.format(Math.abs(share));
  return (
    <span class={tone} title="Compared with the same span before">
      {share > 0 ? "\u25B2" : "\u25BC"} {text}
    </span>
  );
}

const WIDTH = 96;
const HEIGHT = 26;

function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const most = Math.max(...values.map((value) => value ?? 0));
  if (values.length < 2 || most === 0) return null;
  const points = values.flatMap((value, at) =>
    value === null
      ? []
      : [
          `${((at * WIDTH) / (values.length - 1)).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
        ],
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
