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
