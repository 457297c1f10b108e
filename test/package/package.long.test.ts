import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { builtinModules } from "node:module";
import { homedir, hostname, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bringNodes, install, oldestNodes, pack, ROOT, run, type Packed } from "./packed.ts";
import { contractSha256, openApiDocument } from "../../src/http/contract/openapi.ts";
import { checkName } from "../../src/validation/validator.ts";
import { BODY_CHECKS, FILE_CHECKS } from "../../tools/build/checks.ts";
import { readProductionTree } from "../../tools/notices/production-tree.ts";
import { bytesBelow } from "../../tools/notices/install-figures.ts";
import { serveDemo } from "./demo.ts";

/** Everything that may be in the tarball, as rules. */
const ALLOWED = [
  /^dist\/[\w/-]+\.js$/,
  /^dist\/validation\/checks\/[0-9a-f]{32}\.cjs$/,
  /^dist\/http\/contract\/deployed\.json$/,
  /^policies\/([\w-]+\.rego|lib\/[\w-]+\.rego|assertions\.yaml)$/,
  /^docs\/examples\/(eu|us)-fallback\/(routes\.yaml|policies\/([\w-]+\.rego|lib\/[\w-]+\.rego|assertions\.yaml))$/,
  /^policy-library\/[\w-]+\.rego$/,
  /^tools\/rego\/dist\/(NOTICES|manifest\.json|rego\.wasm\.br)$/,
  /^schemas\/(routes(-part|-overlay)?|input|assertions|simulation)\.schema\.json$/,
  /^\.regal\/config\.yaml$/,
  /^(README\.md|CHANGELOG\.md|LICENSE|THIRD-PARTY-NOTICES|sbom\.cdx\.json|package\.json|routes\.yaml)$/,
  /^dist\/console\/(index\.html|assets\/(favicon\.ico|[a-z]+(-[a-z0-9]+)*-[\w-]{8}\.(css|js|svg|woff2)))$/,
];

/**
 * What stands after `from` and `import`, and what a function made by `createRequire` is called
 * with; not `node:…`.
 */
const IMPORTED =
  /(?:\bfrom|\bimport|\bimport\(|\bload\(|meta\.url\)(?:\.href\))?\()\s*"((?:@[\w-]+\/)?[\w.-]+(?:\/[\w./-]+)?)"[;,)]/g;

const HELLO = [{ role: "user", content: "Hello" }];

const folder = mkdtempSync(join(tmpdir(), "signalbox-package-"));
const unpacked = join(folder, "package");
let packed: Packed;

beforeAll(async () => {
  packed = await pack(folder);
  await run(process.execPath, folder, "tar", ["-xzf", packed.tarball]);
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }), 120_000);

const text = (path: string): string => readFileSync(join(unpacked, path), "utf8");
const manifest = (): { dependencies: Record<string, string>; bin: Record<string, string> } =>
  JSON.parse(text("package.json"));

function below(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

describe("the tarball", () => {
  it("contains only the listed files: no tests, no recordings, nothing of this machine", () => {
    expect(packed.files.filter((path) => !ALLOWED.some((rule) => rule.test(path)))).toEqual([]);
    expect([...packed.files].toSorted()).toEqual([...below(unpacked)].toSorted());
  });

  it("is complete: every program and thread, every policy, the library, the Rego toolchain, the schemas", () => {
    const sources = [
      ...below(join(ROOT, "src")).map((path) => `src/${path}`),
      ...below(join(ROOT, "mock")).map((path) => `mock/${path}`),
    ].filter((path) => /\.(ts|json)$/.test(path) && !path.endsWith(".d.ts"));
    // What is started by its path: a thread, a process, the simulated provider.
    const threads = sources.filter((path) => /\/(main|(\w+-)?worker|worker-main)\.ts$/.test(path));
    const provider = ["endpoints", "server", "settings"].map((name) => `mock/${name}.ts`);
    const compiled = [...threads, ...provider].map(
      (path) => `dist/${path.replace(/^src\//, "").replace(/\.ts$/, ".js")}`,
    );
    const kept = ["policies", "policy-library"].flatMap((name) =>
      below(join(ROOT, name)).map((path) => `${name}/${path}`),
    );
    const rego = [
      "tools/rego/dist/rego.wasm.br",
      "tools/rego/dist/manifest.json",
      "tools/rego/dist/NOTICES",
    ];
    const wanted = [
      ...compiled,
      ...kept,
      ...rego,
      "routes.yaml",
      "schemas/routes.schema.json",
      "schemas/routes-part.schema.json",
      "schemas/routes-overlay.schema.json",
      "schemas/assertions.schema.json",
      "schemas/input.schema.json",
      "schemas/simulation.schema.json",
      ".regal/config.yaml",
      "LICENSE",
      "THIRD-PARTY-NOTICES",
      "sbom.cdx.json",
    ];
    expect(compiled.length).toBe(10);
    expect(wanted.filter((path) => !packed.files.includes(path))).toEqual([]);
  });

  it("contains each source once, and no file of an older build", () => {
    const programs = packed.files.filter((path) => path.startsWith("dist/"));
    const bundled = programs.flatMap((path) =>
      [...text(path).matchAll(/^\/\/ ((?:src|mock)\/\S+\.(?:ts|json))$/gm)].map(
        ([, source = ""]) => source,
      ),
    );
    expect(bundled.length).toBeGreaterThan(500);
    expect(bundled.toSorted()).toEqual([...new Set(bundled)].toSorted());
    expect(bundled.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const named = new Set(
      programs.flatMap((path) =>
        [...text(path).matchAll(/"(\.{1,2}\/[\w./-]+\.js)"/g)].map(([, other = ""]) =>
          join(dirname(path), other),
        ),
      ),
    );
    const lost = programs.filter((path) => path.startsWith("dist/parts/") && !named.has(path));
    expect(lost).toEqual([]);
  });

  it("has every check of the sources compiled, and their contract", () => {
    const checks = [...Object.values(BODY_CHECKS), ...Object.values(FILE_CHECKS)].map(checkName);
    const held = packed.files.filter((path) => path.startsWith("dist/validation/checks/"));
    expect(held.toSorted()).toEqual(
      [...new Set(checks.map((name) => `dist/validation/checks/${name}`))].toSorted(),
    );
    const { sha256 }: { sha256: string } = JSON.parse(text("dist/http/contract/deployed.json"));
    expect(sha256).toBe(contractSha256(openApiDocument()));
  });

  it("holds the command, which can be run", () => {
    const path = manifest().bin.signalbox ?? "";
    expect(text(path)).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(packed.files).toContain(path);
  });

  it("names no folder, host or registry of its build machine", () => {
    const secrets = [ROOT, homedir(), hostname(), process.env.npm_config_registry ?? ""]
      .map((secret) => secret.replace(/^https?:\/\//, "").replace(/\/$/, ""))
      .filter((secret) => secret.length > 5 && secret.split(".")[1] !== "npmjs");
    const guilty = packed.files.filter(
      (path) => !path.endsWith(".br") && secrets.some((secret) => text(path).includes(secret)),
    );
    expect(secrets).toContain(ROOT);
    expect(guilty).toEqual([]);
  });

  it("imports its dependencies and Node alone, and every dependency is imported", () => {
    const { dependencies } = manifest();
    const seen = new Set<string>();
    // The console's page shows code of clients, which import their SDKs.
    const own = packed.files.filter(
      (file) => file.endsWith(".js") && !file.startsWith("dist/console/"),
    );
    for (const path of own) {
      const specifiers = text(path).matchAll(IMPORTED);
      for (const [, specifier = ""] of specifiers) {
        if (specifier.startsWith(".")) continue;
        seen.add(
          specifier
            .split("/")
            .slice(0, specifier.startsWith("@") ? 2 : 1)
            .join("/"),
        );
      }
    }
    expect([...seen].filter((name) => builtinModules.includes(name))).toEqual([]);
    expect([...seen].toSorted()).toEqual(Object.keys(dependencies).toSorted());
  });
});

describe("the size of its files", () => {
  it("matches docs/deployment.md within a tenth", () => {
    const [, megabytes] =
      /its own files are ([\d.]+)\s+MB/.exec(
        readFileSync(join(ROOT, "docs/deployment.md"), "utf8"),
      ) ?? [];
    expect(Math.abs(Number(megabytes) / (bytesBelow(unpacked) / 1e6) - 1)).toBeLessThan(0.1);
  });
});

describe("installed in an empty project", () => {
  const newest = process.versions.node;
  const [project, versions] = [join(folder, "project"), [...oldestNodes(), newest]];
  let nodes: ReadonlyMap<string, string>;
  let missing: string | null = null;

  beforeAll(async () => {
    const brought = await bringNodes(oldestNodes());
    missing = brought === null ? "no Node to install with can be had from the registry" : null;
    if (brought === null) return;
    nodes = new Map([...brought, [newest, process.execPath]]);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "private": true }\n');
    // By the oldest of them, with --engine-strict: a dependency that requires a newer one is an
    // error.
    const why = await install(nodes.get(versions[0] ?? "") ?? "", project, [packed.tarball]);
    if (why !== null) missing = `the registry cannot be reached (${why})`;
  }, 180_000);

  it("has no script that runs at installation, and no development dependency", (context) => {
    if (missing !== null) return context.skip(missing);
    const installed = below(join(project, "node_modules")).filter((path) =>
      path.endsWith("package.json"),
    );
    const scripted = installed.filter((path) =>
      /"(pre|post)?install"\s*:/.test(readFileSync(join(project, "node_modules", path), "utf8")),
    );
    expect(scripted).toEqual([]);
    const lock: { packages: Record<string, unknown> } = JSON.parse(
      readFileSync(join(project, "package-lock.json"), "utf8"),
    );
    const names = Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ""));
    const tree = readProductionTree(ROOT).packages.map(({ name }) => name);
    const unknown = new Set(
      names.filter((name) => name !== "" && name !== "signalbox" && !tree.includes(name)),
    );
    // Versions may be newer than ours, and one of them may bring a package that ours did not; not
    // many.
    expect(unknown.size).toBeLessThan(5);
    // Bundled packages are in the program and not in the tree.
    expect(names.length).toBeGreaterThan(readProductionTree(ROOT, []).packages.length - 5);
  });

  for (const version of versions) {
    it(`checks, serves and streams on Node ${version}`, { timeout: 120_000 }, async (context) => {
      if (missing !== null) return context.skip(missing);
      const node = nodes.get(version) ?? "";
      // A folder below the project, without routes.yaml: npx finds the command, and --demo its
      // example.
      const cwd = join(project, version);
      mkdirSync(cwd);
      const main = join(project, "node_modules/signalbox/dist/main.js");
      const config = join(project, "node_modules/signalbox/routes.yaml");

      const commands = `node --version && signalbox --version && signalbox check --strict --config ${config}`;
      const { code, stdout } = await run(node, cwd, "npx", ["--no", "-c", commands]);
      // What follows are prices that differ from the list.
      expect([code, ...stdout.trim().split("\n").slice(0, 3)]).toEqual([
        0,
        `v${version}`,
        expect.stringMatching(/^\d+\.\d+\.\d+$/),
        expect.stringMatching(/routes\.yaml: \d+ routes/),
      ]);

      const demo = await serveDemo(node, cwd, "npx", [
        "--no",
        "signalbox",
        "serve",
        "--demo",
        "--port",
        "0",
      ]);
      try {
        const streamed = await demo.post("/v1/chat/completions", {
          stream: true,
          messages: HELLO,
          model: "chat-large",
        });
        expect(streamed.headers.get("content-type")).toContain("text/event-stream");
        const events = (await streamed.text()).split("\n\n").filter((event) => event !== "");
        expect(events.length).toBeGreaterThan(3);
        expect(events.filter((event) => event.includes('"content":"')).length).toBeGreaterThan(1);
        expect(events.at(-1)).toBe("data: [DONE]");

        const message = await demo.post("/api/v1/messages", {
          stream: true,
          messages: HELLO,
          model: "chat-large",
          max_tokens: 50,
        });
        expect(await message.text()).toMatch(
          /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/,
        );

        const embedding = {
          model: "embed-small",
          input: ["one", "another"],
          encoding_format: "base64",
        };
        const { data }: { data: { embedding: string }[] } = JSON.parse(
          await (await demo.post("/v1/embeddings", embedding)).text(),
        );
        expect(data.map((one) => Buffer.from(one.embedding, "base64").length)).toEqual([
          6144, 6144,
        ]);
      } finally {
        const printed = await demo.stop();
        expect(printed).toContain("stopped\n");
        const [, review = ""] = /^ {2}npx (signalbox simulate .*)$/m.exec(printed) ?? [];
        const judged = await run(node, cwd, "npx", ["--no", "-c", review]);
        expect(judged).toMatchObject({ code: 3, stdout: expect.stringMatching(/^FAIL /) });
      }
      const first = "signalbox init --providers openai --yes && signalbox check";
      expect(await run(node, cwd, "npx", ["--no", "-c", first])).toMatchObject({ code: 0 });
      expect(await run(node, cwd, node, [main, "evidence", "verify"])).toMatchObject({ code: 0 });
    });
  }

  it(
    "runs as in its image: under another user, with one writable folder",
    { timeout: 120_000 },
    async (context) => {
      if (missing !== null) return context.skip(missing);
      if ((await confine("/", ["true"])).code !== 0)
        return context.skip("this user may not make mounts, or unshare is not here");
      const state = join(folder, "state");
      mkdirSync(state);
      chownSync(state, 10_001, 10_001);
      chmodSync(folder, 0o755);
      const refused = await confine(state, [
        "sh",
        "-c",
        `touch ${folder}/new /var/tmp/new; touch ${state}/new && id -u`,
      ]);
      expect(refused.stdout).toBe("10001\n");
      expect(refused.stderr.match(/Read-only file system/g)).toHaveLength(2);

      const main = join(project, "node_modules/signalbox/dist/main.js");
      const config = join(project, "node_modules/signalbox/routes.yaml");
      const image = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
      const [, command = "[]"] = /^CMD (.*)$/m.exec(image) ?? [];
      const [, volume = ""] = /^VOLUME (.*)$/m.exec(image) ?? [];
      const [, caches = ""] = /^ENV XDG_CACHE_HOME=(.*)$/m.exec(image) ?? [];
      const cache = caches.replace(volume, state);
      expect(cache.startsWith(state)).toBe(true);
      const ports = ["--port", "0", "--admin-port", "0"];
      const argv = [...(JSON.parse(command) as string[]), "--config", config, ...ports, "--demo"];
      const demo = await serveDemo(
        process.execPath,
        state,
        "unshare",
        confinement(state, ["env", `XDG_CACHE_HOME=${cache}`, "programs/node", main, ...argv]),
      );
      const answer = await demo.post("/v1/chat/completions", {
        stream: true,
        messages: HELLO,
        model: "chat-large",
      });
      expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/);
      expect(await demo.stop()).toContain('"event":"stopped"');
      expect(readdirSync(join(state, ".signalbox"))).toContain("signalbox.db");
      expect(readdirSync(join(cache, "signalbox")).toSorted()).toEqual([
        "code",
        "compiled",
        "secret",
      ]);
    },
  );
});

/**
 * Arguments of `unshare`: a program of the user 10001, without any privilege, in a tree that cannot
 * be written but for one folder.
 */
function confinement(writable: string, command: readonly string[]): readonly string[] {
  const [programs, node] = [join(folder, "programs"), dirname(process.execPath)];
  mkdirSync(programs, { recursive: true });
  const script = `
    mount --bind ${folder} ${folder}
    mount --bind ${node} ${programs}
    [ ${writable} = / ] || mount --bind ${writable} ${writable}
    mount -o remount,ro,bind ${folder}
    mount -o remount,ro,bind /
    exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"`;
  const whole = command.map((argument) =>
    argument === "programs/node" ? join(programs, "node") : argument,
  );
  return ["--mount", "--propagation", "private", "sh", "-eu", "-c", script, "sh", ...whole];
}

function confine(writable: string, command: readonly string[]) {
  return run(process.execPath, folder, "unshare", confinement(writable, command));
}
