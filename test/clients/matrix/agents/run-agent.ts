import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { PROOF } from "../scripted/provider.ts";
import type { Agent, AgentPaths } from "./agent.ts";

/** Longest run of an agent, milliseconds. */
export const LONGEST_RUN = 90_000;

export interface Run {
  /** What the user sees: standard output and error together. */
  readonly seen: string;
  /** `null` where the agent had to be killed. */
  readonly exit: number | null;
  /** Milliseconds. */
  readonly took: number;
  /** Content of the file that the agent was to write; `null` where there is none. */
  readonly proof: string | null;
}

/**
 * Runs an agent without a terminal in an empty project, and kills it and its children after
 * {@link LONGEST_RUN}.
 */
export async function runAgent(
  agent: Agent,
  program: string,
  prompt: string,
  where: Omit<AgentPaths, "home">,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-agent-"));
  const paths = { ...where, home: join(folder, "home") };
  const project = join(folder, "project");
  mkdirSync(paths.home);
  mkdirSync(project);
  for (const [path, text] of Object.entries(agent.files?.(paths) ?? {})) {
    mkdirSync(dirname(join(paths.home, path)), { recursive: true });
    writeFileSync(join(paths.home, path), text);
  }
  const start = performance.now();
  const child = spawn(program, agent.arguments(prompt, paths), {
    cwd: project,
    // Nothing of the developer's own settings, keys and proxies.
    env: {
      PATH: process.env.PATH,
      HOME: paths.home,
      TERM: "dumb",
      NO_COLOR: "1",
      ...agent.environment(paths),
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let seen = "";
  const read = (piece: Buffer): void => void (seen += piece.toString());
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const kill = (): void => {
    // The group: agents start servers and shells of their own, and some outlive them.
    if (child.pid !== undefined) {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // Nothing of it is left.
      }
    }
  };
  const timer = setTimeout(kill, LONGEST_RUN);
  const exit = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  clearTimeout(timer);
  const took = performance.now() - start;
  kill();
  const proof = join(project, PROOF.file);
  const written = existsSync(proof) ? readFileSync(proof, "utf8").trim() : null;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return { seen: stripVTControlCharacters(seen), exit, took, proof: written };
}
