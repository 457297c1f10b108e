/**
 * Packages whose code is in `dist/`: every start loads them, and as files of their own they cost a
 * fifth of its CPU and 20 MB of memory. `devDependencies` names the direct ones. Notices and the
 * bill of materials list them as they list `dependencies`.
 */
export const BUNDLED: readonly string[] = [
  "h3",
  "jose",
  "oauth4webapi",
  "openid-client",
  "rou3",
  "srvx",
  "undici",
  "yaml",
  // Of the console's page.
  "@preact/signals",
  "@preact/signals-core",
  "preact",
  "uplot",
];

/** The package that an import names: `yaml`, `@scope/name`. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
