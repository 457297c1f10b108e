/**
 * Text and background of each tone, and of the page; the tests hold every pair to a contrast of 4.5
 * to 1 and more.
 */
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
  const toned = Object.entries(tones).map(
    ([name, [ink, wash]]) => `--${name}:${ink};--${name}-wash:${wash}`,
  );
  return [...plain, ...toned].join(";");
}

const FRAME = `
*, ::before, ::after { box-sizing: border-box }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; color: var(--ink); background: var(--paper); -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 76rem; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; font-size: .9375rem }
h1, h2, .verdict strong { font-family: Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", Georgia, serif; font-weight: 600; letter-spacing: -.01em; line-height: 1.2 }
h1 { font-size: clamp(1.5rem, 1.1rem + 1.8vw, 2.25rem); margin: 0; overflow-wrap: anywhere }
h1 > span { color: var(--muted); font-weight: 400 }
h1 code { font: inherit }
h2 { font-size: 1.5rem; margin: 3rem 0 .75rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.0625rem; margin: 2rem 0 .5rem }
h4 { font-size: .9375rem; margin: 0 }
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
.lead, .none, .count { color: var(--muted) }
.lead { max-width: 80ch; margin: .5rem 0 }
.lead strong { color: var(--ink) }
.count { font-weight: 400; margin-left: .25rem }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; margin: 0; padding: 0; border: 0 }
.skip { position: absolute; left: -99rem; background: var(--card); padding: .5rem 1rem; z-index: 2 }
.skip:focus { left: 1rem; top: 1rem }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--muted); font-size: .8125rem; overflow-wrap: anywhere }
`;

// `:has` is on a small element: on `body` it would make every element of a large page dearer to
// read.
const VERDICT = `
.views { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 1.75rem }
.views legend { padding: 0 0 .5rem; color: var(--muted); font-size: .8125rem }
.verdict { display: flex; flex-direction: column; gap: .25rem; position: relative; padding: 1.1rem 1.25rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; cursor: pointer }
.verdict input { position: absolute; top: 1.2rem; right: 1.2rem; width: 1.1rem; height: 1.1rem; margin: 0; accent-color: var(--link) }
.verdict .view { font-size: .8125rem; color: var(--muted); padding-right: 2rem }
.verdict strong { font-size: 1.25rem }
.verdict > span:last-child { color: var(--muted) }
.verdict:has(:checked) { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link) }
.verdict:has(:focus-visible) { outline: 3px solid var(--link); outline-offset: 2px }
.verdict input:focus-visible { outline: none }
.choice:has(#show-promoted:checked) ~ #results > .panel.declared:not(.promoted), .choice:has(#show-declared:checked) ~ #results > .panel.promoted:not(.declared) { display: none }
.choice:has(#show-promoted:checked) ~ nav .only.declared:not(.promoted), .choice:has(#show-declared:checked) ~ nav .only.promoted:not(.declared) { display: none }
.alert { margin-top: 1rem; padding: .75rem 1.25rem; background: var(--stop-wash); color: var(--stop); border-radius: .5rem }
.alert .lead { color: inherit }
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

const ITEMS = `
.items > div { padding: .4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
.items > .path, .items > .block { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1.25rem; margin: .5rem 0 }
.items > .path { content-visibility: auto; contain-intrinsic-size: auto 4rem }
.items > .block { padding: .9rem 1.25rem .75rem; content-visibility: auto; contain-intrinsic-size: auto 12rem; scroll-margin-top: 9rem; position: relative }
.block:target { border-color: var(--link) }
.block h4 { display: flex; flex-wrap: wrap; gap: .35rem .75rem; align-items: baseline; padding-right: 2rem }
.way > b, h4 > b { display: inline-block; min-width: 1.35rem; padding: 0 .35rem; border-radius: 1rem; text-align: center; font-size: .8125rem }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600 }
.facts { display: flex; flex-wrap: wrap; gap: .1rem 1.5rem; margin: .35rem 0; font-size: .875rem }
.facts div { display: flex; gap: .45rem; min-width: 0 }
.facts dt { color: var(--muted); flex: none }
.facts dd { min-width: 0; overflow-wrap: anywhere }
.diff { border: 1px solid var(--line); border-radius: .35rem; margin: .6rem 0; padding: .4rem 0; font-size: .875rem }
.diff li { padding: 0 .9rem; white-space: pre-wrap; overflow-wrap: anywhere }
.diff .good { color: var(--good); background: var(--good-wash) }
.diff .stop { color: var(--stop); background: var(--stop-wash) }
.diff .widen { color: var(--widen); background: var(--widen-wash) }
.anchor { color: var(--muted) }
.block > .anchor { position: absolute; top: .9rem; right: 1.25rem }
.location { color: var(--muted) }
summary { cursor: pointer; font-size: .8125rem; color: var(--link); width: fit-content }
.more { display: inline-block; vertical-align: top }
.more[open] { display: block }
.command { display: flex; gap: .75rem; align-items: start; padding: .5rem .75rem; margin: .5rem 0; background: var(--quiet-wash); border-radius: .35rem; font-size: .875rem }
.command code { flex: 1; min-width: 0 }
.command button { flex: none; display: none }
.scripted .command button { display: block }
`;

const REST = `
.scroll { overflow-x: auto; margin: .75rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .875rem }
th, td { text-align: left; vertical-align: top; padding: .4rem 1.25rem .4rem 0; border-bottom: 1px solid var(--line); font-weight: 400 }
thead th { color: var(--muted); font-size: .8125rem; white-space: nowrap }
th:last-child, td:last-child { padding-right: 0 }
tbody :is(th, td) { overflow-wrap: anywhere }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
th > a { text-decoration: none }
a:hover > .badge { text-decoration: underline }
.choice > .items { margin-top: .75rem }
b.stop, .badge.stop { color: var(--stop); background: var(--stop-wash) }
b.widen, .badge.widen { color: var(--widen); background: var(--widen-wash) }
b.narrow, .badge.narrow { color: var(--narrow); background: var(--narrow-wash) }
b.quiet, .badge.quiet { color: var(--quiet); background: var(--quiet-wash) }
b.good, .badge.good { color: var(--good); background: var(--good-wash) }
.verdict.stop strong { color: var(--stop) }
.verdict.widen strong { color: var(--widen) }
.verdict.narrow strong { color: var(--narrow) }
.verdict.good strong { color: var(--good) }
`;

const MEDIA = `
@media (max-width: 60rem) {
  #filter { grid-template-columns: repeat(3, minmax(0, 1fr)) }
  #filter .wide { grid-column: 1 / -1 }
}
@media (max-width: 40rem) {
  body { padding-top: 1.5rem }
  .views { grid-template-columns: minmax(0, 1fr) }
  .panel h3[id], .block { scroll-margin-top: 1rem }
  #filter { position: static; grid-template-columns: repeat(2, minmax(0, 1fr)) }
  #filter :is(input, select) { font-size: 1rem }
  .items > .path, .items > .block { padding-inline: .9rem }
  .command { flex-direction: column }
}
@page { margin: 1.5cm }
@media print {
  body { max-width: none; padding: 0; font-size: 9pt }
  nav, #filter, .skip, .command button, .verdict input { display: none !important }
  .items > div { content-visibility: visible; break-inside: avoid }
  details::details-content { content-visibility: visible; display: block; height: auto }
  .scroll { overflow: visible }
  .command { padding: 0; margin: .15rem 0; font-size: 8pt }
  .diff, .facts, table { font-size: 8.5pt }
  h2 { margin-top: 1.5rem }
  h2, h3, caption, thead { break-after: avoid }
}
`;

/** Light unless the reader's device prefers dark; paper is always light. */
export const PAGE_STYLE = `:root { color-scheme: light dark; ${paletteStyle(LIGHT)} }
@media screen and (prefers-color-scheme: dark) { :root { ${paletteStyle(DARK)} } }
${FRAME}${VERDICT}${FILTER}${ITEMS}${REST}${MEDIA}`;
