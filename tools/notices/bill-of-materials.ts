import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProductionPackage, ProductionTree } from "./production-tree.ts";

/**
 * The bill of materials, CycloneDX 1.5 as JSON: the packages of the tree and what is linked into
 * the Rego toolchain. No time and no serial number are in it, so that the same tree gives the same
 * bytes. `npm sbom --omit=dev` would not do: it omits what a dependency of development needs too,
 * undici and yaml among them.
 */
export function formatBillOfMaterials(root: string, tree: ProductionTree): string {
  const own = `pkg:npm/signalbox@${tree.version}`;
  const purls = new Map(tree.packages.map((one) => [one.path, purl(one)]));
  const linked = linkedIntoRego(root);
  const refs = (paths: readonly string[]): string[] =>
    paths.map((path) => purls.get(path) ?? "").toSorted();
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": own,
        name: "signalbox",
        version: tree.version,
        purl: own,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: [
      ...tree.packages.map((one) => ({
        type: "library",
        "bom-ref": purl(one),
        name: one.name,
        version: one.version,
        purl: purl(one),
        hashes: [{ alg: "SHA-512", content: one.sha512 }],
        licenses: [{ license: { id: one.licence } }],
      })),
      ...linked.map(({ name, version }) => ({
        type: "library",
        "bom-ref": `pkg:golang/${name}@${version}`,
        name,
        version,
        purl: `pkg:golang/${name}@${version}`,
      })),
    ],
    dependencies: [
      {
        ref: own,
        dependsOn: [
          ...refs(tree.direct),
          ...linked.map(({ name, version }) => `pkg:golang/${name}@${version}`),
        ],
      },
      ...tree.packages.map((one) => ({ ref: purl(one), dependsOn: refs(one.needs) })),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function purl({ name, version }: ProductionPackage): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

/**
 * The Go modules and the standard library in `rego.wasm.br`, from the headings of the notices
 * beside it.
 */
function linkedIntoRego(
  root: string,
): readonly { readonly name: string; readonly version: string }[] {
  const notices = readFileSync(join(root, "tools/rego/dist/NOTICES"), "utf8");
  const modules = new Map<string, string>();
  const [, go = ""] = /^The Go standard library and runtime \(go([\d.]+)\)$/m.exec(notices) ?? [];
  modules.set("std", go);
  for (const [, name = "", version = ""] of notices.matchAll(
    /^={100}\n(\S+) (v\S+): .+\n={100}$/gm,
  ))
    modules.set(name, version);
  return [...modules].map(([name, version]) => ({ name, version }));
}
