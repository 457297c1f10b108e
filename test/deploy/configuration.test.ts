import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCommands } from "../../src/cli/commands.ts";
import { documents, ROOT, text, type Document } from "./deployed.ts";

const FOLDER = "deploy/configuration";

async function command(...argv: readonly string[]): Promise<readonly [number, string]> {
  let printed = "";
  const write = (content: string): void => void (printed += content);
  const io = {
    stdout: write,
    stderr: write,
    stdin: () => Promise.resolve(""),
    environment: {},
    cwd: ROOT,
    terminal: false,
  };
  return [await runCommands(argv, { ...io, columns: 120, stderrTerminal: false }), printed];
}

const CACHE = ["--cache", join(ROOT, ".signalbox/test-cache")];

/** The policies' files below the folder, by path. */
function policyFiles(): readonly string[] {
  return readdirSync(join(ROOT, FOLDER, "policies"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".rego"))
    .map((path) => `policies/${path}`)
    .toSorted();
}

describe("the example configuration", () => {
  it.each([[], ["--environment", "production"]])(
    "has no error and no warning: %s",
    async (...flags) => {
      const [code, printed] = await command(
        "check",
        "--strict",
        "--config",
        `${FOLDER}/routes.yaml`,
        ...flags,
        ...CACHE,
      );
      expect([code, printed]).toEqual([0, expect.stringContaining("1 routes, 2 endpoints")]);
    },
  );

  it("is the configuration of Kubernetes too: every policy is in the ConfigMap, and at its path in the pod", async () => {
    const [{ configMapGenerator }] = documents(`${FOLDER}/kustomization.yaml`) as [Document];
    const [routes, policies] = configMapGenerator;
    expect(routes).toEqual({
      name: "signalbox-routes",
      files: ["routes.yaml", "routes.production.yaml"],
    });
    const sources = new Map<string, string>(
      policies.files.map((line: string) => line.split("=") as [string, string]),
    );
    expect([...sources.values()].toSorted()).toEqual(policyFiles());

    const [deployment] = documents("deploy/kubernetes/deployment.yaml") as [Document];
    const volume = deployment.spec.template.spec.volumes.find(
      ({ name }: Document) => name === "configuration",
    );
    const [fromRoutes, fromPolicies] = volume.projected.sources.map(
      ({ configMap }: Document) => configMap,
    );
    expect([fromRoutes, fromPolicies.name]).toEqual([
      { name: "signalbox-routes" },
      "signalbox-policies",
    ]);
    const items = new Map<string, string>(
      fromPolicies.items.map(({ key, path }: Document) => [key, path]),
    );
    for (const [key, source] of sources) expect([key, items.get(key)]).toEqual([key, source]);
    expect(items.size).toBe(sources.size);

    // As the kubelet lays a volume out: what is at the top is a link into a folder that is itself a
    // link.
    const volumeFolder = mkdtempSync(join(tmpdir(), "signalbox-volume-"));
    onTestFinished(() => rmSync(volumeFolder, { recursive: true, force: true }));
    const data = join(volumeFolder, "..2026_11_22");
    const written = [
      ...[...items].map(([key, path]) => [path, sources.get(key) ?? ""] as const),
      ...routes.files.map((file: string) => [file, file] as const),
    ];
    for (const [path, source] of written) {
      mkdirSync(dirname(join(data, path)), { recursive: true });
      writeFileSync(join(data, path), text(join(FOLDER, source)));
    }
    symlinkSync("..2026_11_22", join(volumeFolder, "..data"));
    for (const name of [...routes.files, "policies"])
      symlinkSync(`..data/${name}`, join(volumeFolder, name));
    const [code, printed] = await command(
      "check",
      "--strict",
      "--config",
      join(volumeFolder, "routes.yaml"),
      ...CACHE,
    );
    const [, beside] = await command(
      "check",
      "--strict",
      "--config",
      `${FOLDER}/routes.yaml`,
      ...CACHE,
    );
    expect(code).toBe(0);
    expect(/table \w+/.exec(printed)?.[0]).toBe(/table \w+/.exec(beside)?.[0]);
    // The policies behind the links are read, too: one that is broken is found.
    writeFileSync(join(data, "policies/eu-residency.rego"), "package nothing");
    expect(
      (await command("check", "--config", join(volumeFolder, "routes.yaml"), ...CACHE))[0],
    ).toBe(1);
  });
});
