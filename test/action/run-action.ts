import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { GIT_ENVIRONMENT, temporaryFolder, writeTo } from "../cli/simulate/repository.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
export const ACTION = join(ROOT, ".github/actions/simulate");
export const MARKER = "<!-- signalbox-simulation -->";
export const REPOSITORY = "acme/routes";
export const NUMBER = 7;

export interface Commits {
  readonly base: string;
  readonly head: string;
}

/** A step's folder and files, as a runner lays them out. */
export interface Runner {
  readonly temporary: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of the checkout that the action stands in. */
  readonly root: string;
}

/** @param fork the repository that the branch comes from, where it is another one */
export function makeRunner(
  { base, head }: Commits,
  {
    root = ROOT,
    fork = REPOSITORY,
  }: { readonly root?: string; readonly fork?: string | null } = {},
): Runner {
  const temporary = temporaryFolder();
  const event = {
    pull_request: {
      number: NUMBER,
      base: { sha: base, repo: { full_name: REPOSITORY } },
      head: { sha: head, repo: fork === null ? null : { full_name: fork } },
    },
  };
  writeTo(temporary, { "event.json": JSON.stringify(event), "output.txt": "", "summary.md": "" });
  const environment = {
    ...GIT_ENVIRONMENT,
    RUNNER_TEMP: temporary,
    GITHUB_EVENT_PATH: join(temporary, "event.json"),
    GITHUB_OUTPUT: join(temporary, "output.txt"),
    GITHUB_STEP_SUMMARY: join(temporary, "summary.md"),
    GITHUB_REPOSITORY: REPOSITORY,
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_RUN_ID: "99",
    SIGNALBOX_MAIN: join(root, "src/main.ts"),
  };
  return { temporary, environment, root };
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One of the action's scripts, as a step runs it. */
export function runScript(
  { environment, root }: Runner,
  script: "run.mjs" | "comment.mjs" | "install.sh",
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const program = script.endsWith(".sh") ? "bash" : process.execPath;
  const child = spawn(program, [join(root, ".github/actions/simulate", script)], {
    env: { ...environment, ...more },
    cwd: more.GITHUB_WORKSPACE ?? root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (texts.stderr += chunk.toString()));
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (code) => done({ code, ...texts }));
  });
}

/** What a step leaves for those after it. */
export function outputsOf({ temporary }: Runner): Readonly<Record<string, string>> {
  const lines = readFileSync(join(temporary, "output.txt"), "utf8").split("\n");
  return Object.fromEntries(lines.filter((line) => line !== "").map((line) => line.split("=", 2)));
}

export function reportOf({ temporary }: Runner, name: string): string | null {
  const path = join(temporary, "signalbox-simulation", name);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

export function writeComment(runner: Runner, body: string): void {
  writeTo(runner.temporary, { "signalbox-simulation/comment.md": body });
}

/**
 * A checkout of the action whose Signalbox follows orders: each command ends with its code and
 * prints its text, and simulate writes the files that are requested.
 */
export function fakeCheckout(reported: {
  readonly check?: number;
  readonly test?: number;
  readonly simulate: number;
  readonly stderr?: string;
  readonly stdout?: string;
  readonly markdown?: string;
  /** The JSON report. */
  readonly json?: string;
}): string {
  const root = temporaryFolder();
  cpSync(ACTION, join(root, ".github/actions/simulate"), { recursive: true });
  const main = `
    import { appendFileSync, writeFileSync } from "node:fs";
    const orders = ${JSON.stringify(reported)};
    const argv = process.argv.slice(2);
    appendFileSync(process.env.RUNNER_TEMP + "/calls.txt", JSON.stringify(argv) + "\\n");
    if (argv[0] === "check") process.exitCode = orders.check ?? 0;
    if (argv[0] === "policy") process.exitCode = orders.test ?? 0;
    if (argv[0] === "simulate") {
      process.stdout.write(orders.stdout ?? "");
      process.stderr.write(orders.stderr ?? "");
      for (const one of argv) {
        const [, format, file] = /^--format=([a-z]+)=(.*)$/.exec(one) ?? [];
        if (file !== undefined && orders.simulate !== 1) writeFileSync(file, format === "markdown" ? orders.markdown ?? "" : format === "json" ? orders.json ?? format : format);
      }
      process.exitCode = orders.simulate;
    }
  `;
  writeTo(root, { "src/main.ts": main, "package.json": '{"type":"module"}' });
  return root;
}

/** How the fake Signalbox was called. */
export function callsOf({ temporary }: Runner): readonly (readonly string[])[] {
  const text = existsSync(join(temporary, "calls.txt"))
    ? readFileSync(join(temporary, "calls.txt"), "utf8")
    : "";
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): readonly string[] => JSON.parse(line));
}

export interface Comment {
  readonly id: number;
  body: string;
  readonly user: { readonly login: string; readonly type: "Bot" | "User" } | null;
}

/** GitHub, as far as the action knows it. */
export interface FakeGithub {
  readonly comments: Comment[];
  /** Method and path of every request, in order. */
  readonly requests: string[];
  readonly authorizations: Set<string>;
  readonly environment: Readonly<Record<string, string>>;
}

export interface GithubRules {
  readonly comments?: readonly Comment[];
  /** Who the token belongs to; a workflow's own may not ask. */
  readonly login?: string;
  /**
   * Answers instead of the usual one, by `METHOD /path`; each once or, with `always`, every time.
   */
  readonly refusals?: Readonly<Record<string, readonly number[] | { readonly always: number }>>;
}

export async function fakeGithub({
  comments = [],
  login,
  refusals = {},
}: GithubRules = {}): Promise<FakeGithub> {
  const github = {
    comments: [...comments],
    requests: [] as string[],
    authorizations: new Set<string>(),
  };
  const refused = new Map<string, number>();
  const answer = (method: string, url: URL, body: string): [status: number, value: unknown] => {
    const name = `${method} ${url.pathname}`;
    const refusal = refusals[name];
    if (refusal !== undefined) {
      const count = refused.get(name) ?? 0;
      refused.set(name, count + 1);
      const status = "always" in refusal ? refusal.always : refusal[count];
      if (status !== undefined) return [status, { message: "refused" }];
    }
    if (name === "GET /user") return login === undefined ? [403, {}] : [200, { login }];
    const list = `/repos/${REPOSITORY}/issues/${NUMBER}/comments`;
    if (name === `GET ${list}`) {
      const size = Number(url.searchParams.get("per_page") ?? 30);
      const page = Number(url.searchParams.get("page") ?? 1);
      return [200, github.comments.slice((page - 1) * size, page * size)];
    }
    const text: unknown = body === "" ? null : Reflect.get(JSON.parse(body), "body");
    if (typeof text === "string" && text.length > 65_536) return [422, { message: "too long" }];
    if (name === `POST ${list}` && typeof text === "string") {
      const comment = { id: 1_000 + github.comments.length, body: text, user: ACTIONS };
      github.comments.push(comment);
      return [201, comment];
    }
    const id = Number(/^\/repos\/acme\/routes\/issues\/comments\/(\d+)$/.exec(url.pathname)?.[1]);
    const found = github.comments.find((comment) => comment.id === id);
    if (method !== "PATCH" || found === undefined || typeof text !== "string") return [404, {}];
    found.body = text;
    return [200, found];
  };
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://github");
      const method = request.method ?? "";
      github.requests.push(`${method} ${url.pathname}${url.search}`);
      github.authorizations.add(request.headers.authorization ?? "");
      const [status, value] = answer(method, url, body);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const environment = {
    GITHUB_API_URL: `http://127.0.0.1:${address.port}`,
    GITHUB_TOKEN: "token-of-the-run",
  };
  return { ...github, environment };
}

/** Who a workflow's own token writes as. */
export const ACTIONS = { login: "github-actions[bot]", type: "Bot" } as const;

/** Keeps a file of the runner from being what it was. */
export function setEvent(runner: Runner, event: unknown): void {
  writeFileSync(join(runner.temporary, "event.json"), JSON.stringify(event));
}
