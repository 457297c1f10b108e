// Boxes, arrows and text of the drawings in docs/images: readable on light and dark pages, text as
// text.

const STYLE = `
    .page { fill: #ffffff; }
    .band { fill: #f4f6f8; stroke: #d4dae0; }
    .box { fill: #ffffff; stroke: #33485c; stroke-width: 1.5; }
    .core { fill: #e4eef8; stroke: #1f4e79; stroke-width: 2; }
    .stop { fill: #fbeaea; stroke: #8c2f2f; stroke-width: 1.5; }
    .title { font-size: 16px; font-weight: 600; fill: #12202d; text-anchor: middle; }
    .note { font-size: 13px; fill: #3a4a59; text-anchor: middle; }
    .label { font-size: 13px; fill: #3a4a59; }
    .head { font-size: 13px; font-weight: 600; fill: #4a5b6b; }
    .code { font-size: 12px; font-family: ui-monospace, 'DejaVu Sans Mono', monospace; fill: #12202d; white-space: pre; }
    .bad { fill: #b3261e; font-weight: 700; }
    .warn { fill: #8a5a00; font-weight: 700; }
    .good { fill: #1b6b3a; font-weight: 700; }
    .line { stroke: #33485c; stroke-width: 1.5; fill: none; marker-end: url(#tip); }
    .tip { fill: #33485c; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #16191d; }
      .band { fill: #1f2429; stroke: #3a434c; }
      .box { fill: #262c33; stroke: #9fb2c4; }
      .core { fill: #1d3a57; stroke: #86b7e6; }
      .stop { fill: #4a2323; stroke: #e69a9a; }
      .title, .code { fill: #eef3f8; }
      .bad { fill: #ff9d94; }
      .warn { fill: #f0c067; }
      .good { fill: #7fd6a2; }
      .note, .label, .head { fill: #c3ced9; }
      .line { stroke: #9fb2c4; }
      .tip { fill: #9fb2c4; }
    }
  `;

export interface Drawing {
  readonly title: string;
  /** What a reader hears who does not see the drawing. */
  readonly description: string;
  readonly width: number;
  readonly height: number;
  readonly parts: readonly string[];
}

export function svg({ title, description, width, height, parts }: Drawing): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">
  <title id="title">${escaped(title)}</title>
  <desc id="description">${escaped(description)}</desc>
  <style>${STYLE}</style>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker>
  </defs>
  <rect class="page" width="${width}" height="${height}"/>
  ${parts.join("\n  ")}
</svg>
`;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly title: string;
  readonly notes: readonly string[];
  readonly look?: "box" | "core" | "stop";
}

/** A box with a title and lines below it. */
export function box({ x, y, width, title, notes, look = "box" }: Box): string {
  const middle = x + width / 2;
  return [
    `<rect class="${look}" x="${x}" y="${y}" width="${width}" height="${boxHeight(notes.length)}" rx="8"/>`,
    `<text class="title" x="${middle}" y="${y + 25}">${escaped(title)}</text>`,
    ...notes.map(
      (note, index) =>
        `<text class="note" x="${middle}" y="${y + 46 + 18 * index}">${escaped(note)}</text>`,
    ),
  ].join("\n  ");
}

export const boxHeight = (notes: number): number => 40 + 18 * notes;

export const band = (x: number, y: number, width: number, height: number, head: string): string =>
  `<rect class="band" x="${x}" y="${y}" width="${width}" height="${height}" rx="10"/>\n  ${text("head", x + 16, y + 24, head)}`;

export const arrow = (path: string): string => `<path class="line" d="${path}"/>`;

/** For what happens apart from the requests, such as a simulation. */
export const dashedArrow = (path: string): string =>
  `<path class="line" stroke-dasharray="5 4" d="${path}"/>`;

export const text = (
  look: "head" | "label" | "code" | "note",
  x: number,
  y: number,
  content: string,
): string => `<text class="${look}" x="${x}" y="${y}">${escaped(content)}</text>`;

/** A line of a terminal whose status, at its beginning, is coloured. */
export const terminalLine = (
  x: number,
  y: number,
  colour: "bad" | "warn" | "good",
  first: string,
  rest: string,
): string =>
  `<text class="code" x="${x}" y="${y}"><tspan class="${colour}">${escaped(first)}</tspan>${escaped(rest)}</text>`;

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
