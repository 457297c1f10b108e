// layout.mjs OUT ARCHITECTURE PACKAGES SBOM LAYER…: writes an OCI image layout (image-spec 1.1) of the layers, with the bill of materials as
// an artifact that refers to the image. Called by build.sh.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [out, architecture, packagesFile, sbomFile, ...layerFiles] = process.argv.slice(2);
const ROOT = new URL("../../", import.meta.url);
const { version, license } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8"));
const { optionalDependencies } = JSON.parse(
  readFileSync(new URL("tools/node/package.json", ROOT), "utf8"),
);
// One command for the Dockerfile, compose.yaml and this image.
const dockerfile = readFileSync(new URL("deploy/Dockerfile", ROOT), "utf8");
const instruction = (name) =>
  JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, "m").exec(dockerfile)[1]);

const OCI = "application/vnd.oci.image";
const CYCLONE = "application/vnd.cyclonedx+json";

mkdirSync(join(out, "blobs/sha256"), { recursive: true });

function blob(mediaType, bytes) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  writeFileSync(join(out, "blobs/sha256", sha256), bytes);
  return { mediaType, digest: `sha256:${sha256}`, size: bytes.length };
}

const json = (mediaType, value) => blob(mediaType, Buffer.from(JSON.stringify(value)));

const layers = layerFiles.map((file) => {
  const bytes = readFileSync(file);
  return {
    diffId: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    descriptor: blob(`${OCI}.layer.v1.tar+gzip`, gzipSync(bytes, { level: 6 })),
  };
});

const labels = {
  "org.opencontainers.image.title": "signalbox",
  "org.opencontainers.image.version": version,
  "org.opencontainers.image.licenses": license,
};

const config = json(`${OCI}.config.v1+json`, {
  architecture,
  os: "linux",
  config: {
    User: "10001:10001",
    WorkingDir: "/var/lib/signalbox",
    Entrypoint: ["/usr/local/bin/node", ...instruction("ENTRYPOINT").slice(1)],
    Cmd: instruction("CMD"),
    Env: ["PATH=/usr/local/bin", "XDG_CACHE_HOME=/var/lib/signalbox/cache"],
    ExposedPorts: { "8080/tcp": {}, "8081/tcp": {} },
    Volumes: { "/var/lib/signalbox": {} },
    Labels: labels,
    StopSignal: "SIGTERM",
  },
  rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
});

const image = json(`${OCI}.manifest.v1+json`, {
  schemaVersion: 2,
  mediaType: `${OCI}.manifest.v1+json`,
  config,
  layers: layers.map(({ descriptor }) => descriptor),
  annotations: labels,
});

/** The package's own bill of materials, with Node and the system's libraries. */
function billOfMaterials() {
  const sbom = JSON.parse(readFileSync(sbomFile, "utf8"));
  const system = readFileSync(packagesFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [name, debian, arch] = line.split(" ");
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(debian)}?arch=${arch}`;
      return { type: "library", name, version: debian, purl, "bom-ref": purl };
    });
  const node = Object.values(optionalDependencies)[0];
  const runtime = {
    type: "platform",
    name: "node",
    version: node,
    purl: `pkg:generic/node@${node}`,
    "bom-ref": `pkg:generic/node@${node}`,
  };
  return { ...sbom, components: [...sbom.components, runtime, ...system] };
}

const bill = json(CYCLONE, billOfMaterials());
const attached = json(`${OCI}.manifest.v1+json`, {
  schemaVersion: 2,
  mediaType: `${OCI}.manifest.v1+json`,
  artifactType: CYCLONE,
  config: blob("application/vnd.oci.empty.v1+json", Buffer.from("{}")),
  layers: [bill],
  subject: image,
});

writeFileSync(join(out, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
writeFileSync(
  join(out, "index.json"),
  JSON.stringify({
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests: [
      {
        ...image,
        platform: { architecture, os: "linux" },
        annotations: { "org.opencontainers.image.ref.name": version },
      },
      { ...attached, artifactType: CYCLONE },
    ],
  }),
);
process.stdout.write(`${out}: signalbox:${version}, linux/${architecture}, ${image.digest}\n`);
for (const { descriptor } of layers)
  process.stdout.write(`  layer ${(descriptor.size / 1e6).toFixed(1)} MB ${descriptor.digest}\n`);
process.stdout.write(`  bill of materials ${bill.digest}\n`);
