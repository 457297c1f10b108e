import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { contractSha256, openApiDocument } from "../../src/http/contract/openapi.ts";
import { checkName } from "../../src/validation/validator.ts";
import { buildConsole } from "../console/bundle.ts";
import { BUNDLED, packageOf } from "./bundled.ts";
import { BODY_CHECKS, codeOf, FILE_CHECKS } from "./checks.ts";

/**
 * Writes `dist/`: the sources as few files, one for each program and thread beside what they share.
 * The packages of `bundled.ts`, which every start loads, are among them; all others stay in
 * `node_modules`. Names are kept as they are: a stack names our functions.
 */
const ROOT = resolve(import.meta.dirname, "../..");

/**
 * What is started or loaded by its path; each stands in `dist` where its source stands in `src`.
 */
const ENTRIES = [
  "src/main.ts",
  "src/compile/compile-worker.ts",
  "src/policy/toolchain/worker.ts",
  "src/server/workers/worker-main.ts",
  "src/simulate/jobs/worker.ts",
  "src/simulate/promotion-worker.ts",
  "src/store/sqlite/worker.ts",
  "mock/endpoints.ts",
  "mock/server.ts",
  "mock/settings.ts",
];

/** Where a source stands in `dist`. */
function placeOf(path: string): string {
  return relative(ROOT, path)
    .replaceAll("\\", "/")
    .replace(/^src\//, "")
    .replace(/\.ts$/, ".js");
}

const MARK = "SIGNALBOX_MODULE_URL";

/**
 * Keeps `import.meta.url` the address of the module as it stands in `src`: files are found from
 * there, whichever file the module is bundled into.
 */
const moduleAddresses: Plugin = {
  name: "module-addresses",
  transform: {
    filter: { code: /import\.meta\.url/ },
    handler: (code, id) => code.replaceAll("import.meta.url", `${MARK}("${placeOf(id)}")`),
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(MARK)) return null;
    return code.replaceAll(/SIGNALBOX_MODULE_URL\("([^"]+)"\)/g, (_, written: string) => {
      const path = relative(dirname(fileName), written).replaceAll("\\", "/");
      return `new URL("${path.startsWith(".") ? path : `./${path}`}", import.meta.url).href`;
    });
  },
};

const bundle = await rolldown({
  input: Object.fromEntries(
    ENTRIES.map((path) => [placeOf(join(ROOT, path)).replace(/\.js$/, ""), join(ROOT, path)]),
  ),
  cwd: ROOT,
  platform: "node",
  // The oldest Node of `engines`; what it lacks of the library, the type check of
  // tsconfig.build.json finds.
  transform: { target: "es2024" },
  tsconfig: false,
  plugins: [moduleAddresses],
  external: (id) => !/^[./]/.test(id) && !BUNDLED.includes(packageOf(id)),
  onLog: (level, log) => {
    throw new Error(`build: ${level}: ${log.message}`);
  },
});
// An older build's files would be published with this one's.
rmSync(join(ROOT, "dist"), { recursive: true, force: true });
const { output } = await bundle.write({
  dir: join(ROOT, "dist"),
  format: "esm",
  chunkFileNames: "parts/[name]-[hash].js",
  comments: { jsdoc: false },
});
await bundle.close();
// What is not listed is in no bill of materials and no notice.
const inlined = output.flatMap((chunk) =>
  chunk.type === "chunk" ? Object.keys(chunk.modules) : [],
);
const unlisted = inlined.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
for (const name of new Set(unlisted)) {
  if (!BUNDLED.includes(name))
    throw new Error(`build: ${name} is in the bundle but not in tools/build/bundled.ts`);
}

// What a start would otherwise work out anew each time.
const checks = join(ROOT, "dist/validation/checks");
mkdirSync(checks, { recursive: true });
for (const check of [...Object.values(BODY_CHECKS), ...Object.values(FILE_CHECKS)])
  writeFileSync(join(checks, checkName(check)), codeOf(check));
const contract = join(ROOT, "dist/http/contract");
mkdirSync(contract, { recursive: true });
writeFileSync(
  join(contract, "deployed.json"),
  `${JSON.stringify({ sha256: contractSha256(openApiDocument()) })}\n`,
);
await buildConsole(join(ROOT, "dist/console"));
