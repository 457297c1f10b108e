// The site's configuration: VitePress over the files of `docs/`. Sources that pages link to are
// part of the site, so that a version's site shows the sources of that version.
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readVersion } from "../../src/cli/terminal/process.ts";
import {
  addressOf,
  anchorOf,
  destinationOf,
  HOME,
  OUTSIDE,
  ROOT,
  sideBar,
  sitePage,
} from "./pages.ts";

const version = readVersion();

/** Where the site is published, as `/v0.2.0/`; begins and ends with a slash. */
const BASE = process.env.SIGNALBOX_DOCS_BASE ?? "/";

/** Address of the repository, such as https://github.com/OWNER/NAME; CI sets it. */
const REPOSITORY = process.env.SIGNALBOX_REPOSITORY ?? "";

/** What VitePress hands to a rule of markdown-it for links. */
interface Token {
  readonly content: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
type LinkRule = (
  tokens: readonly Token[],
  index: number,
  options: unknown,
  environment: { readonly realPath?: string; readonly path: string },
  self: { renderToken(tokens: readonly Token[], index: number, options: unknown): string },
) => string;
interface Markdown {
  parse: (text: string, environment: unknown) => unknown;
  readonly renderer: {
    readonly rules: {
      link_open?: LinkRule;
      html_inline?: (tokens: readonly Token[], index: number) => string;
    };
  };
}
interface DevelopmentServer {
  readonly middlewares: {
    use(
      path: string,
      answer: (
        request: { readonly url?: string },
        response: {
          setHeader(name: string, value: string): void;
          end(text: string | Buffer): void;
        },
        next: () => void,
      ) => void,
    ): void;
  };
}

const linked = new Set<string>();

const relativeToRoot = (path: string): string => path.slice(ROOT.length + 1);
const pages = (): readonly string[] => [
  ...OUTSIDE.keys(),
  ...readdirSync(resolve(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("examples/"))
    .map((name) => `docs/${name}`),
];

/**
 * Links between files become links between addresses; links to sources lead to their copies in the
 * site.
 */
function rewriteLinks(markdown: Markdown): void {
  const before = markdown.renderer.rules.link_open;
  markdown.renderer.rules.link_open = (tokens, index, options, environment, self) => {
    const token = tokens[index];
    const page = relativeToRoot(environment.realPath ?? environment.path);
    const destination = destinationOf(page, token?.attrGet("href") ?? "");
    if (token !== undefined && destination?.kind === "source") {
      linked.add(destination.path);
      token.attrSet("href", `${BASE}source/${destination.path}.txt`);
      token.attrSet("target", "_blank");
      return self.renderToken(tokens, index, options);
    }
    if (destination !== null)
      token?.attrSet("href", `/${addressOf(destination.path)}${destination.anchor}`);
    return (
      before?.(tokens, index, options, environment, self) ??
      self.renderToken(tokens, index, options)
    );
  };
}

/** Text such as `<id>` is no HTML: Vue would take it for an element. */
function showUnknownTags(markdown: Markdown): void {
  markdown.renderer.rules.html_inline = (tokens, index) => {
    const content = tokens[index]?.content ?? "";
    return /^<(br|!--)/.test(content) ? content : content.replaceAll("<", "&lt;");
  };
}

export function siteConfiguration() {
  return {
    title: "Signalbox",
    description: "An AI gateway with policy as code: OpenAI- and Anthropic-compatible",
    lang: "en",
    base: BASE,
    srcDir: ROOT,
    srcExclude: [
      ...readdirSync(ROOT, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name !== "docs")
        .map(({ name }) => `${name}/**`),
      "docs/examples/**",
      "AGENTS.md",
      "CLAUDE.md",
    ],
    outDir: resolve(ROOT, ".signalbox/docs"),
    rewrites: Object.fromEntries(pages().map((page) => [page, addressOf(page)])),
    cleanUrls: false,
    metaChunk: true,
    markdown: {
      // GitHub's anchors, and no highlighting of languages that the highlighter does not have.
      anchor: { slugify: anchorOf },
      attrs: false,
      languageAlias: { rego: "text", console: "shellsession" },
      config: (markdown: Markdown) => {
        const parse = markdown.parse.bind(markdown);
        markdown.parse = (text, environment) => parse(sitePage(text), environment);
        rewriteLinks(markdown);
        showUnknownTags(markdown);
      },
    },
    vite: {
      // Pages are outside of this folder, and so are the imports of what they become.
      resolve: {
        alias: [
          { find: /^vue(?=$|\/)/, replacement: resolve(import.meta.dirname, "node_modules/vue") },
        ],
      },
      plugins: [
        {
          name: "signalbox-sources",
          configureServer(server: DevelopmentServer) {
            server.middlewares.use(`${BASE}source`, (request, response, next) => {
              const path = decodeURIComponent(request.url ?? "").replace(/^\/|\.txt$/g, "");
              if (!linked.has(path) && !pages().includes(path)) {
                next();
                return;
              }
              response.setHeader("content-type", "text/plain; charset=utf-8");
              response.end(readFileSync(resolve(ROOT, path)));
            });
          },
        },
      ],
    },
    transformPageData(page: { readonly relativePath: string; frontmatter: object }) {
      if (page.relativePath === "index.md") page.frontmatter = { ...page.frontmatter, ...HOME };
    },
    buildEnd(site: { readonly outDir: string }) {
      for (const path of [...linked, ...pages()]) {
        const copy = resolve(site.outDir, "source", `${path}.txt`);
        mkdirSync(dirname(copy), { recursive: true });
        copyFileSync(resolve(ROOT, path), copy);
      }
    },
    themeConfig: {
      search: { provider: "local" },
      outline: { level: [2, 3] },
      sidebar: sideBar(),
      nav: [
        { text: "All pages", link: "/" },
        { text: `v${version}`, link: "/changelog" },
      ],
      ...(REPOSITORY === ""
        ? {
            editLink: {
              pattern: `${BASE}source/:path.txt`,
              text: `This page as Markdown, version ${version}`,
            },
          }
        : {
            editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: "Edit this page" },
            socialLinks: [{ icon: "github", link: REPOSITORY }],
          }),
      docFooter: { prev: false, next: false },
    },
  };
}
