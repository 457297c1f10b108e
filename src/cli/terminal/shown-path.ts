import { isAbsolute, relative, sep } from "node:path";

/** Relative and with `/`, so that annotations find the file in a checkout; absolute where it lies outside; `.` for the folder itself. */
export function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  if (below === "") return ".";
  return below.startsWith("..") || isAbsolute(below) ? path : below.split(sep).join("/");
}
