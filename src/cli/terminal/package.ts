import { readFileSync } from "node:fs";
import { parseJson } from "../../canon/json.ts";
import { readFile } from "node:fs/promises";

/**
 * The package's version. `package.json` is three folders up, from `src/cli/terminal` and from
 * `dist/cli/terminal` alike.
 */
export function readVersion(): string {
  const version = member(readManifest(), "version");
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}

/**
 * Says why this Node cannot run Signalbox, by `engines.node` of package.json; npm only warns of
 * that, and what is missing would show as refused requests later.
 *
 * @param node version of the running Node, such as `22.20.0`
 * @returns one sentence, or `null` where it can
 */
export function unfitNode(node: string): string | null {
  const ranges = [
    ...String(member(member(readManifest(), "engines"), "node")).matchAll(
      /(\^|>=)(\d+)\.(\d+)\.\d+/g,
    ),
  ];
  const [isMajor = 0, isMinor = 0] = node.split(".").map(Number);
  const fits = ranges.some(([, operator, major, minor]) =>
    isMajor === Number(major)
      ? isMinor >= Number(minor)
      : operator === ">=" && isMajor > Number(major),
  );
  if (fits) return null;
  const known = ranges.map(
    ([, operator, major, minor]) =>
      `${major}.${minor} ${operator === "^" ? `or a later ${major}` : "or newer"}`,
  );
  return `signalbox needs Node ${known.join(", or ")}; this is ${node}`;
}

function readManifest(): unknown {
  return parseJson(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * The files beside the code in every installation: three folders up from `src/cli/terminal` and
 * from `dist/cli/terminal` alike.
 */
const PACKAGE = new URL("../../..", import.meta.url);

/** The text of a file that comes with Signalbox, by its path from the root of the package. */
export function packagedText(path: string): Promise<string> {
  return readFile(new URL(path, PACKAGE), "utf8");
}
