import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** One file as it is sent. */
export interface BundleFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** The console's page, in memory. */
export interface Bundle {
  readonly page: BundleFile;
  /**
   * By their names below `/console/assets/`; each but `favicon.ico` has a hash of its content in
   * its name.
   */
  readonly assets: ReadonlyMap<string, BundleFile>;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".ico", "image/x-icon"],
  [".woff2", "font/woff2"],
]);

/** @returns `null` where the folder has no page: it has not been built. */
export async function readBundle(folder: URL): Promise<Bundle | null> {
  const page = await readOne(new URL("index.html", folder)).catch(() => null);
  if (page === null) return null;
  const names = await readdir(new URL("assets/", folder));
  const served = names.filter((name) => TYPES.has(extname(name)));
  const files = await Promise.all(
    served.map(
      async (name) => [name, await readOne(new URL(join("assets", name), folder))] as const,
    ),
  );
  return { page, assets: new Map(files) };
}

const compress = promisify(gzip);

async function readOne(file: URL): Promise<BundleFile> {
  const bytes = await readFile(file);
  return {
    type: TYPES.get(extname(file.pathname)) ?? "application/octet-stream",
    bytes,
    gzipped: await compress(bytes),
  };
}
