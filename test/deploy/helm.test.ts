import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { programAtHand } from "../support/at-hand.ts";
import { documents, ROOT, serveOptions, text, type Document } from "./deployed.ts";

const CHART = "deploy/helm/signalbox";
const RENDERED = "test/deploy/helm/rendered.yaml";
const rendered = documents(RENDERED).filter((document) => document !== null);
const manifests = ["deployment.yaml", "service.yaml", "network-policy.yaml"].flatMap((file) =>
  documents(`deploy/kubernetes/${file}`),
);
const named = (from: readonly Document[], kind: string, name = "signalbox"): Document => {
  const found = from.filter(
    (document) => document.kind === kind && document.metadata.name === name,
  );
  if (found.length !== 1) throw new Error(`${kind} ${name}: ${found.length} of them`);
  return found[0];
};

const program = process.env.HELM ?? programAtHand("helm");

/** What `helm template` prints, or why there is nothing; `null` where Helm is not here. */
function template(
  ...flags: readonly string[]
): { readonly status: number | null; readonly output: string } | null {
  if (program === null) return null;
  const { status, stdout, stderr } = spawnSync(join(ROOT, "test/deploy/helm/helm.sh"), flags, {
    encoding: "utf8",
    env: { ...process.env, HELM: program },
  });
  return { status, output: stdout + stderr };
}

describe("the rendered chart", () => {
  it("is of this version", () => {
    const [chart] = documents(`${CHART}/Chart.yaml`) as [Document];
    const { version }: { version: string } = JSON.parse(text("package.json"));
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
    const [container] = named(rendered, "Deployment").spec.template.spec.containers;
    expect(container.image).toBe(`signalbox:${version}`);
  });

  it("has the manifests that are tested in deploy/kubernetes", () => {
    const others = manifests.filter(({ kind }) => kind !== "Deployment");
    for (const { kind, metadata } of others) {
      expect([kind, named(rendered, kind, metadata.name)]).toEqual([
        kind,
        named(manifests, kind, metadata.name),
      ]);
    }
    expect(rendered).toHaveLength(manifests.length + 1);
    const [own, theirs] = [named(rendered, "Deployment"), named(manifests, "Deployment")].map(
      (deployment: Document) => {
        const { metadata, spec } = deployment.spec.template;
        const volumes = spec.volumes.filter(({ name }: Document) => name !== "configuration");
        return {
          ...deployment.spec,
          template: { labels: metadata.labels, spec: { ...spec, volumes } },
        };
      },
    );
    expect(own).toEqual(theirs);
  });

  it("starts the server with flags that it has", () => {
    const [container] = named(rendered, "Deployment").spec.template.spec.containers;
    expect(serveOptions(container.args)).toMatchObject({
      port: 8080,
      adminPort: 8081,
      drain: 30_000,
    });
  });

  it("mounts routes.yaml, policies and libraries at their paths", () => {
    const { data } = named(rendered, "ConfigMap", "signalbox-configuration");
    const { volumes } = named(rendered, "Deployment").spec.template.spec;
    const { configMap } = volumes.find(({ name }: Document) => name === "configuration");
    expect(
      Object.fromEntries(configMap.items.map(({ key, path }: Document) => [path, data[key]])),
    ).toEqual({
      "routes.yaml": "routes",
      "policies/eu-residency.rego": "policy",
      "policies/lib/workspace.rego": "library",
    });
  });

  it("matches Helm's rendering", (context) => {
    const made = template();
    if (made === null) return context.skip("helm is not here");
    expect(made).toEqual({ status: 0, output: text(RENDERED) });
  });

  it("has everything that values can add: files, identities, ingress, autoscaler, monitor", (context) => {
    const all = documents("test/deploy/helm/rendered-full.yaml").filter((one) => one !== null);
    expect(all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
      "ConfigMap signalbox-configuration",
      "Deployment signalbox",
      "HTTPRoute signalbox",
      "HorizontalPodAutoscaler signalbox",
      "Ingress signalbox",
      "NetworkPolicy signalbox",
      "PodDisruptionBudget signalbox",
      "Service signalbox",
      "Service signalbox-admin",
      "ServiceAccount signalbox",
      "ServiceMonitor signalbox",
    ]);
    const { replicas, template: pod } = named(all, "Deployment").spec;
    const [container, sidecar] = pod.spec.containers;
    expect(replicas).toBeUndefined();
    expect(sidecar.name).toBe("proxy");
    expect(serveOptions(container.args)).toMatchObject({ environment: "production" });
    expect(container.volumeMounts.at(-1).mountPath).toBe("/etc/certificates");
    const { configMap } = pod.spec.volumes[0];
    const { data } = named(all, "ConfigMap", "signalbox-configuration");
    expect(
      Object.fromEntries(configMap.items.map(({ key, path }: Document) => [path, data[key]])),
    ).toMatchObject({ "routes.production.yaml": "overlay", "teams/shop.yaml": "included" });
    // The monitor finds the service that has its label, and its port by name.
    const monitor = named(all, "ServiceMonitor").spec;
    const { metadata, spec } = named(all, "Service", "signalbox-admin");
    expect(metadata.labels).toMatchObject(monitor.selector.matchLabels);
    expect(spec.ports.map(({ name }: Document) => name)).toContain(monitor.endpoints[0].port);
    const made = template("--values", "test/deploy/helm/values-full.yaml");
    if (made === null) return context.skip("helm is not here");
    expect(made).toEqual({ status: 0, output: text("test/deploy/helm/rendered-full.yaml") });
  });

  it("reads the configuration from a volume that something else fills, and then needs no text", (context) => {
    const made = template(
      "--set",
      "configuration.routes=",
      "--set-json",
      'configuration.volume={"emptyDir":{}}',
      "--set",
      "configuration.path=current/routes.yaml",
    );
    if (made === null) return context.skip("helm is not here");
    expect(made.status, made.output).toBe(0);
    const all = parseAllDocuments(made.output).flatMap(
      (document): Document => document.toJS() ?? [],
    );
    expect(all.map(({ kind }) => kind)).not.toContain("ConfigMap");
    const { spec } = named(all, "Deployment").spec.template;
    expect(spec.volumes[0]).toEqual({ name: "configuration", emptyDir: {} });
    expect(spec.containers[0].args[1]).toBe("--config=/etc/signalbox/current/routes.yaml");
  });

  it("passes Helm's own checks", (context) => {
    if (program === null) return context.skip("helm is not here");
    const { status, stdout } = spawnSync(program, ["lint", "--strict", CHART], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining("1 chart(s) linted, 0 chart(s) failed"),
    ]);
    expect(stdout).not.toContain("[WARNING]");
  });

  it("accepts the flags and variables of a forward proxy, and admits calls to it", (context) => {
    const way = {
      to: [{ ipBlock: { cidr: "10.0.0.9/32" } }],
      ports: [{ port: 3128, protocol: "TCP" }],
    };
    const env = [{ name: "HTTPS_PROXY", value: "http://10.0.0.9:3128" }];
    const made = template(
      "--set-json",
      `flags=${JSON.stringify(["--egress-proxy", "--keep-alive=620", "--max-answer-bytes=9"])}`,
      "--set-json",
      `env=${JSON.stringify(env)}`,
      "--set-json",
      `networkPolicy.egress=${JSON.stringify([way])}`,
    );
    if (made === null) return context.skip("helm is not here");
    expect(made.status, made.output).toBe(0);
    const all = parseAllDocuments(made.output).flatMap(
      (document): Document => document.toJS() ?? [],
    );
    const [container] = named(all, "Deployment").spec.template.spec.containers;
    expect(serveOptions(container.args)).toMatchObject({
      egressProxy: true,
      keepAlive: 620_000,
      limits: { answerBytes: 9 },
    });
    expect(container.env.slice(2)).toEqual(env);
    expect(named(all, "NetworkPolicy").spec.egress.at(-1)).toEqual(way);
  });

  it.for([
    ["a flag without dashes", "--set-json", 'flags=["egress-proxy"]', "flags/0"],
    ["a misspelt value", "--set", "replica=2", "'replica' not allowed"],
    ["a wrong digest", "--set", "image.digest=latest", "image/digest"],
    ["no routes.yaml", "--set", "configuration.routes=", "configuration.routes is empty"],
    ["an ingress without a host", "--set", "ingress.enabled=true", "ingress.hosts is empty"],
    ["a route without a gateway", "--set", "gateway.enabled=true", "gateway.parentRefs is empty"],
    [
      "a file outside of the folder",
      "--set",
      "configuration.files.\\.\\./x=y",
      "invalid propertyName",
    ],
  ])("refuses %s", ([, flag = "", value = "", message = ""], context) => {
    const made = template(flag, value);
    if (made === null) return context.skip("helm is not here");
    expect(made).toEqual({ status: 1, output: expect.stringContaining(message) });
  });
});
