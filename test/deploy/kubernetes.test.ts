import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { programAtHand } from "../support/at-hand.ts";
import { documents, ROOT, serveOptions, text, type Document } from "./deployed.ts";

const FOLDER = "deploy/kubernetes";
const OVERLAY = "deploy/kubernetes-production";
const [kustomization] = documents(`${FOLDER}/kustomization.yaml`) as [Document];
const files: readonly string[] = kustomization.resources.filter((path: string) =>
  path.endsWith(".yaml"),
);
const manifests = files.flatMap((path) => documents(`${FOLDER}/${path}`));
const one = (kind: string, name = "signalbox"): Document => {
  const found = manifests.filter(
    (manifest) => manifest.kind === kind && manifest.metadata.name === name,
  );
  if (found.length !== 1) throw new Error(`${kind} ${name}: ${found.length} of them`);
  return found[0];
};

const deployment = one("Deployment");
const { template } = deployment.spec;
const pod = template.spec;
const [container] = pod.containers;
const options = serveOptions(container.args);
const ports = new Map<string, number>(
  container.ports.map((port: Document) => [port.name, port.containerPort]),
);

/** The output of kustomize for a folder; `null` where kubectl is not here. */
function built(folder: string = FOLDER): string | null {
  if (programAtHand("kubectl") === null) return null;
  const { status, stdout, stderr } = spawnSync("kubectl", ["kustomize", join(ROOT, folder)], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

describe("the pods", () => {
  it("start the server with existing flags, on their named ports", () => {
    expect(Object.fromEntries(ports)).toEqual({ public: options.port, admin: options.adminPort });
    expect([options.host, options.adminHost, options.log?.format]).toEqual([
      "0.0.0.0",
      "0.0.0.0",
      "json",
    ]);
    expect(options.exposure).toBe("behind_proxy");
    const manifest: { version: string } = JSON.parse(text("package.json"));
    expect(container.image).toBe(`signalbox:${manifest.version}`);
    expect(kustomization.images).toEqual([
      { name: "signalbox", newName: "signalbox", newTag: manifest.version },
    ]);
  });

  it("accept the flags and variables in the comment of the patch", () => {
    const [, commented = ""] = text(`${FOLDER}/kustomization.yaml`).split("# patches:\n");
    const operations: readonly Document[] = parse(
      parse(commented.replaceAll(/^# /gm, ""))[0].patch,
    );
    const added = (path: string) =>
      operations.filter((each) => each.path === `/spec/template/spec/containers/0/${path}/-`);
    const argv = [...container.args, ...added("args").map(({ value }) => value)];
    expect(serveOptions(argv)).toMatchObject({
      egressProxy: true,
      keepAlive: 620_000,
      limits: { answerBytes: 67_108_864 },
    });
    expect(added("env").map(({ value }) => value.name)).toEqual(["HTTPS_PROXY", "NO_PROXY"]);
    expect(operations.every(({ op }) => op === "add")).toBe(true);
  });

  it("are sent where the server answers probes", () => {
    const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map(
      (name) => container[name].httpGet,
    );
    expect(probes).toEqual([
      { path: "/livez", port: "admin" },
      { path: "/livez", port: "admin" },
      { path: "/readyz", port: "admin" },
    ]);
    // A database that is away takes replicas out of service; it must not restart them.
    expect(container.livenessProbe.httpGet.path).not.toBe("/readyz");
  });

  it("have time for the balancers to deregister them, and then for the drain", () => {
    const reported = container.lifecycle.preStop.sleep.seconds;
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(reported).toBeGreaterThanOrEqual(periodSeconds * failureThreshold);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(reported + options.drain / 1_000);
  });

  it("run as an unprivileged user, without unused rights", () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10001,
        runAsGroup: 10001,
        seccompProfile: { type: "RuntimeDefault" },
      },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(["hostNetwork", "hostPID", "hostIPC"].filter((name) => name in pod)).toEqual([]);
    expect(pod.volumes.filter((volume: Document) => "hostPath" in volume)).toEqual([]);
    expect(one("Namespace").metadata.labels["pod-security.kubernetes.io/enforce"]).toBe(
      "restricted",
    );
  });

  it("write to one volume, and mount all that they name", () => {
    const mounts: readonly Document[] = container.volumeMounts;
    expect(
      mounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath),
    ).toEqual(["/var/lib/signalbox"]);
    expect(new Set(mounts.map(({ name }) => name))).toEqual(
      new Set(pod.volumes.map(({ name }: Document) => name)),
    );
    const keys = mounts.find(({ name }) => name === "provider-keys").mountPath;
    const named = [
      ...text("deploy/configuration/routes.yaml").matchAll(/\{ file: (\S+)\/[\w-]+ \}/g),
    ];
    expect(named.map(([, folder]) => folder)).toEqual([keys, keys]);
  });

  it("reference every secret", () => {
    for (const variable of container.env)
      expect([variable.name, Object.keys(variable.valueFrom)]).toEqual([
        variable.name,
        ["secretKeyRef"],
      ]);
    expect(manifests.filter(({ kind }) => kind === "Secret")).toEqual([]);
  });

  it("request resources, are spread, and outnumber the allowed disruption", () => {
    expect(Object.keys(container.resources.requests)).toEqual(["cpu", "memory"]);
    expect(container.resources.limits.memory).toBeDefined();
    const keys = pod.topologySpreadConstraints.map(({ topologyKey }: Document) => topologyKey);
    expect(keys).toEqual(["topology.kubernetes.io/zone", "kubernetes.io/hostname"]);
    expect(one("PodDisruptionBudget").spec.maxUnavailable).toBeLessThan(deployment.spec.replicas);
    expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
  });
});

describe("services and network policies of the pods", () => {
  const { labels } = template.metadata;

  it("select the pods by their labels", () => {
    const selectors: readonly Document[] = [
      deployment.spec.selector.matchLabels,
      one("PodDisruptionBudget").spec.selector.matchLabels,
      one("NetworkPolicy").spec.podSelector.matchLabels,
      one("Service").spec.selector,
      one("Service", "signalbox-admin").spec.selector,
      ...pod.topologySpreadConstraints.map(
        ({ labelSelector }: Document) => labelSelector.matchLabels,
      ),
    ];
    for (const selector of selectors) expect(selector).toEqual(labels);
    expect(one("ServiceAccount").metadata.name).toBe(pod.serviceAccountName);
  });

  it("lead to the named ports of the pods", () => {
    const targets = [one("Service"), one("Service", "signalbox-admin")].flatMap(({ spec }) =>
      spec.ports.map(({ targetPort }: Document) => targetPort),
    );
    expect(targets).toEqual(["public", "admin"]);
    expect(
      manifests.filter(
        ({ kind, spec }) => kind === "Service" && !["ClusterIP", undefined].includes(spec.type),
      ),
    ).toEqual([]);
  });

  it("admit products on the public port only, and the server to its dependencies", () => {
    const { ingress, egress, policyTypes } = one("NetworkPolicy").spec;
    expect(policyTypes).toEqual(["Ingress", "Egress"]);
    const admitted = ingress.map((rule: Document) => [
      rule.ports.map(({ port }: Document) => port),
      rule.from.length,
    ]);
    expect(admitted).toEqual([
      [[options.port], 1],
      [[options.adminPort], 1],
    ]);
    const blocks = egress.flatMap(({ to }: Document) =>
      to.filter((peer: Document) => "ipBlock" in peer),
    );
    expect(blocks).toHaveLength(1);
    expect(blocks[0].ipBlock.except).toEqual(
      expect.arrayContaining([
        "10.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
      ]),
    );
  });
});

describe("kustomize", () => {
  it("renders the manifests, with a new name for changed files", (context) => {
    const output = built();
    if (output === null) return context.skip("kubectl is not here");
    const made: readonly Document[] = parseAllDocuments(output).map((document) => document.toJS());
    expect(made).toHaveLength(manifests.length + 2);
    expect(
      made.filter(
        ({ kind, metadata }) => kind !== "Namespace" && metadata.namespace !== "signalbox",
      ),
    ).toEqual([]);
    const maps = made.filter(({ kind }) => kind === "ConfigMap");
    const names: readonly string[] = maps.map(({ metadata }): string => metadata.name).toSorted();
    expect(names).toEqual([
      expect.stringMatching(/^signalbox-policies-\w{10}$/),
      expect.stringMatching(/^signalbox-routes-\w{10}$/),
    ]);
    const { sources } = made
      .find(({ kind }) => kind === "Deployment")
      .spec.template.spec.volumes.find(({ name }: Document) => name === "configuration").projected;
    expect(new Set(sources.map(({ configMap }: Document) => configMap.name))).toEqual(
      new Set(names),
    );
    const routes = maps.find(({ metadata }) => metadata.name.startsWith("signalbox-routes"));
    expect(parse(routes.data["routes.yaml"])).toEqual(
      documents("deploy/configuration/routes.yaml")[0],
    );
  });

  it("renders the overlay as the chart renders its values", (context) => {
    const output = built(OVERLAY);
    if (output === null) return context.skip("kubectl is not here");
    const made: readonly Document[] = parseAllDocuments(output).map((document) => document.toJS());
    // As Kubernetes reads YAML: 0440 is octal.
    const chart = parseAllDocuments(text("test/deploy/helm/rendered-full.yaml"), { version: "1.1" })
      .map((document): Document => document.toJS())
      .filter((each) => each !== null);
    const [ours, theirs] = [made, chart].map(
      (from) =>
        (kind: string): Document =>
          from.find((each) => each.kind === kind && each.metadata.name === "signalbox"),
    );
    if (ours === undefined || theirs === undefined) throw new Error("two sides");
    for (const kind of ["NetworkPolicy", "PodDisruptionBudget", "HorizontalPodAutoscaler"])
      expect(ours(kind).spec, kind).toEqual(theirs(kind).spec);
    for (const member of ["automountServiceAccountToken", "kind"])
      expect(ours("ServiceAccount")[member]).toEqual(theirs("ServiceAccount")[member]);
    expect(ours("ServiceAccount").metadata.annotations).toEqual(
      theirs("ServiceAccount").metadata.annotations,
    );
    expect(ours("Deployment").spec.replicas).toBeUndefined();
    const [own, other] = [ours, theirs].map((side) => side("Deployment").spec.template.spec);
    // Files are ConfigMaps of other names; an affinity and an init container are the chart's alone.
    const common = ({ volumes, ...spec }: Document): Document => ({
      ...spec,
      affinity: undefined,
      initContainers: undefined,
      volumes: volumes.filter(({ name }: Document) => name !== "configuration"),
    });
    expect(common(own)).toEqual(common(other));
    const routes = made.find(({ metadata }) => metadata.name.startsWith("signalbox-routes"));
    expect(Object.keys(routes.data)).toEqual(["routes.production.yaml", "routes.yaml"]);
  });

  it.for([FOLDER, OVERLAY])(
    "renders %s to manifests that the schemas of Kubernetes accept",
    (folder, context) => {
      const output = built(folder);
      const program = process.env.KUBERNETES_VALIDATE ?? programAtHand("kubernetes-validate");
      if (output === null || program === null) {
        return context.skip("kubectl or kubernetes-validate (PyPI) is not here");
      }
      const temporary = mkdtempSync(join(tmpdir(), "signalbox-manifests-"));
      onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
      writeFileSync(join(temporary, "all.yaml"), output);
      for (const version of ["1.32", "1.37"]) {
        const flags = ["--strict", "--kubernetes-version", version, join(temporary, "all.yaml")];
        const { status, stdout, stderr } = spawnSync(program, flags, { encoding: "utf8" });
        expect([status, /FATAL|ERROR/.test(stdout + stderr)], stdout + stderr).toEqual([0, false]);
      }
    },
  );
});
