// unpack.mjs LAYOUT BUNDLE: verifies every digest of an image layout, unpacks its layers into BUNDLE/rootfs, and writes the config.json
// (runtime-spec) of a container with a read-only root, without capabilities, on the machine's network; and one that prints Node's version
// into BUNDLE/probe. unpack.mjs --command LAYOUT prints the image's command, an argument a line. PORT and ADMIN_PORT replace the
// image's ports, which may be in use on this machine. Called by try.sh.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const printsCommand = process.argv[2] === "--command";
const [layout, bundle] = process.argv.slice(printsCommand ? 3 : 2);

function blob({ digest, size }) {
  const bytes = readFileSync(join(layout, "blobs", digest.replace(":", "/")));
  const found = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (found !== digest || bytes.length !== size)
    throw new Error(`${digest}: the blob has other bytes`);
  return bytes;
}
const read = (descriptor) => JSON.parse(blob(descriptor).toString("utf8"));

const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
const [image, attached] = index.manifests;
const manifest = read(image);
const { config, rootfs } = read(manifest.config);
const ports = { "--port": process.env["PORT"], "--admin-port": process.env["ADMIN_PORT"] };
const args = [...config.Entrypoint, ...config.Cmd].map(
  (argument, position, all) => ports[all[position - 1]] ?? argument,
);

if (printsCommand) {
  process.stdout.write(`${args.join("\n")}\n`);
} else {
  const { subject, layers } = read(attached);
  if (subject.digest !== image.digest) throw new Error("the bill of materials is of another image");
  const { components } = read(layers[0]);
  process.stdout.write(
    `every digest verified; bill of materials: ${components.length} components\n`,
  );
  for (const [position, layer] of manifest.layers.entries()) {
    const tar = gunzipSync(blob(layer));
    const diffId = `sha256:${createHash("sha256").update(tar).digest("hex")}`;
    if (diffId !== rootfs.diff_ids[position])
      throw new Error(`layer ${position}: differs from its diff_id`);
    execFileSync(
      "tar",
      ["--extract", "--same-owner", "--same-permissions", "--directory", join(bundle, "rootfs")],
      {
        input: tar,
      },
    );
  }
  const [uid, gid] = config.User.split(":").map(Number);
  const bind = (destination, source, options) => ({
    destination,
    type: "bind",
    source,
    options: ["bind", ...options],
  });
  const container = (argv) =>
    JSON.stringify({
      ociVersion: "1.0.2",
      process: {
        user: { uid, gid },
        args: argv,
        env: config.Env,
        cwd: config.WorkingDir,
        noNewPrivileges: true,
        capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      },
      root: { path: join(bundle, "rootfs"), readonly: true },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
        bind("/etc/signalbox", join(bundle, "etc"), ["ro"]),
        bind("/var/lib/signalbox", join(bundle, "data"), ["rw"]),
      ],
      // The network is the machine's, so that the ports can be reached without another program.
      linux: { namespaces: [{ type: "pid" }, { type: "mount" }, { type: "ipc" }, { type: "uts" }] },
    });
  writeFileSync(join(bundle, "config.json"), container(args));
  writeFileSync(join(bundle, "probe/config.json"), container([args[0], "--version"]));
}
