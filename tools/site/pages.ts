// What the site has: the same files that the repository has, with addresses and a side bar read
// from docs/README.md.
import { existsSync, readFileSync, statSync } from "node:fs";
import { posix, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
const INDEX = "docs/README.md";

/**
 * Pages outside of `docs/`, which pages in it link to, and their addresses: `docs/security.md` is
 * another page.
 */
export const OUTSIDE: ReadonlyMap<string, string> = new Map([
  ["README.md", "readme.md"],
  ["CONTRIBUTING.md", "contributing.md"],
  ["SECURITY.md", "reporting.md"],
  ["CHANGELOG.md", "changelog.md"],
]);

/** The address of each page in the site, without a leading slash: VitePress's `rewrites`. */
export function addressOf(page: string): string {
  const outside = OUTSIDE.get(page);
  if (outside !== undefined) return outside;
  return page.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md");
}

interface Link {
  readonly text: string;
  readonly link: string;
}
export interface Group {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly Link[];
}

/** The side bar: a group for each heading of the index with rows, in their order. */
export function sideBarOf(index: string): readonly Group[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf("\n")).trim(),
      collapsed: false,
      items: [...section.matchAll(/^- \[(.+?)\]\(([^)#]+\.md)\)/gm)].map(
        ([, text = "", target = ""]) => ({
          text,
          link: `/${addressOf(posix.normalize(`docs/${target}`)).replace(/(index)?\.md$/, "")}`,
        }),
      ),
    }))
    .filter(({ items }) => items.length > 0);
}

export const sideBar = (): readonly Group[] =>
  sideBarOf(readFileSync(resolve(ROOT, INDEX), "utf8"));

const isPage = (path: string): boolean =>
  OUTSIDE.has(path) || /^docs\/(?!examples\/).*\.md$/.test(path);

/**
 * Where a relative link leads: a page of the site, another file of the repository, or `null` where
 * it is neither.
 */
export function destinationOf(
  page: string,
  target: string,
): { readonly kind: "page" | "source"; readonly path: string; readonly anchor: string } | null {
  if (/^(#|\/|[a-z]+:)/.test(target)) return null;
  const [name = "", anchor = ""] = target.split(/(?=#)/);
  const path = posix.join(posix.dirname(page), decodeURIComponent(name));
  if (path.startsWith("..") || !existsSync(resolve(ROOT, path))) return null;
  if (isPage(path)) return { kind: "page", path, anchor };
  return statSync(resolve(ROOT, path)).isFile() ? { kind: "source", path, anchor: "" } : null;
}

const LANGUAGES: Readonly<Record<string, string>> = {
  python: "Python",
  ts: "TypeScript",
  sh: "curl",
};

/**
 * A page as the site shows it: blocks of code between `<!-- tabs -->` and `<!-- end of tabs -->` as
 * tabs by language, and without the sentence for those who edit a generated file.
 */
export function sitePage(text: string): string {
  return text
    .replaceAll(/^(?:Written by `npm run generate`[^.]*(?:\.\w[^.]*)*; do not edit\.[ \n]?)/gm, "")
    .replaceAll(/<!-- tabs -->\n([^]*?)<!-- end of tabs -->/g, (_, blocks: string) => {
      const named = blocks.replaceAll(
        /^```(\w+)$/gm,
        (fence, language: string) => `${fence} [${LANGUAGES[language] ?? language}]`,
      );
      return `::: code-group\n${named}\n:::`;
    });
}

/** What stands above the index of the documents on the site's first page. */
export const HOME = {
  layout: "home",
  hero: {
    name: "Signalbox",
    text: "An AI gateway with policy as code",
    tagline:
      "OpenAI- and Anthropic-compatible. Rego decides each request before a provider is called; reviewers see whose requests a pull request would send elsewhere.",
    actions: [
      { theme: "brand", text: "Quick start", link: "/quick-start" },
      { theme: "alt", text: "Limitations", link: "/limitations" },
    ],
  },
  features: [
    {
      title: "I call models",
      details: "Keep your SDK; change its base URL, key and model name.",
      link: "/calling",
    },
    {
      title: "I run the platform",
      details: "Providers, fallbacks and budgets in one file; one process or replicas.",
      link: "/first-configuration",
    },
    {
      title: "I review changes",
      details: "Every class of requests is decided before and after a pull request.",
      link: "/simulate",
    },
  ],
} as const;

/** An anchor as GitHub makes it, which the links of the pages expect. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-");
}
