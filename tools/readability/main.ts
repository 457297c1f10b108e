// `npm run readability`: words, sentences, words a sentence and the share of long sentences of each page; with `-- COMMIT`, of the pages of a commit.
// `-- --long PAGE` prints the long sentences of a page.
import { LONG, measure, sentencesOf, shareOfLong, type Readability } from "./measure.ts";
import { pagesAt } from "./pages.ts";

const [argument = null, page = ""] = process.argv.slice(2);
if (argument === "--long") {
  const long = sentencesOf(pagesAt(null).get(page) ?? "").filter(
    (sentence) => measure(sentence.replaceAll("`", "")).words > LONG,
  );
  process.stdout.write(long.map((sentence) => `- ${sentence}\n`).join(""));
} else {
  const pages = pagesAt(argument);
  const measured = [...pages].map(([path, text]) => [path, measure(text)] as const);
  const add = (key: keyof Readability): number => measured.reduce((sum, [, value]) => sum + value[key], 0);
  const all = { words: add("words"), sentences: add("sentences"), long: add("long") };
  const rows = [...measured, [`all ${measured.length} pages`, all] as const].map(
    ([path, value]) =>
      `| ${path} | ${value.words} | ${value.sentences} | ${(value.words / value.sentences).toFixed(1)} | ${shareOfLong(value).toFixed(1)} |`,
  );
  process.stdout.write(
    [
      `| Page | Words | Sentences | Words a sentence | Over ${LONG} words, % |`,
      "|---|---:|---:|---:|---:|",
      ...rows,
      "",
    ].join("\n"),
  );
}
