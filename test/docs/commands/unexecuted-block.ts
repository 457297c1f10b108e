import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommands } from "../../../src/cli/commands.ts";
import { runCommand } from "../../keys/command.ts";
import { ROOT } from "./blocks.ts";

/** Commands with commands of their own. */
const GROUPS: readonly string[] = ["policy", "keys", "evidence"];

/**
 * What is wrong in a block that is not run: commands, flags, scripts and files that do not exist.
 */
export async function wrongIn(text: string): Promise<readonly string[]> {
  const commands = text
    .replaceAll(/\\\n/g, " ")
    .replaceAll(/(?:^|\s)#.*$/gm, "")
    .split(/\n|&&|\|\||[|;()]/)
    .map((command) => command.trim().split(/\s+/).filter(Boolean));
  const cloned = commands.flatMap((words) =>
    words[0] === "git" && words[1] === "clone" ? [words.at(-1) ?? ""] : [],
  );
  const folders = cloned.map(
    (url) =>
      `${url
        .replace(/\.git$/, "")
        .split("/")
        .at(-1)}/`,
  );
  const found: string[] = [];
  for (const words of commands) {
    found.push(...(await wrongInCommand(words)));
    found.push(
      ...absentFiles(words.filter((word) => !folders.some((folder) => word.startsWith(folder)))),
    );
  }
  return found;
}

async function wrongInCommand(words: readonly string[]): Promise<readonly string[]> {
  const run = words.indexOf("run");
  const script =
    words[0] === "npm" && run !== -1
      ? words.slice(run + 1).find((word) => !word.startsWith("-"))
      : undefined;
  const found: string[] = [];
  if (script !== undefined) {
    const { scripts }: { scripts: object } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    if (!Object.hasOwn(scripts, script)) found.push(`package.json has no script ${script}`);
  }
  const start = words.indexOf("signalbox");
  // An image, a namespace or a volume may have that name too.
  const isCommand = words
    .slice(0, start)
    .every((word) => /^[A-Z_]+=|^(?:npm|run|-s|npx|exec|--)$/.test(word));
  if (start === -1 || !isCommand) return found;
  const [name = "", ...rest] = words.slice(start + 1).filter((word) => word !== "--");
  const path = GROUPS.includes(name) ? [name, rest[0] ?? ""] : [name];
  const help = await runCommand(runCommands, [...path, "--help"]);
  const isKnown =
    help.code === 0 &&
    (path[1] === undefined || name === "policy" || help.stdout.includes(`\n  ${path[1]} `));
  if (!isKnown) return [...found, `there is no signalbox ${path.join(" ")}`];
  const flags = rest
    .filter((word) => word.startsWith("--"))
    .map((word) => word.split("=", 1)[0] ?? "");
  const unknown = flags.filter((flag) => !new RegExp(`${flag}(?![\\w-])`).test(help.stdout));
  return [...found, ...unknown.map((flag) => `signalbox ${path.join(" ")} has no ${flag}`)];
}

/** Relative paths of files that a checkout would have; not those that the command writes. */
function absentFiles(words: readonly string[]): readonly string[] {
  return words
    .filter((_word, index) => words[index - 1] !== ">")
    .filter((word) => /^(?:\.\/)?[\w.-]+(?:\/[\w.-]+)+$/.test(word) && /\.[a-z]+$/.test(word))
    .filter((word) => !existsSync(join(ROOT, word)))
    .map((word) => `there is no ${word}`);
}
