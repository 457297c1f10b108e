// Writes THIRD-PARTY-NOTICES and sbom.cdx.json from package-lock.json and node_modules. The size of
// an installation goes to standard error: `npm pack --json` prints JSON.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { formatBillOfMaterials } from "./bill-of-materials.ts";
import { installFigures } from "./install-figures.ts";
import { readProductionTree } from "./production-tree.ts";
import { formatNotices } from "./third-party-notices.ts";

const root = resolve(import.meta.dirname, "../..");
const tree = readProductionTree(root);
writeFileSync(join(root, "THIRD-PARTY-NOTICES"), formatNotices(root, tree));
writeFileSync(join(root, "sbom.cdx.json"), formatBillOfMaterials(root, tree));
const { direct, packages, bytes } = installFigures(root, readProductionTree(root, []));
process.stderr.write(
  `${direct} direct dependencies, ${packages} packages, ${(bytes / 1e6).toFixed(1)} MB without Signalbox itself\n`,
);
