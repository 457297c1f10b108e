import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { COMMAND_LANGUAGES, locationOf, type Fence } from "./blocks.ts";
import { outputMatches, type Varies } from "./compare-output.ts";
import { makeSandbox, type Sandbox } from "./sandbox.ts";
import type { PageSetup } from "./setups.ts";

/** A command of a page, and how it has to end. */
interface Step {
  readonly location: string;
  readonly script: string;
  /** What the page says that it prints; `null` where it does not say. */
  readonly output: string | null;
  readonly code: number;
}

const PLACEHOLDER = /^(?:export )?([A-Z][A-Z_]*)=\S*…\S*(?: +#.*)?$/;

/** A database of a reader's own. */
export const QUOTED_DATABASE = /'postgres(?:ql)?:\/\/[^']*'/g;

/**
 * Runs the blocks of a page in order, in one shell. Gives what went otherwise than the page says.
 */
export async function runPage(
  page: string,
  fences: readonly Fence[],
  setup: PageSetup,
  isOurs: (fence: Fence) => boolean,
): Promise<readonly string[]> {
  const sandbox = await makeSandbox();
  try {
    const parts = [preparation(setup)];
    const steps: Step[] = [];
    for (const fence of fences) {
      if (!COMMAND_LANGUAGES.includes(fence.language)) {
        const file = fileOf(fence, sandbox, parts.length);
        if (file !== null) parts.push(file);
      } else if (isOurs(fence)) {
        const first = fence.text.split("\n", 1)[0] ?? "";
        parts.push(setup.before?.[first] ?? "");
        for (const step of stepsOf(page, fence)) {
          parts.push(scriptOf(step, steps.length, setup, sandbox));
          steps.push(step);
        }
        parts.push(setup.after?.[first] ?? "");
      }
    }
    const ended = await shell(parts.join("\n"), sandbox);
    return complaints(steps, sandbox, ended, setup.varies);
  } finally {
    sandbox.close();
  }
}

function preparation({ served, setup = "" }: PageSetup): string {
  const serving =
    served === true
      ? 'npm start > /dev/null\ncp "$DOCS_STATE/serve.log" "$DOCS_STATE/first.log"\nexport SIGNALBOX_KEY=$(printed-key development)\n'
      : "";
  return `{\nset -e\n${serving}MANAGER=$(printed-key production || true)\n${setup}\nset +e\n} > "$DOCS_STATE/setup" 2>&1\n`;
}

/** A block that holds a file is one that the reader has written by then. */
function fileOf({ info, text }: Fence, { environment }: Sandbox, index: number): string | null {
  const [, appends, path] = /^(>> )?([\w./-]+\.\w+)$/.exec(info) ?? [];
  if (path === undefined) return null;
  const kept = join(environment.DOCS_STATE ?? "", `file-${index}`);
  writeFileSync(kept, appends === undefined ? text : `\n${text}`);
  return `mkdir -p '${dirname(path)}' && cat '${kept}' ${appends === undefined ? ">" : ">>"} '${path}'`;
}

function stepsOf(page: string, fence: Fence): readonly Step[] {
  const location = locationOf(page, fence);
  const code = fence.mark?.kind === "ends with" ? fence.mark.code : 0;
  if (!fence.language.startsWith("console"))
    return [{ location, script: fence.text, output: null, code }];
  return fence.text
    .split(/^\$ /m)
    .slice(1)
    .map((said, index, all): Step => {
      const command = /^(?:.*\\\n)*.*\n/.exec(said)?.[0] ?? "";
      const last = index === all.length - 1;
      return {
        location: `${location.split(": ")[0]}: ${command.trimEnd()}`,
        script: command,
        output: said.slice(command.length),
        code: last ? code : 0,
      };
    });
}

/** Replaces ports and placeholders, and keeps what the command prints. */
function scriptOf(
  { script, output, code }: Step,
  index: number,
  { replace = {}, database }: PageSetup,
  sandbox: Sandbox,
): string {
  let text = script
    .split("\n")
    .map((line) => {
      const name = PLACEHOLDER.exec(line)?.[1];
      if (name === undefined) return line;
      const [, environment] = /=sbx_([a-z]+)_…/.exec(line) ?? [];
      return environment === undefined
        ? `: "\${${name}:?is what the setup of the page has to give}"`
        : `export ${name}=$(printed-key ${environment})`;
    })
    .join("\n");
  for (const [from, to] of [...Object.entries(replace), ...sandbox.ports])
    text = text.replaceAll(from, to);
  if (database !== undefined) text = text.replaceAll(QUOTED_DATABASE, `'${database}'`);
  const files = `> "$DOCS_STATE/${index}.out" 2>${output === null ? `"$DOCS_STATE/${index}.err"` : "&1"}`;
  const strict = output === null && code === 0;
  return `export DOCS_FAIL=${output === null ? "yes" : ""}
${strict ? "set -e -o pipefail" : ""}
{
${text}
} ${files}
echo $? > "$DOCS_STATE/${index}.code"
set +e +o pipefail
`;
}

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

function shell(script: string, { folder, environment }: Sandbox): Promise<Ended> {
  const file = join(environment.DOCS_STATE ?? "", "page.sh");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, script);
  appendFileSync(file, "\nexit 0\n");
  return new Promise((settle) => {
    const child = spawn("bash", [file], {
      cwd: folder,
      env: environment,
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 240_000,
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("exit", (code) => settle({ code, stderr }));
  });
}

function complaints(
  steps: readonly Step[],
  { environment, ports }: Sandbox,
  ended: Ended,
  varies?: Varies,
): readonly string[] {
  const state = environment.DOCS_STATE ?? "";
  const read = (name: string): string =>
    existsSync(join(state, name)) ? readFileSync(join(state, name), "utf8") : "";
  const found: string[] = [];
  for (const [index, { location, output, code }] of steps.entries()) {
    const printed = withPorts(read(`${index}.out`), ports);
    const errors = read(`${index}.err`);
    const exit = read(`${index}.code`).trim();
    if (exit === "") {
      const all = [printed, errors, ended.stderr, index === 0 ? read("setup") : ""]
        .join("\n")
        .trim();
      return [
        ...found,
        `${location}\nended with ${ended.code}, and what follows was not run:\n${all}`,
      ];
    }
    if (exit !== String(code))
      found.push(`${location}\nended with ${exit}, not ${code}:\n${printed}${errors}`);
    else if (output !== null && !outputMatches(output, printed, varies))
      found.push(`${location}\nprinted:\n${printed}`);
  }
  return found;
}

function withPorts(text: string, ports: Sandbox["ports"]): string {
  return [...ports].reduce((so, [written, taken]) => so.replaceAll(taken, written), text);
}
