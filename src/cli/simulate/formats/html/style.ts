/** Text and background of each tone, and of the page; the tests hold every pair to a contrast of 4.5 to 1 and more. */
interface Palette {
  readonly paper: string;
  readonly card: string;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly link: string;
  /** Text on, and background of, labels. */
  readonly tones: Readonly<
    Record<"stop" | "widen" | "narrow" | "quiet" | "good", readonly [ink: string, wash: string]>
  >;
}

export const LIGHT: Palette = {
  paper: "#f8f7f4",
  card: "#ffffff",
  ink: "#1c1e22",
  muted: "#5a606b",
  line: "#dedbd3",
  link: "#1d4f91",
  tones: {
    stop: ["#a01c1c", "#fbe8e6"],
    widen: ["#834700", "#fcefd9"],
    narrow: ["#1d4f91", "#e5edf9"],
    quiet: ["#4a505b", "#ecedf0"],
    good: ["#1a5f36", "#e2f2e8"],
  },
};

export const DARK: Palette = {
  paper: "#15171a",
  card: "#1c1f23",
  ink: "#e7e5e0",
  muted: "#a2a8b2",
  line: "#363a41",
  link: "#9cc3ff",
  tones: {
    stop: ["#ffa39b", "#3d1d1c"],
    widen: ["#f5c47c", "#3a2a10"],
    narrow: ["#9cc3ff", "#182a45"],
    quiet: ["#bcc3ce", "#2a2e35"],
    good: ["#90d8aa", "#163321"],
  },
};

/** The palette as custom properties. */
export function paletteStyle({ tones, ...page }: Palette): string {
  const plain = Object.entries(page).map(([name, colour]) => `--${name}:${colour}`);
  const toned = Object.entries(tones).map(([name, [ink, wash]]) => `--${name}:${ink};--${name}-wash:${wash}`);
  return [...plain, ...toned].join(";");
}

const FRAME = `
*, ::before, ::after { box-sizing: border-box }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; color: var(--ink); background: var(--paper); -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 76rem; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; font-size: .9375rem }
h1, h2, .verdict strong { font-family: Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", Georgia, serif; font-weight: 600; letter-spacing: -.01em; line-height: 1.2 }
h1 { font-size: clamp(1.5rem, 1.1rem + 1.8vw, 2.25rem); margin: 0; overflow-wrap: anywhere }
h1 > span:not(.ref) { color: var(--muted); font-weight: 400 }
h1 code { font: inherit }
h1 small { font: .875rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--muted); letter-spacing: 0 }
h2 { font-size: 1.5rem; margin: 3rem 0 .75rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.0625rem; margin: 2rem 0 .5rem }
h4 { font-size: .9375rem; margin: 0 }
h5 { font-size: .75rem; margin: 0 0 .35rem; color: var(--muted); font-weight: 600 }
p { margin: .5rem 0 }
a { color: var(--link); text-underline-offset: .15em }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9em; overflow-wrap: anywhere }
ul, ol, dl, dd, fieldset { margin: 0; padding: 0; border: 0; min-width: 0 }
ul { list-style: none }
[hidden] { display: none !important }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px }
h2[id], h3[id] { scroll-margin-top: 1rem }
.panel h3[id] { scroll-margin-top: 8rem }
.panel > h2 { margin-top: .5rem; border-top: 0 }
::placeholder { color: var(--muted); opacity: 1 }
.kicker { margin: 0 0 .5rem; color: var(--muted); font-size: .8125rem; letter-spacing: .04em }
.lead, .none, .note, .count { color: var(--muted) }
.lead { max-width: 65ch }
.count { font-weight: 400; margin-left: .25rem }
.note { font-size: .8125rem }
.note strong { color: var(--ink) }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; margin: 0; padding: 0; border: 0 }
.skip { position: absolute; left: -99rem; background: var(--card); padding: .5rem 1rem; z-index: 2 }
.skip:focus { left: 1rem; top: 1rem }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--muted); font-size: .8125rem; overflow-wrap: anywhere }
`;

// `:has` is on a small element: on `body` it would make every element of a large page dearer to read.
const VERDICT = `
.views { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 1.75rem }
.views legend { padding: 0 0 .5rem; color: var(--muted); font-size: .8125rem }
.verdict { display: flex; flex-direction: column; gap: .25rem; position: relative; padding: 1.1rem 1.25rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; cursor: pointer }
.verdict input { position: absolute; top: 1.2rem; right: 1.2rem; width: 1.1rem; height: 1.1rem; margin: 0; accent-color: var(--link) }
.verdict .view { font-size: .8125rem; color: var(--muted); padding-right: 2rem }
.verdict strong { font-size: 1.5rem }
.verdict .sign { display: inline-block; min-width: 1.5rem; height: 1.5rem; border-radius: 1rem; text-align: center; font: 600 1rem/1.5rem system-ui, sans-serif; vertical-align: .15rem; margin-right: .15rem }
.verdict > span:last-child { color: var(--muted) }
.verdict > span:last-child b { color: var(--ink) }
.verdict:has(:checked) { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link) }
.verdict:has(:focus-visible) { outline: 3px solid var(--link); outline-offset: 2px }
.verdict input:focus-visible { outline: none }
.choice:has(#show-promoted:checked) ~ #results > .panel.declared:not(.promoted), .choice:has(#show-declared:checked) ~ #results > .panel.promoted:not(.declared) { display: none }
.choice:has(#show-promoted:checked) ~ nav .only.declared:not(.promoted), .choice:has(#show-declared:checked) ~ nav .only.promoted:not(.declared) { display: none }
.facts-line { margin: 1.25rem 0 0; display: grid; gap: .35rem }
.facts-line li { display: flex; gap: .6rem; align-items: baseline }
.facts-line b:first-child { flex: none; width: 1.35rem; height: 1.35rem; line-height: 1.35rem; font-size: .8125rem; text-align: center; border-radius: 1rem }
.alert { margin-top: 1rem; padding: .75rem 1.25rem; background: var(--stop-wash); color: var(--stop); border-radius: .5rem }
.alert :is(th, td, caption) { color: inherit }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: 1.75rem; padding: .6rem 0; border-block: 1px solid var(--line); font-size: .875rem }
`;

const FILTER = `
#filter { position: sticky; top: 0; z-index: 1; display: grid; grid-template-columns: 2fr repeat(6, minmax(0, 1fr)); gap: .5rem .75rem; margin: 1.25rem 0 0; padding: .75rem 0; background: var(--paper); border-bottom: 1px solid var(--line) }
#filter label { display: flex; flex-direction: column; gap: .15rem; font-size: .75rem; color: var(--muted); min-width: 0 }
#filter :is(input, select), button { font: inherit; font-size: .875rem; color: var(--ink); background: var(--card); border: 1px solid var(--muted); border-radius: .3rem; padding: .3rem .5rem; min-height: 2.1rem; width: 100%; min-width: 0 }
#filter p { grid-column: 1 / -1; display: flex; gap: .75rem; align-items: center; margin: 0; font-size: .875rem }
#filter button[type=reset] { visibility: hidden }
#filter.filtering button[type=reset] { visibility: visible }
button { width: auto; min-height: 0; padding: .15rem .65rem; font-size: .8125rem; cursor: pointer }
#filter button { width: auto; min-height: 0; padding: .15rem .65rem }
button:hover { border-color: var(--link); color: var(--link) }
`;

const CHANGES = `
.change { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1.25rem .75rem; margin: .75rem 0; content-visibility: auto; contain-intrinsic-size: auto 15rem; scroll-margin-top: 9rem }
.change:target { border-color: var(--link) }
.change header { display: flex; flex-wrap: wrap; gap: .35rem 1rem; justify-content: space-between; align-items: baseline }
.badges { margin: 0; display: flex; flex-wrap: wrap; gap: .35rem }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600; white-space: nowrap }
.facts { display: flex; flex-wrap: wrap; gap: .1rem 1.5rem; margin: .35rem 0 .75rem; font-size: .875rem }
.facts div { display: flex; gap: .45rem; min-width: 0 }
.facts dt { color: var(--muted); flex: none }
.plans { display: grid; grid-template-columns: 1fr 1fr; border: 1px solid var(--line); border-radius: .35rem }
.side { padding: .6rem .9rem .7rem; min-width: 0 }
.side + .side { border-left: 1px solid var(--line) }
.side ol { padding-left: 1.4rem; font-size: .8125rem; color: var(--muted) }
.side li code { color: var(--ink); font-size: .875rem }
.side li { padding: .1rem 0; overflow-wrap: anywhere }
.side li::marker { color: var(--muted) }
.side em { font-style: normal; font-size: .75rem; font-weight: 600; padding: 0 .4rem; border-radius: 1rem; white-space: nowrap }
.side p { margin: 0 0 .35rem; font-size: .875rem; overflow-wrap: anywhere }
.side p.edit { margin: .35rem 0 0; color: var(--muted) }
.removed code { text-decoration: line-through }
.denied strong { color: var(--stop) }
.added em { color: var(--widen); background: var(--widen-wash) }
.removed em { color: var(--narrow); background: var(--narrow-wash) }
.moved em { color: var(--quiet); background: var(--quiet-wash) }
.changed em { color: var(--widen); background: var(--widen-wash) }
.paths li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1.25rem; margin: .5rem 0; content-visibility: auto; contain-intrinsic-size: auto 6rem }
.paths.new li { border-left: .3rem solid var(--widen) }
.paths.lost li { border-left: .3rem solid var(--narrow) }
.way { margin: 0; overflow-wrap: anywhere }
.way span { color: var(--muted) }
.way .sign { font-size: .8125rem; font-weight: 600; padding: .05rem .55rem; border-radius: 1rem; margin-right: .5rem; color: var(--widen); background: var(--widen-wash) }
.lost .way .sign { color: var(--narrow); background: var(--narrow-wash) }
.path .note { margin: .1rem 0 }
.anchor { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--muted); margin-left: .5rem }
.location { color: var(--muted) }
.change .location, .assertion .location { margin-left: .5rem }
summary { cursor: pointer; font-size: .8125rem; color: var(--link); width: fit-content }
summary span { color: var(--muted) }
.more { display: inline-block; vertical-align: top }
.more[open] { display: block }
.point { align-items: baseline; display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.25rem; margin: .5rem 0; font-size: .875rem }
.point dt { color: var(--muted) }
.point dd { min-width: 0; overflow-wrap: anywhere; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9em }
.point dd code { font-size: 1em }
.command { display: flex; gap: .75rem; align-items: start; padding: .5rem .75rem; margin: .5rem 0; background: var(--quiet-wash); border-radius: .35rem; font-size: .875rem }
.command code { flex: 1; min-width: 0 }
.command button { flex: none; display: none }
.scripted .command button { display: block }
`;

const REST = `
.scroll { overflow-x: auto; margin: .75rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .875rem }
caption { text-align: left; color: var(--muted); font-size: .8125rem; padding-bottom: .35rem }
th, td { text-align: left; vertical-align: top; padding: .4rem 1.25rem .4rem 0; border-bottom: 1px solid var(--line); font-weight: 400 }
thead th { color: var(--muted); font-size: .8125rem; white-space: nowrap }
th:last-child, td:last-child { padding-right: 0 }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.filter-link { text-decoration: none }
.filter-link:hover .badge { text-decoration: underline }
.assertion { display: grid; grid-template-columns: 6rem 1fr; gap: 0 1rem; padding: .75rem 0; border-bottom: 1px solid var(--line) }
.assertion > .badge { justify-self: start; align-self: start }
.assertion h3 { margin: 0; font-size: .9375rem }
.assertion p { margin: .2rem 0; overflow-wrap: anywhere }
.waiver { color: var(--narrow) }
.coverage { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 1rem 2rem }
.coverage h3 { margin: 0 0 .35rem; font-size: .9375rem; display: flex; justify-content: space-between; align-items: baseline }
.bar { display: block; width: 100%; height: .75rem }
.bar .track { fill: var(--line) }
.bar .fill { fill: var(--good) }
.bar.short .fill { fill: var(--stop) }
.bar .gate { fill: var(--ink) }
.columns { columns: 22rem; column-gap: 2rem }
.columns li { break-inside: avoid; padding: .1rem 0 }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 0 3rem }
.sides > div { min-width: 0 }
.sides h3 { margin-top: .5rem }
.sides h4 { margin-top: 1.25rem }
.warnings li { padding: .35rem 0; font-size: .875rem }
.hash, .digest { overflow-wrap: anywhere; word-break: break-all }
td.hash { min-width: 9rem }
.sides th { min-width: 8rem }
.stop > b:first-child, .verdict.stop .sign, .badge.stop { color: var(--stop); background: var(--stop-wash) }
.widen > b:first-child, .verdict.widen .sign, .badge.widen { color: var(--widen); background: var(--widen-wash) }
.narrow > b:first-child, .verdict.narrow .sign, .badge.narrow { color: var(--narrow); background: var(--narrow-wash) }
.quiet > b:first-child, .verdict.quiet .sign, .badge.quiet { color: var(--quiet); background: var(--quiet-wash) }
.good > b:first-child, .verdict.good .sign, .badge.good { color: var(--good); background: var(--good-wash) }
`;

const MEDIA = `
@media (max-width: 60rem) {
  #filter { grid-template-columns: repeat(3, minmax(0, 1fr)) }
  #filter .wide { grid-column: 1 / -1 }
}
@media (max-width: 40rem) {
  body { padding-top: 1.5rem }
  .views, .plans, .sides { grid-template-columns: minmax(0, 1fr) }
  .side + .side { border-left: 0; border-top: 1px solid var(--line) }
  .panel h3[id], .change { scroll-margin-top: 1rem }
  #filter { position: static; grid-template-columns: repeat(2, minmax(0, 1fr)) }
  #filter :is(input, select) { font-size: 1rem }
  .change, .paths li { padding-inline: .9rem }
  .assertion { grid-template-columns: minmax(0, 1fr) }
  .point { grid-template-columns: minmax(0, 1fr) }
  .point dd { margin-bottom: .35rem }
  .command { flex-direction: column }
}
@page { margin: 1.5cm }
@media print {
  body { max-width: none; padding: 0; font-size: 9pt }
  nav, #filter, .skip, .command button, .verdict input { display: none !important }
  .change, .paths li { content-visibility: visible; break-inside: avoid }
  details::details-content { content-visibility: visible; display: block; height: auto }
  .scroll { overflow: visible }
  .point { display: block; font-size: 8pt }
  .point :is(dt, dd) { display: inline; margin: 0 }
  .point dd::after { content: "; " }
  .command { padding: 0; margin: .15rem 0; font-size: 8pt }
  .side :is(ol, p), .facts, table { font-size: 8.5pt }
  h2 { margin-top: 1.5rem }
  h2, h3, caption, thead { break-after: avoid }
}
`;

/** Light unless the reader's device prefers dark; paper is always light. */
export const PAGE_STYLE = `:root { color-scheme: light dark; ${paletteStyle(LIGHT)} }
@media screen and (prefers-color-scheme: dark) { :root { ${paletteStyle(DARK)} } }
${FRAME}${VERDICT}${FILTER}${CHANGES}${REST}${MEDIA}`;
