import { readFileSync } from "node:fs";

/** A small file without findings: the clean golden case. */
export const CLEAN: string = (
  readFileSync(new URL("cases/clean.txt", import.meta.url), "utf8").split("\n----------\n")[0] ?? ""
)
  .split("\n")
  .filter((line) => !line.startsWith("#"))
  .join("\n");

/** The file that `npm start` serves. */
export const DEFAULT: string = readFileSync(new URL("../../routes.yaml", import.meta.url), "utf8");
