import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export interface Heading {
  readonly level: number;
  /** What a link to it says behind `#`, as GitHub makes it. */
  readonly anchor: string;
}

/** A page without its blocks of code. */
function prose(text: string): string {
  return text.replaceAll(/^( *)(`{3,})[^\n]*\n[^]*?^\1\2 *$/gm, "");
}

/** The headings of a page, in order. */
export function headingsOf(text: string): readonly Heading[] {
  const seen = new Map<string, number>();
  return [...prose(text).matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks = "", title = ""]) => {
    const plain = title.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
    const slug = plain
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return { level: marks.length, anchor: count === 0 ? slug : `${slug}-${count}` };
  });
}

export interface Image {
  readonly alternative: string;
  readonly target: string;
}

export function imagesOf(text: string): readonly Image[] {
  return [...prose(text).matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(
    ([, alternative = "", target = ""]) => ({
      alternative,
      target,
    }),
  );
}

/**
 * Links of a page to files or anchors that do not exist; addresses elsewhere are not looked at.
 * @param page its path from the root.
 */
export function brokenLinks(
  root: string,
  page: string,
  text = readFileSync(join(root, page), "utf8"),
): readonly string[] {
  const outsideCode = prose(text).replaceAll(/`[^`\n]*`/g, (code) =>
    code.includes("](") ? "" : code,
  );
  const targets = [...outsideCode.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter(
    (target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(root, page, text, target),
  );
}

function leadsSomewhere(root: string, page: string, text: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file =
    path === "" ? join(root, page) : resolve(root, dirname(page), decodeURIComponent(path));
  if (!existsSync(file)) return false;
  if (anchor === undefined) return true;
  if (!statSync(file).isFile() || !file.endsWith(".md")) return false;
  const other = path === "" ? text : readFileSync(file, "utf8");
  return headingsOf(other).some((heading) => heading.anchor === anchor);
}
