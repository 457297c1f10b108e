import { readFile } from "node:fs/promises";

/** The files beside the code in every installation: three folders up from `src/cli/terminal` and from `dist/cli/terminal` alike. */
const PACKAGE = new URL("../../../", import.meta.url);

/** The text of a file that comes with Signalbox, by its path from the root of the package. */
export function packagedText(path: string): Promise<string> {
  return readFile(new URL(path, PACKAGE), "utf8");
}
