import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProductionPackage, ProductionTree } from "./production-tree.ts";

const RULE = "=".repeat(100);

/**
 * The licences and notices of every package of the tree; packages with the same text are listed
 * together.
 */
export function formatNotices(root: string, tree: ProductionTree): string {
  const byText = new Map<string, string[]>();
  for (const one of tree.packages) {
    const text = licenceText(root, one);
    byText.set(text, [...(byText.get(text) ?? []), `${one.name} ${one.version} (${one.licence})`]);
  }
  const fonts = clean(readFileSync(join(root, "console/fonts/LICENSE"), "utf8"));
  byText.set(fonts, ["IBM Plex Sans and IBM Plex Mono, fonts of the console (OFL-1.1)"]);
  const sections = [...byText].map(
    ([text, names]) => `${RULE}\n${names.join("\n")}\n${RULE}\n\n${text}\n`,
  );
  return `Licences of the packages that an installation of Signalbox brings, as its lockfile has them.
Written by \`npm run tool -- notices\`; do not edit. What is linked into the Rego toolchain has its own file, tools/rego/dist/NOTICES.

${sections.join("\n")}`;
}

/**
 * A package's own files; where it has none, the text in its README, else the licence's standard
 * text. @throws {Error} where there is none of these
 */
function licenceText(root: string, { path, name, licence }: ProductionPackage): string {
  const folder = join(root, path);
  const files = readdirSync(folder).filter((file) =>
    /^(un)?(licen[cs]e|copying|notice)([-._].*)?$/i.test(file),
  );
  const texts = files.toSorted().map((file) => clean(readFileSync(join(folder, file), "utf8")));
  if (texts.length > 0) return texts.join("\n\n");
  const readme = readdirSync(folder).find((file) => /^readme\.md$/i.test(file));
  const [said = ""] =
    /Copyright \(c\)[^]*?IN THE\s+SOFTWARE\.|Copyright \(c\)[^]*?OTHER DEALINGS IN THE SOFTWARE\./.exec(
      readme === undefined ? "" : readFileSync(join(folder, readme), "utf8"),
    ) ?? [];
  if (said !== "") return clean(said);
  const standard =
    licence === "Apache-2.0"
      ? join(root, "LICENSE")
      : join(root, "tools/notices/licences", `${licence}.txt`);
  if (!existsSync(standard))
    throw new Error(`${name}: no licence text; add tools/notices/licences/${licence}.txt`);
  return clean(readFileSync(standard, "utf8"));
}

function clean(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[ \t]+$/gm, "")
    .trim();
}
