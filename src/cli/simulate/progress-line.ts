import type { Progress } from "../../simulate/request.ts";
import type { CommandIo } from "../terminal/command-io.ts";
import { numberText } from "../terminal/printing.ts";

/** Milliseconds between two looks of the line. */
const INTERVAL = 200;
const CLEAR = "\r\u001b[2K";

/** One line of a terminal that is written over. @param clock milliseconds from any moment on. */
export function progressLine(
  io: CommandIo,
  quiet: boolean,
  clock: () => number = () => performance.now(),
) {
  const isHidden = quiet || io.stderrTerminal !== true;
  let shownAt = -Infinity;
  let isShown = false;
  return {
    show: (progress: Progress) => {
      const now = clock();
      if (isHidden || now - shownAt < INTERVAL) return;
      shownAt = now;
      isShown = true;
      io.stderr(`${CLEAR}${describe(progress)}`);
    },
    /** Takes the line away; may be called without one. */
    clear: () => {
      if (isShown) io.stderr(CLEAR);
      isShown = false;
    },
  };
}

function describe({ done, of }: Progress) {
  return `Deciding requests: ${numberText(done)} of ${numberText(of)} pairs of workspace and route, by operation`;
}
