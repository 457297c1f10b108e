// Reads a built site and finds links to pages, files or anchors that it does not have.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * Every link that leads nowhere, as `page: link`. @param base where the site is published; begins
 * and ends with a slash.
 */
export function deadLinks(folder: string, base = "/"): readonly string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".html") && name !== "404.html",
  );
  if (pages.length === 0) throw new Error(`${folder} has no page`);
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), "utf8")]));
  const anchors = new Map([...texts].map(([page, text]) => [page, valuesOf(text, "id")]));

  const leads = (page: string, link: string): boolean => {
    const [name = "", anchor = ""] = link.replace(/\?[^#]*/, "").split("#");
    let path = page;
    if (name.startsWith("/")) {
      if (!name.startsWith(base)) return false;
      path = name.slice(base.length);
    } else if (name !== "") path = posix.join(posix.dirname(page), name);
    path = decodeURIComponent(path);
    if (path === "" || path.endsWith("/")) path += "index.html";
    if (anchor === "") return existsSync(join(folder, path));
    return anchors.get(path)?.has(decodeURIComponent(anchor)) === true;
  };
  return [...texts].flatMap(([page, text]) =>
    [...valuesOf(text, "href"), ...valuesOf(text, "src")]
      .filter((link) => !/^[a-z]+:/.test(link) && link !== "#" && link !== "" && !leads(page, link))
      .map((link) => `${page}: ${link}`),
  );
}

function valuesOf(text: string, attribute: string): ReadonlySet<string> {
  const pattern = new RegExp(`<[a-z][^>]*? ${attribute}="([^"]*)"`, "g");
  return new Set(
    [...text.matchAll(pattern)].map(([, value = ""]) => value.replaceAll("&amp;", "&")),
  );
}
