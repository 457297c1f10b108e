import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { DARK, LIGHT, paletteStyle } from "../../src/cli/simulate/formats/html/style.ts";
import { BUNDLED, packageOf } from "../build/bundled.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SOURCE = join(ROOT, "console");

/**
 * Writes the console's page: `index.html`, and below `assets/` the scripts, the style, the fonts
 * and the icons, each but `favicon.ico` with a hash of its content in its name.
 *
 * @param folder is emptied first.
 * @throws {Error} for any warning of the bundler, and for a package that is not in the notices.
 */
export async function buildConsole(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const assets = join(folder, "assets");
  mkdirSync(assets, { recursive: true });
  const bundle = await rolldown({
    input: { console: join(SOURCE, "main.tsx") },
    cwd: ROOT,
    platform: "browser",
    resolve: { alias: { "node:util": join(import.meta.dirname, "no-colours.ts") } },
    tsconfig: false,
    transform: { target: "es2023", jsx: { runtime: "automatic", importSource: "preact" } },
    onLog: (level, log) => {
      throw new Error(`console: ${level}: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    dir: assets,
    format: "esm",
    minify: true,
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
    comments: false,
  });
  await bundle.close();
  const chunks = output.filter((each) => each.type === "chunk");
  // Both are in the notices and the bill of materials.
  const { dependencies }: { dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const packages = new Set(
    chunks.flatMap(({ modules }) => Object.keys(modules).flatMap(packagesOf)),
  );
  for (const name of packages) {
    if (!BUNDLED.includes(name) && dependencies[name] === undefined) {
      throw new Error(`console: ${name} is not in tools/build/bundled.ts`);
    }
  }
  const script = chunks.find(({ isEntry }) => isEntry)?.fileName ?? "";
  const style = writeHashed(assets, "console", "css", writeFonts(assets) + styleSheet());
  writeFileSync(join(assets, "favicon.ico"), readFileSync(join(SOURCE, "favicon.ico")));
  const icon = writeHashed(assets, "icon", "svg", readFileSync(join(SOURCE, "icon.svg"), "utf8"));
  const page = readFileSync(join(SOURCE, "index.html"), "utf8");
  writeFileSync(
    join(folder, "index.html"),
    page.replace("SCRIPT", script).replace("STYLE", style).replace("ICON", icon),
  );
}

/**
 * The palette of the simulation's HTML report, so that both look alike; then our rules in the order
 * of their names.
 */
function styleSheet(): string {
  const folder = join(SOURCE, "style");
  const chart = readFileSync(join(ROOT, "node_modules/uplot/dist/uPlot.min.css"), "utf8");
  const palette = `:root{${paletteStyle(LIGHT)}}\n@media (prefers-color-scheme:dark){:root{${paletteStyle(DARK)}}}\n`;
  const own = readdirSync(folder).toSorted();
  return [chart, palette, ...own.map((name) => readFileSync(join(folder, name), "utf8"))].join(
    "\n",
  );
}

/** @returns their declarations. No page of ours loads a font from elsewhere. */
function writeFonts(assets: string): string {
  const folder = join(SOURCE, "fonts");
  const files = readdirSync(folder).filter((name) => name.endsWith(".woff2"));
  return files
    .toSorted()
    .map((name) => {
      const [, face = "", weight = ""] = /^plex-(sans|mono)-(\d+)/.exec(name) ?? [];
      const file = writeHashed(
        assets,
        `plex-${face}-${weight}`,
        "woff2",
        readFileSync(join(folder, name)),
      );
      return `@font-face{font-family:"Plex ${face}";font-weight:${weight};font-display:swap;src:url("${file}") format("woff2")}\n`;
    })
    .join("");
}

function writeHashed(
  folder: string,
  name: string,
  extension: string,
  content: string | Uint8Array,
): string {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 8);
  const file = `${name}-${hash}.${extension}`;
  writeFileSync(join(folder, file), content);
  return file;
}

function packagesOf(id: string): readonly string[] {
  const [, path] = /node_modules\/(.+)/.exec(id) ?? [];
  return path === undefined ? [] : [packageOf(path)];
}
