import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { GIT_ENVIRONMENT, temporaryFolder } from "../cli/simulate/repository.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PATH = join(ROOT, "docs/policy-lifecycle.md");
const EXAMPLE = join(ROOT, "docs/examples/eu-fallback");
/** Examples, and the hour at which requests come in; in the order of the page. */
const STEP = /^```console\n(\$ .*)\n[^]*?^```\n|^<!-- requests -->\n/gm;

const MISSING = missingPrograms("bash", "git");
const UPDATES = process.env.UPDATE_DOCS === "1";

/** So that commits have the ids that the page shows. */
const DATED = {
  GIT_AUTHOR_DATE: "2026-03-02T09:00:00Z",
  GIT_COMMITTER_DATE: "2026-03-02T09:00:00Z",
};

/** Who has a key, of which workspace, for what, with which labels. */
const PEOPLE = {
  ANNA: ["platform", "operations:manage", "privacy"],
  BEN: ["platform", "operations:manage", ""],
  OLGA: ["platform", "operations:manage", ""],
  AUDITOR: ["platform", "governance:read", ""],
  WEBSITE: ["website", "inference", ""],
} as const;

interface Fixture {
  readonly folder: string;
  /** What commands of the page run in. */
  readonly environment: Record<string, string>;
}

function run({ folder, environment }: Fixture, command: string): string {
  const { stdout } = spawnSync("bash", ["-c", `{ ${command}\n} 2>&1`], {
    cwd: folder,
    env: environment,
    encoding: "utf8",
  });
  return stdout;
}

/**
 * The example of docs/simulate.md with the page's own requirements, and a branch that changes the
 * policy.
 */
function fixture(page: string): Fixture {
  const above = temporaryFolder();
  const folder = join(above, "routes");
  mkdirSync(join(above, "bin"));
  const cache = join(ROOT, ".signalbox/test-cache");
  // Only commands that compile have a cache.
  const script = `#!/bin/sh\ncase $1 in simulate|explain|serve) set -- "$@" --cache "${cache}";; esac\nexec "${process.execPath}" "${join(ROOT, "src/main.ts")}" "$@"\n`;
  writeFileSync(join(above, "bin/signalbox"), script, { mode: 0o755 });
  const path = `${join(above, "bin")}:${GIT_ENVIRONMENT.PATH ?? ""}`;
  const made: Fixture = {
    folder,
    environment: { ...COMPILED, ...GIT_ENVIRONMENT, ...DATED, PATH: path, LC_ALL: "C" },
  };
  cpSync(EXAMPLE, folder, { recursive: true });
  const policies = /^```yaml\n(policies:\n[^]*?)^```/m.exec(page)?.[1] ?? "";
  const platform =
    "  platform:\n    tier: standard\n    approve:\n      routes: [chat]\n      regions: [eu, us]\n      providers: [openai-eu, openai-us]\n\n";
  replaceIn(join(folder, "routes.yaml"), [
    [/policies:\n {2}dir[^]*?\n\n/, `${platform}${policies}\n`],
    [/labels: \[eu\]\n$/, "labels: [eu, privacy]\n"],
    [/(env: [A-Z_]+ \}) \}/g, "$1, on_missing_secret: simulate }"],
  ]);
  writeFileSync(join(folder, ".gitignore"), ".signalbox\nreport.json\n");
  run(
    made,
    "git init --quiet --initial-branch main && git add --all && git commit --quiet --message 'Two routes'",
  );
  run(made, "git checkout --quiet -b tools-in-eu");
  replaceIn(join(folder, "policies/eu-residency.rego"), [
    ["EU_REGIONS_NOT_DECLARED]", "EU_REGIONS_NOT_DECLARED, TOOLS_NOT_IN_EU]"],
    ['not workspace.labelled("eu")\n', 'not workspace.labelled("eu")\n\tnot calls_tools\n'],
    [
      /reason.processed_in_eu := .*\n/,
      'calls_tools if "tools" in input.request.needs\n\n$&else := "TOOLS_NOT_IN_EU" if calls_tools\n',
    ],
  ]);
  run(
    made,
    "git commit --quiet --all --message 'Tool calls stay in the EU' && git checkout --quiet main",
  );
  return made;
}

function replaceIn(
  file: string,
  replacements: readonly (readonly [string | RegExp, string])[],
): void {
  let text = readFileSync(file, "utf8");
  for (const [from, to] of replacements) {
    const after = text.replace(from, to);
    expect(after, String(from)).not.toBe(text);
    text = after;
  }
  writeFileSync(file, text);
}

/** Waits for something that a server does by itself. */
async function until<Value>(
  what: string,
  look: () => Promise<Value | null> | Value | null,
): Promise<Value> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`never came: ${what}`);
    await new Promise((later) => {
      setTimeout(later, 50);
    });
  }
}

interface Served {
  readonly url: string;
  /** Has the files read again, as a change of them would. */
  readonly reload: () => Promise<void>;
}

async function serve({ folder, environment }: Fixture): Promise<Served> {
  const log = join(folder, "../serve.log");
  const output = openSync(log, "w");
  const argv = ["serve", "--port", "0", "--no-watch", "--drain", "1"];
  const child = spawn("signalbox", argv, {
    cwd: folder,
    env: environment,
    stdio: ["ignore", output, output],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const url = await until("a listening server", () => {
    const text = readFileSync(log, "utf8");
    if (child.exitCode !== null) throw new Error(text);
    return /listening on (http:\S+)/.exec(text)?.[1] ?? null;
  });
  const reloads = () => readFileSync(log, "utf8").split("reloaded").length;
  return {
    url,
    reload: async () => {
      const before = reloads();
      child.kill("SIGHUP");
      await until("a reload", () => {
        const text = readFileSync(log, "utf8");
        if (text.includes("\nerror ")) throw new Error(text);
        return reloads() > before ? true : null;
      });
    },
  };
}

/** Makes the keys; gives their public ids by the names of their owners. */
function makeKeys(made: Fixture): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const [name, [workspace, scopes, labels]] of Object.entries(PEOPLE)) {
    const flags = `--workspace ${workspace} --scopes ${scopes} --owner user:${name} --expires 30d --format json`;
    const key: { key: string; id: string } = JSON.parse(
      run(made, `signalbox keys create ${flags} --labels '${labels}'`),
    );
    made.environment[name] = key.key;
    ids.set(key.id, name.toLowerCase().padEnd(key.id.length, "0"));
  }
  return ids;
}

/** Two kinds of requests: one that the change is about, and one that it is not. */
async function sendRequests({ environment }: Fixture, url: string): Promise<void> {
  const tools = [
    { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } },
  ];
  const bodies = [
    { model: "chat", tools },
    { model: "chat", tools },
    { model: "chat" },
    { model: "chat-eu", tools },
  ];
  for (const body of bodies) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${environment.WEBSITE}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ ...body, messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(response.status, await response.text()).toBe(200);
  }
  await until("counts", async () => {
    const response = await fetch(`${url}/v1/policies/eu-residency/shadow`, {
      headers: { authorization: `Bearer ${environment.AUDITOR}` },
    });
    const shadow: JsonObject = JSON.parse(await response.text());
    return shadow.judged === bodies.length ? true : null;
  });
}

/** What is another each time, as the page has it. */
function settled(output: string, names: ReadonlyMap<string, string>): string {
  let text = output
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, "2026-03-02T09:00Z")
    // Of requests between which a minute ends.
    .replaceAll(/2026-03-02T09:00Z to\s+2026-03-02T09:00Z/g, "2026-03-02T09:00Z")
    .replaceAll(/"time":\{"day":"\w+","hour":"\w+"\}/g, '"time":{"day":"weekday","hour":"morning"}')
    .replaceAll(/req_[0-9a-f]{32}/g, "req_01a202d5bd9640a3a078efbc386000bf")
    .replaceAll(
      /head (\d+):[0-9a-f]{64}/g,
      (_, position: string) => `head ${position}:${"7a0c7f0f".repeat(8)}`,
    );
  for (const [id, name] of names) text = text.replaceAll(id, name);
  return text;
}

/**
 * An approval names the digest of the content that is the candidate then, which is another one when
 * the example is changed.
 */
function withDigest(made: Fixture, command: string): string {
  if (!command.includes(" --digest ")) return command;
  const shown = run(
    made,
    "SIGNALBOX_KEY=$AUDITOR signalbox policy show eu-residency --format json",
  );
  const { policy }: { policy: { candidate: { digest: string } } } = JSON.parse(shown);
  return command.replace(/ --digest \S+/, ` --digest ${policy.candidate.digest.slice(0, 12)}`);
}

it.skipIf(MISSING !== null)(
  `every example in docs/policy-lifecycle.md prints what the page says (npm run generate writes it) ${MISSING ?? ""}`,
  { timeout: 300_000 },
  async () => {
    const page = readFileSync(PATH, "utf8");
    const made = fixture(page);
    const server = await serve(made);
    made.environment.SIGNALBOX_SERVER = server.url;
    const names = makeKeys(made);
    let written = "";
    let end = 0;
    let examples = 0;
    for (const step of page.matchAll(STEP)) {
      const [whole, shown] = step;
      written += page.slice(end, step.index);
      end = step.index + whole.length;
      if (shown === undefined) {
        await sendRequests(made, server.url);
        written += whole;
        continue;
      }
      examples += 1;
      const command = UPDATES ? withDigest(made, shown) : shown;
      const output = settled(run(made, command.slice(2)), names).trimEnd();
      // A changed file is one that the server reads again.
      if (/^\$ git (?:merge|rm)/.test(command)) await server.reload();
      written += `\`\`\`console\n${command}\n${output === "" ? "" : `${output}\n`}\`\`\`\n`;
    }
    written += page.slice(end);
    expect(examples).toBeGreaterThan(12);
    if (UPDATES) writeFileSync(PATH, written);
    else expect(page).toBe(written);
  },
);

it("docs/policy-lifecycle.md documents every command, every requirement and every value of drift", () => {
  const page = readFileSync(PATH, "utf8");
  const names = [
    ...[
      "list",
      "show",
      "diff",
      "approve",
      "promote",
      "rollback",
      "withdraw",
      "release",
      "history",
      "verify",
    ].map((command) => `policy ${command}`),
    ...[
      "approvals",
      "roles",
      "self_approval",
      "soak",
      "min_decisions",
      "no_indeterminate",
      "report",
      "assertions",
    ].map((name) => `| \`${name}\``),
    ...[
      "files_differ",
      "files_held",
      "files_withdrawn",
      "candidate_not_in_files",
      "not_in_files",
      "module_differs",
    ].map((name) => `| \`${name}\``),
  ];
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});
